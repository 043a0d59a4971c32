"""Infinite families of explicit packings by their parameters alone: nothing is built to state (d, n, coherence).

:func:`of_prime_power`, :func:`of_power_of_two` and :func:`of_design` list the members that a parameter gives, in both
fields. With ``eps`` a family of growing degree gives its largest member at that coherence only. Sizes are exact whole
numbers; coherences are exact, or Weil's bound where ``exact`` is False. Real members are complex ones too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from contexts.packing.constructions import characters, codes, frames, stabilizer, two_graphs
from contexts.packing.constructions.configurations import LARGEST_TRIPLES
from contexts.packing.constructions.construction import Construction
from contexts.packing.constructions.galois import prime_power, prime_powers_of
from contexts.packing.constructions.matrices import has_hadamard

MOST_LINES = 4000  # of a Gram matrix whose eigenvectors are worth the time
MOST_ELEMENTS = 200_000  # of a finite field whose table is worth the time
MOST_DIGITS = 300  # decimal digits of n: beyond, families of growing degree are not listed
Members = Iterator[Construction]


def of_prime_power(p: int, k: int, top: int, eps: float | None = None) -> Members:
    """Members of dimension at most ``top`` of the families with parameter q = p^k."""
    q = p**k
    if q <= top:
        name = "mutually unbiased bases"
        yield Construction(
            name, q, q * q + q, 1 / math.sqrt(q), "complex", True,
            lambda: np.vstack(characters.unbiased_bases(q)), "Wootters & Fields 1989",
        )  # fmt: skip
        yield from _weil(p, q, eps)
        if k > 1 and (k + 1) * k * math.log10(p) < MOST_DIGITS:
            yield Construction(
                f"stabilizer states of {k} {'qubits' if p == 2 else f'qudits of {p} levels'}", q,
                stabilizer.number_of_stabilizer_states(p, k), 1 / math.sqrt(p), "complex", True,
                partial(stabilizer.stabilizer_states, p, k), "Gross 2006",
            )  # fmt: skip
    if 2 <= q - 1 <= top:
        yield from _mixed(p, q, eps)
    if p > 2 and (q + 1) // 2 <= top:
        real = q % 4 == 1
        yield Construction(
            f"{'' if real else 'skew '}Paley conference matrix", (q + 1) // 2, q + 1, 1 / math.sqrt(q),
            "real" if real else "complex", True, partial(two_graphs.conference_frame, q), "van Lint & Seidel 1966",
            q < MOST_LINES,
        )  # fmt: skip
    for d, coherence in ((q * q - q + 1, 1 / q), (q**3 - q * q + q, 1 / q**2)):
        if d <= top:
            yield Construction(
                f"unitary two-graph over GF({q * q})", d, q**3 + 1, coherence, "real" if q % 2 else "complex", True,
                partial(two_graphs.unitary, q, d), "Taylor 1977" if q % 2 else "Iverson & Mixon 2024",
                q**3 < MOST_LINES,
            )  # fmt: skip
    yield from _difference_sets(p, k, top)


def _degrees(p: int, most: float) -> list[int]:
    """Degrees prime to p, from 2, up to ``most``."""
    return [degree for degree in range(2, math.floor(most * (1 + 1e-12)) + 1) if degree % p]


def _weil(p: int, q: int, eps: float | None) -> Members:
    """Phases of polynomials of degree D > 2: coherence (D−1)/√q; of characteristic 2 they are real (dual BCH)."""
    if p == 2:
        return
    root = math.sqrt(q)
    degrees = [degree for degree in _degrees(p, 1 + root * (1 if eps is None else eps)) if 2 < degree < q]
    for degree in degrees if eps is None else degrees[-1:]:
        if (degree - 1) ** 2 >= q or degree * math.log10(q) > MOST_DIGITS:
            break
        n = q ** len(characters.coprime_exponents(p, degree)) + q
        build = partial(characters.weil, q, degree)
        yield Construction(
            f"Weil phases of degree {degree}", q, n, (degree - 1) / root, "complex", False, build, "Weil 1948"
        )


def _mixed(p: int, q: int, eps: float | None) -> Members:
    """Multiplicative times additive characters: coherence D√q/(q−1), exact for D = 1 (Gauss sums)."""
    unit = math.sqrt(q) / (q - 1)
    degrees = [1, *_degrees(p, (1 if eps is None else eps) / unit)]
    for degree in degrees if eps is None else [d for d in degrees if d * unit <= eps * (1 + 1e-12)][-1:]:
        if degree * unit >= 1 or degree * math.log10(q) > MOST_DIGITS:
            break
        n = (q - 1) * (q ** len(characters.coprime_exponents(p, degree)) + 1)
        yield Construction(
            f"characters of GF({q}), degree {degree}", q - 1, n, degree * unit, "complex", degree == 1,
            partial(characters.mixed_characters, q, degree), "Gauss sums" if degree == 1 else "Weil 1948",
        )  # fmt: skip


def _difference_sets(p: int, k: int, top: int) -> Members:
    """Harmonic frames: Singer's sets in PG(m, q), quadratic residues, and what these leave; at Welch's bound."""
    q, m = p**k, 2
    while (size := (q**m - 1) // (q - 1)) <= top:
        v = size + q**m
        build = partial(frames.singer_difference_set, q, m)
        quick = q ** (m + 1) <= MOST_ELEMENTS
        yield from _harmonic(f"Singer's difference set ({q}, {m})", v, size, top, build, "Singer 1938", quick)
        m += 1
    if k == 1 and q % 4 == 3:
        build = partial(frames.paley_difference_set, q)
        yield from _harmonic(f"the quadratic residues mod {q}", q, (q - 1) // 2, top, build, "Paley 1933")
    if k == 1 and p > 2 and (v := p * (p + 2)) <= 2 * top + 1 and prime_power(p + 2) == (p + 2, 1):
        build = partial(frames.twin_prime_difference_set, p)
        yield from _harmonic(f"the twin primes {p}, {p + 2}", v, (v - 1) // 2, top, build, "Stanton & Sprott 1958")
    kind = frames.quartic_kind(p) if k == 1 else None
    if kind is not None:
        build, size = partial(frames.quartic_difference_set, p), (p - 1) // 4 + (kind == 9)
        yield from _harmonic(f"the fourth powers mod {p}", p, size, top, build, "Lehmer 1953")


def _harmonic(name: str, v: int, size: int, top: int, members: partial, source: str, quick: bool = True) -> Members:
    for d, complement in ((size, False), (v - size, True)):
        if 1 < d <= top:
            yield Construction(
                f"harmonic frame of {name}{', complemented' if complement else ''}", d, v, _welch(d, v), "complex",
                True, partial(frames.harmonic_of, members, complement), f"{source}; Xia, Zhou & Giannakis 2005", quick,
            )  # fmt: skip


def of_factors(d: int) -> Members:
    """Products of unbiased bases, where d is no prime power."""
    factors = prime_powers_of(d)
    if len(factors) > 1:
        n = (factors[0] + 1) * d
        name, build = "products of unbiased bases", partial(characters.products_of_bases, d)
        yield Construction(name, d, n, 1 / math.sqrt(d), "complex", True, build, "Zauner 1999", d <= MOST_LINES)


def of_power_of_two(m: int, top: int, eps: float | None = None) -> Members:
    """Members of dimension at most ``top`` of the families with parameter 2^m, m ≥ 1."""
    d = 2**m
    if d <= top:
        yield from _binary(d, m, eps)
        if m > 1 and m * m < MOST_DIGITS * 6:
            n = stabilizer.number_of_barnes_wall_lines(m)
            build = partial(stabilizer.barnes_wall, m)
            if m > 3:  # before, D4 and E8, which have names of their own
                yield Construction("Barnes-Wall lattice", d, n, 1 / 2, "real", True, build, "Barnes & Wall 1959")
            name, build = f"real stabilizer states of {m} qubits", partial(stabilizer.real_stabilizer_states, m)
            yield Construction(name, d, 2 * n, 1 / math.sqrt(2), "real", True, build, "Barnes & Wall 1959")
        for r in range(1, (m - 1) // 2 + 1):
            if 4**r < d and (r + 2) * m * math.log10(2) < MOST_DIGITS:
                yield Construction(
                    f"Delsarte-Goethals frame, r={r}", d, d ** (r + 2) + d, 2**r / math.sqrt(d), "complex", True,
                    partial(codes.delsarte_goethals_phases, d, r), "Calderbank, Howard & Jafarpour 2010",
                )  # fmt: skip
    for d, n, coherence, build, name in _quadrics(m):
        if 1 < d <= top and d < n - 1:
            yield Construction(name, d, n, coherence, "real", True, build, "Menon 1962; Seidel 1976", n < MOST_LINES)


def _binary(d: int, m: int, eps: float | None) -> Members:
    """Real codes of length 2^m: Delsarte and Goethals's (Kerdock's for r = 0), quadratic forms, dual BCH."""
    if m % 2 == 0 and m >= 4:
        for r in range(m // 2 - 1):
            n = (d // 2) ** (r + 1) * d + d
            name = f"Delsarte-Goethals code and basis, r={r}" if r else "Kerdock set and basis"
            build = partial(codes.delsarte_goethals, d, r)
            source = "Delsarte & Goethals 1975" if r else "Kerdock 1972; Cameron & Seidel 1973"
            yield Construction(name, d, n, 2**r / math.sqrt(d), "real", True, build, source)
    elif m >= 3:
        for r in range((m - 1) // 2):
            build = partial(codes.quadratic_forms, d, r)
            yield Construction(
                f"quadratic forms and basis, r={r}", d, d ** (r + 2) + d, 2**r * math.sqrt(2 / d), "real", True, build,
                "Gold 1968" if r == 0 else "Delsarte & Goethals 1975",
            )  # fmt: skip
    most = [t for t in range(2, 2 ** ((m + 1) // 2 - 1) + 1) if (2 * t - 2) ** 2 < d] if m >= 3 else []
    if eps is not None:
        most = [t for t in most if (2 * t - 2) <= eps * math.sqrt(d) * (1 + 1e-12)][-1:]
    for t in most:
        if t * math.log10(d) < MOST_DIGITS:
            yield Construction(
                f"dual BCH code, t={t}", d, d**t, (2 * t - 2) / math.sqrt(d), "real", False,
                partial(codes.dual_bch, d, t), "Carlitz & Uchiyama 1957",
            )  # fmt: skip


def _quadrics(m: int) -> Iterator[tuple[int, int, float, partial, str]]:
    """Equiangular lines from quadratic forms on GF(2)^{2m}: bent functions and symplectic two-graphs."""
    a, b = 2**m, 2 ** (m - 1)
    for complement, sign in ((False, -1), (True, 1)):
        name, build = f"bent function of {2 * m} bits", partial(frames.bent, m, complement)
        yield b * (a + sign), a * a, 1 / (a + sign), build, name
    for sign in (1, -1):
        small, large = (a + sign) * (b + sign) // 3, (a * a - 1) // 3
        for d, coherence in ((small, 1 / max(b + sign, 1)), (large, 1 / max(a - sign, 1))):
            name = f"symplectic two-graph on {b * (a + sign)} points"
            yield d, b * (a + sign), coherence, partial(two_graphs.quadric, m, sign, d), name


#: of a Steiner system by order: number of blocks (the dimension), of points, and of blocks per point
DESIGNS = {
    "pairs": (lambda v: v * (v - 1) // 2, lambda v: v, lambda v: v - 1),
    "triples": (lambda v: v * (v - 1) // 6, lambda v: v, lambda v: (v - 1) // 2),
    "affine": (lambda q: q * (q + 1), lambda q: q * q, lambda q: q + 1),
    "projective": (lambda q: q * q + q + 1, lambda q: q * q + q + 1, lambda q: q + 1),
}


def of_design(kind: str, order: int, top: int) -> Members:
    """Steiner frames (Fickus, Mixon & Tremain 2012) and their Naimark complements, of dimension at most ``top``."""
    blocks, points, degree = DESIGNS[kind]
    if (kind == "pairs" and order < 3) or (kind == "triples" and (order < 7 or order % 6 not in (1, 3))):
        return
    if kind in ("affine", "projective") and prime_power(order) is None:
        return
    d, r = blocks(order), degree(order)
    n, field = points(order) * (r + 1), "real" if has_hadamard(r + 1) else "complex"
    build, source = partial(frames.steiner, kind, order), "Fickus, Mixon & Tremain 2012"
    quick = n < MOST_LINES and (kind != "triples" or order <= LARGEST_TRIPLES)
    if d <= top:
        yield Construction(f"Steiner frame ({kind}, {order})", d, n, 1 / r, field, True, build, source, quick)
    if 1 < n - d <= top:
        name = f"complement of the Steiner frame ({kind}, {order})"
        build = partial(frames.complement_of_steiner, kind, order)
        yield Construction(name, n - d, n, _welch(n - d, n), field, True, build, source, quick)
    if kind == "triples":
        yield from _tremain(order, top, quick)


def _tremain(v: int, top: int, quick: bool) -> Members:
    d, n = (v + 2) * (v + 3) // 6, (v + 1) * (v + 2) // 2
    field = "real" if has_hadamard(v + 1) and has_hadamard((v + 1) // 2) else "complex"
    for size, build in ((d, frames.tremain), (n - d, frames.complement_of_tremain)):
        if size <= top:
            name = f"{'' if size == d else 'complement of the '}Tremain frame of {v} points"
            source = "Fickus, Jasper, Mixon & Peterson 2018"
            yield Construction(name, size, n, _welch(size, n), field, True, partial(build, v), source, quick)


def _welch(d: int, n: int) -> float:
    return math.sqrt((n - d) / (d * (n - 1)))
