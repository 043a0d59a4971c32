"""What every kind of task has in common in an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.schema.base import Clash, Kind

if TYPE_CHECKING:
    from experiments.tasks import Task


class TaskConfig(Kind):
    """What is to be learned.

    A class is all that the laboratory knows of a kind: the keys of the experiment file with their defaults, and how the
    task is made from them.
    """

    def build(self, name: str) -> Task:
        """The task (of a configuration :meth:`filled`). Torch is imported here, not with the schema.

        Raises :class:`UserError` when its files cannot be read or its sizes cannot be.
        """
        raise NotImplementedError(f"kind {self.kind} does not say how it is made")

    def fields(self) -> dict[str, Any]:
        """The keys of the file but `kind`, as plain data."""
        return self.model_dump(exclude={"kind"})

    def default_name(self) -> str:
        """The name of a task that was written as `task:` without one."""
        return self.kind

    def problem_with_files(self, folder: Path) -> Clash | None:
        """What is wrong with the files that the task names, seen from the folder of the YAML file."""
        return None

    def filled(self, folder: Path) -> dict[str, object]:
        """Values that follow from the others or from the folder of the YAML file, such as absolute paths."""
        return {}

    def files(self) -> list[Path]:
        """The files whose contents the result depends on (of a task :meth:`filled`)."""
        return []
