"""Sparse packings: flat vectors on blocks of coordinates, any two of which share at most one coordinate.

Two vectors on different blocks of w coordinates meet in at most one, where each has modulus 1/√w: so |⟨u,v⟩| ≤ 1/w.
On one block there is room for w + 1 vectors at 1/w (the rows of a Hadamard or Fourier matrix of order w + 1 without a
column, a simplex) or, in R^w with a Hadamard matrix of order w only, for w orthogonal ones. Steiner equiangular tight
frames (Fickus, Mixon & Tremain 2012) are those whose blocks are dual to a design; here the blocks are any packing of
pairs, so that every d has some. Pairs of coordinates give the roots of D_d.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from jaxtyping import Inexact, Int64

from contexts.packing.constructions.designs import design_incidence, most_triples, triples
from contexts.packing.constructions.galois import prime_power
from contexts.packing.constructions.matrices import hadamard

LARGEST_D = 200  # dimensions beyond which no blocks are looked for
LARGEST_TRIPLES = 100  # and no triples: hill climbing takes seconds there
ORDERS = range(2, 14)  # of the planes whose lines serve as blocks


def lines_per_block(size: int, field: str) -> int:
    """Flat vectors at coherence ≤ 1/size on one block: size + 1, size or, where no Hadamard matrix is known, 0."""
    if field == "complex" or hadamard(size + 1) is not None:
        return size + 1
    return size if hadamard(size) is not None else 0


def block_sizes(d: int) -> list[int]:
    """Sizes w for which d coordinates have blocks of w that cover more than a few of their pairs."""
    if not 2 <= d <= LARGEST_D:
        return []
    planes = {q for q in ORDERS if prime_power(q) and (q - 1) ** 2 < d <= q * q}
    planes |= {q + 1 for q in ORDERS if prime_power(q) and q * q < d <= q * q + q + 1}
    return sorted({2, *planes, *({3} if 6 <= d <= LARGEST_TRIPLES else ())})


def number_of_blocks(d: int, size: int) -> int:
    """How many blocks :func:`blocks` finds; for triples ⌊d/3 ⌊(d−1)/2⌋⌋, less 1 if d ≡ 5 mod 6 (Spencer 1968)."""
    if size == 2:
        return d * (d - 1) // 2
    if size == 3:
        return most_triples(d)
    return len(blocks(d, size))


@lru_cache(maxsize=64)
def blocks(d: int, size: int) -> Int64[np.ndarray, "blocks size"]:
    """Blocks of ``size`` of the d coordinates, any two sharing at most one, as a (number, size) array.

    All pairs; triples by hill climbing to the most there can be; else lines of an affine or projective plane with
    points removed, those that leave the most lines. Raises ValueError where none is known.
    """
    if size == 2:
        return np.array(list(itertools.combinations(range(d), 2)), int).reshape(-1, 2)
    if size == 3:
        return triples(d)
    thinned = [_thinned(kind, q, d) for kind, q in (("affine", size), ("projective", size - 1)) if prime_power(q)]
    found = [lines for lines in thinned if lines is not None]
    if not found:
        raise ValueError(f"no blocks of {size} of {d} coordinates are known")
    return max(found, key=len)


def sparse(d: int, size: int, field: str) -> Inexact[np.ndarray, "n d"]:
    """The packing: :func:`lines_per_block` unit vectors on each of :func:`blocks`, at coherence 1/size.

    Raises ``ValueError`` where no Hadamard matrix of the size is known.
    """
    number = lines_per_block(size, field)
    if not number:
        raise ValueError(f"no Hadamard matrix of order {size} or {size + 1} is known")
    real = hadamard(number)
    powers = np.outer(np.arange(number), np.arange(number))
    square = real if real is not None else np.exp(2j * np.pi * powers / number)
    flat = square[:, number - size :] / np.sqrt(size)
    members = blocks(d, size)
    out = np.zeros((len(members), number, d), flat.dtype)
    for block, rows in zip(members, out, strict=True):
        rows[:, block] = flat
    return out.reshape(-1, d)


def _thinned(kind: str, q: int, d: int) -> np.ndarray | None:
    """The lines of a plane of order q that avoid all but d of its points; None if it has too few points."""
    incidence = design_incidence(kind, q).astype(bool)
    if incidence.shape[1] < d:
        return None
    while incidence.shape[1] > d:
        through = incidence.sum(axis=0)  # the point in the fewest of the lines left goes first
        gone = int(np.argmin(through))
        incidence = np.delete(incidence[~incidence[:, gone]], gone, axis=1)
    return np.array([np.flatnonzero(row) for row in incidence], int).reshape(len(incidence), -1)
