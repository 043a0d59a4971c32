"""What constructions give together: the most lines, or the lowest coherence, for every dimension.

At a fixed tolerance ε the number of lines is superadditive and supermultiplicative in the dimension, and

    N(a + b) ≥ N(a) + N(b)      lines in orthogonal spaces (also N(d + 1) ≥ N(d) + 1: it grows with d)
    N(ab)    ≥ N(a) N(b)        u ⊗ v: |⟨u,u'⟩| |⟨v,v'⟩| ≤ ε
    N_R(2d)  ≥ k N_C(d)         u, e^{iπ/k} u, … as real vectors, cos(π/k) ≤ ε: |Re (e^{iφ} ⟨u,v⟩)| ≤ |⟨u,v⟩|

so the best combination of all members of the catalogue up to d is a dynamic programme over dimensions. The third, for
k = 2 (u ⊥ iu), is the way of Yang, Zhang, Wen & Feng 2021 (arXiv:2110.06665) from complex to real bases; for k = 3 it
makes the Coxeter-Todd lattice's lines of R^12 out of 126 lines of C^6.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Shaped
from scipy.linalg import block_diag

from contexts.packing.bounds.coherence_bounds import welch
from contexts.packing.constructions.catalogue import catalogue, members
from contexts.packing.constructions.construction import Construction
from contexts.packing.constructions.galois import prime_power
from contexts.packing.constructions.sporadic import equally_spaced
from contexts.packing.validation import Number, check_epsilon, check_field, check_size

LARGEST_D = 20_000  # dimensions up to which all combinations are compared
LARGEST_SEARCH = 1500  # dimensions up to which the lowest coherence is looked for among all combinations
HUGE = 1e300  # lines: products beyond are left out


class Step(NamedTuple):
    """How the most lines of a dimension come about: a member, a sum or product with dimension ``size``, a real form."""

    kind: str  # "member", "sum", "product" or "real form"
    size: int = 0
    member: Construction | None = None
    steps: list[Step] | None = None  # of the complex combinations whose real form is taken


def largest_construction(d: int, eps: Number, field: str) -> Construction:
    """The most lines of dimension d with coherence at most ε, at least d orthonormal ones; perhaps too many to build.

    For d up to 20,000 the best combination of the catalogue; beyond, copies of the best member in one of the dimensions
    just below, and axes.
    """
    check_size("d", d)
    check_epsilon(eps)
    check_field(field)
    if d > LARGEST_D:
        return _copies(int(d), eps, field)
    return _combined(int(d), _best_steps(int(d), float(eps), field, False))


def best_construction(d: int, n: int, field: str) -> Construction | None:
    """The lowest coherence among the buildable constructions with at least n lines; the smallest of equal ones.

    For d up to 1500 combinations count too: the least ε at which they hold n lines, by bisection.
    """
    check_size("d", d)
    check_size("n", n)
    check_field(field)
    found = [c for c in catalogue(d, field) if c.n >= n and c.buildable]
    if d == 2 and n > 1:
        found.append(equally_spaced(n))
    if 2 < d <= LARGEST_SEARCH and n > d:
        combined = _lowest(d, n, field, min((c.coherence for c in found), default=1.0))
        found += [combined] if combined is not None else []
    return min(found, key=lambda c: (round(c.coherence, 12), c.n), default=None)


def _lowest(d: int, n: int, field: str, known: float) -> Construction | None:
    """A buildable combination of at least n lines below the coherence ``known``, if there is one."""
    found = None
    low, high = welch(d, n, field) or 0.0, known * (1 - 1e-9)
    eps = high
    while high - low > 1e-9 * high:
        best = _combined(d, _best_steps(d, eps, field, True))
        if best.n < n and eps == known * (1 - 1e-9):
            return None
        if best.n >= n and best.buildable:
            found, high = best, best.coherence * (1 - 1e-12)
        elif best.n >= n:  # more lines than can be built
            high = eps
        else:
            low = eps
        eps = (low + high) / 2
    return found


@lru_cache(maxsize=16)
def _best_steps(top: int, eps: float, field: str, buildable: bool) -> list[Step]:
    """For every dimension up to ``top`` the last step to the most lines with coherence at most ε."""
    best = np.arange(top + 1, dtype=float)  # axes
    steps = [Step("sum", 1)] * (top + 1)
    for c in members(top, field, eps):
        if c.n > best[c.d] and (c.buildable or not buildable):
            best[c.d], steps[c.d] = float(c.n), Step("member", member=c)
    if field == "real" and top >= 2:
        _take_real_forms(best, steps, _best_steps(top // 2, eps, "complex", buildable), number_of_phases(eps))
    for d in range(2, top + 1):
        half = d // 2
        sums = best[1 : half + 1] + best[d - 1 : d - half - 1 : -1]
        a = int(np.argmax(sums))
        if sums[a] > best[d]:
            best[d], steps[d] = sums[a], Step("sum", a + 1)
        others = np.arange(2, min(d, top // d) + 1)
        products = best[d] * best[others]
        for b in others[(products > best[d * others]) & (products < HUGE)]:
            best[d * b], steps[d * b] = best[d] * best[b], Step("product", int(b))
    return steps


def number_of_phases(eps: Number) -> int:
    """The most k with cos(π/k) ≤ ε, at least 2: so many multiples of a complex vector are lines of R^2 at ε."""
    return 2 if eps >= 1 else max(2, math.floor(math.pi / math.acos(eps) * (1 + 1e-12)))


def _take_real_forms(
    best: Float64[np.ndarray, " dimensions"], steps: list[Step], complex_steps: list[Step], phases: int
) -> None:
    """``phases`` times the complex lines of every dimension d in dimension 2d, where ``best`` holds fewer."""
    counts = [0, 1]
    for d in range(1, len(complex_steps)):
        if d > 1:
            kind, size, member, _ = complex_steps[d]
            rest = counts[d - size] if kind == "sum" else counts[d // size] if kind == "product" else 0
            counts.append(member.n if member else counts[size] + rest if kind == "sum" else counts[size] * rest)
        if best[2 * d] < phases * counts[d] < HUGE:
            best[2 * d], steps[2 * d] = float(phases * counts[d]), Step("real form", phases, steps=complex_steps)


def _combined(d: int, steps: list[Step]) -> Construction:
    """The combination as one construction: an orthogonal sum of members, products and real forms, and of axes."""
    sizes: Counter[int] = Counter()
    here = [d]
    while here:
        size = here.pop()
        if size > 1 and steps[size].kind == "sum":
            here += [steps[size].size, size - steps[size].size]
        else:
            sizes[size] += 1
    axes = sizes.pop(1, 0)
    return _sum(d, [(count, _leaf(size, steps)) for size, count in sorted(sizes.items(), reverse=True)], axes)


def _leaf(d: int, steps: list[Step]) -> Construction:
    _, size, member, complex_steps = steps[d]
    if member is not None:
        return member
    if complex_steps is not None:
        return _real_form_of(_combined(d // 2, complex_steps), size)
    a, b = _combined(size, steps), _combined(d // size, steps)
    return Construction(
        f"({a.name}) ⊗ ({b.name})", d, a.n * b.n, max(a.coherence, b.coherence), _field(a, b), a.exact and b.exact,
        partial(_product, a.build, b.build), _sources(a, b), a.quick and b.quick,
    )  # fmt: skip


def _sum(d: int, parts: list[tuple[int, Construction]], axes: int) -> Construction:
    leaves = [c for _, c in parts]
    if not leaves:
        return catalogue(d, "real")[0]  # the orthonormal basis
    if sum(count for count, _ in parts) == 1 and not axes:
        return leaves[0]
    names = [f"{f'{count} × ' if count > 1 else ''}{c.name} [{c.d}]" for count, c in parts]
    return Construction(
        " ⊕ ".join([*names, *([f"{axes} {'axes' if axes > 1 else 'axis'}"] if axes else [])]),
        d,
        sum(count * c.n for count, c in parts) + axes,
        max(c.coherence for c in leaves),
        _field(*leaves),
        all(c.exact for c in leaves),
        partial(_orthogonal, [(count, c.build) for count, c in parts], axes),
        _sources(*leaves),
        all(c.quick for c in leaves),
    )


def _field(*parts: Construction) -> str:
    return "complex" if any(c.field == "complex" for c in parts) else "real"


def _sources(*parts: Construction) -> str:
    return "; ".join(dict.fromkeys(c.source for c in parts if c.source))


def _orthogonal(parts: list[tuple[int, Callable[[], np.ndarray]]], axes: int) -> Shaped[np.ndarray, "n d"]:
    blocks = [block for count, build in parts for block in [build()] * count]
    return block_diag(*blocks, *([np.eye(axes)] if axes else []))


def _product(first: Callable[[], np.ndarray], second: Callable[[], np.ndarray]) -> Shaped[np.ndarray, "n d"]:
    return np.kron(first(), second())


def _real_form_of(c: Construction, phases: int) -> Construction:
    name = f"real form of {c.name}" + (f", {phases} phases" if phases > 2 else "")
    coherence = max(c.coherence, math.cos(math.pi / phases) if phases > 2 else 0.0)
    build = partial(_real_form, c.build, phases)
    return Construction(name, 2 * c.d, phases * c.n, coherence, "real", c.exact, build, c.source, c.quick)


def _real_form(build: Callable[[], np.ndarray], phases: int) -> Float64[np.ndarray, "n d"]:
    """e^{iπj/k} u for j < k and every row u, as (Re, Im)."""
    lines = build()
    turned = [np.exp(1j * math.pi * j / phases) * lines for j in range(phases)]
    return np.vstack([np.hstack([part.real, part.imag]) for part in turned])


def _copies(d: int, eps: Number, field: str) -> Construction:
    """The best of: ⌊d/d'⌋ orthogonal copies of a construction, or of its real form, in a dimension d' near below."""
    found = [c for size in _just_below(d) for c in catalogue(size, field)]
    if field == "real":
        for size in _just_below(d // 2):
            found += [_real_form_of(c, number_of_phases(eps)) for c in catalogue(size, "complex")]
    fitting = [c for c in found if c.coherence <= eps * (1 + 1e-12) and c.n < HUGE]
    best = max(fitting, key=lambda c: d // c.d * (c.n - c.d))
    return _sum(d, [(d // best.d, best)], d % best.d) if best.coherence else catalogue(d, "real")[0]


def _just_below(d: int) -> list[int]:
    """Dimensions of large members: d, powers of 2, a prime power and one less than a prime power."""
    sizes = {d, 1 << (d.bit_length() - 1), 1 << ((d.bit_length() - 1) // 2 * 2)}
    if d <= 10**12:  # beyond, trial division takes seconds for each number
        sizes |= {next(q for q in range(d + less, 1, -1) if prime_power(q)) - less for less in (0, 1)}
    return sorted(sizes)
