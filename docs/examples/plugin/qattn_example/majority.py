"""The majority of bits: sequences drawn from a seed, a target at every position."""

from __future__ import annotations

import numpy as np

from experiments.tasks.sequences import SequenceTask, uniform


def majority(name: str, length: int, validation: int, seed: int) -> SequenceTask:
    """Uniform bits; the target is 1 after more ones than zeros."""

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        bits = rng.integers(2, size=(len(rows), width))
        return bits, (np.cumsum(2 * bits - 1, axis=-1) > 0).astype(int)

    chance, guess = uniform(2)
    tests = {f"lengths to {2 * length}": (length, 2 * length)}
    return SequenceTask(
        name, "majority", ["0", "1"], draw, (1, length), tests, chance, 0.0, guess, seed=seed, validation=validation
    )
