"""A learning rate for every model, sought with the same budget for all, on a seed that is not compared.

A trial is a run like any other (a folder, a checkpoint, a result), so a killed search goes on where it stopped. It is
judged by its validation loss alone, never by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.schema import Job
from experiments.schema.experiment import Search
from experiments.schema.jobs import with_warmup
from experiments.schema.optimizer_options import Optimizer

Key = tuple[str, str]
"""Task and model."""


def trials(todo: list[Job], search: Search) -> dict[tuple[str, str, float], Job]:
    """The trials by task, model and factor; none for models that do not train (counts)."""
    found: dict[tuple[str, str, float], Job] = {}
    for job in todo:
        if not job.model.trains or (job.task_name, job.model_name, search.factors[0]) in found:
            continue
        steps = min(search.steps, job.training.steps)
        training = job.training.model_copy(update={"steps": steps, "evaluate_every": steps})
        for factor in search.factors:
            model = with_warmup(with_rates(job, factor).model, steps)
            name = f"{job.model_name} rates ×{factor:g}"
            one = replace(job, model=model, model_name=name, training=training, seed=search.seed)
            found[job.task_name, job.model_name, factor] = one
    return found


def with_rates(job: Job, factor: float) -> Job:
    """The job with every rate of its optimizer times ``factor``."""
    optimizer = job.model.optimizer
    return replace(job, model=job.model.model_copy(update={"optimizer": scaled(optimizer, factor)}))


def scaled(optimizer: Optimizer, factor: float) -> Optimizer:
    """All rates of a complete optimizer times ``factor``, the last rate of its schedule included."""
    values: dict[str, Any] = {"lr": optimizer.lr * factor, "min_lr": (optimizer.min_lr or 0.0) * factor}
    values["rates"] = {group: rate * factor for group, rate in optimizer.rates.items()}
    if optimizer.muon_lr is not None:
        values["muon_lr"] = optimizer.muon_lr * factor
    return optimizer.model_copy(update=values)


def choose(results: Mapping[tuple[str, str, float], Mapping[str, Any]], search: Search) -> dict[str, Any]:
    """What was found, as it stands in ``results.json``: the budget, and by task and model the factor with the least
    loss.

    A trial that failed (not a finite number) or collapsed cannot win; where all did the rates stay as written, and that
    is said.
    """
    by_model: dict[Key, dict[float, float | None]] = {}
    for (task, model, factor), record in results.items():
        sound = record["status"] == "done" and not record.get("collapse")
        nats = record.get("val_nats") if sound else None
        by_model.setdefault((task, model), {})[factor] = nats
    found: dict[str, Any] = {"factors": search.factors, "steps": search.steps, "seed": search.seed, "tasks": {}}
    for (task, model), losses in by_model.items():
        known = {factor: nats for factor, nats in losses.items() if nats is not None}
        best = min(known, key=lambda factor: (known[factor], abs(factor - 1))) if known else 1.0
        found["tasks"].setdefault(task, {})[model] = {
            "factor": best,
            "val_nats": {f"{factor:g}": nats for factor, nats in losses.items()},
            "at_edge": bool(known) and best in (min(search.factors), max(search.factors)),
            **({} if known else {"reason": "every trial failed, so the rates stay as written"}),
        }
    return found


def applied(todo: list[Job], found: Mapping[str, Any]) -> list[Job]:
    """The jobs with the rates that the search chose."""
    factors = {(task, model): one["factor"] for task, models in found["tasks"].items() for model, one in models.items()}
    return [with_rates(job, factors.get((job.task_name, job.model_name), 1.0)) for job in todo]


def cooled(found: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What was found, with the next smaller factor where a run of the comparison collapsed; None where there is
    nothing to cool.

    A rate that wins a short trial may be past the edge of stability in a longer run. All seeds of the model on that
    task are then trained again, so that every seed of a model has one rate.
    """
    hot = {(one["task"], one["model"]) for one in records if one.get("collapse")}
    tasks: dict[str, Any] = {}
    for task, models in found["tasks"].items():
        tasks[task] = dict(models)
        for model, one in models.items():
            lower = [factor for factor in found["factors"] if factor < one["factor"]]
            if (task, model) in hot and lower:
                collapsed = [*one.get("collapsed", []), one["factor"]]
                tasks[task][model] = one | {"factor": max(lower), "collapsed": collapsed, "at_edge": len(lower) == 1}
    return {**found, "tasks": tasks} if tasks != found["tasks"] else None
