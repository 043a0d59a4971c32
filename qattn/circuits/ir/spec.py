"""A circuit written down: the plain-data form (what YAML or JSON holds) and back. Parameters travel as numbers,
never as code.

    qubits: 3                                   qubits: 4
    gates:                                      ansatz: {name: StronglyEntanglingLayers, layers: 2, seed: 0}
      - [Hadamard, 0]                           encode: {kind: amplitude, values: [...]}
      - [RY, 2, 0.3]                            noise: {kind: DepolarizingChannel, p: 0.01}
    measure: probabilities                      measure: {expectations: [ZZII, XIII]}

A gate is its name, its wires, its angles; an angle is a number, a parameter's name, or arithmetic of numbers, pi and
one parameter such as ``2*a - pi/4``. Gates that carry a matrix, a word or any number of wires are mappings:
``{gate: QubitUnitary, wires: [0, 1], matrix: [[...]]}``. A complex number is ``[re, im]`` or ``"0.5-0.5j"``. An angle
read from the data is ``{input: 0}``, a scaled one ``{parameter: a, scale: 2, shift: 0.1}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from qattn.circuits.ir import ansatz as ansaetze
from qattn.circuits.ir import expressions
from qattn.circuits.ir.circuit import CHANNELS, Circuit, Operation, ParameterRef, expect_shape, gate, wires_of
from qattn.circuits.ir.encode import amplitudes, encoded
from qattn.circuits.ir.expressions import finite
from qattn.circuits.ir.gates import ALIASES
from qattn.circuits.ir.hamiltonian import read_hamiltonian
from qattn.circuits.ir.spec_values import array_of, known, listed, number, whole
from qattn.circuits.simulate.readout import KINDS, Measurement

TOP = ("qubits", "gates", "ansatz", "encode", "noise", "measure", "parameters", "names", "inputs", "seed")
CARRIED = {"matrix": ("QubitUnitary",), "diagonal": ("DiagonalQubitUnitary",), "word": ("PauliRot",)}
BESIDE_ANSATZ = {
    "seed": "`ansatz.seed`",
    "parameters": "`ansatz.weights`",
    "names": "`ansatz.weights`, which have none",
}
ENCODINGS = {
    "basis": ("values",),
    "angle": ("values", "axis"),
    "amplitude": ("values", "normalize"),
    "reupload": ("values", "axis"),
}
MEASURE_OPTIONS: dict[str, tuple[str, ...]] = {
    "probabilities": ("wires", "shots", "seed"),
    "samples": ("wires", "seed"),
    "expectations": ("shots", "seed"),
    "hamiltonian": ("shots", "seed"),
    "state": ("shots", "seed"),  # shots of a state are refused with a reason of their own
    "povm": ("wires", "shots", "seed"),
}
MOST_QUBITS = 10_000  # far beyond simulation; a Givens network has a wire for every row of its matrix


@dataclass(frozen=True, eq=False)
class Spec:
    """A circuit with values for its parameters ``(n_parameters,)`` and inputs ``(n_inputs,)`` (None: to be given),
    and a measurement.

    ``given[k]`` says that parameter k was written down (None: all were) and not drawn from a seed: a training starts
    from these values.
    """

    circuit: Circuit
    parameters: Float[np.ndarray, " parameters"]
    inputs: Float[np.ndarray, " inputs"] | None = None
    measurement: Measurement = field(default_factory=Measurement)
    given: Bool[np.ndarray, " parameters"] | None = None


def from_dict(data: Mapping[str, Any], drawn: bool = False) -> Spec:
    """Read the plain-data form; with ``drawn``, parameters without a value need no seed, since the caller draws them.

    Raises ``ValueError`` with one sentence naming the key, what was expected and what was got.
    """
    known(data, TOP, "circuit")
    qubits = whole(data.get("qubits"), "qubits", least=1, most=MOST_QUBITS)
    if ("gates" in data) == ("ansatz" in data):
        raise ValueError("a circuit has either `gates` or `ansatz`, one of the two")
    encode = data.get("encode")
    if "gates" in data:
        circuit, parameters, given = from_gates(qubits, data, drawn)
    else:
        for key, instead in BESIDE_ANSATZ.items():
            if data.get(key) is not None:
                raise ValueError(f"{key}: belongs to circuits given by `gates`; with an ansatz write {instead}")
        circuit, parameters, given = from_ansatz(qubits, data["ansatz"], encode)
    if encode is not None:
        circuit = with_encoding(circuit, encode, "ansatz" in data)
    if data.get("noise") is not None:
        circuit = with_noise(circuit, **noise_options(data["noise"]))
    measurement = read_measurement(data.get("measure", "probabilities"), qubits)
    measurement.check(qubits)
    return Spec(circuit, parameters, read_inputs(circuit, data, encode), measurement, given)


def from_gates(qubits: int, data: Mapping[str, Any], drawn: bool) -> tuple[Circuit, np.ndarray, np.ndarray]:
    """The circuit of a list of gates, its parameters, and whether each was given."""
    entries = data["gates"]
    if not isinstance(entries, list | tuple):
        raise ValueError(f"gates: expected a list such as [[Hadamard, 0], [CNOT, 0, 1]], got {entries!r}")
    names: list[str] = [str(name) for name in listed(data.get("names") or (), "names")]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ValueError(f"names: {twice[0]!r} is there twice")
    operations = [read_gate(entry, place, names) for place, entry in enumerate(entries)]
    reserved = [name for name in names if name.lower() in expressions.RESERVED]
    if reserved:
        raise ValueError(f"names: {reserved[0]!r} has a meaning of its own and cannot be the name of a parameter")
    circuit = Circuit(qubits, tuple(operations), names=tuple(names))
    given = data.get("parameters") or {}
    known(given, names, "parameters")
    missing = [name for name in names if name not in given]
    if missing and "seed" not in data and not drawn:
        raise ValueError(
            f"parameters: no value for {missing[0]!r} (give one, or a `seed` to draw it uniformly from [0, 2π))"
        )
    draws = np.random.default_rng(whole(data.get("seed", 0), "seed")).uniform(0, 2 * np.pi, len(names))
    values = [number(given[n], f"parameters.{n}") if n in given else draws[k] for k, n in enumerate(names)]
    return circuit, np.array(values, float), np.array([n in given for n in names], bool)


def read_gate(entry: Any, place: int, names: list[str]) -> Operation:
    """One entry of ``gates``; parameters not met before are appended to ``names``."""
    where = f"gates[{place}]"
    if isinstance(entry, Mapping):
        known(entry, ("gate", "wires", "angles", "matrix", "diagonal", "word"), where)
        if not isinstance(entry.get("gate"), str):
            raise ValueError(f"{where}: expected the name of a gate under `gate`, got {entry.get('gate')!r}")
        name = str(ALIASES.get(entry["gate"], entry["gate"]))
        for key, gates in CARRIED.items():
            if key in entry and name not in gates:
                raise ValueError(f"{where}: {name} has no `{key}`, that belongs to {' and '.join(gates)}")
        wires = tuple(whole(w, f"{where}.wires") for w in listed(entry.get("wires", ()), f"{where}.wires"))
        angles = tuple(read_angle(a, where, names) for a in listed(entry.get("angles", ()), f"{where}.angles"))
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
    wires = tuple(whole(w, f"{where} ({name}): wire") for w in rest[:count])
    return gate(name, *wires, *(read_angle(a, where, names) for a in rest[count:]))


def read_angle(value: Any, where: str, names: list[str]) -> float | ParameterRef:
    """A number, arithmetic with one parameter, or a mapping that reads an ``input`` or a ``parameter``."""
    if isinstance(value, Mapping):
        known(value, ("input", "parameter", "scale", "shift"), where)
        scale, shift = number(value.get("scale", 1.0), where), number(value.get("shift", 0.0), where)
        if "input" in value and "parameter" in value:
            raise ValueError(f"{where}: an angle reads an `input` or a `parameter`, one of the two, got both")
        if "input" in value:
            return ParameterRef(whole(value["input"], f"{where}: input"), "inputs", scale, shift)
        if not isinstance(value.get("parameter"), str):
            raise ValueError(f"{where}: an angle reads an `input` or a `parameter`, got {dict(value)!r}")
        return ParameterRef(index_of(value["parameter"], names), "parameters", scale, shift)
    if not isinstance(value, str):
        return number(value, where)
    if value in names:
        return ParameterRef(names.index(value))
    try:
        found = expressions.read_angle(value)
        scale, shift = finite(found.scale), finite(found.shift)
    except ValueError as error:
        raise ValueError(f"{where}: the angle {value!r}: {error}") from None
    return shift if found.name is None else ParameterRef(index_of(found.name, names), "parameters", scale, shift)


def index_of(name: str, names: list[str]) -> int:
    """The number of a parameter; a new one is the last."""
    if name not in names:
        names.append(name)
    return names.index(name)


def from_ansatz(qubits: int, data: Any, encode: Any) -> tuple[Circuit, np.ndarray, np.ndarray]:
    """The circuit of a named ansatz, its parameters, and whether they were given."""
    known(data, ("name", "layers", "seed", "weights"), "ansatz")
    name = data.get("name")
    layers = whole(data.get("layers", 1), "ansatz.layers", least=1)
    reupload = None
    if isinstance(encode, Mapping) and encode.get("kind") == "reupload":
        reupload = str(encode.get("axis", "X"))
    circuit = ansaetze.build(str(name), qubits, layers, reupload)
    if "weights" not in data:
        draws = ansaetze.draw_parameters(str(name), qubits, layers, whole(data.get("seed", 0), "ansatz.seed"))
        return circuit, draws, np.zeros(len(draws), bool)
    if "seed" in data:
        raise ValueError("ansatz: `weights` gives the parameters and `seed` draws them: keep one of the two")
    try:
        weights = np.asarray(data["weights"])
        if weights.dtype.kind not in "iuf" and weights.size:
            raise ValueError
        weights = weights.astype(float)
    except (ValueError, TypeError):
        raise ValueError("ansatz.weights: expected numbers in nested lists of equal lengths") from None
    shapes = ansaetze.find(str(name)).shape(qubits, layers)
    if len(shapes) == 1 and weights.ndim > 1:
        expect_shape("ansatz.weights", weights.shape, next(iter(shapes.values())))
    expect_shape("ansatz.weights", weights.ravel().shape, (circuit.n_parameters,))
    if not np.all(np.isfinite(weights)):
        raise ValueError("ansatz.weights: expected finite numbers")
    return circuit, weights.ravel(), np.ones(weights.size, bool)


def with_encoding(circuit: Circuit, data: Any, layered: bool) -> Circuit:
    """The circuit with the encoding that ``encode`` describes; ``layered`` says that an ansatz repeats layers."""
    known(data, ("kind", "values", "axis", "normalize"), "encode")
    kind, values = data.get("kind"), data.get("values")
    if kind == "reupload" and not layered:
        raise ValueError(
            "encode: reupload goes before every layer of an `ansatz`; among `gates` write {input: k} angles"
        )
    for key in data:
        if kind in ENCODINGS and key != "kind" and key not in ENCODINGS[kind] and data[key] is not None:
            raise ValueError(f"encode: {kind} encoding has no `{key}`")
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
    """The values of the data: ``inputs``, or the ``values`` of an encoding by angles."""
    values = data.get("inputs")
    if isinstance(encode, Mapping) and encode.get("values") is not None:
        if values is not None:
            raise ValueError("inputs: `encode.values` gives the data already: keep one of the two")
        values = encode["values"] if encode.get("kind") in ("angle", "reupload") else None
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
    """The arguments of ``with_noise`` from the ``noise`` key."""
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


def read_measurement(data: Any, qubits: int) -> Measurement:
    """``probabilities``, ``{expectations: [ZI]}``, ``{samples: 1000, seed: 7}``, ``{probabilities: [0, 2]}``,
    ``{povm: [...]}``, ``{hamiltonian: {ZZ: -1.05, XI: 0.39}}``."""
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
    takes = MEASURE_OPTIONS[kind]
    if kind == "probabilities" and value is not None:
        takes = ("shots", "seed")  # the list names the wires already
    for key in data:
        if key != kind and key not in takes and data[key] is not None:
            raise ValueError(f"measure: {kind} takes no `{key}` here, only {', '.join(takes) or 'its own value'}")
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
    elif kind == "hamiltonian":
        h = read_hamiltonian(value, qubits, "measure.hamiltonian")
        return Measurement(kind, shots=shots, seed=seed, hamiltonian=h)
    elif kind == "povm":
        elements = array_of(value, 3, "measure.povm")
    elif kind == "probabilities" and value is not None:
        wires = tuple(whole(w, "measure.probabilities") for w in listed(value, "measure.probabilities"))
    return Measurement(kind, wires, words, shots, seed, elements)
