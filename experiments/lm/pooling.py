"""A part of an experiment's runs, and the runs of one experiment from several folders in one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.lm.results_schema import Experiment, about, load
from experiments.runs.claim import claimed
from experiments.runs.json_files import read_record, write_record

RECORD = "experiment.json"


def chosen(experiment: Experiment, models: Sequence[str], tasks: Sequence[str], seeds: Sequence[int]) -> Experiment:
    """The experiment with the runs of these models, tasks and seeds alone; an empty choice takes all.

    A reference that is not among the models is dropped, and with it what is compared with it. Raises
    :class:`UserError` for a name or a seed that no run has.
    """
    runs = experiment.runs
    for key, wanted in (("model", models), ("task", tasks), ("seed", seeds)):
        known = list(dict.fromkeys(run[key] for run in runs))
        if missing := [one for one in wanted if one not in known]:
            raise UserError(f"--{key}s {missing[0]}: no such {key} here; expected {', '.join(map(str, known))}")
        runs = [run for run in runs if not wanted or run[key] in wanted]
    if not runs:
        raise UserError("--models, --tasks, --seeds: no finished run is of all of these")
    comparison, left = dict(experiment.comparison), {run["model"] for run in runs}
    if comparison.get("reference") not in (None, "best classical", *left):
        comparison = {key: comparison[key] for key in ("confidence", "equivalence", "metric") if key in comparison}
    facts = {name: fact for name, fact in experiment.tasks.items() if any(run["task"] == name for run in runs)}
    listed = {**experiment.about, "models": [name for name in experiment.about.get("models", []) if name in left]}
    return replace(experiment, runs=runs, tasks=facts, comparison=comparison, about=listed)


def merge(folders: Sequence[Path], out: Path) -> dict[str, Any]:
    """Copy the finished runs of one experiment from several folders to ``out``; what ``experiment.json`` there says.

    A run that two folders hold is taken from the first. Raises :class:`UserError` unless each model that two folders
    share was trained alike on each task that they share, with the same rates, and the tasks are the same.
    """
    for folder in folders:
        load(folder)
    records = [read_record(folder / RECORD, what="the record of an experiment") for folder in folders]
    whole = dict(records[0])
    for folder, record in zip(folders[1:], records[1:], strict=True):
        for key in ("identity", "tasks"):
            ours, theirs = whole.get(key) or {}, record.get(key) or {}
            if other := [name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]]:
                raise UserError(f"{folder}: holds another experiment than {folders[0]} ({sorted(other)[0]} differs)")
            whole[key] = {**ours, **theirs}
        if record.get("search") != whole.get("search"):
            raise UserError(f"{folder}: its search of learning rates found others than that of {folders[0]}")
        whole["models"] = list(dict.fromkeys([*whole.get("models", []), *record.get("models", [])]))
    with claimed(out, RECORD, "an experiment"):
        if (out / RECORD).exists():
            raise UserError(f"{out}: holds an experiment already; choose another --out")
        for folder in folders:
            for result in sorted(folder.glob("runs/*/result.json")):
                target = out / "runs" / result.parent.name
                if not target.exists():
                    shutil.copytree(result.parent, target)
        write_record(out / RECORD, whole)
    return whole | about(whole)
