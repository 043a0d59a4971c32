"""Experiment files by path or by shipped name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from experiments.errors import UserError
from experiments.located.error_messages import suggestion
from experiments.located.yaml_positions import Loaded, Override, load_located, validated
from experiments.located.yaml_source import Document, Mark
from experiments.schema.contradictions import contradictions
from experiments.schema.experiment import ExperimentFile
from experiments.schema.resolve import Experiment, resolve

CONFIGS = Path(__file__).parents[1] / "configs"


def shipped_configs() -> dict[str, Path]:
    """The YAML files that come with the package, by name (``quickstart``, ``published/nanogpt``)."""
    return {path.relative_to(CONFIGS).with_suffix("").as_posix(): path for path in sorted(CONFIGS.rglob("*.yaml"))}


def find_config(config: str | Path) -> Path:
    """The file meant by CONFIG: a path, else a shipped name. Raises :class:`UserError` if it is neither."""
    text, path, shipped = str(config), Path(config), shipped_configs()
    if path.is_file() or (path.exists() and text not in shipped):
        return path  # the loader says what is wrong with a folder
    if text in shipped:
        return shipped[text]
    hint = suggestion(text, shipped)
    raise UserError(f"{text}: expected a YAML file or one of the shipped {', '.join(shipped)}, got no such file{hint}")


def read_experiment(
    config: str | Path, overrides: Sequence[str | Override] = (), quick: bool = False
) -> Loaded[ExperimentFile]:
    """An experiment file as it is written, validated, with the origin of each value; ``quick``: its quick form."""
    path = find_config(config)
    if quick:
        return load_located(path, ExperimentFile, overrides, contradictions, "quick")
    loaded = load_located(path, ExperimentFile, overrides, contradictions)
    if loaded.value.quick:  # a mistake in the quick form is one in the file
        load_located(path, ExperimentFile, (), contradictions, "quick")
    return loaded


def load_experiment(config: str | Path, overrides: Sequence[str | Override] = (), quick: bool = False) -> Experiment:
    """The resolved experiment of a file. Raises :class:`UserError` with every error in it, one per line."""
    return resolve(read_experiment(config, overrides, quick))


def experiment_of(content: Mapping[str, Any]) -> Experiment:
    """The resolved experiment of plain data, or of configurations, under the keys of a file. Raises :class:`UserError`
    with every error in it, one per line.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", exclude_unset=True)
        if isinstance(value, Path):
            return str(value)
        raise TypeError(f"a {type(value).__name__} is not plain data")

    source = "the experiment"
    try:
        data = json.loads(json.dumps(content, default=plain))
    except (TypeError, ValueError) as error:
        raise UserError(f"{source}: expected numbers, texts, lists and mappings: {error}") from error
    document = Document(source, data, values={(): Mark(source)})
    return resolve(validated(document, Path.cwd() / str(content["name"]), ExperimentFile, check=contradictions))
