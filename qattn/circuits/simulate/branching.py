"""Dynamic circuits run branch by branch: a measurement splits a state into its two outcomes, and both go on.

Exact: a branch is an unnormalised state whose squared norm is its probability. With shots a branch also carries how
many of them took it, drawn by a binomial at every measurement, so there are never more branches than shots. Branches
with equal bits and parallel states are one (after a reset, or in every round of a repetition that starts afresh).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float, Int
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, Operation
from qattn.circuits.ir.dynamic import DynamicCircuit, If, Measure, Repeat, Reset, Step
from qattn.circuits.ir.memory import check_memory
from qattn.circuits.simulate.statevector import run

MOST_BRANCHES = 4096
ROUNDING = 1000  # units of rounding an amplitude may be off by: outcomes within that of probability 0 do not happen


class TooManyBranchesError(ValueError):
    """An exact simulation that splits into more branches than ``MOST_BRANCHES``."""


@dataclass(eq=False)
class Branches:
    """States ``(branches, 2ⁿ)``, unnormalised, their classical bits, and (with shots) how many shots are on each."""

    states: Tensor
    bits: np.ndarray
    shots: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.bits)

    def where(self, chosen: Bool[np.ndarray, " branches"]) -> Branches:
        """Some of the branches."""
        states = self.states[torch.as_tensor(chosen, device=self.states.device)]
        return Branches(states, self.bits[chosen], None if self.shots is None else self.shots[chosen])

    def norms(self) -> Float[Tensor, " branches"]:
        """Squared norms: probabilities, of being here and not discarded."""
        return self.states.abs().square().sum(-1)

    def weights(self) -> Float[Tensor, " branches"]:
        """Shares of the branches among what was kept: exact probabilities, or counts of shots, divided by their sum."""
        found = self.norms() if self.shots is None else torch.as_tensor(self.shots, dtype=torch.float64)
        return found / found.sum()

    def normalised(self) -> Complex[Tensor, "branches dim"]:
        """States of norm 1."""
        return self.states / self.norms().sqrt().unsqueeze(-1)


def joined(parts: Sequence[Branches]) -> Branches:
    """Branches of several lists in one."""
    shots = [part.shots for part in parts if part.shots is not None]
    return Branches(
        torch.cat([part.states for part in parts]),
        np.concatenate([part.bits for part in parts]),
        np.concatenate(shots) if shots else None,
    )


def branches(
    circuit: DynamicCircuit,
    parameters: Float[Tensor, " parameters"],
    shots: int | None = None,
    rng: np.random.Generator | None = None,
) -> Branches:
    """All branches at the end; with ``shots`` those that they took, drawn from ``rng``.

    Inputs must be numbers by now (``circuit.filled``). Raises :class:`TooManyBranchesError`, and ``ValueError`` where
    post-selection leaves nothing.
    """
    sweep = Sweep(circuit, parameters, shots, rng or np.random.default_rng())
    found = sweep.through(circuit.steps, sweep.beginning())
    if not len(found):
        raise ValueError("post-selection discards every run: its outcomes have probability 0, or too few shots")
    return found


class Sweep:
    """One way through a dynamic circuit."""

    def __init__(
        self, circuit: DynamicCircuit, parameters: Tensor, shots: int | None, rng: np.random.Generator
    ) -> None:
        self.circuit, self.parameters, self.shots, self.rng = circuit, parameters, shots, rng
        self.known: dict[int, list[Any]] = {}

    def beginning(self) -> Branches:
        """One branch, all bits 0."""
        check_memory(self.circuit.qubits)
        start = np.eye(1, 2**self.circuit.qubits) if self.circuit.initial is None else self.circuit.initial[None]
        dtype = torch.complex64 if self.parameters.dtype == torch.float32 else torch.complex128
        counts = None if self.shots is None else np.array([self.shots])
        bits = np.zeros((1, len(self.circuit.bits)), int)
        return Branches(torch.as_tensor(start, dtype=dtype, device=self.parameters.device), bits, counts)

    def through(self, steps: Sequence[Step], now: Branches) -> Branches:
        """The branches after a block."""
        actions: dict[type, Callable[..., Branches]] = {
            Circuit: self.turned,
            Measure: self.measured,
            Reset: self.reset,
            If: self.decided,
            Repeat: self.repeated,
        }
        for part in self.parts(steps):
            if len(now):
                now = actions[type(part)](part, now)
        return now

    def parts(self, steps: Sequence[Step]) -> list[Any]:
        """A block with its runs of gates as circuits; kept, since a repetition comes back to it."""
        if id(steps) not in self.known:
            found: list[Any] = []
            for plain, group in groupby(steps, key=lambda step: isinstance(step, Operation)):
                members = list(group)
                gates = tuple(step for step in members if isinstance(step, Operation))
                found += [Circuit(self.circuit.qubits, gates, names=self.circuit.names)] if plain else members
            self.known[id(steps)] = found
        return self.known[id(steps)]

    def turned(self, gates: Circuit, now: Branches) -> Branches:
        """Gates, on all branches at once."""
        # at norm 1, so that single precision does not underflow on branches of little weight
        norms = now.norms().sqrt().unsqueeze(-1)
        done = run(gates, self.parameters, states=now.states / norms).amplitudes()
        return Branches(done * norms, now.bits, now.shots)

    def halves(self, wire: int, now: Branches) -> tuple[Branches, Branches]:
        """The branches with outcome 0 and 1 of a wire, those with no weight left out."""
        cube = now.states.unflatten(-1, (2**wire, 2, -1))
        parts = [torch.zeros_like(cube), torch.zeros_like(cube)]
        for outcome in (0, 1):
            parts[outcome][:, :, outcome] = cube[:, :, outcome]
        split = [Branches(part.flatten(1), now.bits.copy(), now.shots) for part in parts]
        norms = np.stack([part.norms().detach().double().cpu().numpy() for part in split])
        norms /= norms.sum(0)
        alive = norms > (ROUNDING * torch.finfo(now.states.dtype).eps) ** 2
        if now.shots is not None:
            ones = self.rng.binomial(now.shots, np.where(alive[1], np.where(alive[0], norms[1], 1.0), 0.0))
            split[0].shots, split[1].shots = now.shots - ones, ones
            alive = np.stack([now.shots - ones, ones]) > 0
        zero, one = split[0].where(alive[0]), split[1].where(alive[1])
        if now.shots is not None:  # counts carry the weight, and long repetitions would underflow
            zero.states, one.states = zero.normalised(), one.normalised()
        return zero, one

    def measured(self, step: Measure, now: Branches) -> Branches:
        """Both outcomes, or the one kept."""
        found = self.halves(step.wire, now)
        for outcome, part in enumerate(found):
            part.bits[:, step.bit] = outcome
        return self.merged(joined(found) if step.keep is None else found[step.keep])

    def reset(self, step: Reset, now: Branches) -> Branches:
        """Both outcomes with the wire back in |0⟩."""
        zero, one = self.halves(step.wire, now)
        one.states = one.states.unflatten(-1, (2**step.wire, 2, -1)).flip(2).flatten(1)
        return self.merged(joined((zero, one)))

    def decided(self, step: If, now: Branches) -> Branches:
        """Each branch through the block that its bits choose."""
        holds = step.condition.holds(now.bits)
        parts = (self.through(step.then, now.where(holds)), self.through(step.otherwise, now.where(~holds)))
        return self.merged(joined(parts))

    def repeated(self, step: Repeat, now: Branches) -> Branches:
        """Round by round, the branches that have succeeded aside, until the rest is too little for any digit."""
        done, least = [], torch.finfo(now.states.dtype).eps * now.norms().sum()
        for _ in range(step.most):
            now = self.through(step.body, now)
            holds = step.until.holds(now.bits)
            done.append(now.where(holds))
            now = now.where(~holds)
            if not len(now) or (now.shots is None and now.norms().sum() < least):
                break
        return self.merged(joined([*done, now]))

    def merged(self, now: Branches) -> Branches:
        """Parallel states with the same bits as one branch: to its norm and shots theirs are added."""
        if len(now) > 1 and not now.states.requires_grad:
            _, groups = np.unique(now.bits, axis=0, return_inverse=True)
            if len(now) > groups.max() + 1:
                now = joined([parallel_merged(now.where(groups == g)) for g in range(groups.max() + 1)])
        if len(now) > MOST_BRANCHES and now.shots is None:
            raise TooManyBranchesError(
                f"the measurements split the circuit into more than {MOST_BRANCHES} branches: give a number of shots"
            )
        check_memory(self.circuit.qubits, max(1, len(now)), now.states.element_size())
        return now


def parallel_merged(now: Branches) -> Branches:
    """Branches of the same bits, parallel ones (by Cauchy and Schwarz, to 100 units of rounding) as one."""
    unit, weights = now.normalised(), now.norms()
    least = 1 - 100 * torch.finfo(weights.dtype).eps
    left, kept = list(range(len(now))), []
    while left:
        first = left[0]
        overlap = (unit[left] @ unit[first].conj()).abs().square()
        same = [place for place, much in zip(left, overlap.tolist(), strict=True) if much >= least]
        same = same or [first]
        weight = weights[same].sum().sqrt()
        shots = None if now.shots is None else now.shots[same].sum()[None]
        kept.append(Branches((unit[first] * weight)[None], now.bits[[first]], shots))
        left = [place for place in left if place not in same]
    return joined(kept)


def outcomes(found: Branches, names: Sequence[str]) -> dict[str, float]:
    """Shares of the classical bits' values, written first bit first; empty without bits."""
    if not names:
        return {}
    total: dict[str, float] = {}
    for row, weight in zip(found.bits, found.weights().tolist(), strict=True):
        key = "".join(map(str, row))
        total[key] = total.get(key, 0.0) + weight
    return dict(sorted(total.items()))


def sampled_basis_states(found: Branches, rng: np.random.Generator) -> Int[np.ndarray, " shots"]:
    """A basis state for every shot that was kept, in random order."""
    assert found.shots is not None
    weights = found.normalised().abs().square().double().cpu().numpy()
    drawn = [
        rng.choice(len(row), size=count, p=row / row.sum()) for row, count in zip(weights, found.shots, strict=True)
    ]
    return rng.permutation(np.concatenate(drawn))
