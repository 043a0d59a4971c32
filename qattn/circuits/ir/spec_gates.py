"""The ``gates`` of a circuit's plain-data form: each its name, its wires, its angles. See ``spec``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from qattn.circuits.ir import expressions
from qattn.circuits.ir.circuit import Operation, ParameterRef, gate, wires_of
from qattn.circuits.ir.expressions import finite
from qattn.circuits.ir.gates import ALIASES
from qattn.circuits.ir.spec_values import Place, SpecError, array_of, at, known, listed, number, text, whole

CARRIED = {"matrix": ("QubitUnitary",), "diagonal": ("DiagonalQubitUnitary",), "word": ("PauliRot",)}


def read_parameters(
    data: Mapping[str, Any], names: Sequence[str], drawn: bool
) -> tuple[Float[np.ndarray, " parameters"], Bool[np.ndarray, " parameters"]]:
    """The values of parameters by name, and whether each was given; the others are drawn from ``seed``.

    A value is a number or arithmetic such as ``pi/2``; an array gives theta[0], theta[1], …. With ``drawn`` no seed is
    needed. Raises :class:`SpecError` for missing values and for what is none.
    """
    given = flat_values(data.get("parameters", {}), names)
    missing = [name for name in names if name not in given]
    if missing and "seed" not in data and not drawn:
        told = f"no value for {missing[0]!r} (give one, or a `seed` to draw it uniformly from [0, 2π))"
        raise SpecError(("parameters",), told)
    draws = np.random.default_rng(whole(data.get("seed", 0), ("seed",))).uniform(0, 2 * np.pi, len(names))
    values = [given.get(n, draws[k]) for k, n in enumerate(names)]
    return np.array(values, float), np.array([n in given for n in names], bool)


def flat_values(data: Any, names: Sequence[str]) -> dict[str, float]:
    """Values by name, arrays place by place. Raises :class:`SpecError` for names and places that no angle reads."""
    arrays = tuple(dict.fromkeys(name.split("[")[0] for name in names if "[" in name))
    known(data, (*names, *arrays), ("parameters",))
    found: dict[str, float] = {}
    for name, value in data.items():
        if name not in arrays:
            found[name] = value_of(value, ("parameters", name))
            continue
        table = np.array(listed(value, ("parameters", name)), object)
        for place, item in np.ndenumerate(table):
            one = f"{name}[{','.join(map(str, place))}]"
            if one not in names:
                raise SpecError(("parameters", name), f"no angle reads {one}")
            found[one] = value_of(item, ("parameters", name, *place))
    return found


def value_of(value: Any, where: Place) -> float:
    """A number, also one written as arithmetic. Raises :class:`SpecError` for anything else."""
    if not isinstance(value, str):
        return number(value, where)
    with at(*where):
        try:
            return expressions.read_number(value)
        except ValueError as error:
            raise ValueError(f"the value {value!r}: {error}") from error


def read_names(data: Mapping[str, Any]) -> list[str]:
    """The ``names`` key, the order of the parameters. Raises :class:`SpecError` for doubles and reserved words."""
    names = [text(name, ("names", k)) for k, name in enumerate(listed(data.get("names", ()), ("names",)))]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise SpecError(("names",), f"{twice[0]!r} is there twice")
    return names


def check_names(names: Sequence[str]) -> None:
    """Raise :class:`SpecError` for parameters called like a constant or a function."""
    reserved = [name for name in names if name.lower() in expressions.RESERVED]
    if reserved:
        raise SpecError(("names",), f"{reserved[0]!r} has a meaning of its own and cannot be the name of a parameter")


def read_gate(entry: Any, where: Place, names: list[str]) -> Operation:
    """One entry of ``gates``; parameters not met before are appended to ``names``.

    Raises :class:`SpecError` for what is no gate; whether it fits the circuit, the circuit checks.
    """
    if isinstance(entry, Mapping):
        return read_mapping(entry, where, names)
    if not isinstance(entry, list | tuple) or not entry or not isinstance(entry[0], str):
        raise SpecError(where, f"expected a gate such as [RY, 2, 0.3] (name, wires, angles), got {entry!r}")
    name, *rest = entry
    with at(*where):
        count = wires_of(name)
    if len(rest) < count:
        raise SpecError(where, f"{name} needs {count} wires, got {rest}")
    for k, wire in enumerate(rest[:count], 1):
        if isinstance(wire, float):
            raise SpecError((*where, k), f"expected a wire, a whole number, got {wire!r} (wires come before angles)")
    wires = [whole(w, (*where, k)) for k, w in enumerate(rest[:count], 1)]
    angles = [read_angle(a, (*where, k), names) for k, a in enumerate(rest[count:], 1 + count)]
    return gate(name, *wires, *angles)


def read_mapping(entry: Mapping[str, Any], where: Place, names: list[str]) -> Operation:
    """A gate written as a mapping, which may carry a matrix, a diagonal or a word.

    Raises :class:`SpecError` for unknown keys and for what the gate does not carry.
    """
    known(entry, ("gate", "wires", "angles", "matrix", "diagonal", "word"), where)
    if not isinstance(entry.get("gate"), str):
        raise SpecError(where, f"expected the name of a gate under `gate`, got {entry.get('gate')!r}")
    name = ALIASES.get(entry["gate"], entry["gate"])
    for key, gates in CARRIED.items():
        if key in entry and name not in gates:
            raise SpecError((*where, key), f"{name} has no `{key}`, that belongs to {' and '.join(gates)}")

    def items(key: str) -> list[tuple[Place, Any]]:
        return [((*where, key, k), item) for k, item in enumerate(listed(entry.get(key, ()), (*where, key)))]

    wires = tuple(whole(wire, place) for place, wire in items("wires"))
    angles = tuple(read_angle(angle, place, names) for place, angle in items("angles"))
    data = None
    if "matrix" in entry:
        data = array_of(entry["matrix"], 2, (*where, "matrix"))
    elif "diagonal" in entry:
        data = array_of(entry["diagonal"], 1, (*where, "diagonal"))
    return Operation(name, wires, angles, data, text(entry.get("word", ""), (*where, "word")))


def read_angle(value: Any, where: Place, names: list[str]) -> float | ParameterRef:
    """A number (radians), arithmetic with one parameter, or a mapping that reads an ``input`` or a ``parameter``.

    Parameters not met before are appended to ``names``. Raises :class:`SpecError` for anything else.
    """
    if isinstance(value, Mapping):
        known(value, ("input", "parameter", "scale", "shift"), where)
        scale, shift = (number(value.get(key, plain), (*where, key)) for key, plain in (("scale", 1.0), ("shift", 0.0)))
        if "input" in value and "parameter" in value:
            raise SpecError(where, "an angle reads an `input` or a `parameter`, one of the two, got both")
        if "input" in value:
            return ParameterRef(whole(value["input"], (*where, "input")), "inputs", scale, shift)
        if not isinstance(value.get("parameter"), str):
            raise SpecError(where, f"an angle reads an `input` or a `parameter`, got {dict(value)!r}")
        return ParameterRef(index_of(value["parameter"], names), "parameters", scale, shift)
    if not isinstance(value, str):
        return number(value, where)
    if value in names:
        return ParameterRef(names.index(value))
    with at(*where):
        try:
            found = expressions.read_angle(value)
            scale, shift = finite(found.scale), finite(found.shift)
        except ValueError as error:
            raise ValueError(f"the angle {value!r}: {error}") from error
    return shift if found.name is None else ParameterRef(index_of(found.name, names), "parameters", scale, shift)


def index_of(name: str, names: list[str]) -> int:
    """The number of a parameter; a new one is the last."""
    if name not in names:
        names.append(name)
    return names.index(name)
