"""A whole experiment: every run to its end, one after another or side by side, then one report.

OUT/experiment.json   what was asked (its identity guards the folder), the facts of its tasks, the environment
OUT/matching.json     the widths solved for equal times, which another measurement would not give again
OUT/search/*/         one folder per trial of a learning rate; what was chosen stands in experiment.json
OUT/runs/*/           one folder per run (`experiments.runs.run_folder`)
OUT/collapsed/*/      runs at a rate at which a seed collapsed; trained again at a smaller one, so in no report
OUT/report.html, results.json, results.csv, figures/
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.lm.builders import build_for, ledger, load_task
from experiments.lm.matching import matched_jobs
from experiments.lm.rate_search import Trial, applied, choose, cooled, further, trials
from experiments.lm.results_schema import about
from experiments.lm.run import folder_name, identity_in, run_job
from experiments.lm.timing import stepper
from experiments.located.yaml_dump import config_text
from experiments.report import write
from experiments.runs.claim import claimed
from experiments.runs.environment import describe
from experiments.runs.json_files import by_first_version, read_record, write_record
from experiments.runs.progress import Progress
from experiments.runs.run_folder import RunFolder
from experiments.schema import Experiment, Job
from experiments.schema.experiment import Search, TaskTraining
from experiments.schema.jobs import identities
from experiments.schema.twins import twins

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
) -> int:
    """Run what is not yet done, then write the report. Exit code 0, or 1 when a run failed.

    The same experiment on the same ``out`` resumes where it stopped; another one there is refused (``fresh`` starts
    over). Interrupted, it leaves a report of what is finished. Raises :class:`UserError` for a folder that is another
    experiment's, is in use, or is damaged.
    """
    if smoke:
        experiment, out, fresh = one_batch(experiment), out.with_name(out.name + "-smoke"), True
    with claimed(out, OURS, "an experiment"):
        todo, notes, record = prepare(experiment, out, fresh, command)
        search = experiment.training.search
        sought = trials(todo, search) if search is not None else {}
        with Progress([*sought.values(), *todo], quiet=as_json) as progress:
            for line in notes:
                progress.note(line)
            go = partial(_bring, progress=progress, workers=workers, scheduler=scheduler)
            if search is not None:
                record["search"] = _search(todo, search, out, go, progress)
            records, page, summary = train_all(todo, record, out, experiment.output.sample.model_dump(), go)
        if as_json:
            print(json.dumps(summary, ensure_ascii=False, allow_nan=False))
        else:
            progress.say(summary, page)
    return 1 if any(result["status"] == "failed" for result in records) else 0


def prepare(
    experiment: Experiment, out: Path, fresh: bool, command: str
) -> tuple[list[Job], list[str], dict[str, Any]]:
    """The runs of an experiment, what is to be said of their sizes, and what ``experiment.json`` is to hold, once the
    folder is known to be this experiment's and every model can be built; ``fresh`` then deletes what the folder holds.

    Raises :class:`UserError` otherwise, before anything is deleted or trained.
    """
    asked = identities(experiment)
    if not fresh and (out / OURS).exists():
        _same(out, read_record(out / OURS, what="the record of an experiment"), asked)
    if fresh:
        check(matched_jobs(experiment)[0])
        clear(out)
    todo, notes = matched_jobs(experiment, out / MATCHED)
    check(todo)
    facts = {name: load_task(job).facts() for name, job in {job.task_name: job for job in todo}.items()}
    for name, lines in notes.items():
        facts[name] = {**facts[name], "notes": [*facts[name].get("notes", []), *lines]}
    return (
        todo,
        [line for lines in notes.values() for line in lines],
        {
            "schema": 1,
            "name": experiment.name,
            "description": experiment.description,
            "identity": asked,
            "comparison": experiment.comparison.model_dump(),
            "tasks": facts,
            "models": list(experiment.models),
            "sweeps": experiment.sweeps,
            "twins": twins(experiment.models),
            "search": None,
            "config_yaml": config_text(experiment.data()),
            "environment": describe(),
            "command": command,
        },
    )


def train_all(
    todo: list[Job], record: dict[str, Any], out: Path, sample: dict[str, Any], go: Callable[..., None]
) -> tuple[list[dict[str, Any]], Path, dict[str, Any]]:
    """Bring every run to its end and write the report, of what is finished where it is interrupted.

    Where a rate that a search chose makes a seed collapse, the model is trained again with the next smaller one.
    Returns the runs' records, the report's page and its summary.
    """
    while True:
        write_record(out / OURS, record)
        found = record["search"]
        places = [(job, _place(out, job)) for job in (applied(todo, found) if found else todo)]
        try:
            go(places, sample)
        finally:
            records = [result for _, folder in places if (result := RunFolder(folder).result()) is not None]
            if records:
                page, summary = report(out, records, record)
        cooler = cooled(found, records) if found else None
        if cooler is None:
            return records, page, summary
        _set_aside(out, places, found, cooler)
        record["search"] = cooler


def _search(todo: list[Job], search: Search, out: Path, go: Callable[..., None], progress: Progress) -> dict[str, Any]:
    """Every trial to its end, the written factors first, then those past an edge; what was found."""
    sought = trials(todo, search)
    results: dict[Trial, dict[str, Any]] = {}
    while sought:
        progress.add(list(sought.values()))
        tried = [(job, out / "search" / folder_name(job)) for job in sought.values()]
        go(tried, None)
        done = [RunFolder(folder).result() or {} for _, folder in tried]
        results |= dict(zip(sought, done, strict=True))
        sought = further(todo, results, search)
    return choose(results, search)


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
    left = []
    for job, folder in places:
        if (workers > 1 or scheduler) and RunFolder(folder).result() is None:
            left.append((job, folder))
            continue
        watch = partial(progress.update, job)
        progress.finished(job, run_job(job, folder, sample, watch, identity_in(folder)))
    if left:
        from experiments.runs.dask_backend import Piece, run_all

        calls = [partial(run_job, job, folder.resolve(), sample, asked=identity_in(folder)) for job, folder in left]
        run_all(
            [Piece(folder, call) for (_, folder), call in zip(left, calls, strict=True)],
            lambda number, event: progress.update(left[number][0], event | {"steps": left[number][0].training.steps}),
            lambda number, record: progress.finished(left[number][0], record),
            workers=workers,
            scheduler=scheduler,
        )


def report(out: Path, records: list[dict[str, Any]], record: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Summarise finished runs and write the page, the figures and the tables."""
    from experiments.stats.compare import summarise

    summary = summarise(records, record["tasks"], record["comparison"], record["name"], about(record))
    page = write(
        out, summary, records, record["tasks"], record["config_yaml"], record["environment"], record["command"]
    )
    return page, summary


def clear(out: Path) -> None:
    """Delete the runs of a folder and what was made of them."""
    for folder in ("runs", "search", "collapsed", "figures"):
        shutil.rmtree(out / folder, ignore_errors=True)
    for file in (OURS, MATCHED, "report.html", "results.json", "results.csv"):
        (out / file).unlink(missing_ok=True)


def _same(out: Path, held: Mapping[str, Any], asked: dict[str, str]) -> None:
    """Raises :class:`UserError` unless ``asked`` is what the folder holds, or that and more models and tasks."""
    before = held.get("identity")
    parts = before if isinstance(before, dict) else {}
    other = [f"{part} differs" for part, identity in parts.items() if asked.get(part, identity) != identity]
    other += [f"{part} is in the folder but not asked for" for part in parts if part not in asked]
    if "training.search" in asked and "training.search" not in parts:
        other.append("training.search is new")
    if (other or not parts) and by_first_version(out / OURS):
        raise UserError(
            f"{out} holds the experiment '{held.get('name')}' of qattn 0.1.0, which this version reports and samples "
            "from but does not continue; choose another --out, or --fresh to start over and delete its runs"
        )
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
    """Every run, the written trials of a search included, with its parameters and an estimate of its time, from a few
    measured steps of each model.
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
