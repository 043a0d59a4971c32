"""Circuits written down in the plain-data form that ``spec.read_spec`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qattn.circuits.ir.circuit import Operation, ParameterRef
from qattn.circuits.ir.dynamic import Condition, DynamicCircuit, If, Measure, Reset, Step
from qattn.circuits.ir.spec import DynamicSpec, Spec
from qattn.circuits.ir.spec_values import pairs
from qattn.circuits.simulate.readout import Measurement


def to_dict(spec: Spec | DynamicSpec) -> dict[str, Any]:
    """The plain-data form of a spec, gate by gate; ``read_spec`` reads it back to the same circuit and values."""
    circuit = spec.circuit
    names = circuit.names or tuple(f"p{k}" for k in range(circuit.n_parameters))
    if isinstance(circuit, DynamicCircuit):
        gates = [step_entry(step, names, circuit.bits) for step in circuit.steps]
    else:
        gates = [gate_entry(op, names) for op in circuit.operations]
    out: dict[str, Any] = {"qubits": circuit.qubits, "gates": gates}
    if names:
        out["names"] = list(names)  # their order is the order of the parameters
        out["parameters"] = dict(zip(names, map(float, spec.parameters), strict=True))
    if spec.inputs is not None:
        out["inputs"] = [float(v) for v in spec.inputs]
    if circuit.initial is not None:
        out["encode"] = {"kind": "amplitude", "values": pairs(circuit.initial)}
    elif not isinstance(circuit, DynamicCircuit) and circuit.amplitude_inputs:
        out["encode"] = {"kind": "amplitude"}
    out["measure"] = measurement_entry(spec.measurement)
    return out


def gate_entry(op: Operation, names: Sequence[str]) -> Any:
    """One gate."""

    def angle(a: float | ParameterRef) -> float | str | dict[str, Any]:
        if not isinstance(a, ParameterRef):
            return float(a)
        affine = {
            key: value for key, value, plain in (("scale", a.scale, 1.0), ("shift", a.shift, 0.0)) if value != plain
        }
        if a.source == "inputs":
            return {"input": a.index, **affine}
        return {"parameter": names[a.index], **affine} if affine else names[a.index]

    if op.data is None and not op.word and op.name not in ("MultiRZ", "MultiControlledX"):
        return [op.name, *op.wires, *map(angle, op.angles)]
    entry: dict[str, Any] = {"gate": op.name, "wires": list(op.wires)}
    if op.angles:
        entry["angles"] = [angle(a) for a in op.angles]
    if op.word:
        entry["word"] = op.word
    if op.data is not None:
        entry["matrix" if op.data.ndim == 2 else "diagonal"] = pairs(op.data)
    return entry


def step_entry(step: Step, names: Sequence[str], bits: Sequence[str]) -> Any:
    """One step of a dynamic circuit, the steps inside it too."""

    def block(steps: Sequence[Step]) -> list[Any]:
        return [step_entry(one, names, bits) for one in steps]

    if isinstance(step, Operation):
        return gate_entry(step, names)
    if isinstance(step, Measure):
        kept = {} if step.keep is None else {"postselect": step.keep}
        return {"measure": step.wire, "bit": bits[step.bit], **kept}
    if isinstance(step, Reset):
        return {"reset": step.wire}
    if isinstance(step, If):
        inner = {"gates": block(step.then), **({"else": block(step.otherwise)} if step.otherwise else {})}
        return {"if": condition_entry(step.condition, bits), **inner}
    return {"repeat": step.most, "until": condition_entry(step.until, bits), "gates": block(step.body)}


def condition_entry(condition: Condition, bits: Sequence[str]) -> Any:
    """The values of bits that fulfil a condition: one mapping, or a list of them of which one must hold."""
    size = len(condition.bits)
    cases = [
        {bits[b]: int(v) for b, v in zip(condition.bits, format(value, f"0{size}b"), strict=True)}
        for value in sorted(condition.values)
    ]
    return cases[0] if len(cases) == 1 else cases


def measurement_entry(m: Measurement) -> dict[str, Any]:
    """The measurement at the end."""
    value: Any = {"samples": m.shots, "expectations": list(m.words), "probabilities": list(m.wires) or None}.get(m.kind)
    if m.kind == "povm" and m.elements is not None:
        value = pairs(m.elements)
    if m.hamiltonian is not None:
        value = dict(zip(m.hamiltonian.words, m.hamiltonian.coefficients, strict=True))
    found = {m.kind: value, "shots": m.shots if m.kind != "samples" else None, "seed": m.seed}
    if m.kind != "probabilities" and m.wires:
        found["wires"] = list(m.wires)
    return found
