"""What a search for packings keeps: the best met so far, and all it needs to resume later."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Inexact

from contexts.packing.measure.gram import coherence
from contexts.packing.validation import check_field, check_size

POOL = 6  # packings kept as material for perturbation
SAME = 1e-7  # two coherences closer than this count as the same local optimum


class Found(NamedTuple):
    """A packing met by a search; ``polished`` where linear programmes have been at work on it already."""

    coherence: float
    vectors: np.ndarray
    how: str
    polished: bool = False


@dataclass
class State:
    """Everything a search needs to resume: seed, rounds done, best packings found, how often the best has been met.

    ``final`` is the best one polished at the end, no part of what is resumed: search k rounds, save, load and search l
    more, and it is the same as k + l rounds at once.
    """

    d: int
    n: int
    field: str
    seed: int
    round: int = 0
    hits: int = 0
    pool: list[Found] = dataclasses.field(default_factory=list)
    final: Found | None = None

    def check_belongs(self, d: int, n: int, field: str) -> None:
        """Raises ValueError where this search is for other lines than these."""
        if (self.d, self.n, self.field) != (d, n, field):
            raise ValueError(
                f"the saved search is for d={self.d}, n={self.n}, {self.field}; asked for d={d}, n={n}, {field}"
            )

    def check(self) -> None:
        """Raises ValueError where this is no state that a search could have left: one read from a damaged file."""
        check_size("d", self.d)
        check_size("n", self.n)
        check_field(self.field)
        if min(self.seed, self.round, self.hits) < 0:
            raise ValueError("its seed, rounds and hits must be at least 0")
        if not self.pool:
            raise ValueError("it holds no packing")
        for value, vectors, *_ in self.pool:
            if vectors.shape != (self.n, self.d):
                raise ValueError(f"expected {self.n} vectors of dimension {self.d}, got the shape {vectors.shape}")
            if vectors.dtype != (complex if self.field == "complex" else float):
                raise ValueError(f"expected double precision {self.field} vectors, got {vectors.dtype}")
            if not abs(coherence(vectors) - value) < 1e-9:
                raise ValueError(
                    f"its vectors have the coherence {coherence(vectors):.12f}, not {value:.12f} as it says"
                )

    @property
    def best(self) -> Found:
        """The polished configuration, or else the best one of the pool. IndexError before the first round."""
        return self.final or self.pool[0]

    @property
    def coherence(self) -> float:
        """Of the best configuration; infinite before the first round."""
        return self.best.coherence if self.pool else math.inf

    @property
    def vectors(self) -> Inexact[np.ndarray, "n d"]:
        """The best packing found, unit rows (n, d)."""
        return self.best.vectors

    @property
    def how(self) -> str:
        """How the best configuration was found."""
        return self.best.how

    def offer(self, found: Found) -> None:
        """Keep it if it is among the best; of two with the same coherence, the lower or the polished one."""
        for k, known in enumerate(self.pool):
            if abs(known.coherence - found.coherence) < SAME:
                if found.coherence < known.coherence or (found.polished and not known.polished):
                    self.pool[k] = found
                    self.pool.sort(key=lambda item: item.coherence)
                return
        self.pool.append(found)
        self.pool.sort(key=lambda item: item.coherence)
        del self.pool[POOL:]

    def has_polished(self, value: float) -> bool:
        """Is a packing of this coherence, not polished yet, one met and polished before?"""
        return any(item.polished and -1e-11 < value - item.coherence < 2e-5 for item in self.pool)
