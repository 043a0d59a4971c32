"""Block designs: systems of blocks of points that any two points share at most once."""

from __future__ import annotations

import itertools
import random

import numpy as np
from jaxtyping import Int64

from contexts.packing.constructions.galois import galois_field


def design_incidence(kind: str, order: int) -> Int64[np.ndarray, "blocks points"]:
    """Block-point incidence, with every point in the same number of blocks and two points in exactly one.

    ``kind``: "pairs" or "triples" (of ``order`` points, ≡ 1 or 3 mod 6 for triples), "affine" or "projective" (plane of
    prime-power ``order``). Raises ``ValueError`` for an unknown kind.
    """
    if kind == "pairs":
        rows = [[int(k in pair) for k in range(order)] for pair in itertools.combinations(range(order), 2)]
        return np.array(rows)
    if kind == "triples":
        if order % 6 not in (1, 3):
            raise ValueError(f"triples cover all pairs of 6k + 1 or 6k + 3 points, got {order}")
        members = triples(order)
        incidence = np.zeros((len(members), order), int)
        np.put_along_axis(incidence, members, 1, axis=1)
        return incidence
    field, e = galois_field(order), np.arange(order)
    x, y = np.repeat(e, order), np.tile(e, order)
    lines = [field.sum(field.product(np.array(a), x), np.array(b)) == y for a in e for b in e] + [x == c for c in e]
    affine = np.array(lines, int)
    if kind == "affine":
        return affine
    if kind != "projective":
        raise ValueError(f"a design here is 'pairs', 'triples', 'affine' or 'projective', got {kind!r}")
    classes = np.repeat(np.eye(order + 1, dtype=int), order, axis=0)  # a point at infinity for each parallel class
    infinity = np.concatenate([np.zeros(order * order, int), np.ones(order + 1, int)])
    return np.vstack([np.hstack([affine, classes]), infinity])


def most_triples(d: int) -> int:
    """⌊d/3 ⌊(d−1)/2⌋⌋, less 1 if d ≡ 5 mod 6: the most triples of d points that share at most one (Spencer 1968)."""
    return d * ((d - 1) // 2) // 3 - (d % 6 == 5)


def triples(d: int) -> Int64[np.ndarray, "blocks 3"]:
    """As many triples of d points as can be, any two sharing at most one point; all pairs covered for d ≡ 1, 3 mod 6.

    Stinson's hill climbing (1985): join two pairs not covered at a random point, drop the triple in the way.
    """
    rng = random.Random(d)
    free = [set(range(d)) - {a} for a in range(d)]  # the points with which a shares no triple yet
    third: dict[tuple[int, int], int] = {}
    missing = most_triples(d)
    while missing:
        a = rng.randrange(d)
        if len(free[a]) < 2:
            continue
        b, c = rng.sample(sorted(free[a]), 2)
        old = third.get((b, c))
        if old is not None:
            for x, y in itertools.permutations((b, c, old), 2):
                del third[x, y]
                free[x].add(y)
            missing += 1
        for x, y, z in itertools.permutations((a, b, c)):
            third[x, y] = z
            free[x].discard(y)
        missing -= 1
    return np.array([(x, y, z) for (x, y), z in sorted(third.items()) if x < y < z], int)
