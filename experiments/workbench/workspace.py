"""What lies in the folders that were given: experiments and trained models, by identifiers that are no paths.

A request names a thing by its identifier and never by a path, so that no request reaches outside the given folders.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.errors import UserError

if TYPE_CHECKING:
    from experiments.lm.trained_models import Trained

KEPT_MODELS = 8
"""Trained models that stay in memory."""


@dataclass(frozen=True)
class Found:
    """A thing in one of the folders."""

    identifier: str
    name: str
    path: Path


def identifier(path: Path) -> str:
    """The same for the same folder, so that a link stays good, and silent about where it is."""
    return hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]


class Workspace:
    """The given folders, looked at anew for every request: a run that begins while the page is open appears."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Raises :class:`UserError` for a folder that is not there."""
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"{folder}: no such folder; give result folders, such as runs/quickstart")
        self.folders = [folder.resolve() for folder in folders]
        self._models: OrderedDict[str, Trained] = OrderedDict()
        self._lock = threading.Lock()

    def experiments(self) -> list[Found]:
        """Result folders of experiments: the given ones and those right inside them."""
        return self._with("experiment.json")

    def reports(self) -> list[Found]:
        """Folders with a report, of whatever kind."""
        return self._with("report.html")

    def runs(self, experiment: Found) -> list[Found]:
        """The runs of an experiment, finished or under way."""
        inside = sorted(path.parent for path in experiment.path.glob("runs/*/metrics.jsonl"))
        return [Found(identifier(path), path.name, path) for path in inside if self._inside(path)]

    def models(self) -> list[Found]:
        """All trained models, named by experiment and run."""
        return [
            Found(run.identifier, f"{experiment.name}: {run.name}", run.path)
            for experiment in self.experiments()
            for run in self.runs(experiment)
            if (run.path / "model.safetensors").exists()
        ]

    def model(self, chosen: str) -> Trained:
        """A trained model by its identifier, kept for the next request.

        Raises :class:`UserError` where there is none, or its files are damaged.
        """
        from experiments.lm.trained_models import load

        with self._lock:
            if chosen not in self._models:
                found = pick(self.models(), chosen, "trained model")
                self._models[chosen] = load(found.path)
            self._models.move_to_end(chosen)
            while len(self._models) > KEPT_MODELS:
                self._models.popitem(last=False)
            return self._models[chosen]

    def _with(self, marker: str) -> list[Found]:
        found = {}
        for folder in self.folders:
            for path in (folder, *sorted(child for child in folder.glob("*") if child.is_dir())):
                if (path / marker).is_file() and self._inside(path):
                    found[path] = Found(identifier(path), path.name, path)
        return list(found.values())

    def _inside(self, path: Path) -> bool:
        """A link that leads out of the given folders is not followed."""
        return any(path.resolve().is_relative_to(folder) for folder in self.folders)


def pick(among: Sequence[Found], chosen: str, what: str) -> Found:
    """The one with this identifier. Raises :class:`UserError` where none has it."""
    for found in among:
        if found.identifier == chosen:
            return found
    raise UserError(f"no such {what} in the folders that are served; it may have been moved: start from the first page")


def different(runs: Sequence[Found]) -> list[Found]:
    """One run of each model and task: folders of runs end with their seed and a digest."""
    first: dict[str, Found] = {}
    for run in runs:
        first.setdefault(re.sub(r"-s\d+-[0-9a-f]{8}$", "", run.name), run)
    return list(first.values())
