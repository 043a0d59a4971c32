"""The training runs of an experiment, each with an identity that depends on everything that changes its result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from experiments.config.models import ModelConfig
from experiments.config.resolve import Experiment
from experiments.config.schema import Training
from experiments.config.tasks import TaskConfig

WITHOUT_EFFECT = {
    "log_every",
    "checkpoint_every",
    "optimizer",
}  # of the training; its optimizer is merged into the model's


@dataclass(frozen=True)
class Job:
    """One model learns one task from one seed."""

    task_name: str
    task: TaskConfig
    model_name: str
    model: ModelConfig
    training: Training
    seed: int

    def identity(self) -> str:
        """Twelve hexadecimal digits of the SHA-256 of all that changes the result.

        The contents of the task's files are in it and their paths are not; names, folders, workers and the frequency of
        logs and checkpoints are not. Evaluation times are (they are in the result), and so are threads (they change
        the order of sums, so the last bits).
        """
        task = self.task.model_dump(mode="json")
        task.pop("path", None)
        content = {
            "task": task | {"files": [_sha256(path, path.stat().st_mtime_ns) for path in self.task.files()]},
            "model": self.model.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json", exclude=WITHOUT_EFFECT),
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def jobs(experiment: Experiment) -> list[Job]:
    """Every task × model × seed. All models of a seed come before the next seed, so that an early look is paired."""
    return [
        Job(task_name, task, model_name, model, experiment.training, seed)
        for task_name, task in experiment.tasks.items()
        for seed in experiment.seeds
        for model_name, model in experiment.models.items()
    ]


@lru_cache(maxsize=64)
def _sha256(path: Path, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
