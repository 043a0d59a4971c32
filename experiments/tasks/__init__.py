"""What models learn: texts, and sequences drawn from a seed. The kinds are in :mod:`experiments.schema.task_kinds`."""

from experiments.tasks.base import Task
from experiments.tasks.text import TokenTask

__all__ = ["Task", "TokenTask"]
