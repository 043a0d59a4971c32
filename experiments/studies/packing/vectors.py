"""A matrix of vectors with the names of its rows: what every reader returns and every measurement takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Vectors(NamedTuple):
    """An (n, d) matrix, and the name of each row where the file gives one."""

    matrix: np.ndarray
    names: list[str] | None
    source: str

    def name(self, row: int) -> str:
        """The name of a row, or its number."""
        return self.names[row] if self.names else str(row)
