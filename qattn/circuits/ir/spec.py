"""A circuit written down: the plain-data form (what YAML or JSON holds) and back. Parameters travel as numbers,
never as code.

    qubits: 3                                   qubits: 4
    gates:                                      ansatz: {name: StronglyEntanglingLayers, layers: 2, seed: 0}
      - [Hadamard, 0]                           encode: {kind: amplitude, values: [...]}
      - [RY, 2, 0.3]                            noise: {kind: DepolarizingChannel, p: 0.01}
    measure: probabilities                      measure: {expectations: [ZZII, XIII]}

A gate is its name, its wires, its angles; an angle may be a parameter's name. Gates that carry a matrix, a word or
any number of wires are mappings: ``{gate: QubitUnitary, wires: [0, 1], matrix: [[...]]}``. A complex number is
``[re, im]`` or ``"0.5-0.5j"``.
An angle read from the data is ``{input: 0}``, a scaled one ``{parameter: a, scale: 2, shift: 0.1}``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qattn.circuits.ir import ansatz as ansaetze
from qattn.circuits.ir.circuit import CHANNELS, Circuit, Operation, ParameterRef, expect_shape, gate, wires_of
from qattn.circuits.ir.encode import amplitudes, encoded
from qattn.circuits.ir.gates import ALIASES
from qattn.circuits.simulate.readout import KINDS, Measurement

TOP = ("qubits", "gates", "ansatz", "encode", "noise", "measure", "parameters", "names", "inputs", "seed")
CARRIED = {"matrix": ("QubitUnitary",), "diagonal": ("DiagonalQubitUnitary",), "word": ("PauliRot",)}
MOST_QUBITS = 10_000  # far beyond simulation; a Givens network has a wire for every row of its matrix


@dataclass(frozen=True, eq=False)
class Spec:
    """A circuit with values for its parameters ``(n_parameters,)`` and inputs ``(n_inputs,)`` (None: to be given),
    and a measurement."""

    circuit: Circuit
    parameters: np.ndarray
    inputs: np.ndarray | None = None
    measurement: Measurement = field(default_factory=Measurement)


def from_dict(data: Mapping[str, Any]) -> Spec:
    """Read the plain-data form. Raises ``ValueError`` with one sentence naming the key, what was expected and what
    was got."""
    known(data, TOP, "circuit")
    qubits = whole(data.get("qubits"), "qubits", least=1, most=MOST_QUBITS)
    if ("gates" in data) == ("ansatz" in data):
        raise ValueError("a circuit has either `gates` or `ansatz`, one of the two")
    encode = data.get("encode")
    if "gates" in data:
        circuit, parameters = from_gates(qubits, data)
    else:
        circuit, parameters = from_ansatz(qubits, data["ansatz"], encode)
    if encode is not None:
        circuit = with_encoding(circuit, encode)
    if data.get("noise") is not None:
        circuit = with_noise(circuit, **noise_options(data["noise"]))
    measurement = read_measurement(data.get("measure", "probabilities"))
    measurement.check(qubits)
    return Spec(circuit, parameters, read_inputs(circuit, data, encode), measurement)


def known(data: Any, allowed: Sequence[str], where: str) -> None:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where}: expected a mapping with keys among {', '.join(allowed)}, got {data!r}")
    for key in data:
        if key not in allowed:
            raise ValueError(f"{where}: unknown key {key!r}; known are {', '.join(allowed)}")


def whole(value: Any, key: str, least: int = 0, most: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{key}: expected a whole number of at least {least}, got {value!r}")
    if value > most:
        raise ValueError(f"{key}: expected a whole number of at most {most}, got {value!r}")
    return value


def listed(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}: expected a list, got {value!r}")
    return value


def number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{where}: expected a finite number, got {value!r}")
    return float(value)


def complex_number(value: Any, where: str) -> complex:
    """A number, ``[re, im]``, or text such as ``"0.5-0.5j"``."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return complex(number(value[0], where), number(value[1], where))
    if isinstance(value, str):
        try:
            found = complex(value.replace(" ", "").replace("i", "j"))
        except ValueError:
            raise ValueError(f"{where}: expected a complex number such as 0.5-0.5j, got {value!r}") from None
        if np.isfinite(found):
            return found
    return complex(number(value, where))


def array_of(value: Any, depth: int, where: str) -> np.ndarray:
    """Nested lists of complex numbers, ``depth`` levels deep."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"{where}: expected a list of numbers, got {value!r}")
    if depth == 1:
        return np.array([complex_number(v, where) for v in value])
    rows = [array_of(v, depth - 1, where) for v in value]
    if len({row.shape for row in rows}) > 1:
        raise ValueError(f"{where}: the rows have unequal lengths {[row.shape[0] for row in rows]}")
    return np.stack(rows)


def from_gates(qubits: int, data: Mapping[str, Any]) -> tuple[Circuit, np.ndarray]:
    entries = data["gates"]
    if not isinstance(entries, list | tuple):
        raise ValueError(f"gates: expected a list such as [[Hadamard, 0], [CNOT, 0, 1]], got {entries!r}")
    names: list[str] = [str(name) for name in listed(data.get("names") or (), "names")]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ValueError(f"names: {twice[0]!r} is there twice")
    operations = [read_gate(entry, place, names) for place, entry in enumerate(entries)]
    circuit = Circuit(qubits, tuple(operations), names=tuple(names))
    given = data.get("parameters") or {}
    known(given, names, "parameters")
    missing = [name for name in names if name not in given]
    if missing and "seed" not in data:
        raise ValueError(
            f"parameters: no value for {missing[0]!r} (give one, or a `seed` to draw it uniformly from [0, 2π))"
        )
    drawn = np.random.default_rng(whole(data.get("seed", 0), "seed")).uniform(0, 2 * np.pi, len(names))
    values = [number(given[n], f"parameters.{n}") if n in given else drawn[k] for k, n in enumerate(names)]
    return circuit, np.array(values, float)


def read_gate(entry: Any, place: int, names: list[str]) -> Operation:
    where = f"gates[{place}]"

    def angle(value: Any) -> float | ParameterRef:
        if isinstance(value, Mapping):
            known(value, ("input", "parameter", "scale", "shift"), where)
            scale, shift = number(value.get("scale", 1.0), where), number(value.get("shift", 0.0), where)
            if "input" in value and "parameter" in value:
                raise ValueError(f"{where}: an angle reads an `input` or a `parameter`, one of the two, got both")
            if "input" in value:
                return ParameterRef(whole(value["input"], f"{where}: input"), "inputs", scale, shift)
            if "parameter" not in value:
                raise ValueError(f"{where}: an angle reads an `input` or a `parameter`, got {dict(value)!r}")
            base = angle(str(value["parameter"]))
            assert isinstance(base, ParameterRef)
            return ParameterRef(base.index, "parameters", scale, shift)
        if isinstance(value, str):
            if value not in names:
                names.append(value)
            return ParameterRef(names.index(value))
        return number(value, where)

    if isinstance(entry, Mapping):
        known(entry, ("gate", "wires", "angles", "matrix", "diagonal", "word"), where)
        name = ALIASES.get(str(entry.get("gate")), str(entry.get("gate")))
        for key, gates in CARRIED.items():
            if key in entry and name not in gates:
                raise ValueError(f"{where}: {name} has no `{key}`, that belongs to {' and '.join(gates)}")
        wires = tuple(whole(w, f"{where}.wires") for w in listed(entry.get("wires", ()), f"{where}.wires"))
        angles = tuple(angle(a) for a in listed(entry.get("angles", ()), f"{where}.angles"))
        data = None
        if "matrix" in entry:
            data = array_of(entry["matrix"], 2, f"{where}.matrix")
        elif "diagonal" in entry:
            data = array_of(entry["diagonal"], 1, f"{where}.diagonal")
        return Operation(name, wires, angles, data, str(entry.get("word", "")))
    if not isinstance(entry, list | tuple) or not entry or not isinstance(entry[0], str):
        raise ValueError(f"{where}: expected a gate such as [RY, 2, 0.3] (name, wires, angles), got {entry!r}")
    name, *rest = entry
    try:
        count = wires_of(name)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if len(rest) < count:
        raise ValueError(f"{where}: {name} needs {count} wires, got {rest}")
    return gate(name, *(whole(w, f"{where} ({name}): wire") for w in rest[:count]), *(angle(a) for a in rest[count:]))


def from_ansatz(qubits: int, data: Any, encode: Any) -> tuple[Circuit, np.ndarray]:
    known(data, ("name", "layers", "seed", "weights"), "ansatz")
    name = data.get("name")
    layers = whole(data.get("layers", 1), "ansatz.layers", least=1)
    reupload = None
    if isinstance(encode, Mapping) and encode.get("kind") == "reupload":
        reupload = str(encode.get("axis", "X"))
    circuit = ansaetze.build(str(name), qubits, layers, reupload)
    if "weights" not in data:
        return circuit, ansaetze.draw_parameters(str(name), qubits, layers, whole(data.get("seed", 0), "ansatz.seed"))
    try:
        weights = np.asarray(data["weights"], float)
    except (ValueError, TypeError):
        raise ValueError("ansatz.weights: expected numbers in nested lists of equal lengths") from None
    shapes = ansaetze.find(str(name)).shape(qubits, layers)
    if len(shapes) == 1 and weights.ndim > 1:
        expect_shape("ansatz.weights", weights.shape, next(iter(shapes.values())))
    expect_shape("ansatz.weights", weights.ravel().shape, (circuit.n_parameters,))
    if not np.all(np.isfinite(weights)):
        raise ValueError("ansatz.weights: expected finite numbers")
    return circuit, weights.ravel()


def with_encoding(circuit: Circuit, data: Any) -> Circuit:
    known(data, ("kind", "values", "axis", "normalize"), "encode")
    kind, values = data.get("kind"), data.get("values")
    if kind == "amplitude" and values is not None:
        return encoded(
            circuit,
            "amplitude",
            list(array_of(values, 1, "encode.values")),
            normalize=bool(data.get("normalize", False)),
        )
    if kind == "basis" and values is not None:
        bits = list(values) if isinstance(values, str) else listed(values, "encode.values")
        if any(isinstance(b, bool) or b not in (0, 1, "0", "1") for b in bits):
            raise ValueError(f"encode.values: a basis state is a list of bits 0 and 1, got {values!r}")
        return encoded(circuit, "basis", [int(b) for b in bits])
    return encoded(circuit, str(kind), axis=str(data.get("axis", "X")))


def read_inputs(circuit: Circuit, data: Mapping[str, Any], encode: Any) -> np.ndarray | None:
    values = data.get("inputs")
    if values is None and isinstance(encode, Mapping) and encode.get("kind") in ("angle", "reupload"):
        values = encode.get("values")
    if values is None:
        return None
    if not isinstance(values, list | tuple):
        raise ValueError(f"inputs: expected a list of {circuit.n_inputs} numbers, got {values!r}")
    inputs = np.array([number(v, "inputs") for v in values])
    expect_shape("inputs", inputs.shape, (circuit.n_inputs,))
    if circuit.amplitude_inputs:
        normalize = isinstance(encode, Mapping) and bool(encode.get("normalize", False))
        return amplitudes(inputs.astype(complex).tolist(), circuit.qubits, normalize).real
    return inputs


def noise_options(data: Any) -> dict[str, Any]:
    known(data, ("kind", "p", "after"), "noise")
    return {
        "kind": str(data.get("kind")),
        "p": number(data.get("p"), "noise.p"),
        "after": str(data.get("after", "gates")),
    }


def with_noise(circuit: Circuit, kind: str, p: float, after: str = "gates") -> Circuit:
    """A noise channel of strength ``p`` on every wire of every gate (``after="gates"``) or once on every wire
    (``"end"``).

    Raises ``ValueError`` for unknown channels and for strengths outside [0, 1].
    """
    if kind not in CHANNELS:
        raise ValueError(f"noise: unknown channel {kind!r}; known are {', '.join(CHANNELS)}")
    if not 0 <= p <= 1:
        raise ValueError(f"noise: a channel's strength lies between 0 and 1, got {p}")
    if after not in ("gates", "end"):
        raise ValueError(f"noise: `after` is gates or end, got {after!r}")
    operations: list[Operation] = []
    for op in circuit.operations:
        operations.append(op)
        if after == "gates" and op.name not in CHANNELS:
            operations += [Operation(kind, (w,), (p,)) for w in op.wires]
    if after == "end":
        operations += [Operation(kind, (w,), (p,)) for w in range(circuit.qubits)]
    return Circuit(circuit.qubits, tuple(operations), circuit.initial, circuit.amplitude_inputs, circuit.names)


def read_measurement(data: Any) -> Measurement:
    """``probabilities``, ``{expectations: [ZI]}``, ``{samples: 1000, seed: 7}``, ``{probabilities: [0, 2]}``,
    ``{povm: [...]}``."""
    if isinstance(data, str):
        if data not in ("probabilities", "state"):
            raise ValueError(
                f"measure: expected probabilities, state, or a mapping with one of {', '.join(KINDS)}, got {data!r}"
            )
        return Measurement(data)
    known(data, (*KINDS, "shots", "seed", "wires"), "measure")
    kinds = [k for k in KINDS if k in data]
    if len(kinds) != 1:
        raise ValueError(f"measure: expected exactly one of {', '.join(KINDS)}, got {', '.join(map(str, data))}")
    kind = kinds[0]
    value = data[kind]
    shots = None if data.get("shots") is None else whole(data["shots"], "measure.shots", least=1)
    seed = None if data.get("seed") is None else whole(data["seed"], "measure.seed")
    wires = tuple(whole(w, "measure.wires") for w in listed(data.get("wires") or (), "measure.wires"))
    words: tuple[str, ...] = ()
    elements = None
    if kind == "samples":
        shots = whole(value, "measure.samples", least=1)
    elif kind == "expectations":
        if not isinstance(value, list | tuple) or not all(isinstance(w, str) for w in value):
            raise ValueError(f"measure.expectations: expected a list of Pauli words such as [ZZI, XII], got {value!r}")
        words = tuple(value)
    elif kind == "povm":
        elements = array_of(value, 3, "measure.povm")
    elif kind == "probabilities" and value is not None:
        wires = tuple(whole(w, "measure.probabilities") for w in listed(value, "measure.probabilities"))
    return Measurement(kind, wires, words, shots, seed, elements)


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
    out["measure"] = {m.kind: value, "shots": m.shots if m.kind != "samples" else None, "seed": m.seed}
    if m.kind != "probabilities" and m.wires:
        out["measure"]["wires"] = list(m.wires)
    return out


def pairs(values: np.ndarray) -> list[Any]:
    if values.ndim > 1:
        return [pairs(v) for v in values]
    return [[float(v.real), float(v.imag)] for v in np.asarray(values, complex)]
