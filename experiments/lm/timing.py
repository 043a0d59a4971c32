"""How long a training step takes: a few of them measured, two models side by side in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from experiments.lm.builders import build_for, load_task
from experiments.lm.evaluate import mean_nats
from experiments.lm.optim import build_optimizers
from experiments.lm.train import stream
from experiments.schema import Job

ROUNDS = 7
"""Steps of each model in a comparison of two, after one that is not counted."""


def stepper(job: Job, model: Any = None) -> Callable[[], float]:
    """A function that makes one training step of the job's model and says its seconds of processor time."""
    torch.set_num_threads(job.training.threads)
    task = load_task(job)
    model = build_for(job, task) if model is None else model
    optimizers, generator = build_optimizers(model, job.model.optimizer), stream(job.seed)
    model.train()

    def step() -> float:
        clock = time.process_time()
        inputs, targets = task.batch(job.training.batch, generator)
        mean_nats(model(inputs), targets).backward()
        for each in optimizers:
            each.step()
            each.zero_grad(set_to_none=True)
        return time.process_time() - clock

    return step


def relative_time(job: Job, other: Job, rounds: int = ROUNDS) -> float:
    """The median, over ``rounds`` steps in turn, of the ratio of the two jobs' processor times a step.

    Measured on this machine, in its state of now: a loaded one stretches both alike. Another machine has another ratio.
    """
    ours, theirs = stepper(job), stepper(other)
    ours(), theirs()
    return median(ours() / theirs() for _ in range(rounds))
