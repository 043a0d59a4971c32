"""What the verbs about an experiment share: finding its file, the overrides of the command line, JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.config import CONFIGS, Experiment, Override, load_experiment, resolve
from experiments.config.complaints import suggestion
from experiments.errors import UserError

ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="A YAML file, or the name of a shipped one (qattn list configs).")
]
SetOption = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override a value: training.steps=100. Repeatable.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="For machines: JSON on standard output.")]


def shipped_configs() -> dict[str, Path]:
    """The experiment files that come with the package, by name (``quickstart``, ``published/nanogpt``)."""
    return {path.relative_to(CONFIGS).with_suffix("").as_posix(): path for path in sorted(CONFIGS.rglob("*.yaml"))}


def find_config(text: str) -> Path:
    """The file meant by CONFIG: a path, else a shipped name. Raises :class:`UserError` if it is neither."""
    path, shipped = Path(text), shipped_configs()
    if path.is_file() or (path.exists() and text not in shipped):
        return path  # the loader says what is wrong with a folder
    if text in shipped:
        return shipped[text]
    hint = suggestion(text, shipped)
    raise UserError(f"{text}: expected a YAML file or one of the shipped {', '.join(shipped)}, got no such file{hint}")


def load(config: str, overrides: Sequence[str | Override] = ()) -> tuple[Experiment, Path]:
    """The resolved experiment and its file. Raises :class:`UserError` with all errors."""
    path = find_config(config)
    return resolve(load_experiment(path, overrides)), path


def print_json(data: Any) -> None:
    """Strict JSON: a NaN would be a bug, so it raises ``ValueError``."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
