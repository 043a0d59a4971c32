"""Numbers as people write them in files: the components of vectors, and observables.

A component is a JSON number, ``[re, im]``, or a text such as ``"sqrt(2)"``, which stays exact beside its float.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from contexts.hypergraphs import parsing, surds
from contexts.hypergraphs.parsing import check_keys, is_number, shown


def rays_of(given: Mapping[str, Any], numbers: str | None) -> dict[str, Any]:
    """``vectors`` as floats and, where no entry is a decimal number, the same ``exact``."""
    vectors = {atom: _ray(f"the vector of atom {atom!r}", entries, numbers) for atom, entries in given.items()}
    exact = {atom: _exact(entries) for atom, entries in given.items()}
    return {"vectors": vectors, "exact": None if None in exact.values() else exact}


def _ray(what: str, entries: Any, numbers: str | None) -> np.ndarray:
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{what} must be a list of numbers; got {shown(entries)}")
    parsed: list[complex] = []
    for entry in entries:
        if isinstance(entry, str):
            try:
                real, imaginary = surds.parse(entry)
            except ValueError as error:
                raise ValueError(f"{what} has the entry {shown(entry)}: {error}") from None
            parsed.append(complex(float(real), float(imaginary)))
            if imaginary and numbers == "real":
                raise ValueError(f"{what} has the complex entry {entry!r}, but the file says 'field: real'")
            continue
        pair = entry if isinstance(entry, list) else [entry]
        if not 1 <= len(pair) <= 2 or not all(map(is_number, pair)):
            raise ValueError(f"{what} has the entry {shown(entry)}; write a number, or [re, im]")
        if len(pair) == 2 and numbers == "real":
            raise ValueError(f"{what} has the complex entry {entry!r}, but the file says 'field: real'")
        parsed.append(complex(*pair))
    is_complex = numbers == "complex" or any(isinstance(e, list) for e in entries) or any(x.imag for x in parsed)
    return (
        np.array(parsed, dtype=np.complex128 if is_complex else np.float64)
        if is_complex
        else np.array([x.real for x in parsed])
    )


def _exact(entries: list[Any]) -> list[surds.Number] | None:
    """Checked entries as exact numbers; None where one is a decimal, which may have been rounded."""
    found: list[surds.Number] = []
    for entry in entries:
        if isinstance(entry, str):
            if "." in entry or "e" in entry:
                return None
            found.append(surds.parse(entry))
            continue
        pair = (entry if isinstance(entry, list) else [entry]) + [0]
        if not all(float(x).is_integer() for x in pair):
            return None
        found.append((surds.rational(int(pair[0])), surds.rational(int(pair[1]))))
    return found


def plain(vector: np.ndarray) -> list[Any]:
    """A vector as JSON numbers; complex entries as [re, im], whole numbers as integers."""

    def number(x: float) -> float | int:
        return int(x) if float(x).is_integer() else float(x)

    if np.iscomplexobj(vector):
        return [[number(x.real), number(x.imag)] if x.imag else number(x.real) for x in vector]
    return [number(x) for x in vector]


def plain_exact(number: surds.Number) -> int | str:
    """An exact number as JSON: a whole one as such, another as the text that is read back."""
    text = surds.as_text(number)
    return int(text) if text.lstrip("-").isdigit() else text


def read_observables(path: Path) -> dict[str, Any] | None:
    """The observables of a JSON file ``{"observables": {name: Pauli string or matrix}}``; None if it has no such key.

    A matrix is a list of rows; complex entries are written [re, im]. Raises ValueError for anything else.
    """
    data = parsing.read_json(path)
    if not isinstance(data, Mapping) or "observables" not in data:
        return None
    check_keys(data, ("observables",))
    named = data["observables"]
    if not isinstance(named, Mapping) or not named:
        raise ValueError("'observables' must map names to Pauli strings or matrices, one or more")
    result: dict[str, Any] = {}
    for name, value in named.items():
        if isinstance(value, str):
            result[name] = value
        elif isinstance(value, list) and value and len({len(r) if isinstance(r, list) else -1 for r in value}) == 1:
            result[name] = np.stack(
                [_ray(f"row {k} of observable {name!r}", row, None).astype(complex) for k, row in enumerate(value, 1)]
            )
            if not result[name].imag.any():
                result[name] = result[name].real
        else:
            raise ValueError(
                f"observable {name!r} must be a Pauli string or a matrix with rows of one length; got {shown(value)}"
            )
    return result
