"""What models learn: a plain dict from a task's kind to its builder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.tasks.base import Task
from experiments.tasks.disambiguation import disambiguation
from experiments.tasks.groups import word_problem
from experiments.tasks.languages import motzkin, tomita
from experiments.tasks.synthetic import copying, dyck2, modular_arithmetic, parity, recall
from experiments.tasks.text import TokenTask, text_task

BY_KIND: dict[str, Callable[..., Task]] = {
    "text": text_task,
    "parity": parity,
    "modular_arithmetic": modular_arithmetic,
    "word_problem": word_problem,
    "copying": copying,
    "dyck2": dyck2,
    "mqar": recall,
    "tomita": tomita,
    "motzkin": motzkin,
    "disambiguation": disambiguation,
}


def make_task(name: str, config: Any) -> Task:
    """The task of a configuration; its builder takes the fields as they are named there."""
    return BY_KIND[config.kind](name, **config.model_dump(exclude={"kind"}))


__all__ = ["BY_KIND", "Task", "TokenTask", "make_task"]
