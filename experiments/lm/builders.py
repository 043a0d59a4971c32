"""From a run's configuration to its task and its untrained language model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from experiments.errors import UserError, blame
from experiments.schema import Job
from experiments.schema.model_base import ModelConfig
from experiments.schema.task_kinds import TaskConfig
from experiments.tasks import Task

TOO_LARGE = ("can't allocate memory", "not enough memory", "out of memory", "overflow", "Overflow")
"""What torch's errors say of tensors that do not fit."""


@lru_cache(maxsize=4)
def _task(name: str, config: TaskConfig, files: tuple[str, ...]) -> Task:
    with blame(f"tasks.{name}"):
        return config.build(name)


def load_task(job: Job) -> Task:
    """The job's task; read and tokenized once per process, as long as its files stay as they are."""
    return _task(job.task_name, job.task, job.files())


def build(name: str, config: ModelConfig, vocab: int, block: int, seed: int, dtype: str = "float32") -> Any:
    """The model ``name`` of a comparison for texts of ``vocab`` symbols and windows of ``block``, from ``seed`` alone.

    Raises :class:`UserError` naming the model when its sizes cannot fit (a readout that cannot be complete, say), or do
    not fit into memory.
    """
    try:
        model = config.build(vocab, block, torch.Generator().manual_seed(seed))
    except (MemoryError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, MemoryError | OverflowError) or any(sign in str(error) for sign in TOO_LARGE):
            sizes = ", ".join(f"{key} {getattr(config, key)}" for key in config.widths())
            text = f"models.{name}: needs more memory than there is ({sizes}); make it smaller"
            raise UserError(text) from error
        if isinstance(error, ValueError):
            raise UserError(f"models.{name} on a vocabulary of {vocab}: {error}") from error
        raise
    return model.to(getattr(torch, dtype))


def build_for(job: Job, task: Task) -> Any:
    """The untrained model of one run. Raises :class:`UserError` for a task that the kind cannot learn."""
    try:
        job.model.refuse(task)
    except ValueError as error:
        raise UserError(f"models.{job.model_name} on {job.task_name}: {error}") from error
    return build(job.model_name, job.model, task.vocab, task.block, job.seed, job.training.dtype)


def ledger(model: Any) -> dict[str, int]:
    """How many trainable (or counted) numbers sit where: group → count; tied ones once."""
    parameters = dict(model.named_buffers()) | dict(model.named_parameters())
    return {group: sum(parameters[name].numel() for name in names) for group, names in model.parameter_groups().items()}
