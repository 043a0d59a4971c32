"""What every kind of task has in common in an experiment file."""

from __future__ import annotations

from pathlib import Path

from experiments.schema.base import Clash, Kind


class TaskConfig(Kind):
    """What is to be learned."""

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
