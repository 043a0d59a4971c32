"""Stabilizer states and the lines of the Barnes-Wall lattices: quadratic phases on affine subspaces of GF(p)^m.

A state is constant in modulus on an affine subspace A of dimension k and carries a quadratic phase there. Subspaces,
cosets, forms and linear phases together are p^m ∏_{i≤m} (p^i + 1) lines of C^{p^m} (Gross 2006, "Hudson's theorem for
finite-dimensional quantum systems", Corollary 21), of coherence 1/√p. Real phases (p = 2) with k ≡ m mod 2 are the
shortest vectors of the Barnes-Wall lattice up to sign: ½ ∏_{i≤m} (2^i + 2) lines of R^{2^m} at 1/2 (Barnes & Wall 1959;
Conway & Sloane, "Sphere Packings, Lattices and Groups", ch. 8, Sec. 8); both parities together have coherence 1/√2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Complex128, Float64, Int64


def number_of_stabilizer_states(p: int, m: int) -> int:
    """p^m ∏_{i=1}^m (p^i + 1) for a prime p and m ≥ 1."""
    return p**m * math.prod(p**i + 1 for i in range(1, m + 1))


def number_of_barnes_wall_lines(m: int) -> int:
    """½ ∏_{i=1}^m (2^i + 2): half the kissing number of the Barnes-Wall lattice in dimension 2^m."""
    return math.prod(2**i + 2 for i in range(1, m + 1)) // 2


def stabilizer_states(p: int, m: int) -> Complex128[np.ndarray, "n d"]:
    """All stabilizer states of m qudits of prime dimension p: lines of C^{p^m} at 1/√p."""
    roots = np.exp(2j * np.pi * np.arange(max(p, 4)) / (4 if p == 2 else p))
    states = [np.zeros((0, p**m), complex)]
    for k in range(m + 1):
        phases = roots[_quadratic_exponents(p, k)] / math.sqrt(p**k)
        states += [_placed(phases, points, p**m) for points in _affine_subspaces(p, m, k)]
    return np.vstack(states)


def barnes_wall(m: int) -> Float64[np.ndarray, "n d"]:
    """½ ∏_{i≤m} (2^i + 2) lines of R^d, d = 2^m, at 1/2: the shortest vectors of the Barnes-Wall lattice."""
    return _real_states(m, range(m % 2, m + 1, 2))


def real_stabilizer_states(m: int) -> Float64[np.ndarray, "n d"]:
    """∏_{i≤m} (2^i + 2) lines of R^d, d = 2^m, at 1/√2: the real stabilizer states of m qubits."""
    return _real_states(m, range(m + 1))


def _real_states(m: int, ranks: range) -> Float64[np.ndarray, "n d"]:
    states = []
    for k in ranks:
        signs = _real_signs(k) / math.sqrt(2**k)
        states += [_placed(signs, points, 2**m) for points in _affine_subspaces(2, m, k)]
    return np.vstack(states)


def _placed(values: np.ndarray, points: np.ndarray, d: int) -> np.ndarray:
    out = np.zeros((len(values), d), values.dtype)
    out[:, points] = values
    return out


def _quadratic_exponents(p: int, k: int) -> Int64[np.ndarray, "forms points"]:
    """Exponents of all quadratic phases of y in GF(p)^k without constant: of i for p = 2, of e^{2πi/p} otherwise."""
    y = _words(p, k)
    pairs = itertools.combinations(range(k), 2)
    mixed = np.array([y[:, i] * y[:, j] for i, j in pairs], int).reshape(-1, len(y))
    if p == 2:  # i^{y} and (−1)^{y}: i^{a y + 2 b y + 2 c y y'}
        terms, order = np.vstack([y.T, 2 * y.T, 2 * mixed]), 4
    else:
        terms, order = np.vstack([y.T**2, y.T, mixed]), p
    return _words(p, len(terms)) @ terms % order


def _real_signs(k: int) -> Float64[np.ndarray, "forms points"]:
    """(−1)^{b·y + Σ c_ij y_i y_j} for all b and c."""
    y = _words(2, k)
    mixed = (y[:, i] * y[:, j] for i, j in itertools.combinations(range(k), 2))
    terms = np.array([*y.T, *mixed], int).reshape(-1, len(y))
    return 1.0 - 2 * (_words(2, len(terms)) @ terms % 2)


def _words(p: int, length: int) -> Int64[np.ndarray, "words length"]:
    """GF(p)^length in lexicographic order."""
    return np.array(list(itertools.product(range(p), repeat=length)), int).reshape(p**length, length)


def _affine_subspaces(p: int, m: int, k: int) -> Iterator[Int64[np.ndarray, " points"]]:
    """The affine subspaces of dimension k of GF(p)^m, points as numbers in base p, in the order of their parameters.

    Subspaces by their reduced echelon form, each with its cosets by the coordinates that are no pivots.
    """
    place, y = p ** np.arange(m)[::-1], _words(p, k)
    for pivots in itertools.combinations(range(m), k):
        others = [j for j in range(m) if j not in pivots]
        free = [(i, j) for i, pivot in enumerate(pivots) for j in others if j > pivot]
        for entries in itertools.product(range(p), repeat=len(free)):
            basis = np.zeros((k, m), int)
            basis[range(k), list(pivots)] = 1
            for (i, j), value in zip(free, entries, strict=True):
                basis[i, j] = value
            for shift in _words(p, len(others)):
                origin = np.zeros(m, int)
                origin[others] = shift
                yield (y @ basis + origin) % p @ place
