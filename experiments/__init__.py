"""Comparisons of language models from YAML or from Python: ``from experiments import make_experiment, run``.

The names below are imported on first use, so that ``qattn list`` does not wait for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.api import make_experiment, register, run
    from experiments.errors import UserError
    from experiments.schema.model_base import ModelConfig
    from experiments.schema.resolve import Experiment
    from experiments.schema.task_base import TaskConfig

_HOMES = {
    "Experiment": "experiments.schema.resolve",
    "ModelConfig": "experiments.schema.model_base",
    "TaskConfig": "experiments.schema.task_base",
    "UserError": "experiments.errors",
    "make_experiment": "experiments.api",
    "register": "experiments.api",
    "run": "experiments.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'experiments' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


__all__ = ["Experiment", "ModelConfig", "TaskConfig", "UserError", "make_experiment", "register", "run"]
