"""What models learn: a plain dict from a task's kind to its builder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.tasks.text import TokenTask, text_task

TASKS: dict[str, Callable[[str, Any], TokenTask]] = {
    "text": lambda name, config: text_task(name, **config.model_dump(exclude={"kind"})),
}

__all__ = ["TASKS", "TokenTask"]
