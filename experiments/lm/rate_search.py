"""A learning rate for every model, sought with the same budget for all, on a seed that is not compared.

First the written factors; then, while a model's best factor is its outermost, one factor more at a time, until the best
one lies inside or the bound (``search.beyond``, the same for all) is hit.

A trial is a run like any other (a folder, a checkpoint, a result), so a killed search resumes where it stopped. It is
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
Trial = tuple[str, str, float]
"""Task, model and factor."""
Results = Mapping[Trial, Mapping[str, Any]]


def trials(todo: list[Job], search: Search) -> dict[Trial, Job]:
    """The trials of the written factors; none for models that do not train (counts)."""
    return {
        (*key, factor): _trial(job, factor, search) for key, job in _sought(todo).items() for factor in search.factors
    }


def further(todo: list[Job], results: Results, search: Search) -> dict[Trial, Job]:
    """The next trials: one for each model whose best factor so far is its outermost and whose bound is not hit."""
    first = _sought(todo)
    outwards = {key: _beyond(losses, search) for key, losses in _losses(results).items()}
    return {(*key, factor): _trial(first[key], factor, search) for key, factor in outwards.items() if factor}


def _sought(todo: list[Job]) -> dict[Key, Job]:
    """One job of each model that trains, by task and model."""
    return {(job.task_name, job.model_name): job for job in reversed(todo) if job.model.trains}


def _trial(job: Job, factor: float, search: Search) -> Job:
    steps = min(search.steps, job.training.steps)
    training = job.training.model_copy(update={"steps": steps, "evaluate_every": steps})
    model = with_warmup(with_rates(job, factor).model, steps, job.training.steps)
    name = f"{job.model_name} rates ×{factor:g}"
    return replace(job, model=model, model_name=name, training=training, seed=search.seed)


def _losses(results: Results) -> dict[Key, dict[float, float | None]]:
    """By task and model the loss of each factor; None for a trial that failed or collapsed, which cannot win."""
    found: dict[Key, dict[float, float | None]] = {}
    for (task, model, factor), record in results.items():
        sound = record["status"] == "done" and not record.get("collapse")
        found.setdefault((task, model), {})[factor] = record.get("val_nats") if sound else None
    return found


def _best(losses: Mapping[float, float | None]) -> float | None:
    """The factor of the least loss, of equal ones the nearest to the rates as written; None where all trials failed."""
    known = {factor: nats for factor, nats in losses.items() if nats is not None}
    return min(known, key=lambda factor: (known[factor], abs(factor - 1))) if known else None


def _beyond(losses: Mapping[float, float | None], search: Search) -> float | None:
    """The next factor outwards; None where the best one lies inside, or after ``search.beyond`` of them."""
    best, tried, written = _best(losses), sorted(losses), sorted(search.factors)
    if best not in (tried[0], tried[-1]) or len(tried) - len(written) >= search.beyond:
        return None
    ratio = written[-1] / written[-2] if best == tried[-1] else written[0] / written[1]
    return float(f"{best * ratio:.12g}")


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


def choose(results: Results, search: Search) -> dict[str, Any]:
    """What was found, as it stands in ``results.json``: the budget, and by task and model the factor with the least
    loss; ``at_edge`` where the bound was hit with the outermost factor still the best.

    A trial that failed (not a finite number) or collapsed cannot win; where all did the rates stay as written, and that
    is said.
    """
    tried = sorted({*search.factors, *(factor for _, _, factor in results)})
    found: dict[str, Any] = {"factors": tried, "written": search.factors, "beyond": search.beyond}
    found |= {"steps": search.steps, "seed": search.seed, "tasks": {}}
    for (task, model), losses in _losses(results).items():
        best = _best(losses)
        found["tasks"].setdefault(task, {})[model] = {
            "factor": 1.0 if best is None else best,
            "val_nats": {f"{factor:g}": losses[factor] for factor in sorted(losses)},
            "at_edge": best in (min(losses), max(losses)),
            **({"reason": "every trial failed, so the rates stay as written"} if best is None else {}),
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
            tried = [factor for factor in found["factors"] if f"{factor:g}" in one["val_nats"]]
            lower = [factor for factor in tried if factor < one["factor"]]
            if (task, model) in hot and lower:
                collapsed = [*one.get("collapsed", []), one["factor"]]
                tasks[task][model] = one | {"factor": max(lower), "collapsed": collapsed, "at_edge": len(lower) == 1}
    return {**found, "tasks": tasks} if tasks != found["tasks"] else None
