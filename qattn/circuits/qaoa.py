"""The quantum approximate optimisation algorithm: layers exp(−iβ Σ X) exp(−iγ H) on |+…+⟩ for a diagonal H.

Depth p starts from the best angles of depth p − 1, stretched (INTERP of Zhou et al., PRX 10, 021067, 2020), and depth 1
from a grid. Farhi, Goldstone and Gutmann, arXiv:1411.4028.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef
from qattn.circuits.ir.hamiltonian import Hamiltonian
from qattn.circuits.simulate.readout import z_signs
from qattn.circuits.simulate.statevector import run
from qattn.circuits.train import Fit, Task

GRID = 12  # depth 1 is tried at so many values of either angle
MOST_STEPS = 60  # of L-BFGS for a depth; each makes up to twenty evaluations
STILL = 1e-10  # steps end when the energy falls by less than this share of the spread of H


@dataclass(frozen=True, eq=False)
class Depth:
    """What a depth reached: angles ``(2, p)`` of γ and β in radians, the mean of H, and the outcomes' probabilities."""

    layers: int
    angles: np.ndarray
    mean: float
    probabilities: np.ndarray


def diagonal_of(h: Hamiltonian) -> Float[np.ndarray, " dim"]:
    """The values of a diagonal H on the basis states. Raises ``ValueError`` for words with X or Y."""
    wrong = [word for word in h.words if set(word) & set("XY")]
    if wrong:
        raise ValueError(f"QAOA minimises sums of I and Z, got the word {wrong[0]!r}")
    parts = [c * z_signs(word).numpy() for word, c in zip(h.words, h.coefficients, strict=True)]
    return np.sum(parts, axis=0)


def qaoa_circuit(h: Hamiltonian, layers: int) -> Circuit:
    """The circuit with parameters gamma[0], …, beta[0], …: exp(−iγ c Z…Z) is MultiRZ(2cγ), exp(−iβX) is RX(2β).

    Raises ``ValueError`` for an H that is not diagonal.
    """
    diagonal_of(h)
    operations = [Operation("Hadamard", (w,)) for w in range(h.qubits)]
    for k in range(layers):
        for word, c in zip(h.words, h.coefficients, strict=True):
            wires = tuple(w for w, letter in enumerate(word) if letter == "Z")
            if wires:
                name = {1: "RZ", 2: "IsingZZ"}.get(len(wires), "MultiRZ")
                operations.append(Operation(name, wires, (ParameterRef(k, scale=2 * c),)))
        operations += [Operation("RX", (w,), (ParameterRef(layers + k, scale=2.0),)) for w in range(h.qubits)]
    names = [f"gamma[{k}]" for k in range(layers)] + [f"beta[{k}]" for k in range(layers)]
    return Circuit(h.qubits, tuple(operations), names=tuple(names))


def stretched(angles: Float[np.ndarray, "2 layers"]) -> Float[np.ndarray, "2 more"]:
    """Angles for one layer more, read off the broken line through the old ones (INTERP)."""
    p = angles.shape[1]
    padded = np.pad(angles, ((0, 0), (1, 1)))
    i = np.arange(1, p + 2)
    return (i - 1) / p * padded[:, i - 1] + (p - i + 1) / p * padded[:, i]


def first_angles(h: Hamiltonian, spread: float) -> Float[np.ndarray, "2 one"]:
    """The best of a grid at depth 1: γ to π over the scale of H's coefficients, β over its period π/2."""
    circuit = qaoa_circuit(h, 1)
    scale = max(abs(c) for word, c in zip(h.words, h.coefficients, strict=True) if "Z" in word)
    gammas = np.pi / scale * (np.arange(GRID) + 0.5) / GRID
    betas = np.pi / 2 * (np.arange(GRID) + 0.5) / GRID
    grid = np.array([(g, b) for g in gammas for b in betas])
    means = torch.cat([run(circuit, torch.tensor(part)).probabilities() for part in np.array_split(grid, GRID)])
    best = int(np.argmin(means.numpy() @ (diagonal_of(h) / spread)))
    return grid[best][:, None]


def optimised(h: Hamiltonian, layers: int) -> list[Depth]:
    """The best angles found for the depths 1 to ``layers``, each a local minimum that L-BFGS reached from the last.

    Raises ``ValueError`` for an H that is not diagonal or constant.
    """
    values = diagonal_of(h)
    spread = float(values.max() - values.min())
    if spread == 0:
        raise ValueError("all states have the same energy: there is nothing to optimise")
    found: list[Depth] = []
    angles = first_angles(h, spread)
    for depth in range(1, layers + 1):
        circuit = qaoa_circuit(h, depth)
        fit = Fit(circuit, Task("energy", hamiltonian=h), "lbfgs", lr=0.5, start=angles.ravel())
        before = np.inf
        for _ in range(MOST_STEPS):
            now = fit.step()
            if before - now < STILL * spread:
                break
            before = now
        angles = fit.parameters.detach().numpy().reshape(2, depth)
        p = run(circuit, fit.parameters.detach()).probabilities().numpy()
        found.append(Depth(depth, angles, float(p @ values), p))
        angles = stretched(angles)
    return found
