"""Equal sizes: the width of every model solved until it costs what the reference costs, and said so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from experiments.config import Experiment, Job, jobs
from experiments.config.modelbase import ModelConfig
from experiments.errors import UserError
from experiments.models import build_for, ledger
from experiments.runs import load_task

TOLERANCE = 0.02
LARGEST = 1 << 16
"""Of any width tried."""
TRIES = 8
"""Coarse widths below the largest one that are tried with the fine width."""


def matched_jobs(experiment: Experiment) -> tuple[list[Job], dict[str, list[str]]]:
    """The jobs of an experiment, their widths solved where ``comparison.match`` asks for it, and by task what was done.

    Raises :class:`UserError` when a model cannot come within two percent of the reference.
    """
    todo, match, reference = jobs(experiment), experiment.comparison.match, experiment.comparison.reference
    if match is None:
        return todo, {}
    cost = COSTS[match]
    solved: dict[tuple[str, str], ModelConfig] = {}
    notes: dict[str, list[str]] = {}
    first = {(job.task_name, job.model_name): job for job in reversed(todo)}
    for (task, name), job in first.items():
        if name == reference or not job.model.widths():
            continue
        goal = cost(first[task, str(reference)])
        fitted = solve(job, goal, cost)
        solved[task, name] = fitted.model
        changed = [
            f"{key} {getattr(job.model, key)} → {getattr(fitted.model, key)}"
            for key in job.model.widths()
            if getattr(job.model, key) != getattr(fitted.model, key)
        ]
        got = cost(fitted)
        notes.setdefault(task, []).append(
            f"{name} has {got:,} {WORDS[match]}, {100 * (got / goal - 1):+.2f} % of {reference}'s {goal:,} "
            f"({', '.join(changed) or 'as written'})."
        )
    return [replace(job, model=solved.get((job.task_name, job.model_name), job.model)) for job in todo], notes


def solve(job: Job, goal: float, cost: Callable[[Job], float]) -> Job:
    """The job with its widths changed so that it costs ``goal``: the coarse width as large as can be, then the
    fine one.

    Where that is not near enough, smaller coarse widths are tried. Raises :class:`UserError` when none will do.
    """

    def price(one: Job) -> float:
        try:
            return cost(one)
        except UserError:  # too wide for its readout, say
            return math.inf

    def sized(base: Job, key: str, width: int) -> Job:
        return replace(base, model=base.model.model_copy(update={key: width}))

    def largest(base: Job, key: str, multiple: int) -> int:
        """The largest number of multiples that costs no more than the goal; 1 where none does."""
        low, high = 0, 1
        while high * multiple < LARGEST and price(sized(base, key, high * multiple)) <= goal:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if price(sized(base, key, middle * multiple)) <= goal else (low, middle)
        return max(1, low)

    def nearest(candidates: list[Job]) -> Job:
        return min(candidates, key=lambda one: abs(price(one) - goal))

    (coarse, multiple), *rest = job.model.widths().items()
    top = largest(job, coarse, multiple)
    best = nearest([sized(job, coarse, times * multiple) for times in (top, top + 1)])
    for times in range(top, max(0, top - TRIES), -1):
        if abs(price(best) / goal - 1) <= TOLERANCE:
            return best
        base = sized(job, coarse, times * multiple)
        for fine, step in rest:
            low = largest(base, fine, step)
            best = nearest([best, *(sized(base, fine, width * step) for width in (low, low + 1))])
    if abs(price(best) / goal - 1) <= TOLERANCE:
        return best
    raise UserError(
        f"models.{job.model_name}: no {' or '.join(job.model.widths())} comes within {100 * TOLERANCE:g} % of the "
        f"reference's {goal:,} (nearest: {price(best):,}); change its other sizes or remove comparison.match"
    )


def _parameters(job: Job) -> float:
    return sum(ledger(build_for(job, load_task(job))).values())


def _flops(job: Job) -> float:
    task = load_task(job)
    flops: int = build_for(job, task).flops_per_token(task.span)
    return flops


WORDS = {"parameters": "parameters", "flops": "operations a token"}
COSTS: dict[str, Callable[[Job], float]] = {"parameters": _parameters, "flops": _flops}
