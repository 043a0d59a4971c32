"""What the verbs of circuits share: reading a circuit and printing a result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.errors import UserError, blame

if TYPE_CHECKING:
    from experiments.schema.circuit_file import CircuitFile
    from qattn.circuits.ir.spec import Spec

SpecPath = Annotated[Path, typer.Argument(help="A circuit in YAML, JSON or OpenQASM (.qasm).")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Override a key: --set ansatz.layers=3")]


def load(path: Path, overrides: list[str] | None = None, drawn: bool = False) -> CircuitFile:
    """The circuit that a file describes; bad input is one sentence. A training draws missing values."""
    if path.suffix == ".qasm":
        from experiments.studies.circuits import imported

        if overrides:
            raise UserError(
                f"{path}: --set overrides keys of YAML or JSON: turn the file into one by qattn circuit import"
            )
        return imported(path, drawn)
    from experiments.schema.circuit_file import load_circuit

    with blame(path):  # a circuit that needs more memory than there is
        return load_circuit(path, overrides or (), drawn)


def load_static(path: Path, overrides: list[str] | None = None) -> Spec:
    """The circuit that a file describes, for verbs that take none with measurements in between."""
    file = load(path, overrides)
    with blame(path):
        return file.static


def say(value: dict[str, Any], as_json: bool) -> None:
    """Print a result, as JSON or as lines ``key: value``."""
    if as_json:
        print(json.dumps(value, allow_nan=False))
        return
    for key, item in lines(value):
        print(f"{key}: {item}")


def lines(value: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """A result for people: one line per number, `fisher.data: 1000`; lists as JSON."""
    for key, item in value.items():
        if isinstance(item, dict):
            yield from lines(item, f"{above}{key}.")
        else:
            yield f"{above}{key}", json.dumps(item, ensure_ascii=False) if isinstance(item, list) else str(item)
