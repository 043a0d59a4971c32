"""The catalogue of explicit packings: for a dimension, all that are known here, with their (n, d, ε) before building.

Each entry states a coherence that its test measures. :func:`best_construction` takes the lowest coherence among those
with at least n lines (any n of its lines are as good), :func:`largest_construction` the most lines at a given ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from contexts.packing.constructions import codes, configurations, frames, lattices, matrices, reflections, sic
from contexts.packing.constructions.galois import prime_power
from contexts.packing.validation import Number, check_epsilon, check_field, check_size

LARGEST = 30_000_000  # entries of a matrix worth building; larger packings are listed but not built


@dataclass(frozen=True)
class Construction:
    """n lines of R^d or C^d at ``coherence`` exactly (``exact``) or at most; ``build`` makes the unit rows."""

    name: str
    d: int
    n: int
    coherence: float
    field: str
    exact: bool
    build: Callable[[], np.ndarray]

    @property
    def buildable(self) -> bool:
        return self.n * self.d <= LARGEST


def catalogue(d: int, field: str) -> list[Construction]:
    """Every construction of dimension d in the field; real ones count as complex too. Nothing is built."""
    check_size("d", d)
    check_field(field)
    found = list(_real(d))
    return found if field == "real" else found + list(_complex(d))


def best_construction(d: int, n: int, field: str) -> Construction | None:
    """The lowest coherence among the buildable constructions with at least n lines; the smallest of equal ones."""
    check_size("n", n)
    found = [c for c in catalogue(d, field) if c.n >= n and c.buildable]
    if d == 2 and n > 1:
        found.append(_equally_spaced(n))
    return min(found, key=lambda c: (round(c.coherence, 12), c.n), default=None)


def largest_construction(d: int, eps: Number, field: str) -> Construction:
    """The most lines with coherence at most ε; at least the orthonormal basis. It may be too large to build."""
    check_epsilon(eps)
    found = [c for c in catalogue(d, field) if c.coherence <= eps * (1 + 1e-12)]
    if d == 2 and 0 < eps < 1:
        found.append(_equally_spaced(math.floor(math.pi / math.acos(eps) * (1 + 1e-12))))
    return max(found, key=lambda c: c.n)


def _equally_spaced(n: int) -> Construction:
    """n lines of R^2 at angles kπ/n: the optimum there, cos(π/n)."""

    def build() -> np.ndarray:
        angles = math.pi * np.arange(n) / n
        return np.column_stack([np.cos(angles), np.sin(angles)])

    return Construction(f"{n} equally spaced lines", 2, n, max(0.0, math.cos(math.pi / n)), "real", True, build)


def _real(d: int) -> Iterator[Construction]:
    def real(name: str, n: int, coherence: float, build: Callable[[], np.ndarray], exact: bool = True) -> Construction:
        return Construction(name, d, n, coherence, "real", exact, build)

    yield real("orthonormal basis", d, 0.0, lambda: np.eye(d))
    if d > 1:
        yield real("simplex", d + 1, 1 / d, lambda: frames.simplex(d))
    q = 2 * d - 1
    if prime_power(q) and q % 4 == 1:
        yield real("Paley conference matrix", 2 * d, 1 / math.sqrt(q), lambda: frames.conference_frame(q))
    if d >= 16 and math.log2(d) % 2 == 0:
        yield real("Kerdock set and basis", d * (d // 2 + 1), 1 / math.sqrt(d), lambda: codes.kerdock(d))
    m = d.bit_length() - 1
    if d == 2**m and m >= 3:
        for t in range(2, 2 ** ((m + 1) // 2 - 1) + 1):
            if (2 * t - 2) ** 2 < d and t * math.log10(d) < 308:
                bound = (2 * t - 2) / math.sqrt(d)
                yield real(f"dual BCH code, t={t}", d**t, bound, partial(codes.dual_bch, d, t), exact=False)
    for kind, order, complex_only, n, eps in _steiner(d):
        if not complex_only:
            yield real(f"Steiner frame ({kind}, {order})", n, eps, partial(frames.steiner, kind, order))
    yield from _sparse(d, "real")
    # Naimark complements of real Steiner and other frames, up to the sizes in use
    for other in (6, 7, 10, 15, 28):
        for kind, order, complex_only, n, eps in _steiner(other):
            if not complex_only and n - other == d and n > d:
                yield real(
                    f"complement of the Steiner frame ({kind}, {order})", n, other * eps / d,
                    partial(_complement_of_steiner, kind, order),
                )  # fmt: skip
    if d == 3:
        yield real("cuboctahedron and cube diagonals", 7, 1 / math.sqrt(3), _seven)
    if d == 4:
        yield real("D4 and its dual", 12, 1 / 2, _twenty_four_cell)
        yield real("vertices of the 600-cell", 60, math.cos(math.pi / 5), reflections.six_hundred_cell)
    if d == 6:
        yield real("E6 roots", 36, 1 / 2, lattices.e6)
    if d == 7:
        yield real("E7 roots", 63, 1 / 2, lattices.e7)
    if d == 8:
        yield real("E8 roots", 120, 1 / 2, lattices.e8)
    if d == 23:
        yield real("equiangular lines in the Leech lattice", 276, 1 / 5, lattices.equiangular_276)
    if d == 24:
        yield real("Leech lattice", 98_280, 1 / 2, lattices.leech)


def _complex(d: int) -> Iterator[Construction]:
    def make(name: str, n: int, coherence: float, build: Callable[[], np.ndarray], exact: bool = True) -> Construction:
        return Construction(name, d, n, coherence, "complex", exact, build)

    power = prime_power(d)
    if power:
        yield make("mutually unbiased bases", d * d + d, 1 / math.sqrt(d), lambda: np.vstack(frames.unbiased_bases(d)))
        if power[1] == 1:
            if d >= 5:
                yield make("Alltop's Gabor frame and basis", d * d + d, 1 / math.sqrt(d), lambda: frames.alltop(d))
            for degree in range(3, min(d, math.isqrt(d - 1) + 2)):  # up to degree − 1 < √d
                if degree * math.log10(d) < 308:
                    bound = (degree - 1) / math.sqrt(d)
                    yield make(
                        f"Weil phases of degree {degree}", d**degree, bound, partial(frames.weil, d, degree), False
                    )
    if 2 <= d <= 24:
        yield make("SIC", d * d, 1 / math.sqrt(d + 1), lambda: sic.hoggar() if d == 8 else sic.sic(d))
    q = 2 * d - 1
    if prime_power(q) and q % 4 == 3:
        yield make("skew Paley conference matrix", 2 * d, 1 / math.sqrt(q), lambda: frames.conference_frame(q))
    for name, v, k, members in _difference_sets(d):
        coherence = math.sqrt((v - k) / (k * (v - 1)))  # Welch's bound, met
        yield make(f"harmonic frame of {name}", v, coherence, partial(_harmonic, members))
    yield from _sparse(d, "complex")
    if d == 4:
        yield make("Witting polytope", 40, 1 / math.sqrt(3), reflections.witting)
    if d == 5:
        yield make("reflections of G33", 45, 1 / 2, reflections.burkhardt)
    if d == 6:
        yield make("reflections of G34", 126, 1 / 2, reflections.mitchell)
    for kind, order, complex_only, n, eps in _steiner(d):
        if complex_only:
            yield make(f"Steiner frame ({kind}, {order})", n, eps, partial(frames.steiner, kind, order))


def _difference_sets(d: int) -> Iterator[tuple[str, int, int, Callable[[], tuple[int, np.ndarray]]]]:
    """(name, v, d, a maker of the set) for difference sets of d members in Z_v, or their complements."""

    for q in range(2, 64):
        if prime_power(q) is None:
            continue
        for n in range(2, 8):
            v, k = (q ** (n + 1) - 1) // (q - 1), (q**n - 1) // (q - 1)
            if q ** (n + 1) > 20_000 or k > max(d, 1) * 64:
                break
            if k == d:
                yield f"Singer's difference set ({q}, {n})", v, d, partial(frames.singer_difference_set, q, n)
            if v - k == d:
                yield (
                    f"Singer's difference set ({q}, {n}), complemented", v, d,
                    partial(_complement, frames.singer_difference_set, q, n),
                )  # fmt: skip
    p = 2 * d + 1
    if d > 1 and prime_power(p) == (p, 1) and p % 4 == 3:
        yield f"the quadratic residues mod {p}", p, d, partial(frames.paley_difference_set, p)
    p = 2 * d - 1
    if d > 2 and prime_power(p) == (p, 1) and p % 4 == 3:
        yield f"the non-residues and 0 mod {p}", p, d, partial(_complement, frames.paley_difference_set, p)


def _sparse(d: int, field: str) -> Iterator[Construction]:
    """Flat vectors on blocks of coordinates; in C^d only where that gives more lines than in R^d."""
    for size in configurations.block_sizes(d):
        each = configurations.lines_per_block(size, field)
        if each and (field == "real" or each > configurations.lines_per_block(size, "real")):
            n = each * configurations.number_of_blocks(d, size)
            name = f"blocks of {size} coordinates" if size > 2 or field == "complex" else f"D{d} roots"
            if n > d + 1:
                build = partial(configurations.sparse, d, size, field)
                yield Construction(name, d, n, 1 / size, field, True, build)


def _steiner(d: int) -> Iterator[tuple[str, int, bool, int, float]]:
    """(design, order, whether only complex, n, ε) of the Steiner frames of dimension d."""
    for kind, blocks, points, degree in (
        ("pairs", lambda v: v * (v - 1) // 2, lambda v: v, lambda v: v - 1),
        ("affine", lambda q: q * (q + 1), lambda q: q * q, lambda q: q + 1),
        ("projective", lambda q: q * q + q + 1, lambda q: q * q + q + 1, lambda q: q + 1),
    ):
        order = next((o for o in range(2, 200) if blocks(o) >= d), 0)
        if not order or blocks(order) != d or (kind == "pairs" and order < 3):
            continue
        if kind != "pairs" and prime_power(order) is None:
            continue
        r = degree(order)
        yield kind, order, matrices.hadamard(r + 1) is None, points(order) * (r + 1), 1 / r


def _harmonic(difference_set: Callable[[], tuple[int, np.ndarray]]) -> np.ndarray:
    return frames.harmonic(*difference_set())


def _complement(difference_set: Callable[..., tuple[int, np.ndarray]], *arguments: int) -> tuple[int, np.ndarray]:
    v, members = difference_set(*arguments)
    return v, np.setdiff1d(np.arange(v), members)


def _complement_of_steiner(kind: str, order: int) -> np.ndarray:
    return frames.naimark_complement(frames.steiner(kind, order))


def _seven() -> np.ndarray:
    """Three axes and the four diagonals of a cube."""
    cube = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]) / math.sqrt(3)
    return np.vstack([np.eye(3), cube])


def _twenty_four_cell() -> np.ndarray:
    """Twelve lines of R^4: the axes and the diagonals of the hypercube (three unbiased bases)."""
    diagonals = np.array([[1, a, b, c] for a in (1, -1) for b in (1, -1) for c in (1, -1)]) / 2
    return np.vstack([np.eye(4), diagonals])
