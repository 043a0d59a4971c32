"""Anisotropy of embeddings: the dimensions in use, and the vectors without the directions that they have in common.

The centred matrices are computed one block at a time (:class:`~contexts.packing.measure.gram.CenteredView`).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Inexact, Shaped

from contexts.packing.measure.gram import CenteredView, Matrix, blocks, check_matrix, largest, normalise, slices


def centring(vectors: Shaped[np.ndarray, ...]) -> CenteredView:
    """Rows minus their mean. Real embeddings share a common direction that raises every cosine.

    Divided by the largest entry where that lies beyond 1e±100, whose squares would leave double precision.
    """
    check_matrix(vectors)
    top = max(float(largest(block).max()) for _, block in blocks(vectors))
    scale = 1.0 if top == 0 or 1e-100 < top < 1e100 else top
    mean = sum(((block / scale).sum(axis=0) for _, block in blocks(vectors)), np.zeros(1)) / len(vectors)
    return CenteredView(vectors, mean, np.zeros((vectors.shape[1], 0)), scale)


def removing_the_top(vectors: Shaped[np.ndarray, ...], remove: int | None = None) -> CenteredView:
    """Centred rows with their ``remove`` (default: d/100, at least 1) leading principal components taken out.

    Mu & Viswanath 2018, "All-but-the-Top". Raises ValueError unless 0 ≤ remove < d.
    """
    check_matrix(vectors)
    d = vectors.shape[1]
    remove = max(1, d // 100) if remove is None else remove
    if not 0 <= remove < d:
        raise ValueError(f"can remove 0 to {d - 1} principal components, got {remove}")
    changed = centring(vectors)
    second = np.zeros((d, d), changed.dtype)
    for rows in slices(len(vectors)):
        block = changed[rows]
        second += block.conj().T @ block  # Σ u† u of the rows u: its eigenvectors are columns, met as u · v
    changed.leading = np.linalg.eigh(second)[1][:, d - remove :]
    return changed


def centred(vectors: Shaped[np.ndarray, ...]) -> Inexact[np.ndarray, "n d"]:
    """:func:`centring` as a matrix."""
    return centring(vectors)[:]


def all_but_the_top(vectors: Shaped[np.ndarray, ...], remove: int | None = None) -> Inexact[np.ndarray, "n d"]:
    """:func:`removing_the_top` as a matrix."""
    return removing_the_top(vectors, remove)[:]


def effective_dimension(vectors: Matrix) -> float:
    """Participation ratio (Σλ)²/Σλ² of the spectrum of Σ u u†, u the unit vectors: d if isotropic, 1 if parallel."""
    check_matrix(vectors)
    second = np.zeros((vectors.shape[1],) * 2, np.complex128 if np.iscomplexobj(vectors) else np.float64)
    for rows in slices(len(vectors)):
        block = normalise(vectors[rows])
        second += block.conj().T @ block
    return float(np.trace(second).real ** 2 / np.linalg.norm(second) ** 2)
