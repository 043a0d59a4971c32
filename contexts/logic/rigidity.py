"""How far a set of rays can be bent while its orthogonalities hold: what of a hypergraph can be trained at all.

To first order: the null space of the Jacobian of all ⟨u|v⟩ (adjacent pairs) and all lengths, less the motions that
change nothing, which are rotations of the whole (real: SO(d); complex: U(d)) and each ray's phase.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Inexact, Int

from contexts.hypergraphs.hypergraph import Hypergraph, bits
from contexts.hypergraphs.rays import unit_matrix


def edges_of(h: Hypergraph) -> Int[np.ndarray, "edges 2"]:
    """Exclusive pairs as vertex positions, (edges, 2)."""
    pairs = [(i, j) for i, mask in enumerate(h.neighbour_masks) for j in bits(mask) if i < j]
    return np.array(pairs, dtype=int).reshape(-1, 2)


def jacobian(
    unit: Inexact[np.ndarray, "atoms d"], edges: Int[np.ndarray, "edges 2"]
) -> Float[np.ndarray, "rows coordinates"]:
    """Derivatives of ⟨u|v⟩ for every edge (for complex rays real parts, then imaginary ones) along each coordinate.

    ``unit`` is (atoms, d); columns are the atoms' coordinates, for complex rays all real parts of an atom before its
    imaginary ones.
    """
    n, d = unit.shape
    i, j = edges[:, 0], edges[:, 1]
    rows = np.arange(len(edges))
    if not np.iscomplexobj(unit):
        table = np.zeros((len(edges), n, d))
        table[rows, i] += unit[j]
        table[rows, j] += unit[i]
        return table.reshape(len(edges), n * d)
    a, b = unit.real, unit.imag  # ⟨u|v⟩ = Σ (a−ib)ᵤ(a+ib)ᵥ
    real = np.zeros((len(edges), n, 2, d))
    imaginary = np.zeros_like(real)
    real[rows, i] += np.stack([a[j], b[j]], axis=1)
    real[rows, j] += np.stack([a[i], b[i]], axis=1)
    imaginary[rows, i] += np.stack([b[j], -a[j]], axis=1)
    imaginary[rows, j] += np.stack([-b[i], a[i]], axis=1)
    return np.concatenate([real, imaginary]).reshape(2 * len(edges), 2 * n * d)


def flex(h: Hypergraph, tolerance: float = 1e-7) -> int:
    """Dimension of the infinitesimal flex of ``h.vectors``, beyond rescaling, phases and rotation of the whole.

    0 is rigid. First order only: it is an upper bound on the dimension of actual deformations, and equal to it where
    the realisation space is smooth. Singular values below ``tolerance`` times the largest count as zero.
    """
    unit = unit_matrix(h)
    rows = [jacobian(unit, edges_of(h)), _lengths(unit)]
    free = _nullity(np.concatenate(rows), tolerance)
    return free - _rank(_trivial(unit), tolerance)


def _lengths(unit: np.ndarray) -> np.ndarray:
    n = len(unit)
    flat = np.concatenate([unit.real, unit.imag], axis=1) if np.iscomplexobj(unit) else unit
    width = flat.shape[1]
    table = np.zeros((n, n, width))
    table[np.arange(n), np.arange(n)] = flat
    return table.reshape(n, n * width)


def _trivial(unit: np.ndarray) -> np.ndarray:
    """Velocities of the motions that change no ray's relation: one row a generator."""
    n, d = unit.shape
    moves = []
    for a in range(d):
        for b in range(a):
            g = np.zeros((d, d))
            g[a, b], g[b, a] = 1, -1
            moves.append(unit @ g)
    if not np.iscomplexobj(unit):
        return np.stack(moves).reshape(len(moves), -1)
    for a in range(d):
        for b in range(a + 1):
            g = np.zeros((d, d), dtype=complex)
            g[a, b] = g[b, a] = 1j
            moves.append(unit @ g)
    for k in range(n):
        phase = np.zeros_like(unit)
        phase[k] = 1j * unit[k]
        moves.append(phase)
    stacked = np.stack(moves)
    return np.stack([stacked.real, stacked.imag], axis=2).reshape(len(moves), -1)


def _rank(matrix: np.ndarray, tolerance: float) -> int:
    singular = np.linalg.svd(matrix, compute_uv=False)
    return int(np.sum(singular > tolerance * singular[0])) if singular.size and singular[0] > 0 else 0


def _nullity(matrix: np.ndarray, tolerance: float) -> int:
    return matrix.shape[1] - _rank(matrix, tolerance)
