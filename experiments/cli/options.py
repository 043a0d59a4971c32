"""What the verbs share: their common options, declared once, and JSON on standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.errors import UserError


def user_path(text: str) -> Path:
    """A path as a person writes it: ``~`` is the home folder also behind an equals sign, where no shell expands it."""
    return Path(text).expanduser()


ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="A YAML file, or the name of a shipped one (qattn list configs).")
]
SetOption = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override a value: training.steps=100. Repeatable.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", parser=user_path, help="Write the results to this folder.")
]
OutFileOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", parser=user_path, help="Write the result to this file.")
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue what --out holds (the default for a folder).")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Start over: forget what --out holds.")]
WorkersOption = Annotated[
    str | None, typer.Option("--workers", metavar="N", help="Do N pieces of work side by side, one process each.")
]


def check_resume(resume: bool, fresh: bool) -> None:
    """Raises :class:`UserError` where a folder is to be continued and to be started over."""
    if resume and fresh:
        raise UserError("--resume --fresh: expected one of the two, got both")


def check_workers(workers: str | None) -> int:
    """How many pieces of work go on side by side; one where nothing is said.

    Raises :class:`UserError` for what is no number of at least 1.
    """
    text = workers or "1"
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UserError(f"--workers {text}: expected a number of at least 1, got {text}")
    return int(text)


def print_json(data: Any) -> None:
    """Strict JSON: a NaN would be a bug, so it raises ``ValueError``. Escapes alone where the output is not UTF-8."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(data, indent=2, ensure_ascii=plain, allow_nan=False))
