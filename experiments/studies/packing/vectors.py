"""A matrix of vectors with the names of its rows: what every reader returns and every measurement takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contexts.packing.measure.gram import slices


class Vectors(NamedTuple):
    """An (n, d) matrix, and the name of each row where the file gives one."""

    matrix: np.ndarray
    names: list[str] | None
    source: str

    def name(self, row: int) -> str:
        """The name of a row, or its number."""
        return self.names[row] if self.names else str(row)

    def columns(self) -> Vectors:
        """The columns as vectors: decoders of sparse autoencoders are stored as d × n."""
        return Vectors(self.matrix.T, None, f"{self.source}, columns")

    def without_zero_rows(self) -> tuple[Vectors, int]:
        """The rows that have a direction, and how many have none (padding tokens, dead features)."""
        kept = np.concatenate([np.asarray(self.matrix[rows] != 0).any(axis=1) for rows in slices(len(self.matrix))])
        if kept.all():
            return self, 0
        names = [self.name(row) for row in np.flatnonzero(kept).tolist()]
        return Vectors(np.asarray(self.matrix[kept]), names, self.source), int((~kept).sum())
