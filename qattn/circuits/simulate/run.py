"""Run a spec once and read it: the fast engine or a PennyLane device, exact or with shots."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, Operation, gate
from qattn.circuits.ir.hamiltonian import Hamiltonian
from qattn.circuits.ir.spec import Spec
from qattn.circuits.ir.spec_values import at
from qattn.circuits.simulate import pennylane_device as pennylane
from qattn.circuits.simulate.energy import MOST_QUBITS, energy, ground_energy, sampled_energy, variance
from qattn.circuits.simulate.readout import Measurement, expectations, marginal, naimark, sample, z_signs
from qattn.circuits.simulate.statevector import run

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def simulate(
    spec: Spec, device: str | None = None, shots: int | None = None, seed: int | None = None, dtype: str = "float64"
) -> dict[str, Any]:
    """The measurement's result, as plain numbers, with the circuit's size.

    ``device`` None takes ``fast``, or ``default.mixed`` when there is noise. ``shots`` and ``seed`` override the
    measurement's.
    Probabilities are listed with wire 0 as the most significant bit, samples are bit strings with wire 0 first.
    Raises ``ValueError`` for unknown devices, missing inputs, and shots on a measurement only exact simulation knows.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    m = spec.measurement
    m = replace(m, shots=shots or m.shots, seed=m.seed if seed is None else seed)
    with at("measure"):
        m.check(spec.circuit.qubits)
    device = device or ("default.mixed" if spec.circuit.noisy else "fast")
    if spec.circuit.noisy and device != "default.mixed":
        raise ValueError(f"noise needs a density matrix: run it on default.mixed, got {device}")
    if m.kind == "state" and device == "default.mixed":
        raise ValueError("default.mixed has no state vector to show: measure probabilities or expectations")
    if spec.inputs is None and spec.circuit.n_inputs:
        raise ValueError(f"the circuit reads {spec.circuit.n_inputs} inputs: give them as `inputs` or `encode.values`")
    if spec.circuit.noisy:  # a channel's strength may be a parameter: its number is checked here, with the gate's name
        spec.circuit.bound(spec.parameters, [] if spec.inputs is None else spec.inputs)
    counts = spec.circuit.resources()
    circuit, wires = spec.circuit, m.wires
    if m.kind == "povm":
        assert m.elements is not None
        circuit, wires = naimark(circuit, m.elements, m.wires)
    values = torch.as_tensor(spec.parameters, dtype=DTYPES[dtype])
    inputs = None if spec.inputs is None else torch.as_tensor(spec.inputs, dtype=DTYPES[dtype])
    result: dict[str, Any] = read(circuit, m, wires, values, inputs, device)
    if m.kind == "povm":
        assert m.elements is not None
        result["probabilities"] = result["probabilities"][: len(m.elements)]
    return {
        **result,
        "qubits": counts["qubits"],
        "depth": counts["depth"],
        "gates": counts["gates"],
        "device": device,
        "shots": m.shots,
    }


def read(
    circuit: Circuit,
    m: Measurement,
    wires: tuple[int, ...],
    p: Float[Tensor, " parameters"],
    x: Float[Tensor, " inputs"] | None,
    device: str,
) -> dict[str, Any]:
    """The result of a measurement as plain numbers."""
    n = circuit.qubits
    if m.kind == "expectations":
        if m.shots is None:
            if device == "fast":
                means = expectations(run(circuit, p, x), m.words)
            else:
                means = pennylane.expectations(circuit, m.words, p, x, device)
        elif device == "fast":
            means = torch.tensor(
                [sampled_mean(circuit, w, p, x, m.shots, m.seed, k) for k, w in enumerate(m.words)], dtype=torch.float64
            )
        else:
            means = pennylane.expectations(circuit, m.words, p, x, device, m.shots, m.seed)
        return {"expectations": means.double().tolist(), "observables": list(m.words)}
    if m.hamiltonian is not None:
        return read_energy(circuit, m, m.hamiltonian, p, x, device)
    if m.kind == "state":
        psi = run(circuit, p, x).amplitudes() if device == "fast" else pennylane.state_vector(circuit, p, x, device)
        return {"state": [[float(a.real), float(a.imag)] for a in psi.detach().numpy()]}
    width = len(wires) or n
    if m.shots is None:
        full = (
            run(circuit, p, x).probabilities() if device == "fast" else pennylane.probabilities(circuit, p, x, device)
        )
        return {"probabilities": marginal(full.double(), wires, n).tolist()}
    if device == "fast":
        exact = marginal(run(circuit, p, x).probabilities(), wires, n)
        drawn = sample(exact, m.shots, m.seed)
    else:
        drawn = pennylane.samples(circuit, p, x, device, m.shots, m.seed, wires)
    if m.kind == "samples":
        texts = [format(int(s), f"0{width}b") for s in drawn]
        return {"samples": texts, "counts": dict(sorted(Counter(texts).items()))}
    return {"probabilities": (np.bincount(drawn, minlength=2**width) / m.shots).tolist()}


def read_energy(
    circuit: Circuit,
    m: Measurement,
    h: Hamiltonian,
    p: Float[Tensor, " parameters"],
    x: Float[Tensor, " inputs"] | None,
    device: str,
) -> dict[str, Any]:
    """The mean of a Hamiltonian with its variance or, from shots, its standard error; beside it the ground energy."""
    ground = ground_energy(h) if h.qubits <= MOST_QUBITS else None
    if m.shots is not None:

        def draw(turns: list[Operation], shots: int, stream: int) -> Int[np.ndarray, " shots"]:
            seed = None if m.seed is None else np.random.SeedSequence([m.seed, stream]).generate_state(1)[0].item()
            if device == "fast":
                return sample(run(circuit.then(turns), p, x).probabilities(), shots, seed)
            return pennylane.samples(circuit.then(turns), p, x, device, shots, seed)

        mean, error, groups = sampled_energy(h, draw, m.shots)
        return {"energy": mean, "standard_error": error, "groups": groups, "ground_energy": ground}
    if device == "fast":
        psi = run(circuit, p, x).amplitudes()
        told = {"energy": float(energy(h, psi)), "variance": float(variance(h, psi))}
    else:
        means = pennylane.expectations(circuit, h.words, p, x, device).double()
        told = {"energy": float(means @ torch.tensor(h.coefficients, dtype=torch.float64))}
    return {**told, "ground_energy": ground}


def sampled_mean(
    circuit: Circuit,
    word: str,
    p: Float[Tensor, " parameters"],
    x: Float[Tensor, " inputs"] | None,
    shots: int,
    seed: int | None,
    stream: int,
) -> float:
    """The mean of a Pauli word from shots, each word with its own stream of random numbers."""
    turns = [gate("Hadamard", w) for w, letter in enumerate(word) if letter == "X"]
    turns += [g for w, letter in enumerate(word) if letter == "Y" for g in (gate("Adjoint(S)", w), gate("Hadamard", w))]
    probabilities = run(circuit.then(turns), p, x).probabilities()
    drawn = sample(
        probabilities,
        shots,
        None if seed is None else np.random.SeedSequence([seed, stream]).generate_state(1)[0].item(),
    )
    signs = z_signs("".join("I" if letter == "I" else "Z" for letter in word)).numpy()
    return float(signs[drawn].mean())
