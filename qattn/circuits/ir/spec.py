"""A circuit written down: the plain-data form (what YAML or JSON holds) and back. Parameters travel as numbers,
never as code.

    qubits: 3                                   qubits: 4
    gates:                                      ansatz: {name: StronglyEntanglingLayers, layers: 2, seed: 0}
      - [Hadamard, 0]                           encode: {kind: amplitude, values: [...]}
      - [RY, 2, 0.3]                            noise: {kind: DepolarizingChannel, p: 0.01}
    measure: probabilities                      measure: {expectations: [ZZII, XIII]}

Keys: ``qubits``; ``gates`` (``names``, ``parameters``, ``seed``) or ``ansatz`` (name, layers, seed or weights);
``encode`` (kind, values, axis, normalize), ``inputs``, ``noise`` (kind, p, after), ``measure``. A key of null is one
that is not there.

A gate is its name, its wires, its angles; an angle is a number, a parameter's name, or arithmetic of numbers, pi and
one parameter such as ``2*a - pi/4``. Gates that carry a matrix, a word or any number of wires are mappings:
``{gate: QubitUnitary, wires: [0, 1], matrix: [[...]]}``. A complex number is ``[re, im]`` or ``"0.5-0.5j"``. An angle
read from the data is ``{input: 0}``, a scaled one ``{parameter: a, scale: 2, shift: 0.1}``. ``theta[3]`` is a place of
an array, whose values are a list in ``parameters``. Loops, inverses, controls, measurements in between and conditions
are blocks among the gates, see ``spec_blocks``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from qattn.circuits.ir import ansatz as ansaetze
from qattn.circuits.ir.circuit import CHANNELS, Circuit, Operation, expect_shape
from qattn.circuits.ir.dynamic import DynamicCircuit, Step
from qattn.circuits.ir.encode import KINDS, amplitudes, encoded
from qattn.circuits.ir.spec_blocks import Named, read_block
from qattn.circuits.ir.spec_gates import check_names, read_names, read_parameters
from qattn.circuits.ir.spec_measurement import read_measurement
from qattn.circuits.ir.spec_values import Place, SpecError, array_of, at, known, listed, number, text, truth, whole
from qattn.circuits.simulate.readout import Measurement

TOP = ("qubits", "gates", "ansatz", "encode", "noise", "measure", "parameters", "names", "inputs", "seed")
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
MOST_QUBITS = 10_000  # far beyond simulation; a Givens network has a wire for every row of its matrix


@dataclass(frozen=True, eq=False)
class Spec:
    """A circuit with values for its parameters ``(n_parameters,)`` and inputs ``(n_inputs,)`` (None: to be given),
    and a measurement.

    ``given[k]`` says that parameter k was written down (None: all were) and not drawn from a seed: a training starts
    from these values. ``ansatz`` is its name and number of layers where the circuit is that and nothing else.
    """

    circuit: Circuit
    parameters: Float[np.ndarray, " parameters"]
    inputs: Float[np.ndarray, " inputs"] | None = None
    measurement: Measurement = field(default_factory=Measurement)
    given: Bool[np.ndarray, " parameters"] | None = None
    ansatz: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class DynamicSpec:
    """A circuit with measurements in between, values for its parameters and inputs, and the measurement at its end."""

    circuit: DynamicCircuit
    parameters: Float[np.ndarray, " parameters"]
    inputs: Float[np.ndarray, " inputs"] | None = None
    measurement: Measurement = field(default_factory=Measurement)
    given: Bool[np.ndarray, " parameters"] | None = None


def from_dict(data: Mapping[str, Any], drawn: bool = False) -> Spec:
    """Read the plain-data form; with ``drawn``, parameters without a value need no seed, since the caller draws them.

    Raises :class:`SpecError`, one sentence with the key, what was expected and what was got, also for circuits with
    measurements in between, which :func:`read_spec` reads.
    """
    found = read_spec(data, drawn)
    if isinstance(found, DynamicSpec):
        raise SpecError(("gates",), "expected gates without measurements, resets and conditions between them")
    return found


def read_spec(data: Mapping[str, Any], drawn: bool = False) -> Spec | DynamicSpec:
    """Read the plain-data form of any circuit. Raises :class:`SpecError` as :func:`from_dict` does."""
    known(data, TOP, ())
    data = {key: value for key, value in data.items() if value is not None}
    qubits = whole(data.get("qubits"), ("qubits",), least=1, most=MOST_QUBITS)
    if ("gates" in data) == ("ansatz" in data):
        raise SpecError((), "a circuit has either `gates` or `ansatz`, one of the two")
    encode = read_encode(data["encode"], "ansatz" in data) if "encode" in data else {}
    name = None
    if "gates" in data:
        steps, named = read_steps(qubits, data)
        parameters, given = read_parameters(data, named.parameters, drawn)
        if named.bits or not all(isinstance(step, Operation) for step in steps):
            return dynamic(data, steps, named, parameters, given, encode)
        operations = tuple(step for step in steps if isinstance(step, Operation))
        circuit = Circuit(qubits, operations, names=tuple(named.parameters))
    else:
        for key, instead in BESIDE_ANSATZ.items():
            if key in data:
                raise SpecError((key,), f"belongs to circuits given by `gates`; with an ansatz write {instead}")
        circuit, parameters, given = from_ansatz(qubits, data["ansatz"], encode)
        if not encode and "noise" not in data and not circuit.n_inputs:
            name = data["ansatz"]["name"], data["ansatz"].get("layers", 1)
    if encode:
        circuit = with_encoding(circuit, encode)
    if "noise" in data:
        with at("noise"):
            circuit = with_noise(circuit, **noise_options(data["noise"]))
    measurement = read_measurement(data.get("measure", "probabilities"), qubits)
    return Spec(circuit, parameters, read_inputs(circuit, data, encode), measurement, given, name)


def read_steps(qubits: int, data: Mapping[str, Any]) -> tuple[list[Step], Named]:
    """The steps under ``gates``, and what they name. Raises :class:`SpecError` for gates that do not fit."""
    named = Named(qubits, read_names(data))
    steps = read_block(data["gates"], ("gates",), named)
    check_names(named.parameters)
    return steps, named


def dynamic(
    data: Mapping[str, Any],
    steps: Sequence[Step],
    named: Named,
    parameters: Float[np.ndarray, " parameters"],
    given: Bool[np.ndarray, " parameters"],
    encode: Mapping[str, Any],
) -> DynamicSpec:
    """A circuit with measurements in between. Raises :class:`SpecError` for noise, and amplitudes read as inputs."""
    if "noise" in data:
        raise SpecError(("noise",), "noise and measurements in between do not go together yet: drop one of the two")
    before = Circuit(named.qubits, ())
    if encode:
        before = with_encoding(before, encode)
        if before.amplitude_inputs:
            raise SpecError(("encode",), "before measurements amplitudes are given as `values`")
    names = tuple(named.parameters)
    with at("gates"):
        circuit = DynamicCircuit(named.qubits, (*before.operations, *steps), tuple(named.bits), names, before.initial)
    gates = Circuit(named.qubits, tuple(circuit.operations()), names=names)
    measurement = read_measurement(data.get("measure", "probabilities"), named.qubits)
    return DynamicSpec(circuit, parameters, read_inputs(gates, data, encode), measurement, given)


def from_ansatz(
    qubits: int, data: Any, encode: Mapping[str, Any]
) -> tuple[Circuit, Float[np.ndarray, " parameters"], Bool[np.ndarray, " parameters"]]:
    """The circuit of a named ansatz, its parameters, and whether they were given.

    Raises :class:`SpecError` for unknown names, sizes that the ansatz does not have, and weights that do not fit.
    """
    known(data, ("name", "layers", "seed", "weights"), ("ansatz",))
    name = text(data.get("name"), ("ansatz", "name"))
    layers = whole(data.get("layers", 1), ("ansatz", "layers"), least=1)
    with at("ansatz"):
        circuit = ansaetze.build(name, qubits, layers, encode["axis"] if encode.get("kind") == "reupload" else None)
    if data.get("weights") is None:
        draws = ansaetze.draw_parameters(name, qubits, layers, whole(data.get("seed") or 0, ("ansatz", "seed")))
        return circuit, draws, np.zeros(len(draws), bool)
    if data.get("seed") is not None:
        raise SpecError(("ansatz",), "`weights` gives the parameters and `seed` draws them: keep one of the two")
    with at("ansatz", "weights"):
        weights = numbers_of(data["weights"])
        shapes = ansaetze.find(name).shape(qubits, layers)
        if len(shapes) == 1 and weights.ndim > 1:
            expect_shape("they", weights.shape, next(iter(shapes.values())))
        expect_shape("they", weights.ravel().shape, (circuit.n_parameters,))
    return circuit, weights.ravel(), np.ones(weights.size, bool)


def numbers_of(data: Any) -> Float[np.ndarray, "*shape"]:
    """Finite real numbers in nested lists. Raises ``ValueError`` for anything else."""
    try:
        found = np.asarray(data)
        if found.dtype.kind not in "iuf" and found.size:
            raise ValueError
        found = found.astype(float)
    except (ValueError, TypeError):
        raise ValueError("expected numbers in nested lists of equal lengths") from None
    if not np.all(np.isfinite(found)):
        raise ValueError("expected finite numbers")
    return found


def read_encode(data: Any, layered: bool) -> dict[str, Any]:
    """The checked ``encode`` key with its defaults; ``layered`` says that an ansatz repeats layers.

    Raises :class:`SpecError` for unknown kinds, and for keys that a kind does not have.
    """
    known(data, ("kind", "values", "axis", "normalize"), ("encode",))
    given = {key: value for key, value in data.items() if value is not None}
    kind = given.get("kind")
    if kind not in KINDS:
        raise SpecError(("encode", "kind"), f"unknown encoding {kind!r}; known are {', '.join(KINDS)}")
    if kind == "reupload" and not layered:
        told = "reupload goes before every layer of an `ansatz`; among `gates` write {input: k} angles"
        raise SpecError(("encode",), told)
    for key in given:
        if key != "kind" and key not in ENCODINGS[kind]:
            raise SpecError(("encode", key), f"{kind} encoding has no `{key}`")
    axis = given.get("axis", "X")
    if axis not in ("X", "Y", "Z"):
        raise SpecError(("encode", "axis"), f"an encoding rotation is X, Y or Z, got {axis!r}")
    normalize = truth(given.get("normalize", False), ("encode", "normalize"))
    return {"kind": kind, "values": given.get("values"), "axis": axis, "normalize": normalize}


def with_encoding(circuit: Circuit, encode: Mapping[str, Any]) -> Circuit:
    """The circuit with the encoding that :func:`read_encode` read. Raises :class:`SpecError` for values that do not
    fit."""
    kind, values, place = encode["kind"], encode["values"], ("encode", "values")
    if kind == "basis" and values is not None:
        bits = list(values) if isinstance(values, str) else listed(values, place)
        if any(isinstance(b, bool) or b not in (0, 1, "0", "1") for b in bits):
            raise SpecError(place, f"a basis state is a list of bits 0 and 1, got {values!r}")
        values = [int(b) for b in bits]
    elif kind == "amplitude" and values is not None:
        values = array_of(values, 1, place).tolist()
    with at("encode"):
        return encoded(circuit, kind, values, encode["axis"], encode["normalize"])


def read_inputs(
    circuit: Circuit, data: Mapping[str, Any], encode: Mapping[str, Any]
) -> Float[np.ndarray, " inputs"] | None:
    """The values of the data: ``inputs``, or the ``values`` of an encoding by angles; None where there are none.

    Raises :class:`SpecError` for two sources, for what is no number, and for another count of them.
    """
    values: Any = data.get("inputs")
    where: Place = ("inputs",)
    if encode.get("values") is not None:
        if values is not None:
            raise SpecError(where, "`encode.values` gives the data already: keep one of the two")
        if encode["kind"] in ("angle", "reupload"):
            values, where = encode["values"], ("encode", "values")
    if values is None:
        return None
    if not isinstance(values, list | tuple):
        raise SpecError(where, f"expected a list of {circuit.n_inputs} numbers, got {values!r}")
    inputs = np.array([number(v, (*where, k)) for k, v in enumerate(values)])
    with at(*where):
        expect_shape("inputs", inputs.shape, (circuit.n_inputs,))
        if circuit.amplitude_inputs:
            return amplitudes(inputs.astype(complex).tolist(), circuit.qubits, encode["normalize"]).real
    return inputs


def noise_options(data: Any) -> dict[str, Any]:
    """The arguments of :func:`with_noise` from the ``noise`` key. Raises :class:`SpecError` for other types."""
    known(data, ("kind", "p", "after"), ("noise",))
    return {
        "kind": text(data.get("kind"), ("noise", "kind")),
        "p": number(data.get("p"), ("noise", "p")),
        "after": text(data.get("after", "gates"), ("noise", "after")),
    }


def with_noise(circuit: Circuit, kind: str, p: float, after: str = "gates") -> Circuit:
    """A noise channel of strength ``p`` on every wire of every gate (``after="gates"``) or once on every wire
    (``"end"``).

    Raises ``ValueError`` for unknown channels and for strengths outside [0, 1].
    """
    if kind not in CHANNELS:
        raise ValueError(f"unknown channel {kind!r}; known are {', '.join(CHANNELS)}")
    if not 0 <= p <= 1:
        raise ValueError(f"a channel's strength lies between 0 and 1, got {p}")
    if after not in ("gates", "end"):
        raise ValueError(f"`after` is gates or end, got {after!r}")
    operations: list[Operation] = []
    for op in circuit.operations:
        operations.append(op)
        if after == "gates" and op.name not in CHANNELS:
            operations += [Operation(kind, (w,), (p,)) for w in op.wires]
    if after == "end":
        operations += [Operation(kind, (w,), (p,)) for w in range(circuit.qubits)]
    return Circuit(circuit.qubits, tuple(operations), circuit.initial, circuit.amplitude_inputs, circuit.names)
