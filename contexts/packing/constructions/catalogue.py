"""The catalogue of explicit packings: for a dimension, all that are known here, with their (n, d, ε) before building.

:func:`catalogue` lists the constructions of one dimension, :func:`members` those of all dimensions up to one. Each
states a coherence that its test measures. What they give together, by sums, products and real forms, is in
:mod:`~contexts.packing.constructions.combine`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np

from contexts.packing.constructions import families, frames
from contexts.packing.constructions.configurations import LARGEST_D
from contexts.packing.constructions.construction import Construction
from contexts.packing.constructions.galois import prime_power
from contexts.packing.constructions.sporadic import equally_spaced, sporadic
from contexts.packing.validation import check_field, check_size


def catalogue(d: int, field: str) -> list[Construction]:
    """Every construction of dimension d in the field; real ones count as complex too. Nothing is built."""
    check_size("d", d)
    check_field(field)
    found = [_basis(d), *([_simplex(d)] if d > 1 else []), *sporadic(d)]
    for q in sorted(_roots(d)):
        power = prime_power(q)
        if power:
            found += families.of_prime_power(*power, d)
    found += families.of_factors(d)
    for m in range(1, d.bit_length() + 1):
        found += families.of_power_of_two(m, d)
    for kind in families.DESIGNS:
        for order in _orders(kind, d):
            found += families.of_design(kind, order, d)
    return [c for c in found if c.d == d and (field == "complex" or c.field == "real")]


def members(top: int, field: str, eps: float) -> Iterator[Construction]:
    """The constructions with coherence at most ε of every dimension up to ``top``, some dominated ones left out.

    Orthonormal bases and all but the smallest simplex are left out (orthogonal sums give them); of a family of growing
    degree only the largest member is listed.
    """
    for c in _all_members(top, eps):
        if c.coherence <= eps * (1 + 1e-12) and (field == "complex" or c.field == "real"):
            yield c


def _all_members(top: int, eps: float) -> Iterator[Construction]:
    smallest = max(2, math.ceil(1 / eps * (1 - 1e-12)))
    if smallest <= top:
        yield _simplex(smallest)
    if top >= 2 and eps < 1:
        yield equally_spaced(math.floor(math.pi / math.acos(eps) * (1 + 1e-12)))
    for _, p, k in _prime_powers(2 * top + 1):
        yield from families.of_prime_power(p, k, top, eps)
    for m in range(1, top.bit_length() + 1):
        yield from families.of_power_of_two(m, top, eps)
    for d in range(6, top + 1):
        yield from families.of_factors(d)
    for kind, (blocks, _, _) in families.DESIGNS.items():
        order = 2
        while blocks(order) <= top:
            yield from families.of_design(kind, order, top)
            order += 1
    for d in range(2, min(top, LARGEST_D) + 1):
        yield from _sporadic(d)


@cache
def _sporadic(d: int) -> tuple[Construction, ...]:
    return tuple(sporadic(d))


@lru_cache(maxsize=8)
def _prime_powers(top: int) -> tuple[tuple[int, int, int], ...]:
    """(q, p, k) of all prime powers q = p^k up to ``top``, by the sieve of Eratosthenes."""
    prime = np.ones(top + 1, bool)
    prime[:2] = False
    for p in range(2, math.isqrt(top) + 1):
        if prime[p]:
            prime[p * p :: p] = False
    found = []
    for p in np.flatnonzero(prime).tolist():
        q, k = p, 1
        while q <= top:
            found.append((q, p, k))
            q, k = q * p, k + 1
    return tuple(sorted(found))


def _roots(d: int) -> set[int]:
    """The q for which a family of prime powers may have a member of dimension d."""
    near = {round(d ** (1 / n)) + shift for n in range(1, d.bit_length() + 1) for shift in (-1, 0, 1, 2)}
    twins = {math.isqrt(2 * d + shift) for shift in (0, 1, 2)}  # (p(p + 2) − 1)/2
    quartic = {4 * d + shift for shift in (1, -3)} | {(4 * d + shift) // 3 for shift in (-1, 3)}
    return {q for q in near | twins | quartic | {d, d + 1, 2 * d - 1, 2 * d + 1} if q >= 2}


def _orders(kind: str, d: int) -> set[int]:
    """The orders of designs of which a frame or its complement has dimension d: all grow with the order."""
    blocks, points, degree = families.DESIGNS[kind]
    orders = range(2, math.isqrt(6 * d) + 5)
    found = set()
    sizes = [blocks, lambda v: points(v) * (degree(v) + 1) - blocks(v)]
    if kind == "triples":  # Tremain's frames
        sizes += [lambda v: (v + 2) * (v + 3) // 6, lambda v: v * (v + 2) // 3]
    for size in sizes:
        place = bisect.bisect_left(orders, d, key=size)
        if place < len(orders) and size(orders[place]) == d:
            found.add(orders[place])
    return found


def _basis(d: int) -> Construction:
    return Construction("orthonormal basis", d, d, 0.0, "real", True, lambda: np.eye(d))


def _simplex(d: int) -> Construction:
    return Construction("simplex", d, d + 1, 1 / d, "real", True, lambda: frames.simplex(d))
