"""Experiment files: read, checked and resolved, with the place of every error. Never imports torch.

>>> loaded = load_experiment("experiments/configs/quickstart.yaml", ["training.steps=10"])
>>> jobs(resolve(loaded))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.config.jobs import Job, jobs
from experiments.config.located import Contradiction, Loaded, Override, load_located
from experiments.config.reading import ConfigError
from experiments.config.resolve import Experiment, contradictions, resolve
from experiments.config.schema import ExperimentFile

CONFIGS = Path(__file__).parents[1] / "configs"


def load_experiment(path: str | Path, overrides: Sequence[str | Override] = ()) -> Loaded[ExperimentFile]:
    """Read an experiment file. Raises :class:`experiments.errors.UserError` with every error in it, one a line."""
    return load_located(path, ExperimentFile, overrides, contradictions)


LOADERS: dict[str, Callable[[Path], Any]] = {
    "models": load_experiment,
}
"""How a shipped YAML file is loaded, by a key at its top level. Other kinds of file register here with one line."""

__all__ = [
    "CONFIGS",
    "ConfigError",
    "Contradiction",
    "Experiment",
    "ExperimentFile",
    "Job",
    "LOADERS",
    "Loaded",
    "Override",
    "jobs",
    "load_experiment",
    "load_located",
    "resolve",
]
