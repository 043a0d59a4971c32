"""Rows of a matrix as lines: made unit, refused where they have no direction, and compared in blocks.

Lines are meant, not points: u and −u (or e^{iφ}u) have |cos| = 1. A matrix may be an array, a mapped file, or one
centred block by block (:class:`CenteredView`), which is never held as a whole.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Inexact

BLOCK = 1024


class CenteredView:
    """The rows of a matrix less their ``mean`` and their part along ``leading`` (d, r), computed one block at a time.

    Stands for a matrix wherever one is measured, without a second copy of it: ``view[rows]`` gives double precision
    rows, divided by ``scale``.
    """

    ndim = 2

    def __init__(self, matrix: np.ndarray, mean: np.ndarray, leading: np.ndarray, scale: float):
        self.matrix, self.mean, self.leading, self.scale = matrix, mean, leading, scale
        self.shape, self.dtype = matrix.shape, mean.dtype

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, rows: slice | list[int]) -> np.ndarray:
        block = np.asarray(self.matrix[rows], self.dtype) / self.scale - self.mean
        return block - (block @ self.leading) @ self.leading.conj().T


Matrix = np.ndarray | CenteredView


def normalise(vectors: Matrix, dtype: np.dtype | type | None = None) -> Inexact[np.ndarray, "n d"]:
    """Unit rows of an (n, d) matrix, computed in double precision and returned in ``dtype`` (default: double).

    Raises ValueError for what is not a matrix of numbers, is empty, holds NaN or infinity, or has a zero row (named).
    """
    check_matrix(vectors)
    out = np.empty(vectors.shape, dtype or _double(vectors))
    for rows, block in blocks(vectors):
        top = largest(block)
        if not top.all():
            raise ValueError(f"row {rows.start + int(np.argmin(top))} is the zero vector, which has no direction")
        block = block / top  # scaled first: squares of entries beyond 1e154 would overflow
        out[rows] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return out


def check_matrix(vectors: Matrix) -> None:
    """Raise ``ValueError`` unless ``vectors`` is a matrix (n, d) of numbers with at least one entry."""
    if not isinstance(vectors, np.ndarray | CenteredView) or vectors.ndim != 2:
        shape = getattr(vectors, "shape", None)
        raise ValueError(f"expected a matrix (n vectors as rows, d columns), got {_what(vectors, shape)}")
    if vectors.dtype.kind not in "fciu":
        raise ValueError(f"expected numbers, got dtype {vectors.dtype}")
    if 0 in vectors.shape:
        raise ValueError(f"the matrix is empty: {vectors.shape[0]} vectors of dimension {vectors.shape[1]}")


def coherence(vectors: Matrix) -> float:
    """max |⟨u,v⟩| over distinct rows after normalisation, in float64; 0 for a single vector. O(block · n) memory."""
    unit = normalise(vectors)
    top = 0.0
    for rows, columns in upper_blocks(len(unit)):
        gram = np.abs(unit[rows] @ unit[columns].conj().T)
        if rows == columns:
            np.fill_diagonal(gram, 0)  # by place, never by value: a computed 1 is often 1 − 1e-16
        top = max(top, float(gram.max()))
    return min(top, 1.0)


def _double(vectors: Matrix) -> type:
    return np.complex128 if np.iscomplexobj(vectors) else np.float64


def blocks(vectors: Matrix) -> Iterator[tuple[slice, Inexact[np.ndarray, "rows d"]]]:
    """Blocks of rows in double precision. Raises ValueError where one holds NaN or infinity (the row is named)."""
    for rows in slices(len(vectors)):
        with np.errstate(over="ignore"):  # extended precision may exceed double: an infinity, named below
            block: np.ndarray = np.asarray(vectors[rows], _double(vectors))
        bad = ~np.isfinite(block).all(axis=1)
        if bad.any():
            raise ValueError(f"row {rows.start + int(np.argmax(bad))} holds a NaN or an infinity")
        yield rows, block
        _let_go(vectors)


def _let_go(vectors: Matrix) -> None:
    """Pages of a mapped file that have been read need not stay in memory: the file has them."""
    mapped = getattr(vectors.matrix if isinstance(vectors, CenteredView) else vectors, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def largest(block: Inexact[np.ndarray, "n d"]) -> Float[np.ndarray, "n 1"]:
    """The largest |Re| or |Im| of each row, as a column; |z| itself may overflow."""
    if np.iscomplexobj(block):
        return np.maximum(np.abs(block.real), np.abs(block.imag)).max(axis=1, keepdims=True)
    return np.abs(block).max(axis=1, keepdims=True)


def slices(n: int, block: int = BLOCK) -> Iterator[slice]:
    """0…n−1 in blocks."""
    for start in range(0, n, block):
        yield slice(start, min(n, start + block))


def upper_blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """The blocks of rows and columns that cover the upper triangle of an (n, n) matrix."""
    for rows in slices(n):
        for columns in slices(n):
            if columns.start >= rows.start:
                yield rows, columns


def _what(thing: object, shape: tuple[int, ...] | None) -> str:
    return f"an array of shape {shape}" if shape is not None else type(thing).__name__
