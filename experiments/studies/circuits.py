"""What the verbs of ``qattn circuit`` do beyond the library: files, folders, progress, and plain numbers for JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.errors import UserError, blame
from experiments.schema.circuit_file import CircuitFile
from qattn.circuits.analyse import expressibility as states
from qattn.circuits.analyse import sensitivity
from qattn.circuits.compile.export import FORMATS
from qattn.circuits.compile.export_dynamic import dynamic_openqasm
from qattn.circuits.ir.ansatz import Ansatz, build, find, names
from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.ir.dynamic import DynamicCircuit
from qattn.circuits.ir.spec import DynamicSpec, Spec
from qattn.circuits.simulate.readout import Measurement, expectations
from qattn.circuits.simulate.statevector import run


def numbers(text: str, option: str) -> list[float]:
    """Finite numbers separated by commas. Raises :class:`UserError` naming the option."""
    try:
        found = [float(part) for part in text.split(",")]
        if np.all(np.isfinite(found)):
            return found
    except ValueError:
        pass
    raise UserError(f"{option}: expected finite numbers separated by commas, got {text!r}")


def whole_numbers(text: str, option: str) -> list[int]:
    """Whole numbers separated by commas. Raises :class:`UserError` naming the option."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"{option}: expected whole numbers separated by commas, got {text!r}") from None


def bound(spec: Spec) -> Circuit:
    """The spec's circuit with its numbers put in."""
    return spec.circuit.bound(spec.parameters.tolist(), [] if spec.inputs is None else spec.inputs.tolist())


def exported(spec: Spec | DynamicSpec, to: str) -> str:
    """The circuit, its numbers put in, as text for another tool. Raises ``ValueError`` for what that cannot say."""
    if isinstance(spec, Spec):
        return FORMATS[to](bound(spec))
    if to != "qasm3":
        raise ValueError(f"measurements in between are exported to qasm3 alone, not to {to}")
    given = spec.circuit if spec.inputs is None else spec.circuit.filled("inputs", spec.inputs)
    return dynamic_openqasm(given.filled("parameters", spec.parameters))


def imported(path: Path, drawn: bool = False) -> CircuitFile:
    """An OpenQASM file as a circuit file, its measured qubits as the measurement.

    Raises :class:`UserError` naming file and line of what is not read, and unless ``drawn`` for inputs without values.
    """
    from qattn.circuits.compile.openqasm_reader import read_openqasm

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: expected OpenQASM as text in UTF-8") from None
    with blame(path):
        found = read_openqasm(text)
    names = found.circuit.names
    if names and not drawn:
        raise UserError(f"{path}: no value for the input {names[0]!r}: import the file and give `parameters`")
    if isinstance(found.circuit, DynamicCircuit):
        return CircuitFile(DynamicSpec(found.circuit, np.zeros(len(names)), given=np.zeros(len(names), bool)))
    wires = () if found.measured == tuple(range(found.circuit.qubits)) else found.measured
    given = np.zeros(len(names), bool)
    return CircuitFile(Spec(found.circuit, np.zeros(len(names)), None, Measurement("probabilities", wires), given))


def usable_ansatze() -> dict[str, Ansatz]:
    """The ansätze by name, those of installed packages included unless they cannot be used."""
    found: dict[str, Ansatz] = {}
    for name in names():
        with suppress(ValueError):
            found[name] = find(name)
    return found


def circuit_text(data: dict[str, Any]) -> str:
    """A circuit file in YAML, one gate per line."""
    rows = []
    for key, value in data.items():
        if key == "gates":
            rows += ["gates:" if value else "gates: []", *(f"  - {json.dumps(entry)}" for entry in value)]
        else:
            rows.append(f"{key}: {json.dumps(value)}")
    return "\n".join(rows) + "\n"


@dataclass(frozen=True)
class Asked:
    """What ``analyse`` was asked about: the file's circuit, as it is and at its inputs, and the options."""

    spec: Spec
    circuit: Circuit
    samples: int
    seed: int
    cut: list[int]
    strengths: list[float]


def expressibility(asked: Asked) -> dict[str, Any]:
    """The divergence from Haar, with what Haar states themselves give at this sample size."""
    n = asked.circuit.qubits
    found = states.expressibility(asked.circuit, asked.samples, seed=asked.seed)
    floor = states.haar_floor(2**n, asked.samples)
    told: dict[str, Any] = {**asdict(found), "floor": floor, "bins": states.BINS}
    if n > states.MOST_QUBITS_BINNED:
        told["note"] = (
            f"from {states.MOST_QUBITS_BINNED + 1} qubits on nearly all Haar fidelities fall into the first of"
            f" {states.BINS} bins, which tells circuits apart badly: compare frame potentials (--measures frame)"
        )
    return told


def entangling(asked: Asked) -> dict[str, Any]:
    """Meyer–Wallach, with the mean of Haar states."""
    found = states.entangling_capability(asked.circuit, asked.samples, asked.seed)
    return {**asdict(found), "haar": states.haar_meyer_wallach(asked.circuit.qubits)}


def frame(asked: Asked) -> dict[str, Any]:
    """The frame potential of order 2, with Haar's, its minimum."""
    value, haar = states.frame_potential(asked.circuit, 2, asked.samples, asked.seed)
    return {"order": 2, **asdict(value), "haar": haar}


def entropy(asked: Asked) -> dict[str, Any]:
    """The mean entropy across the cut."""
    sampled = states.sampled_states(asked.circuit, asked.samples, asked.seed).to(torch.complex128)
    found = states.mean_of(states.entropy(sampled, asked.cut).numpy())
    return {"wires": asked.cut, **asdict(found), "unit": "nats"}


def light_cone(asked: Asked) -> dict[str, Any]:
    """What can influence the wires of the cut."""
    gates, wires, parameters = sensitivity.light_cone(asked.circuit, asked.cut)
    return {"measured": asked.cut, "gates": gates, "wires": wires, "parameters": parameters}


def fisher(asked: Asked) -> dict[str, Any]:
    """The spectrum of the mean Fisher matrix, and the effective dimension for 1,000 samples."""
    matrices, spectrum = sensitivity.fisher_spectrum(asked.circuit, min(asked.samples, 50), asked.seed)
    dimension = sensitivity.effective_dimension(matrices, 1000)
    return {"spectrum": spectrum.tolist(), "effective_dimension": dimension, "data": 1000}


def loss_slice(asked: Asked) -> dict[str, Any]:
    """The mean of Z on wire 0 around the file's parameters."""
    word = "Z" + "I" * (asked.circuit.qubits - 1)
    center = torch.as_tensor(asked.spec.parameters)
    found = sensitivity.loss_slice(lambda p: expectations(run(asked.circuit, p), [word])[:, 0], center, seed=asked.seed)
    return {"observable": word, **found}


def noise(asked: Asked) -> list[dict[str, float]]:
    """Fidelity, purity and divergence for every strength."""
    from qattn.circuits.analyse.noise import sweep

    return sweep(asked.circuit.bound(asked.spec.parameters), asked.strengths)


def plateau(asked: Asked) -> dict[str, Any]:
    """Gradient variance: over qubits 2 to the file's (at least 6) for a named ansatz, else (or with inputs, an encoding
    or noise, which belong to the file's number of qubits) at the circuit as it stands."""
    count, circuit = min(asked.samples, 500), asked.circuit
    if asked.spec.ansatz is None:
        word = sensitivity.first_two(circuit.qubits)
        grads = sensitivity.gradient_samples(circuit, word, count, asked.seed)
        return {"observable": word, "variance": grads.var(0).tolist()}
    name, depth = asked.spec.ansatz
    found = sensitivity.gradient_variance(
        lambda n, layers: build(name, n, layers),
        sorted({*range(2, max(6, circuit.qubits) + 1, 2), max(2, circuit.qubits)}),
        (1, depth) if depth > 1 else (1,),
        count,
        asked.seed,
    )
    fitted = found.pop("fit")
    return {"observable": "Z on wires 0 and 1", **found, "fit": None if fitted is None else asdict(fitted)}


# measure: the key of its result, and what makes it
MEASURES: dict[str, tuple[str, Callable[[Asked], Any]]] = {
    "expressibility": ("expressibility", expressibility),
    "entangling": ("meyer_wallach", entangling),
    "frame": ("frame_potential", frame),
    "gradients": ("gradients", plateau),
    "fisher": ("fisher", fisher),
    "entropy": ("entropy", entropy),
    "cone": ("light_cone", light_cone),
    "slice": ("slice", loss_slice),
    "noise": ("noise", noise),
}


def analysis(
    spec: Spec, wanted: list[str], samples: int, seed: int, cut: list[int], strengths: list[float]
) -> dict[str, Any]:
    """The measures asked for, or ``["all"]``, as plain numbers, at the spec's inputs.

    Inputs that are not given are 0 (as amplitudes |0…0⟩), and the result says so. Of all measures, those that do not
    apply to the circuit are left out and named under ``skipped`` with the reason; one asked for by name raises
    ``ValueError`` with it.
    """
    circuit = at_inputs(spec.circuit, spec.inputs)
    asked = Asked(spec, circuit, samples, seed, cut, strengths)
    out: dict[str, Any] = {**circuit.resources(), "samples": samples, "seed": seed}
    if spec.circuit.n_inputs:
        out["inputs"] = "zero" if spec.inputs is None else spec.inputs.tolist()
    skipped: dict[str, str] = {}
    for name, (key, measure) in MEASURES.items():
        if name not in wanted and wanted != ["all"]:
            continue
        try:
            out[key] = measure(asked)
        except ValueError as error:
            if wanted != ["all"]:
                raise
            skipped[name] = str(error)
    if skipped:
        out["skipped"] = skipped
    return out


def at_inputs(circuit: Circuit, inputs: np.ndarray | None) -> Circuit:
    """The circuit for its inputs, or where there are none for 0 (as amplitudes |0…0⟩)."""
    if inputs is None:
        inputs = np.zeros(circuit.n_inputs)
        inputs[:1] = circuit.amplitude_inputs
    return circuit.with_inputs(inputs)
