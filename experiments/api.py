"""The laboratory from Python: run an experiment without a file, with kinds of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar, get_args

from experiments.schema.experiment import ExperimentFile
from experiments.schema.find_config import experiment_of, load_experiment
from experiments.schema.jobs import WrittenJob
from experiments.schema.model_base import ModelConfig
from experiments.schema.model_kinds import MODELS
from experiments.schema.resolve import Experiment
from experiments.schema.task_base import TaskConfig
from experiments.schema.task_kinds import TASKS

AnyKind = TypeVar("AnyKind", bound=type[ModelConfig] | type[TaskConfig])


def make_experiment(name: str = "experiment", **content: Any) -> Experiment:
    """An experiment from the keys of an experiment file: ``make_experiment(task={"kind": "parity"}, models={…})``.

    A model or a task may also be a configuration, such as ``LstmModel(kind="lstm", dim=32)``. Files are looked for
    in the working directory. Raises :class:`UserError` with all that is wrong, as for a file.
    """
    return experiment_of({"name": name, **content})


def run(
    of: Experiment | str | Path,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    fresh: bool = False,
) -> dict[str, Any]:
    """Train what is not yet done of an experiment (or of a file, or of a shipped one by name), and compare.

    Everything is written to the folder ``out``, as ``qattn run`` does; null is the experiment's own. The same call
    resumes. Returns the content of ``results.json``: by task the models with their intervals, the tests and verdicts;
    runs that diverged are listed under ``failed``. Raises :class:`UserError` for what cannot run.
    """
    from experiments.lm.engine import run_experiment

    whole = of if isinstance(of, Experiment) else load_experiment(of)
    folder = Path(out if out is not None else str(whole.output.dir))
    side_by_side = whole.workers if workers is None else workers
    run_experiment(whole, out=folder, workers=side_by_side, fresh=fresh, command="experiments.run")
    results: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


def register(kind: AnyKind) -> AnyKind:
    """A class decorator: experiments of this process know the kind of model or task from here on.

    Its name is that of ``kind: Literal["name"]``. Other processes (``workers`` above 1, ``qattn`` commands) know only
    what installed packages declare as entry points. Raises ValueError for a class that is no kind, or a name of ours.
    """
    name = str(next(iter(get_args(kind.model_fields["kind"].annotation)), ""))
    registry: Any = MODELS if issubclass(kind, ModelConfig) else TASKS
    if name in registry.own:
        raise ValueError(f"kind '{name}' is taken; choose another name")
    registry[name] = kind
    rebuild()
    return kind


def rebuild() -> None:
    """Let the schema of files and records see what the registries hold now."""
    for schema in (ExperimentFile, WrittenJob):
        schema.model_rebuild(force=True)
