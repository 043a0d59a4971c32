"""Experiment files: read, checked and resolved, with the place of every error. Never imports torch.

``load_experiment("quickstart", ["training.steps=10"])`` is an :class:`Experiment`, ``jobs(experiment)`` its runs.
``load_located(path, Model)`` does the reading for any strict pydantic model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.located.yaml_positions import Contradiction, Loaded, Override, load_located
from experiments.located.yaml_source import ConfigError
from experiments.schema.circuit_file import load_circuit
from experiments.schema.evolution_file import load_evolution
from experiments.schema.experiment import ExperimentFile
from experiments.schema.find_config import CONFIGS, find_config, load_experiment, read_experiment, shipped_configs
from experiments.schema.jobs import Job, jobs
from experiments.schema.packing_file import load_packing
from experiments.schema.qaoa_file import load_qaoa
from experiments.schema.resolve import Experiment, resolve

LOADERS: dict[str, Callable[[Path], Any]] = {
    "models": load_experiment,
    "packing": load_packing,
    "qubits": load_circuit,
    "graph": load_qaoa,
    "evolve": load_evolution,
}
"""How a shipped YAML file is loaded, by a key at its top level. Another kind of file registers here with one line."""

__all__ = [
    "CONFIGS", "ConfigError", "Contradiction", "Experiment", "ExperimentFile", "Job", "LOADERS", "Loaded", "Override",
    "find_config", "jobs", "load_experiment", "load_located", "read_experiment", "resolve", "shipped_configs",
]  # fmt: skip
