"""Disambiguation: a text of clues moves one ambiguous state about N² senses that overlap as a SIC's states do.

A sense is a point (q, p) of the discrete phase space Z_N × Z_N. Every clue displaces it; after each clue somebody asks
which sense is meant, and hears

    P(w | v) = |⟨φ_w|φ_v⟩|² / N = 1/N where w = v, else 1/(N(N+1)),     |φ_v⟩ = X^q Z^p |φ⟩,

the statistics of N² equiangular states (a SIC) under the measurement that they make up. A complex register of
dimension N with a Born readout says this exactly; logits that are affine in a state of dimension d do so only with
d ≥ N² − 1, whatever moves the state (the derivation is in docs/ladder.md). After the separation theorem of
arXiv 2602.22255, whose family of tasks is another one.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Integer

from experiments.tasks.sequences import SequenceTask, uniform


def disambiguation(
    name: str, dim: int, length: int, test_length: int, seed: int, validation: int, exact: bool = False
) -> SequenceTask:
    """Uniform clues from Z_N × Z_N with N = ``dim``; the target at every position is one answer to "which sense?".

    ``exact``: of one clue, every clue with every answer N(N+1)·P(w | v) times is the whole task.
    """
    senses = dim * dim

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        inputs = rng.integers(senses, size=(len(rows), width))
        sense = where(inputs, dim)
        other = (sense + rng.integers(1, senses, size=sense.shape)) % senses
        return inputs, np.where(rng.random(sense.shape) < 1 / dim, sense, other)

    chance, guess = uniform(senses)
    return SequenceTask(
        name, "disambiguation", [f"{q}.{p}" for q in range(dim) for p in range(dim)], draw, (1, length),
        {f"length {test_length}": (test_length, test_length)}, chance, least(dim), guess, seed=seed,
        validation=validation, metric="val_nats", whole=every_answer(dim) if exact else None,
        bounds={f"exact, with {dim} dimensions": least(dim)} if exact else {},
        notes=[
            f"{senses} senses. A complex register of dimension {dim} reaches the lowest loss; logits affine in a state "
            f"of dimension d cannot for d < {senses - 1}.",
            f"The likeliest answer is right with probability 1/{dim}, for every model.",
        ],
    )  # fmt: skip


def every_answer(dim: int) -> tuple[Integer[np.ndarray, "rows 1"], Integer[np.ndarray, "rows 1"]]:
    """Every clue with every answer as often as it is likely: N + 1 times the sense itself, once each other one."""
    sense, answer = np.nonzero(answers(dim))
    times = np.where(sense == answer, dim + 1, 1)
    return np.repeat(sense, times)[:, None], np.repeat(answer, times)[:, None]


def where(clues: Integer[np.ndarray, "*batch time"], dim: int) -> Integer[np.ndarray, "*batch time"]:
    """The sense q·dim + p after each clue, along the last axis: sums of both coordinates modulo ``dim``."""
    return np.cumsum(clues // dim, axis=-1) % dim * dim + np.cumsum(clues % dim, axis=-1) % dim


def answers(dim: int) -> Float[np.ndarray, "senses answers"]:
    """P(w | v), an array of shape (senses v, answers w)."""
    table = np.full((dim * dim, dim * dim), 1 / (dim * (dim + 1)))
    np.fill_diagonal(table, 1 / dim)
    return table


def least(dim: int) -> float:
    """The entropy of an answer in nats: ln N + (N − 1)/N · ln(N + 1)."""
    return math.log(dim) + (dim - 1) / dim * math.log(dim + 1)
