"""Circuits written down in the plain-data form that ``spec.from_dict`` reads."""

from __future__ import annotations

from typing import Any

from qattn.circuits.ir.circuit import ParameterRef
from qattn.circuits.ir.spec import Spec
from qattn.circuits.ir.spec_values import pairs


def to_dict(spec: Spec) -> dict[str, Any]:
    """The plain-data form of a spec, gate by gate; ``from_dict`` reads it back to the same circuit and values."""
    circuit = spec.circuit
    names = circuit.names or tuple(f"p{k}" for k in range(circuit.n_parameters))

    def angle(a: float | ParameterRef) -> float | str | dict[str, Any]:
        if not isinstance(a, ParameterRef):
            return float(a)
        affine = {
            key: value for key, value, plain in (("scale", a.scale, 1.0), ("shift", a.shift, 0.0)) if value != plain
        }
        if a.source == "inputs":
            return {"input": a.index, **affine}
        return {"parameter": names[a.index], **affine} if affine else names[a.index]

    gates: list[Any] = []
    for op in circuit.operations:
        plain = op.data is None and not op.word and op.name not in ("MultiRZ", "MultiControlledX")
        if plain:
            gates.append([op.name, *op.wires, *map(angle, op.angles)])
            continue
        entry: dict[str, Any] = {"gate": op.name, "wires": list(op.wires)}
        if op.angles:
            entry["angles"] = [angle(a) for a in op.angles]
        if op.word:
            entry["word"] = op.word
        if op.data is not None:
            entry["matrix" if op.data.ndim == 2 else "diagonal"] = pairs(op.data)
        gates.append(entry)
    out: dict[str, Any] = {"qubits": circuit.qubits, "gates": gates}
    if names:
        out["names"] = list(names)  # their order is the order of the parameters
        out["parameters"] = dict(zip(names, map(float, spec.parameters), strict=True))
    if spec.inputs is not None:
        out["inputs"] = [float(v) for v in spec.inputs]
    if circuit.initial is not None:
        out["encode"] = {"kind": "amplitude", "values": pairs(circuit.initial)}
    elif circuit.amplitude_inputs:
        out["encode"] = {"kind": "amplitude"}
    m = spec.measurement
    value: Any = {"samples": m.shots, "expectations": list(m.words), "probabilities": list(m.wires) or None}.get(m.kind)
    if m.kind == "povm" and m.elements is not None:
        value = pairs(m.elements)
    if m.hamiltonian is not None:
        value = dict(zip(m.hamiltonian.words, m.hamiltonian.coefficients, strict=True))
    out["measure"] = {m.kind: value, "shots": m.shots if m.kind != "samples" else None, "seed": m.seed}
    if m.kind != "probabilities" and m.wires:
        out["measure"]["wires"] = list(m.wires)
    return out
