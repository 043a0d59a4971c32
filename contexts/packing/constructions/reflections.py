"""Lines of mirrors of finite reflection groups: few, highly symmetric, and the best packings known of their size.

Names of groups after Shephard & Todd 1954; the line systems as in Lehrer & Taylor, "Unitary Reflection Groups" (2009),
chapter 8.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from jaxtyping import Complex128, Float64

OMEGA = np.exp(2j * np.pi / 3)


def mitchell() -> Complex128[np.ndarray, "126 6"]:
    """126 lines of C^6 at 1/2, the most possible: the mirrors of G34 (Mitchell 1914).

    45 lines e_i − ω^k e_j and 81 lines (ω^{a_1}, …, ω^{a_6}) with Σ a ≡ 0 mod 3, up to phases.
    """
    lines = []
    for i, j in itertools.combinations(range(6), 2):
        for k in range(3):
            line = np.zeros(6, complex)
            line[i], line[j] = 1, -(OMEGA**k)
            lines.append(line / math.sqrt(2))
    for powers in itertools.product(range(3), repeat=4):
        # the first phase is 0, the last makes the sum a multiple of 3
        exponents = np.array([0, *powers, -sum(powers) % 3])
        lines.append(OMEGA**exponents / math.sqrt(6))
    return np.array(lines)


def burkhardt() -> Complex128[np.ndarray, "45 5"]:
    """45 lines of C^5 at 1/2: the mirrors of G33, those of G34 orthogonal to one (Burkhardt's quartic)."""
    lines = mitchell()
    orthogonal = lines[np.abs(lines @ lines[0].conj()) < 1e-9]
    basis = np.linalg.svd(lines[:1])[2][1:]
    return orthogonal @ basis.conj().T


def witting() -> Complex128[np.ndarray, "40 4"]:
    """40 lines of C^4 at 1/√3: the diameters of Witting's polytope, the mirrors of G32 (Coxeter 1974)."""
    lines = list(np.eye(4, dtype=complex))
    for a, b in itertools.product(range(3), repeat=2):
        u, v = OMEGA**a, OMEGA**b
        lines += [np.array(row) for row in ([0, 1, -u, v], [1, 0, -u, -v], [1, -u, 0, v], [1, u, v, 0])]
    return np.array([line / np.linalg.norm(line) for line in lines])


def six_hundred_cell() -> Float64[np.ndarray, "60 4"]:
    """60 lines of R^4 at cos 36°: the diameters of the 600-cell, the mirrors of H4 (Coxeter, "Regular Polytopes")."""
    golden = (1 + math.sqrt(5)) / 2
    points = [*np.eye(4), *(np.array(signs) / 2 for signs in itertools.product((1, -1), repeat=4) if signs[0] > 0)]
    for order in itertools.permutations(range(4)):
        if sum(order[i] > order[j] for i in range(4) for j in range(i + 1, 4)) % 2:
            continue  # even permutations of (φ, 1, 1/φ, 0)/2 only
        for signs in itertools.product((1, -1), repeat=2):
            point = np.zeros(4)
            point[list(order)] = np.array([golden, signs[0], signs[1] / golden, 0]) / 2
            points.append(point)
    return np.array(points)
