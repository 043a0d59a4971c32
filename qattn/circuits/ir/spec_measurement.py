"""The ``measure`` of a circuit's plain-data form. See ``spec``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qattn.circuits.ir.hamiltonian import read_hamiltonian
from qattn.circuits.ir.spec_values import SpecError, array_of, at, known, listed, whole
from qattn.circuits.simulate.readout import KINDS, Measurement

MEASURE_OPTIONS: dict[str, tuple[str, ...]] = {
    "probabilities": ("wires", "shots", "seed"),
    "samples": ("wires", "seed"),
    "expectations": ("shots", "seed"),
    "hamiltonian": ("shots", "seed"),
    "state": ("shots", "seed"),  # shots of a state are refused with a reason of their own
    "povm": ("wires", "shots", "seed"),
}


def read_measurement(data: Any, qubits: int) -> Measurement:
    """``probabilities``, ``{expectations: [ZI]}``, ``{samples: 1000, seed: 7}``, ``{probabilities: [0, 2]}``,
    ``{povm: [...]}``, ``{hamiltonian: {ZZ: -1.05, XI: 0.39}}``, on so many qubits.

    Raises :class:`SpecError` for unknown kinds and keys, and for what does not fit the qubits.
    """
    if isinstance(data, str):
        if data not in ("probabilities", "state"):
            told = f"expected probabilities, state, or a mapping with one of {', '.join(KINDS)}, got {data!r}"
            raise SpecError(("measure",), told)
        return Measurement(data)
    known(data, (*KINDS, "shots", "seed", "wires"), ("measure",))
    found = read_kind(one_kind(data), data, qubits)
    with at("measure"):
        found.check(qubits)
    return found


def one_kind(data: Mapping[str, Any]) -> str:
    """The one kind that the mapping names. Raises :class:`SpecError` for none, several, and keys it does not take."""
    kinds = [k for k in KINDS if k in data]
    if len(kinds) != 1:
        raise SpecError(("measure",), f"expected exactly one of {', '.join(KINDS)}, got {', '.join(map(str, data))}")
    kind = kinds[0]
    takes = MEASURE_OPTIONS[kind]
    if kind == "probabilities" and data[kind] is not None:
        takes = ("shots", "seed")  # the list names the wires already
    for key in data:
        if key != kind and key not in takes and data[key] is not None:
            raise SpecError(("measure", key), f"{kind} takes no `{key}` here, only {', '.join(takes)}")
    return kind


def read_kind(kind: str, data: Mapping[str, Any], qubits: int) -> Measurement:
    """The measurement of a kind. Raises :class:`SpecError` for invalid values."""
    place, value = ("measure", kind), data[kind]

    def option(key: str, least: int = 0) -> int | None:
        return None if data.get(key) is None else whole(data[key], ("measure", key), least=least)

    shots, seed = option("shots", least=1), option("seed")
    wires = whole_numbers(data.get("wires") or (), "wires")
    if kind == "samples":
        return Measurement(kind, wires, shots=whole(value, place, least=1), seed=seed)
    if kind == "expectations":
        if not isinstance(value, list | tuple) or not all(isinstance(w, str) for w in value):
            raise SpecError(place, f"expected a list of Pauli words such as [ZZI, XII], got {value!r}")
        return Measurement(kind, words=tuple(value), shots=shots, seed=seed)
    if kind == "hamiltonian":
        return Measurement(kind, shots=shots, seed=seed, hamiltonian=read_hamiltonian(value, qubits, place))
    if kind == "povm":
        return Measurement(kind, wires, shots=shots, seed=seed, elements=array_of(value, 3, place))
    if kind == "probabilities" and value is not None:
        wires = whole_numbers(value, kind)
    return Measurement(kind, wires, shots=shots, seed=seed)


def whole_numbers(values: Any, key: str) -> tuple[int, ...]:
    """A list of whole numbers below a key of ``measure``. Raises :class:`SpecError` for anything else."""
    return tuple(whole(v, ("measure", key, k)) for k, v in enumerate(listed(values, ("measure", key))))
