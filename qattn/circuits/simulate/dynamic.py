"""Read a dynamic circuit once: its last measurement averaged over the branches, and its classical bits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from qattn.circuits.ir.circuit import Operation
from qattn.circuits.ir.dynamic import DynamicCircuit
from qattn.circuits.ir.spec import DynamicSpec, Spec
from qattn.circuits.simulate.branching import Branches, branches, outcomes, sampled_basis_states
from qattn.circuits.simulate.energy import MOST_QUBITS, energy, ground_energy, sampled_energy, turned, variance
from qattn.circuits.simulate.readout import Measurement, expectations, marginal, z_signs
from qattn.circuits.simulate.run import DTYPES, simulate
from qattn.circuits.simulate.statevector import FinalState


def simulate_any(
    spec: Spec | DynamicSpec,
    device: str | None = None,
    shots: int | None = None,
    seed: int | None = None,
    dtype: str = "float64",
) -> dict[str, Any]:
    """The result of a circuit with or without measurements in between. Raises ``ValueError`` as ``simulate`` and
    :func:`simulate_dynamic` do."""
    if isinstance(spec, Spec):
        return simulate(spec, device, shots, seed, dtype)
    return simulate_dynamic(spec, device, shots, seed, dtype)


def simulate_dynamic(
    spec: DynamicSpec,
    device: str | None = None,
    shots: int | None = None,
    seed: int | None = None,
    dtype: str = "float64",
) -> dict[str, Any]:
    """The measurement's result with the circuit's size, as ``simulate`` gives it, and what the bits said.

    ``outcomes`` are the shares of the classical bits' values, in the order of ``bits``; ``kept`` is the probability of
    the post-selected outcomes (with shots their share); means are over kept runs. Raises ``ValueError`` for devices
    other than ``fast``, a povm, the state of a mixture, and shots of a Hamiltonian after post-selection.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    if device not in (None, "fast"):
        raise ValueError(f"measurements in between run on the device fast, got {device}")
    m = replace(spec.measurement, shots=shots or spec.measurement.shots)
    m = replace(m, seed=m.seed if seed is None else seed)
    m.check(spec.circuit.qubits)
    if m.kind == "povm":
        raise ValueError("measure: a povm does not go with measurements in between: add its wires and gates")
    if m.hamiltonian is not None and m.shots is not None and spec.circuit.postselected:
        raise ValueError("measure: after post-selection the shots of a hamiltonian cannot be planned: drop the shots")
    if spec.inputs is None and spec.circuit.n_inputs:
        raise ValueError(f"the circuit reads {spec.circuit.n_inputs} inputs: give them as `inputs`")
    circuit = spec.circuit if spec.inputs is None else spec.circuit.filled("inputs", spec.inputs)
    p = torch.as_tensor(spec.parameters, dtype=DTYPES[dtype])
    with torch.no_grad():
        found = branches(circuit, p, m.shots, stream(m.seed, 0))
        result = exact(found, m, circuit.qubits) if m.shots is None else drawn(circuit, found, m, p)
    kept = float(found.norms().sum()) if found.shots is None else float(found.shots.sum() / (m.shots or 1))
    counts = circuit.resources()
    return {
        **result,
        "bits": list(circuit.bits),
        "outcomes": outcomes(found, circuit.bits),
        **({"kept": kept} if circuit.postselected else {}),
        "branches": len(found),
        **{key: counts[key] for key in ("qubits", "depth", "gates")},
        "device": "fast",
        "shots": m.shots,
    }


def stream(seed: int | None, number: int) -> np.random.Generator:
    """Random numbers for one of several draws."""
    return np.random.default_rng(None if seed is None else np.random.SeedSequence([seed, number]))


def exact(found: Branches, m: Measurement, qubits: int) -> dict[str, Any]:
    """The result without shots. Raises ``ValueError`` for the state of a mixture."""
    weights, states = found.weights().double(), found.normalised()
    if m.kind == "state":
        if len(found) > 1:
            raise ValueError(f"measure: the end is a mixture of {len(found)} states: measure probabilities")
        return {"state": [[float(a.real), float(a.imag)] for a in states[0]]}
    if m.kind == "expectations":
        means = weights @ expectations(FinalState(states.mT, None, qubits, True), m.words).double()
        return {"expectations": means.tolist(), "observables": list(m.words)}
    if m.hamiltonian is not None:
        h = m.hamiltonian
        means, spreads = energy(h, states).double(), variance(h, states).double()
        mean = weights @ means
        told = {"energy": float(mean), "variance": float(weights @ (spreads + (means - mean).square()))}
        return {**told, "ground_energy": ground_energy(h) if qubits <= MOST_QUBITS else None}
    p = (weights.unsqueeze(-1) * states.abs().square().double()).sum(0)
    return {"probabilities": marginal(p, m.wires, qubits).tolist()}


def drawn(circuit: DynamicCircuit, found: Branches, m: Measurement, p: Float[Tensor, " parameters"]) -> dict[str, Any]:
    """The result from shots; every Pauli word and every group of words has runs of its own."""
    assert m.shots is not None

    def draw(turns: list[Operation], shots: int, number: int) -> np.ndarray:
        rng = stream(m.seed, number + 1)
        longer = replace(circuit, steps=(*circuit.steps, *turns))
        return sampled_basis_states(branches(longer, p, shots, rng), rng)

    if m.hamiltonian is not None:
        mean, error, groups = sampled_energy(m.hamiltonian, draw, m.shots)
        ground = ground_energy(m.hamiltonian) if circuit.qubits <= MOST_QUBITS else None
        return {"energy": mean, "standard_error": error, "groups": groups, "ground_energy": ground}
    if m.kind == "expectations":
        means = []
        for number, word in enumerate(m.words):
            signs = z_signs("".join("I" if letter == "I" else "Z" for letter in word)).numpy()
            means.append(float(signs[draw(turned(word), m.shots, number)].mean()))
        return {"expectations": means, "observables": list(m.words)}
    places = sampled_basis_states(found, stream(m.seed, 1))
    wires = m.wires or tuple(range(circuit.qubits))
    numbers = np.sum([(places >> (circuit.qubits - 1 - w) & 1) << k for k, w in enumerate(reversed(wires))], 0)
    if m.kind == "samples":
        texts = [format(number, f"0{len(wires)}b") for number in numbers]
        return {"samples": texts, "counts": dict(sorted(Counter(texts).items()))}
    return {"probabilities": (np.bincount(numbers, minlength=2 ** len(wires)) / len(numbers)).tolist()}
