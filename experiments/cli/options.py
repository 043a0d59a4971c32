"""What the verbs about an experiment share: their common options, and JSON on standard output."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="A YAML file, or the name of a shipped one (qattn list configs).")
]
SetOption = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override a value: training.steps=100. Repeatable.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="For machines: JSON on standard output.")]


def print_json(data: Any) -> None:
    """Strict JSON: a NaN would be a bug, so it raises ``ValueError``."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
