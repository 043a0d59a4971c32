"""The training runs of an experiment, each with an identity that depends on everything that changes its result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError

from experiments.errors import UserError
from experiments.located.error_messages import complaints
from experiments.located.yaml_dump import config_text
from experiments.located.yaml_source import Document, dotted
from experiments.schema.base import Seed, Strict
from experiments.schema.experiment import AnyModel, AnyTask, ResolvedTraining
from experiments.schema.model_kinds import ModelConfig
from experiments.schema.resolve import Experiment
from experiments.schema.task_kinds import TaskConfig

RENAMED = {"near": "init_scale", "gain": "angle_init_scale"}
RENAMED_CONTROLS = {"linear": "token", "ngram": "additive"}
"""Keys and values of a model that records written before the keys were renamed have under their old names."""
WITHOUT_EFFECT = {"log_every", "checkpoint_every", "optimizer", "tasks", "search"}
"""Of the training: its optimizer is in the model, what is different on a task is in the other fields by then."""


class WrittenJob(Strict):
    """A job as plain data, for reading it back."""

    model_config = ConfigDict(defer_build=True)

    task_name: str
    task: AnyTask
    model_name: str
    model: AnyModel
    training: ResolvedTraining
    seed: Seed


ADDED: dict[str, dict[str, Any]] = {
    "text": {"test_fraction": 0.0},
    "transformer": {"front": "token", "ngram": None},
    "lstm": {"front": "token", "ngram": None},
    "unitary_recurrent": {"around": "identity"},
    "disambiguation": {"exact": False},
    "ngram": {"smoothing": "add_k", "discount": None},
    **{
        kind: {"blocks": None, "qk_norm": False}
        for kind in ("unitary", "selected", "mean_field", "circuit", "no_register")
    },
}
"""By kind: fields that came after version 0.1, with the values that a run without them has. At these values they are
not part of its identity, so that folders from before are known again."""


def _identifying(config: ModelConfig | TaskConfig) -> dict[str, Any]:
    """What identifies a model or a task: its fields, but those of :data:`ADDED` (and a z-loss of zero) at their old
    values, and whose twin it is and which tasks it learns, which change no result."""
    added = ADDED.get(config.kind, {})
    data = config.model_dump(mode="json", exclude={"twin_of", "tasks"})
    if not data.get("optimizer", {}).get("z_loss", True):
        del data["optimizer"]["z_loss"]  # came after version 0.1
    return {key: value for key, value in data.items() if key not in added or value != added[key]}


@dataclass(frozen=True)
class Job:
    """One model learns one task from one seed."""

    task_name: str
    task: TaskConfig
    model_name: str
    model: ModelConfig
    training: ResolvedTraining
    seed: int

    def identity(self) -> str:
        """Twelve hexadecimal digits of the SHA-256 of all that changes the result.

        The contents of the task's files are in it and their paths are not; names, folders, workers and the frequency of
        logs and checkpoints are not. Evaluation times are (they are in the result), and so are threads (they change
        the order of sums, so the last bits).
        """
        task = _identifying(self.task)
        task.pop("path", None)
        content = {
            "task": task | {"files": list(self.files())},
            "model": _identifying(self.model),
            "training": self.training.model_dump(mode="json", exclude=WITHOUT_EFFECT),
            "seed": self.seed,
        }
        return _digest(content)

    def files(self) -> tuple[str, ...]:
        """The SHA-256 of each of the task's files, as they are now."""
        return tuple(_sha256(path, path.stat().st_mtime_ns) for path in self.task.files())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        parts = {name: getattr(self, name).model_dump(mode="json") for name in ("task", "model", "training")}
        return {"task_name": self.task_name, "model_name": self.model_name, "seed": self.seed, **parts}

    def to_yaml(self) -> str:
        """:meth:`to_dict` as YAML."""
        return config_text(self.to_dict())

    @classmethod
    def from_dict(cls, data: Any, source: object) -> Job:
        """Back from plain data. Raises :class:`UserError` naming ``source`` if this version does not know it."""
        data = _with_new_names(data)
        try:
            job = WrittenJob.model_validate_json(json.dumps(data), strict=True)
        except ValidationError as error:
            problem = complaints(error, WrittenJob, Document(str(source), data))[0][0]
            place = f"{dotted(problem.path)}: " if problem.path else ""
            raise UserError(f"{source}: not a run of this version of qattn: {place}{problem.text}") from None
        return cls(job.task_name, job.task, job.model_name, job.model, job.training, job.seed)


def _with_new_names(data: Any) -> Any:
    """A stored job with the keys of its model as this version calls them, and the fields of :data:`ADDED` in it."""
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict) or not isinstance(data.get("task"), dict):
        return data
    model = {RENAMED.get(key, key): value for key, value in data["model"].items()}
    if model.get("control") in RENAMED_CONTROLS:
        model["control"] = RENAMED_CONTROLS[model["control"]]
    later = {part: ADDED.get(str(data[part].get("kind")), {}) for part in ("task", "model")}
    return data | {"task": later["task"] | data["task"], "model": later["model"] | model}


def jobs(experiment: Experiment) -> list[Job]:
    """Every task × model × seed, but for tasks that a model does not learn. All models of a seed come before the next
    seed, so that an early look is paired."""
    return [
        job(experiment, task_name, model_name, seed)
        for task_name in experiment.tasks
        for seed in experiment.seeds
        for model_name, model in experiment.models.items()
        if model.learns(task_name)
    ]


def job(experiment: Experiment, task_name: str, model_name: str, seed: int) -> Job:
    """One run. On a task with its own steps a warm-up is as :func:`with_warmup` has it."""
    training, model = experiment.training.of(task_name), experiment.models[model_name]
    if training.steps != experiment.training.steps:
        model = with_warmup(model, training.steps, experiment.training.steps)
    return Job(task_name, experiment.tasks[task_name], model_name, model, training, seed)


def with_warmup(model: ModelConfig, steps: int, of: int) -> ModelConfig:
    """The model with a warm-up for ``steps`` instead of ``of``: at most a tenth of them, or the share that it was."""
    written = model.optimizer.warmup or 0
    warmup = max(min(written, steps // 10), min(written, written * steps // of))
    return model.model_copy(update={"optimizer": model.optimizer.model_copy(update={"warmup": warmup})})


def identities(experiment: Experiment) -> dict[str, str]:
    """What a folder of results belongs to: each model on each task and how it is trained, and the search of the rates.

    Seeds are not in it (more of them extend an experiment), nor are samples and, but for equal sizes, the comparison.
    """
    first = {(job.task_name, job.model_name): job for job in jobs(replace(experiment, seeds=(0,)))}
    comparison, found = experiment.comparison, {}
    for (task, model), one in first.items():
        content: list[Any] = [one.identity()]
        if comparison.match is not None:
            size = comparison.size[task] if isinstance(comparison.size, dict) else comparison.size
            met = first.get((task, str(comparison.match_to or comparison.reference)))
            content += [comparison.match, size, met.identity() if met is not None and size is None else None]
        found[f"model {model} on task {task}"] = _digest(content)
    search = experiment.training.search
    if search is None:
        return found
    bounded = search.model_dump(mode="json", exclude=set() if search.beyond else {"beyond"})  # 0.1 stopped at an edge
    return found | {"training.search": _digest(bounded)}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


@lru_cache(maxsize=64)
def _sha256(path: Path, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
