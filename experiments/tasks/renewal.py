"""Discrete renewal processes, the memory that simulating one takes, and one that a qubit says and no finite automaton.

A tick brings an event (1) or none (0), with a chance that depends on the ticks n since the last event alone:

    Φ(n) = P(no event in n ticks),     h(n) = 1 − Φ(n+1)/Φ(n).

The *monitored qubit* is turned by R(θ) at every tick and looked at with strength γ; an event resets it:

    K_0 = diag(1, √(1−γ)) R(θ),   K_1 = √γ |0⟩⟨1| R(θ),   K_0†K_0 + K_1†K_1 = 1,   Φ(n) = ‖K_0ⁿ|0⟩‖².

While K_0's eigenvalues are a conjugate pair r e^{±iα}, Φ(n) = r^{2n} (a + b cos(2αn + φ)): its hazard swings for ever,
and where α/π is irrational with no period. Of a hidden Markov model with finitely many states Φ(n) is a power of a
nonnegative matrix, whose largest eigenvalues have roots of unity as phases (Perron and Frobenius), so none has this
process: Jaeger's probability clock (2000), as a qubit. Memory of classical and quantum simulators after Gu, Wiesner,
Rieper and Vedral (2012).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Integer

from experiments.tasks.sequences import SequenceTask

TICKS = 400
"""How far a survival function is tabulated; at the end of the table the event is certain."""


def renewal(
    name: str, source: str, angle: float, strength: float, length: int, seed: int, validation: int
) -> SequenceTask:
    """Say the next tick of a process, from an event on; ``length`` ticks."""
    h = hazard(survival(source, angle, strength))

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        ticks = sample(h, len(rows), width, rng)
        event = np.ones((len(rows), 1), dtype=ticks.dtype)
        return np.concatenate([event, ticks[:, :-1]], axis=1), ticks

    task = SequenceTask(
        name, "renewal", ["0", "1"], draw, (length, length), {}, math.log(2), entropy(h, length), 0.5, seed=seed,
        validation=validation, metric="val_nats",
        notes=["Sequences start at an event. The line of the source is its own loss on the validation sequences."],
    )  # fmt: skip
    inputs, targets = (each.numpy() for each in task.windows()[0])
    task.bounds = {"the source itself": nats(h, inputs, targets)}
    return task


def survival(source: str, angle: float = 0.5, strength: float = 0.5) -> Float[np.ndarray, " ticks"]:
    """Φ(0), Φ(1), …: of the monitored qubit, or of the simple nonunifilar source (Crutchfield 1994), (n + 1)/2ⁿ."""
    n = np.arange(TICKS)
    if source == "simple_nonunifilar":
        return (n + 1) * 0.5**n
    quiet = kraus(angle, strength)[0]
    state, found = np.array([1.0, 0.0]), []
    for _ in n:
        found.append(float(state @ state))
        state = quiet @ state
    return np.array(found)


def kraus(angle: float, strength: float) -> Float[np.ndarray, "2 2 2"]:
    """K_0 and K_1 of the monitored qubit; the rotation is by ``angle`` radians in the plane of the amplitudes."""
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    quiet = np.diag([1.0, math.sqrt(1 - strength)]) @ turn
    event = math.sqrt(strength) * np.array([[0.0, 1.0], [0.0, 0.0]]) @ turn
    return np.stack([quiet, event])


def hazard(phi: Float[np.ndarray, " ticks"]) -> Float[np.ndarray, " ticks"]:
    """h(n), the chance of an event n ticks after the last one; 1 at the end of the table."""
    return np.append(1 - phi[1:] / phi[:-1], 1.0)


def sample(
    h: Float[np.ndarray, " ticks"], count: int, length: int, rng: np.random.Generator
) -> Integer[np.ndarray, "{count} {length}"]:
    """``count`` sequences of ``length`` ticks, each from an event on."""
    ticks, since = np.empty((count, length), dtype=np.int64), np.zeros(count, dtype=np.int64)
    for place in range(length):
        ticks[:, place] = rng.random(count) < h[since]
        since = np.where(ticks[:, place] == 1, 0, since + 1)
    return ticks


def nats(
    h: Float[np.ndarray, " ticks"],
    inputs: Integer[np.ndarray, "count time"],
    targets: Integer[np.ndarray, "count time"],
) -> float:
    """The loss of the process itself on sequences of its ticks, in nats per tick."""
    since, total = np.zeros(len(inputs), dtype=np.int64), 0.0
    for before, tick in zip(inputs.T, targets.T, strict=True):
        since = np.where(before == 1, 0, since + 1)
        total -= float(np.log(np.where(tick == 1, h[since], 1 - h[since])).sum())
    return total / targets.size


def entropy(h: Float[np.ndarray, " ticks"], length: int) -> float:
    """The lowest loss in nats per tick: the mean entropy of ``length`` ticks from an event on."""
    inside = np.clip(h, 1e-300, 1 - 1e-16)
    each = -(inside * np.log(inside) + (1 - inside) * np.log1p(-inside))
    chance, total = np.eye(1, len(h))[0], 0.0
    for _ in range(length):
        total += float(chance @ each)
        chance = np.append(chance @ h, (chance * (1 - h))[:-1])
    return total / length


class Machine(NamedTuple):
    """A process by its causal states: ``chances[x, i]`` of symbol x in state i, ``following[x, i]`` the next state."""

    chances: Float[np.ndarray, "symbols states"]
    following: Integer[np.ndarray, "symbols states"]


def renewal_machine(h: Float[np.ndarray, " ticks"]) -> Machine:
    """The causal states of a renewal process are the ticks since the last event."""
    after = np.minimum(np.arange(len(h)) + 1, len(h) - 1)
    return Machine(np.stack([1 - h, h]), np.stack([after, np.zeros_like(after)]))


def perturbed_coin(flip: float) -> Machine:
    """Two states, heads and tails, the last symbol seen; it changes with chance ``flip``."""
    return Machine(np.array([[1 - flip, flip], [flip, 1 - flip]]), np.array([[0, 0], [1, 1]]))


def statistical_memory(machine: Machine, rounds: int = 2000) -> tuple[float, float]:
    """C_μ = H(π) and C_q = S(Σ_i π_i |s_i⟩⟨s_i|) in bits: what the best classical predictor keeps, and the q-machine.

    The quantum memory's states have the overlaps ⟨s_i|s_j⟩ = Σ_x √(P(x|i) P(x|j)) ⟨s_{x(i)}|s_{x(j)}⟩ (Mahoney,
    Aghamohammadi and Crutchfield 2016), found by iteration; C_q is the entropy of √(π_i π_j) ⟨s_i|s_j⟩.
    """
    states = machine.chances.shape[1]
    step = np.zeros((states, states))
    for chance, after in zip(machine.chances, machine.following, strict=True):
        np.add.at(step, (np.arange(states), after), chance)
    values, vectors = np.linalg.eig(step.T)
    occupied = np.abs(vectors[:, np.argmin(np.abs(values - 1))].real)
    occupied /= occupied.sum()
    roots, overlaps = np.sqrt(machine.chances), np.eye(states)
    for _ in range(rounds):
        before = overlaps
        overlaps = np.zeros_like(before)
        for root, after in zip(roots, machine.following, strict=True):
            overlaps += np.outer(root, root) * before[np.ix_(after, after)]
        if np.abs(overlaps - before).max() < 1e-14:
            break
    weights = np.sqrt(occupied)
    return _bits(occupied), _bits(np.linalg.eigvalsh(np.outer(weights, weights) * overlaps))


def _bits(chances: Float[np.ndarray, " n"]) -> float:
    kept = chances[chances > 1e-15]
    return float(-(kept * np.log2(kept)).sum())
