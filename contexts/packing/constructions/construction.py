"""What the catalogue knows of an explicit packing before it is built: its size, its coherence, where it is from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LARGEST = 30_000_000  # entries of a matrix worth building; larger packings are listed but not built


@dataclass(frozen=True)
class Construction:
    """n lines of R^d or C^d at ``coherence`` exactly (``exact``) or at most; ``build`` makes the unit rows.

    ``source`` is where the construction was published first, as far as known here; ``quick`` is False where building
    would take minutes though the matrix is small.
    """

    name: str
    d: int
    n: int
    coherence: float
    field: str
    exact: bool
    build: Callable[[], np.ndarray]
    source: str = ""
    quick: bool = True

    @property
    def buildable(self) -> bool:
        """Whether the vectors are few enough to be written out."""
        return self.quick and self.n * self.d <= LARGEST
