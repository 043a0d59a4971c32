"""A whole experiment: every run to its end, one after another or side by side, then one report.

OUT/experiment.json   what was asked (its identity guards the folder), the facts of its tasks, the environment
OUT/matching.json     the widths solved for equal times, which another measurement would not give again
OUT/search/*/         one folder a trial of a learning rate; what was chosen stands in experiment.json
OUT/runs/*/           one folder a run (`experiments.runs.run_folder`)
OUT/collapsed/*/      runs at a rate at which a seed collapsed; trained again at a smaller one, so in no report
OUT/report.html, results.json, results.csv, figures/
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.lm.builders import build_for, ledger
from experiments.lm.matching import matched_jobs
from experiments.lm.rate_search import applied, choose, cooled, trials
from experiments.lm.results_schema import about
from experiments.lm.run import folder_name, load_task, run_job
from experiments.lm.timing import stepper
from experiments.located.yaml_dump import config_text
from experiments.report import write
from experiments.runs import atomic_files
from experiments.runs.environment import describe
from experiments.runs.progress import Progress
from experiments.runs.run_folder import RunFolder, read_json
from experiments.schema import Experiment, Job
from experiments.schema.experiment import TaskTraining
from experiments.schema.jobs import identities

OURS, MATCHED = "experiment.json", "matching.json"


def run_experiment(
    experiment: Experiment,
    *,
    out: Path,
    workers: int = 1,
    scheduler: str | None = None,
    fresh: bool = False,
    smoke: bool = False,
    command: str = "",
    as_json: bool = False,
    **_: Any,
) -> int:
    """Run what is not yet done, then write the report. Exit code 0, or 1 when a run failed.

    The same experiment on the same ``out`` goes on where it stopped; another one there is refused (``fresh`` starts
    over). Interrupted, it leaves a report of what is finished.
    """
    if smoke:
        experiment, out, fresh = one_batch(experiment), out.with_name(out.name + "-smoke"), True
    with claim(out, experiment, fresh):
        if fresh:
            check(matched_jobs(experiment)[0])  # nothing is deleted for an experiment that cannot start
            clear(out)
        todo, notes = matched_jobs(experiment, out / MATCHED)
        check(todo)
        facts = {name: load_task(job).facts() for name, job in {job.task_name: job for job in todo}.items()}
        for name, lines in notes.items():
            facts[name] = {**facts[name], "notes": [*facts[name].get("notes", []), *lines]}
        record: dict[str, Any] = {
            "schema": 1,
            "name": experiment.name,
            "description": experiment.description,
            "identity": identities(experiment),
            "comparison": experiment.comparison.model_dump(),
            "tasks": facts,
            "models": list(experiment.models),
            "sweeps": experiment.sweeps,
            "search": None,
            "config_yaml": config_text(experiment.data()),
            "environment": describe(),
            "command": command,
        }
        atomic_files.write_json(out / OURS, record)
        sample = experiment.output.sample.model_dump()
        search = experiment.training.search
        sought = trials(todo, search) if search is not None else {}
        with Progress([*sought.values(), *todo], quiet=as_json) as progress:
            for line in (line for lines in notes.values() for line in lines):
                progress.note(line)
            go = partial(_bring, progress=progress, workers=workers, scheduler=scheduler)
            if search is not None:
                tried = [(job, out / "search" / folder_name(job)) for job in sought.values()]
                go(tried, None)
                results = {
                    key: RunFolder(folder).result() or {} for key, (_, folder) in zip(sought, tried, strict=True)
                }
                record["search"] = choose(results, search)
            again = True
            while again:
                atomic_files.write_json(out / OURS, record)
                found = record["search"]
                places = [(job, _place(out, job)) for job in (applied(todo, found) if found else todo)]
                try:
                    go(places, sample)
                finally:
                    records = [result for _, folder in places if (result := RunFolder(folder).result()) is not None]
                    if records:
                        page, summary = report(out, records, record)
                cooler = cooled(found, records) if found else None
                again = cooler is not None
                if cooler is not None:
                    _set_aside(out, places, found, cooler)
                    record["search"] = cooler
        if as_json:
            print(json.dumps(summary, ensure_ascii=False, allow_nan=False))
        else:
            progress.say(summary, page)
    return 1 if any(result["status"] == "failed" for result in records) else 0


def _place(out: Path, job: Job) -> Path:
    """The folder of a run: among the compared ones, unless it was set aside."""
    aside = out / "collapsed" / folder_name(job)
    return aside if aside.exists() else out / "runs" / folder_name(job)


def _set_aside(out: Path, places: list[tuple[Job, Path]], found: dict[str, Any], cooler: dict[str, Any]) -> None:
    """Move the runs of the models that are trained again, so that every reader of ``runs`` sees one rate a model."""
    (out / "collapsed").mkdir(exist_ok=True)
    for job, folder in places:
        before, after = (each["tasks"].get(job.task_name, {}).get(job.model_name) for each in (found, cooler))
        if before != after and folder.parent.name == "runs":
            folder.rename(out / "collapsed" / folder.name)


def _bring(
    places: list[tuple[Job, Path]],
    sample: dict[str, Any] | None,
    *,
    progress: Progress,
    workers: int,
    scheduler: str | None,
) -> None:
    """Every run of ``places`` to its end, one after another or side by side."""
    if scheduler or workers > 1:
        from experiments.runs.dask_backend import run_all

        run_all(places, sample, progress, workers=workers, scheduler=scheduler)
        return
    for job, folder in places:
        progress.finished(job, run_job(job, folder, sample, partial(progress.update, job)))


def report(out: Path, records: list[dict[str, Any]], record: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Summarise finished runs and write the page, the figures and the tables."""
    from experiments.stats.compare import summarise

    summary = summarise(records, record["tasks"], record["comparison"], record["name"], about(record))
    page = write(
        out, summary, records, record["tasks"], record["config_yaml"], record["environment"], record["command"]
    )
    return page, summary


@contextlib.contextmanager
def claim(out: Path, experiment: Experiment, fresh: bool) -> Iterator[None]:
    """Hold the folder for this experiment alone while it runs. Raises :class:`UserError` when it is another's."""
    marker = out / OURS
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; --out wants a folder")
    if out.is_dir() and any(out.iterdir()) and not marker.exists() and not (out / ".lock").exists():
        raise UserError(f"{out} holds something else than an experiment; choose another --out")
    out.mkdir(parents=True, exist_ok=True)
    with open(out / ".lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            busy = "another qattn is running this experiment; wait for it or choose another --out"
            raise UserError(f"{out}: {busy}") from None
        if marker.exists() and not fresh:
            _same(out, read_json(marker), identities(experiment))
        yield


def clear(out: Path) -> None:
    """Delete the runs of a folder and what was made of them."""
    for folder in ("runs", "search", "collapsed", "figures"):
        shutil.rmtree(out / folder, ignore_errors=True)
    for file in (OURS, MATCHED, "report.html", "results.json", "results.csv"):
        (out / file).unlink(missing_ok=True)


def _same(out: Path, held: Any, asked: dict[str, str]) -> None:
    """Raises :class:`UserError` unless ``asked`` is what the folder holds, or that and more models and tasks."""
    if not isinstance(held, dict):
        raise UserError(f"{out / OURS}: is not the record of an experiment; delete it and repeat the command")
    before = held.get("identity")
    parts = before if isinstance(before, dict) else {}
    other = [f"{part} differs" for part, identity in parts.items() if asked.get(part, identity) != identity]
    other += [f"{part} is in the folder but not asked for" for part in parts if part not in asked]
    if "training.search" in asked and "training.search" not in parts:
        other.append("training.search is new")
    if other or not parts:
        what = f" ({', '.join(other[:2])}{' and more' if len(other) > 2 else ''})" if other else ""
        raise UserError(
            f"{out} holds the experiment '{held.get('name')}' with another configuration{what}; "
            "choose another --out, or --fresh to start over and delete its runs"
        )


def check(todo: list[Job]) -> None:
    """Build every model once, so that an impossible size stops the experiment before any training."""
    for job in {(job.task_name, job.model_name): job for job in todo}.values():
        build_for(job, load_task(job))


def one_batch(experiment: Experiment) -> Experiment:
    """The same experiment with two steps and one seed (--smoke): something of everything, but for a search."""

    def short(holder: Any) -> Any:
        return holder.model_copy(update={"optimizer": holder.optimizer.model_copy(update={"warmup": 0})})

    few = {name: TaskTraining(batch=own.batch) for name, own in experiment.training.tasks.items()}
    two = {"steps": 2, "evaluate_every": 2, "log_every": 1, "checkpoint_every": 1, "tasks": few, "search": None}
    training = short(experiment.training).model_copy(update=two)
    models = {name: short(model) for name, model in experiment.models.items()}
    return replace(experiment, training=training, models=models, seeds=experiment.seeds[:1])


def plan(experiment: Experiment) -> list[dict[str, Any]]:
    """Every run, trials of a search included, with its parameters and an estimate of its time, from a few measured
    steps of each model.
    """
    speeds: dict[tuple[str, str], tuple[int, float, float]] = {}
    todo, search = matched_jobs(experiment)[0], experiment.training.search
    sought = trials(todo, search) if search is not None else {}
    whole = [((job.task_name, job.model_name), job) for job in todo]
    rows = []
    for key, job in [*(((task, model), job) for (task, model, _), job in sought.items()), *whole]:
        if key not in speeds:
            speeds[key] = _speed(job)
        parameters, step, evaluation = speeds[key]
        rows.append(
            {
                "task": job.task_name,
                "model": job.model_name,
                "seed": job.seed,
                "parameters": parameters,
                "seconds": step * job.training.steps
                + evaluation * -(-job.training.steps // job.training.evaluate_every),
            }
        )
    return rows


def _speed(job: Job, steps: int = 4) -> tuple[int, float, float]:
    """Parameters, seconds of a training step and of an evaluation on the whole validation split, from a few steps and
    one batch.
    """
    from experiments.lm.evaluate import evaluate

    task = load_task(job)
    model = build_for(job, task)
    parameters = sum(ledger(model).values())
    if not job.model.trains:
        return parameters, 0.0, 0.0
    step = stepper(job, model)
    seconds = min(step() for _ in range(steps))
    inputs, targets = task.windows()[0]
    clock = time.process_time()
    evaluate(model, [(inputs[:64], targets[:64])])
    whole = sum(each.numel() for each, _ in task.windows())
    return parameters, seconds, (time.process_time() - clock) * whole / inputs[:64].numel()


def summary(experiment: Experiment) -> dict[str, dict[str, int]]:
    """Parameters of every model by group, for the first task."""
    todo = matched_jobs(experiment)[0]
    chosen = {job.model_name: job for job in todo if job.task_name == todo[0].task_name}
    return {name: ledger(build_for(job, load_task(job))) for name, job in chosen.items()}
