"""Experiment files: read, checked and resolved, with the place of every error. Never imports torch.

``load_experiment("quickstart", ["training.steps=10"])`` is an :class:`Experiment`, ``jobs(experiment)`` its runs.
``load_located(path, Model)`` does the reading for any strict pydantic model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.config.circuit import load_circuit
from experiments.config.jobs import Job, jobs
from experiments.config.loading import CONFIGS, find_config, load_experiment, read_experiment, shipped_configs
from experiments.config.located import Contradiction, Loaded, Override, load_located
from experiments.config.packing import load_packing
from experiments.config.reading import ConfigError
from experiments.config.resolve import Experiment, resolve
from experiments.config.schema import ExperimentFile

LOADERS: dict[str, Callable[[Path], Any]] = {
    "models": load_experiment,
    "packing": load_packing,
    "qubits": load_circuit,
}
"""How a shipped YAML file is loaded, by a key at its top level. Another kind of file registers here with one line."""

__all__ = [
    "CONFIGS", "ConfigError", "Contradiction", "Experiment", "ExperimentFile", "Job", "LOADERS", "Loaded", "Override",
    "find_config", "jobs", "load_experiment", "load_located", "read_experiment", "resolve", "shipped_configs",
]  # fmt: skip
