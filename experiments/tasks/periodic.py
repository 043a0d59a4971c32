"""Periodic languages {a^(kp)}: is the number of a's read so far a multiple of p?

A finite automaton with p prime needs p states, also a stochastic one whose answers are bounded away from ½. A register
that only turns needs of order log p dimensions (Ambainis and Freivalds 1998; 4 ln(2p)/ε after Ambainis and Nahimovs
2009):

    U = diag(e^{2πi k_1/p}, …, e^{2πi k_D/p}),   |ψ₀⟩ = Σ_j |j⟩/√D
    P(yes | n) = |⟨ψ₀|Uⁿ|ψ₀⟩|² = |Σ_j e^{2πi k_j n/p}|²/D²

P(yes) is 1 at every multiple of p, and by Hoeffding's inequality some multipliers k_j keep it below ε elsewhere. Why
training finds them: no phase is farther than π/p from a multiple of 2π/p, which n = p asks for, so that every start has
a solution beside each of its phases.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Integer

from experiments.tasks.sequences import IGNORED, SequenceTask


def periodic(name: str, period: int, seed: int, validation: int) -> SequenceTask:
    """Up to twice the period: asked at both multiples and at as many other places; tested between 2p and 4p."""

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        targets = np.full((len(rows), width), IGNORED)
        for k in range(0, width, period):  # one other place in every period
            targets[np.arange(len(rows)), k + rng.integers(period - 1, size=len(rows))] = 0
        targets[:, period - 1 :: period] = 1
        return np.zeros_like(targets), targets

    span = 2 * period
    return SequenceTask(
        name, "periodic", ["no", "yes"], draw, (span, span), {f"length {2 * span}": (2 * span, 2 * span)},
        math.log(2), 0.0, 0.5, seed=seed, validation=validation, drawn=True,
        bounds={f"{dimensions(period, 1 / 3)} dimensions reach": 1 - 1 / 6},
        notes=[f"A classical automaton with bounded error needs {period} states. The line is what the proof promises: "
               "right at every multiple, and with a chance of at least 2/3 elsewhere."],
    )  # fmt: skip


def dimensions(period: int, error: float) -> int:
    """⌈4 ln(2p)/ε⌉ dimensions are enough for P(yes) ≤ ε off the multiples of p, with P(yes) = 1 on them."""
    return math.ceil(4 * math.log(2 * period) / error)


def multipliers(period: int, dim: int, tries: int = 200, seed: int = 0) -> Integer[np.ndarray, " {dim}"]:
    """The best of random k_1, …, k_D: those with the least largest P(yes) off the multiples of the period."""
    rng = np.random.default_rng(seed)
    found = rng.integers(period, size=(tries, dim))
    return found[np.argmin([accepts(each, period)[1:].max() for each in found])]


def accepts(k: Integer[np.ndarray, " dim"], period: int) -> Float[np.ndarray, " {period}"]:
    """P(yes | n) for n = 0, …, p − 1."""
    turns = np.exp(2j * np.pi * np.outer(np.arange(period), k) / period)
    return np.abs(turns.mean(1)) ** 2
