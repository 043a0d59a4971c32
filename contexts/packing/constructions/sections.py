"""Sections of famous line systems: the lines of one that are orthogonal to some vectors, in the space that is left.

Counts of lines by dimension are tables here, checked by the tests; the lines are found anew when they are built.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from contexts.packing.constructions.lattices import (
    golay,
    in_the_orthogonal_space,
    leech,
    orthogonal_part,
    pairs_of_a_sum,
)
from contexts.packing.constructions.stabilizer import barnes_wall, real_stabilizer_states

#: lines through the shortest vectors of the laminated lattices (those with the most), half the kissing number
LAMINATED = {
    9: 136, 10: 168, 11: 219, 12: 324, 13: 453, 14: 711, 15: 1170,
    17: 2673, 18: 3699, 19: 5334, 20: 8700, 21: 13_860, 22: 24_948, 23: 46_575,
}  # fmt: skip
#: lines at 1/3 of the sections of a tight spherical 7-design, the 2300 lines of R^23
THIRDS = {15: 160, 16: 256, 17: 288, 18: 352, 19: 448, 20: 640, 21: 896, 22: 1408, 23: 2300}
#: equiangular lines at 1/5 of the sections of the 276 lines of R^23
FIFTHS = {17: 48, 18: 56, 19: 72, 20: 90, 21: 126, 22: 176}

# E8 by simple roots: A1, A2, A3, D4, D5, E6, E7, E8 by taking them one after the other, each with those it meets
_CHAIN = ((), (0,), (0,), (0,), (1,), (3,), (5,), (6,))


def laminated(d: int) -> Float64[np.ndarray, "n d"]:
    """Lines of R^d at 1/2, 9 ≤ d ≤ 23: shortest vectors of the laminated lattices, for d = 11, 12, 13 the densest.

    Sections of the Leech lattice orthogonal to A1, A2, A3, D4, D5, E6, E7 and of the Barnes-Wall lattice of R^16
    orthogonal to these in its dual (Conway & Sloane 1982, "Laminated lattices").
    """
    if d > 16:
        lines, roots = leech(), leech()
        inside = next(word for word in golay() if word.sum() == 8)
        removed = _chain(roots[~(np.abs(roots[:, inside == 0]) > 1e-9).any(axis=1)], 24 - d)
    else:
        lines, roots = barnes_wall(4), real_stabilizer_states(4)
        dual = roots[np.count_nonzero(np.abs(roots) > 1e-9, axis=1) % 3 == 2]  # on 2 or 8 points: the other parity
        removed = _chain(dual[~(np.abs(dual[:, 8:]) > 1e-9).any(axis=1)], 16 - d)
    return orthogonal_part(lines, removed)


def thirds(d: int) -> Float64[np.ndarray, "n d"]:
    """Lines of R^d at 1/3, 15 ≤ d ≤ 23: Leech vectors at 60 degrees to one, projected beside it, and their sections.

    In R^23 a tight spherical 7-design, the most possible (Delsarte, Goethals & Seidel 1977).
    """
    lines = leech()
    near = lines[np.abs(np.abs(lines @ lines[0]) - 0.5) < 1e-9]
    near = near * np.sign(near @ lines[0])[:, None] - lines[0] / 2
    near = in_the_orthogonal_space(_one_of_each(near), lines[:1])
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    return _greedy_section(near, 23 - d, near)


def fifths(d: int) -> Float64[np.ndarray, "n d"]:
    """Equiangular lines of R^d at 1/5, 17 ≤ d ≤ 22: sections of the 276 lines of R^23 (Lemmens & Seidel 1973)."""
    total, halves, vectors = pairs_of_a_sum()
    mirrors = vectors[np.abs(vectors @ total - 2) < 1e-9][:300] - total / 3
    mirrors /= np.linalg.norm(mirrors, axis=1, keepdims=True)
    together = in_the_orthogonal_space(np.vstack([halves, mirrors]), total[None, :])
    return _greedy_section(together[: len(halves)], 23 - d, together[len(halves) :])


def _chain(roots: np.ndarray, length: int) -> np.ndarray:
    """``length`` simple roots out of the 120 lines of an E8, joined as in the Dynkin diagram: the first that fit."""
    both, chosen = np.vstack([roots, -roots]), np.empty((0, roots.shape[1]))
    for meets in _CHAIN[:length]:
        wanted = np.zeros(len(chosen))
        wanted[list(meets)] = -0.5
        fits = np.abs(both @ chosen.T - wanted).max(axis=1, initial=0) < 1e-9
        chosen = np.vstack([chosen, both[np.argmax(fits)]])
    return chosen


def _greedy_section(lines: np.ndarray, steps: int, mirrors: np.ndarray) -> np.ndarray:
    """The lines orthogonal to a mirror, of all mirrors to that with the most; repeated in the space that is left."""
    for _ in range(steps):
        best = mirrors[np.argmax((np.abs(lines @ mirrors.T) < 1e-9).sum(axis=0))][None, :]
        lines, mirrors = orthogonal_part(lines, best), in_the_orthogonal_space(mirrors, best)
        sizes = np.linalg.norm(mirrors, axis=1, keepdims=True)
        mirrors = mirrors[sizes[:, 0] > 1e-6] / sizes[sizes[:, 0] > 1e-6]
    return lines


def _one_of_each(vectors: np.ndarray) -> np.ndarray:
    """One of every row and its negative, compared to 9 digits."""
    leading = np.take_along_axis(vectors, np.argmax(np.abs(vectors) > 1e-9, axis=1)[:, None], axis=1)
    _, places = np.unique(np.round(vectors * np.sign(leading), 9), axis=0, return_index=True)
    return vectors[places]
