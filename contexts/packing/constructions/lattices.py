"""Lines through the shortest vectors of E8 and of the Leech lattice, and the famous line systems inside them."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
from jaxtyping import Float64, Int64


def e8() -> Float64[np.ndarray, "120 8"]:
    """120 lines of R^8 at 1/2 (the roots of E8 up to sign): the most possible (Delsarte, Goethals & Seidel 1977)."""
    roots = []
    for i, j in itertools.combinations(range(8), 2):
        for sign in (1, -1):
            root = np.zeros(8)
            root[i], root[j] = 1, sign
            roots.append(root)
    for signs in itertools.product((0.5, -0.5), repeat=7):
        last = 0.5 * (-1) ** sum(s < 0 for s in signs)
        if signs[0] > 0:
            roots.append(np.array([*signs, last]))
    return np.array(roots) / math.sqrt(2)


def e7() -> Float64[np.ndarray, "63 7"]:
    """63 lines of R^7 at 1/2: the roots of E8 orthogonal to one."""
    return orthogonal_part(e8(), e8()[:1])


def e6() -> Float64[np.ndarray, "36 6"]:
    """36 lines of R^6 at 1/2: the roots of E8 orthogonal to two that meet at 60 degrees."""
    lines = e8()
    second = np.flatnonzero(np.abs(np.abs(lines @ lines[0]) - 0.5) < 1e-9)[0]
    return orthogonal_part(lines, lines[[0, second]])


def golay() -> Int64[np.ndarray, "4096 24"]:
    """The 4096 words of the extended binary Golay code (24, 12, 8), a quadratic-residue code with a parity bit."""
    residues = {x * x % 23 for x in range(1, 23)}
    # generator of the cyclic code: shifts of the idempotent made of the residues or non-residues
    word = np.array([int(k in residues) for k in range(23)])
    rows = np.array([np.roll(word, k) for k in range(23)])
    basis = _binary_basis(np.hstack([rows, rows.sum(axis=1, keepdims=True) % 2]))
    coefficients = np.array(list(itertools.product((0, 1), repeat=len(basis))))
    return coefficients @ basis % 2


@lru_cache(maxsize=1)
def leech() -> Float64[np.ndarray, "98280 24"]:
    """98 280 lines of R^24 at 1/2: the shortest vectors of the Leech lattice up to sign, the most possible.

    Conway & Sloane, "Sphere Packings, Lattices and Groups", ch. 4, Sec. 11. An 18 MB array.
    """
    words = golay()
    octads = words[words.sum(axis=1) == 8]
    signs = np.array([s for s in itertools.product((1, -1), repeat=8) if np.prod(s) > 0 and s[0] > 0])
    parts = []
    for octad in octads:
        block = np.zeros((len(signs), 24))
        block[:, octad == 1] = 2 * signs
        parts.append(block)
    pairs = np.zeros((2 * 276, 24))
    for k, (i, j) in enumerate(itertools.combinations(range(24), 2)):
        pairs[2 * k, [i, j]] = 4, 4
        pairs[2 * k + 1, [i, j]] = 4, -4
    parts.append(pairs)
    for place in range(24):  # (∓3, ±1^23), the upper signs on a codeword; one of each ± pair
        block = 1 - 2.0 * words
        block[:, place] *= -3
        parts.append(block)
    vectors = np.vstack(parts) / math.sqrt(32)
    leading = np.take_along_axis(vectors, np.argmax(vectors != 0, axis=1)[:, None], axis=1)
    lines = np.unique(np.round(vectors * np.sign(leading) * math.sqrt(32)), axis=0) / math.sqrt(32)
    lines.flags.writeable = False  # kept for the systems made of it
    return lines


def equiangular_276() -> Float64[np.ndarray, "276 23"]:
    """276 equiangular lines of R^23 at 1/5, the most possible: pairs of Leech vectors with a given sum of norm 6.

    Lemmens & Seidel 1973; Conway & Sloane, ch. 10.
    """
    total, halves, _ = pairs_of_a_sum()
    return in_the_orthogonal_space(halves, total[None, :])


def pairs_of_a_sum() -> tuple[
    Float64[np.ndarray, " 24"], Float64[np.ndarray, "halves 24"], Float64[np.ndarray, "vectors 24"]
]:
    """A sum s of norm 6 of two Leech vectors of norm 4, the unit differences of all pairs with it, all such vectors."""
    lines = leech() * 2  # the usual scale: norm 4, inner products 0, ±1, ±2
    vectors = np.vstack([lines, -lines])
    x = vectors[0]
    total = x + vectors[np.flatnonzero(np.abs(vectors @ x + 1) < 1e-9)[0]]  # norm 4 + 4 − 2 = 6
    members = vectors[np.abs(vectors @ total - 3) < 1e-9]
    differences = 2 * members - total
    leading = np.take_along_axis(differences, np.argmax(np.abs(differences) > 1e-9, axis=1)[:, None], axis=1)
    half = np.unique(np.round(differences * np.sign(leading), 9), axis=0)
    return total, half / np.linalg.norm(half, axis=1, keepdims=True), vectors


def orthogonal_part(
    lines: Float64[np.ndarray, "n d"], removed: Float64[np.ndarray, "k d"]
) -> Float64[np.ndarray, "m less"]:
    """The lines orthogonal to all rows of ``removed``, in coordinates of the space orthogonal to these."""
    return in_the_orthogonal_space(lines[np.abs(lines @ removed.T).max(axis=1) < 1e-9], removed)


def in_the_orthogonal_space(
    lines: Float64[np.ndarray, "n d"], removed: Float64[np.ndarray, "k d"]
) -> Float64[np.ndarray, "n less"]:
    """The same lines in coordinates of the space orthogonal to the rows of ``removed``."""
    basis = np.linalg.svd(removed)[2][len(removed) :]
    return lines @ basis.T


def _binary_basis(rows: np.ndarray) -> np.ndarray:
    rows, rank = rows.copy() % 2, 0
    for column in range(rows.shape[1]):
        pivots = np.flatnonzero(rows[rank:, column])
        if not len(pivots):
            continue
        rows[[rank, rank + pivots[0]]] = rows[[rank + pivots[0], rank]]
        others = np.flatnonzero(rows[:, column])
        rows[others[others != rank]] ^= rows[rank]
        rank += 1
    return rows[:rank]
