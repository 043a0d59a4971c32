"""A whole experiment: every run to its end, one after another or side by side, then one report.

OUT/experiment.json   what was asked (its identity guards the folder), the facts of its tasks, the environment
OUT/runs/*/           one folder a run (`experiments.store`)
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

from experiments import files
from experiments.config import Experiment, Job
from experiments.config.jobs import experiment_identity
from experiments.config.printing import config_text
from experiments.environment import describe
from experiments.errors import UserError
from experiments.matching import matched_jobs
from experiments.models import build_for, ledger
from experiments.progress import Progress
from experiments.report import write
from experiments.runs import folder_name, load_task, run_job
from experiments.store import RunFolder, read_json

OURS = "experiment.json"


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
    todo, notes = matched_jobs(experiment)
    with claim(out, experiment, fresh):
        check(todo)
        facts = {name: load_task(job).facts() for name, job in {job.task_name: job for job in todo}.items()}
        for name, lines in notes.items():
            facts[name] = {**facts[name], "notes": [*facts[name].get("notes", []), *lines]}
        record = {
            "schema": 1,
            "name": experiment.name,
            "description": experiment.description,
            "identity": experiment_identity(experiment),
            "comparison": experiment.comparison.model_dump(),
            "tasks": facts,
            "config_yaml": config_text(experiment.data()),
            "environment": describe(),
            "command": command,
        }
        files.write_json(out / OURS, record)
        sample = experiment.output.sample.model_dump()
        places = [(job, out / "runs" / folder_name(job)) for job in todo]
        with Progress(todo, quiet=as_json) as progress:
            for line in (line for lines in notes.values() for line in lines):
                progress.note(line)
            try:
                if scheduler or workers > 1:
                    from experiments.cluster import run_all

                    run_all(places, sample, progress, workers=workers, scheduler=scheduler)
                else:
                    for job, folder in places:
                        progress.finished(job, run_job(job, folder, sample, partial(progress.update, job)))
            finally:
                records = [result for _, folder in places if (result := RunFolder(folder).result()) is not None]
                if records:
                    page, summary = report(out, records, record)
        if as_json:
            print(json.dumps(summary, ensure_ascii=False, allow_nan=False))
        else:
            progress.say(summary, page)
    return 1 if any(result["status"] == "failed" for result in records) else 0


def report(out: Path, records: list[dict[str, Any]], record: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Summarise finished runs and write the page, the figures and the tables."""
    from experiments.compare import summarise

    summary = summarise(records, record["tasks"], record["comparison"], record["name"])
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
        if fresh:
            shutil.rmtree(out / "runs", ignore_errors=True)
            marker.unlink(missing_ok=True)
        if marker.exists() and read_json(marker).get("identity") != experiment_identity(experiment):
            raise UserError(
                f"{out} holds the experiment '{read_json(marker).get('name')}' with another configuration; "
                "choose another --out, or --fresh to start over and delete its runs"
            )
        yield


def check(todo: list[Job]) -> None:
    """Build every model once, so that an impossible size stops the experiment before any training."""
    for job in {(job.task_name, job.model_name): job for job in todo}.values():
        build_for(job, load_task(job))


def one_batch(experiment: Experiment) -> Experiment:
    """The same experiment with two steps and one seed (--smoke): something of everything."""

    def short(holder: Any) -> Any:
        return holder.model_copy(update={"optimizer": holder.optimizer.model_copy(update={"warmup": 0})})

    two = {"steps": 2, "evaluate_every": 2, "log_every": 1, "checkpoint_every": 1}
    training = short(experiment.training).model_copy(update=two)
    models = {name: short(model) for name, model in experiment.models.items()}
    return replace(experiment, training=training, models=models, seeds=experiment.seeds[:1])


def plan(experiment: Experiment) -> list[dict[str, Any]]:
    """Every run with its parameters and an estimate of its time, from a few measured steps of each model."""
    seconds: dict[tuple[str, str], float] = {}
    rows = []
    for job in matched_jobs(experiment)[0]:
        key = (job.task_name, job.model_name)
        task = load_task(job)
        model = build_for(job, task)
        if key not in seconds:
            seconds[key] = _estimate(job, model)
        rows.append(
            {
                "task": job.task_name,
                "model": job.model_name,
                "seed": job.seed,
                "parameters": sum(ledger(model).values()),
                "seconds": seconds[key],
            }
        )
    return rows


def _estimate(job: Job, model: Any, steps: int = 4) -> float:
    """Seconds of a run: measured training steps and one measured batch of the validation split."""
    import torch

    from experiments.evaluate import evaluate, mean_nats
    from experiments.optim import build_optimizers
    from experiments.train import stream

    torch.set_num_threads(job.training.threads)
    task, training = load_task(job), job.training
    if hasattr(model, "count"):
        return 0.0
    optimizers, generator = build_optimizers(model, job.model.optimizer), stream(job.seed)
    times = []
    for _ in range(steps):
        clock = time.perf_counter()
        inputs, targets = task.batch(training.batch, generator)
        mean_nats(model(inputs), targets).backward()
        for each in optimizers:
            each.step()
            each.zero_grad()
        times.append(time.perf_counter() - clock)
    inputs, targets = task.windows()[0]
    clock = time.perf_counter()
    evaluate(model, [(inputs[:64], targets[:64])])
    whole = sum(each.numel() for each, _ in task.windows())
    validation = (time.perf_counter() - clock) * whole / inputs[:64].numel()
    evaluations = -(-training.steps // training.evaluate_every)
    return min(times) * training.steps + validation * evaluations


def summary(experiment: Experiment) -> dict[str, dict[str, int]]:
    """Parameters of every model by group, for the first task."""
    todo = matched_jobs(experiment)[0]
    chosen = {job.model_name: job for job in todo if job.task_name == todo[0].task_name}
    return {name: ledger(build_for(job, load_task(job))) for name, job in chosen.items()}
