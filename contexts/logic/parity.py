"""Parity proofs: an odd number of contexts in which every atom occurs an even number of times.

Each context has exactly one true atom, so an odd number of true ones in all; each atom counts an even number of times:
no two-valued state exists (Peres; Kernaghan; Waegell & Aravind, J. Phys. A 44, 505303 (2011)). Whether there is such a
proof is linear algebra over GF(2), and so is that there is none: then some set of atoms meets every context in an odd
number of atoms, and conversely.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from contexts.hypergraphs.hypergraph import Hypergraph, bits

ENUMERATED = 20
"""Dimension of the space of parity proofs up to which all of them are counted by size."""


@dataclass(frozen=True)
class Parity:
    """``proof``: positions of contexts; or ``odd_set``: atoms that meet every context an odd number of times.

    ``number`` of parity proofs (a power of 2, or 0); ``sizes`` maps each size to how many have it, None where there are
    more than 2^``ENUMERATED``; ``smallest`` says whether no proof has fewer contexts than the one given.
    """

    proof: list[int] | None
    odd_set: list[str] | None
    number: int
    sizes: dict[int, int] | None
    smallest: bool


def parity_proof(h: Hypergraph, seconds: float = 10.0) -> Parity:
    """A smallest parity proof, or the set of atoms that shows that there is none.

    Past 2^``ENUMERATED`` proofs a smallest one is searched by integer programming, at most for ``seconds``.
    """
    particular, kernel = _solve(h)
    if particular is None:
        odd = _odd_set(h)
        if odd is None:
            raise AssertionError("neither a parity proof nor a set that excludes one")
        return Parity(None, odd, 0, {}, False)
    if len(kernel) <= ENUMERATED:
        proof, sizes = _all(particular, kernel)
        return Parity(bits(proof), None, 1 << len(kernel), sizes, True)
    proof, smallest = _shorter(h, particular, seconds)
    return Parity(bits(proof), None, 1 << len(kernel), None, smallest)


def is_parity_proof(h: Hypergraph, positions: list[int]) -> bool:
    """Whether these contexts are an odd number and every atom lies in an even number of them."""
    count = Counter(v for i in positions for v in h.contexts[i])
    return len(set(positions)) == len(positions) and len(positions) % 2 == 1 and all(n % 2 == 0 for n in count.values())


def _solve(h: Hypergraph) -> tuple[int | None, list[int]]:
    """A set of contexts as a bitmask with every atom even and itself odd (None if there is none), and a basis of the
    sets with every atom even and an even number of contexts.
    """
    odd = 1 << len(h.vertices)  # one more row: the number of contexts
    return _combine([mask | odd for mask in h.context_masks], odd)


def _odd_set(h: Hypergraph) -> list[str] | None:
    """Atoms that meet every context in an odd number of atoms, or None."""
    columns = [sum(1 << k for k, mask in enumerate(h.context_masks) if mask >> i & 1) for i in range(len(h.vertices))]
    found = _combine(columns, (1 << len(h.contexts)) - 1)[0]
    return None if found is None else [h.vertices[i] for i in bits(found)]


def _combine(vectors: list[int], target: int) -> tuple[int | None, list[int]]:
    """Which vectors over GF(2) (bitmasks) sum to the target, None if none do; a basis of those that sum to zero."""
    pivots: dict[int, tuple[int, int]] = {}
    kernel = []

    def reduced(vector: int, which: int) -> tuple[int, int]:
        while vector and (top := vector.bit_length()) in pivots:
            vector, which = vector ^ pivots[top][0], which ^ pivots[top][1]
        return vector, which

    for k, vector in enumerate(vectors):
        rest, which = reduced(vector, 1 << k)
        if rest:
            pivots[rest.bit_length()] = (rest, which)
        else:
            kernel.append(which)
    rest, which = reduced(target, 0)
    return (None if rest else which), kernel


def _all(particular: int, kernel: list[int]) -> tuple[int, dict[int, int]]:
    """The first smallest of particular + span(kernel), and how many there are of each size (in Gray code's order)."""
    best, current, sizes = particular, particular, Counter([particular.bit_count()])
    for k in range(1, 1 << len(kernel)):
        current ^= kernel[(k & -k).bit_length() - 1]
        size = current.bit_count()
        sizes[size] += 1
        if size < best.bit_count():
            best = current
    return best, dict(sorted(sizes.items()))


def _shorter(h: Hypergraph, particular: int, seconds: float) -> tuple[int, bool]:
    """A smallest parity proof by integer programming, or the best known, and whether it is proved the smallest.

    Minimise Σx over x ∈ {0, 1}^m, whole y, z: incidence · x = 2y and Σx = 2z + 1.
    """
    n, m = len(h.vertices), len(h.contexts)
    rows = np.zeros((n + 1, m + n + 1))
    for k, mask in enumerate(h.context_masks):
        rows[bits(mask), k] = 1
    rows[n, :m] = 1
    rows[:, m:] = -2 * np.eye(n + 1)
    target = np.append(np.zeros(n), 1)
    answer = milp(
        np.append(np.ones(m), np.zeros(n + 1)),
        constraints=LinearConstraint(rows, target, target),
        integrality=np.ones(m + n + 1),
        bounds=Bounds(np.zeros(m + n + 1), np.append(np.ones(m), np.full(n + 1, float(m)))),
        options={"time_limit": seconds, "mip_rel_gap": 0},
    )
    if answer.x is None:
        return particular, False
    found = [k for k in range(m) if answer.x[k] > 0.5]
    if not is_parity_proof(h, found):
        return particular, False
    better = sum(1 << k for k in found)
    return (better, answer.status == 0) if len(found) <= particular.bit_count() else (particular, False)
