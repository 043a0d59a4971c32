"""Equal sizes: the width of every model solved until it costs what the goal costs, and said so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.lm.builders import build_for, ledger, load_task
from experiments.lm.timing import relative_time
from experiments.runs.json_files import read_record, write_record
from experiments.schema import Experiment, Job, jobs

LARGEST = 1 << 16
"""Of any width tried."""
FINEST = 256
"""Steps of the common factor of all widths between 0 and 1; it goes up to this number, too."""
OF_A_TWIN = 0.1
"""A twin is what its model is but for one thing; where that takes the fine width away, this is near enough."""
TRIES = 8
"""Coarse widths below the largest one that are tried with the fine width."""

Cost = Callable[[Job], float]


@dataclass(frozen=True)
class Goal:
    """What the widths are solved for: ``cost`` of a job is to be ``value`` to within ``tolerance``."""

    value: float
    cost: Cost
    tolerance: float
    words: str
    whose: str

    def note(self, name: str, fitted: Job, changed: str) -> str:
        """The report's sentence: what the fitted model costs, how far off it is, and what was changed."""
        got = self.cost(fitted)
        amount = f"{got:,.0f}" if self.value > 1 else f"{got:.2f}"
        off = f"{100 * (got / self.value - 1):+.2f} % of {self.whose}"
        return f"{name} has {amount} {self.words}, {off}{f' {self.value:,.0f}' if self.value > 1 else ''} ({changed})."


def matched_jobs(experiment: Experiment, record: Path | None = None) -> tuple[list[Job], dict[str, list[str]]]:
    """The jobs of an experiment, their widths solved where ``comparison.match`` asks for it, and by task what was done.

    Times differ from one measurement to the next, so widths matched in time are kept in the file ``record`` and read
    from there when the experiment goes on. Raises :class:`UserError` when a model cannot be brought near enough.
    """
    todo, match = jobs(experiment), experiment.comparison.match
    if match is None:
        return todo, {}
    asked = {"match": match, "match_to": experiment.comparison.match_to or experiment.comparison.reference}
    kept = read_record(record) if match == "time" and record is not None and record.exists() else {}
    known: dict[str, Any] = kept if kept.get("asked") == asked else {"asked": asked, "widths": {}, "notes": {}}
    widths, notes = known["widths"], known["notes"]
    first = {(job.task_name, job.model_name): job for job in reversed(todo)}
    for (task, name), job in reversed(first.items()):
        if name in widths.get(task, {}):
            continue
        goal = _goal(experiment, first, task, name)
        if goal is None or not job.model.widths():
            continue
        fitted = _fitted(job, goal)
        solved = {key: getattr(fitted.model, key) for key in job.model.widths()}
        changed = [f"{key} {old} → {new}" for key, new in solved.items() if (old := getattr(job.model, key)) != new]
        widths.setdefault(task, {})[name] = solved
        notes.setdefault(task, []).append(goal.note(name, fitted, ", ".join(changed) or "as written"))
    if match == "time" and record is not None:
        write_record(record, known)
    return [_sized(job, widths.get(job.task_name, {}).get(job.model_name, {})) for job in todo], notes


def _goal(experiment: Experiment, first: dict[tuple[str, str], Job], task: str, name: str) -> Goal | None:
    """What one model on one task is to cost; None for the model whose size is met."""
    comparison = experiment.comparison
    if comparison.size is not None:
        value = comparison.size if isinstance(comparison.size, int) else comparison.size[task]
        return Goal(value, COSTS[str(comparison.match)], 0.02, WORDS[str(comparison.match)], "the size asked for:")
    model = str(comparison.match_to or comparison.reference)
    if name == model:
        return None
    other = first[task, model]
    if comparison.match == "time":
        words = f"times {model}'s processor time a training step, measured side by side on this machine"
        return Goal(1.0, partial(relative_time, other=other), 0.1, words, "equal times")
    cost = COSTS[str(comparison.match)]
    return Goal(cost(other), cost, 0.02, WORDS[str(comparison.match)], f"{model}'s")


def _fitted(job: Job, goal: Goal) -> Job:
    """The job within the goal's tolerance; a twin that has no fine width may be as far off as :data:`OF_A_TWIN`."""
    try:
        return solve(job, goal.value, goal.cost, goal.tolerance)
    except UserError:
        if not job.model.originals or goal.tolerance >= OF_A_TWIN:
            raise
        return solve(job, goal.value, goal.cost, OF_A_TWIN)


def solve(job: Job, goal: float, cost: Cost, tolerance: float = 0.02) -> Job:
    """The job with its widths changed so that it costs ``goal``: all of them in the proportions they are written in,
    as large as can be, then a fine one.

    Where that is not near enough, smaller coarse widths are tried. Raises :class:`UserError` when none will do.
    """
    prices: dict[str, float] = {}

    def price(one: Job) -> float:
        key = one.model.model_dump_json()
        if key not in prices:
            try:
                prices[key] = cost(one)
            except UserError:  # too wide for its readout, say
                prices[key] = math.inf
        return prices[key]

    def largest(at: Callable[[int], Job], top: int) -> int:
        """The largest number up to ``top`` whose job costs no more than the goal; 1 where none does.

        What cannot be built below some number (a rank too small for the register) is passed over.
        """
        high = next((number for number in _doubling(top) if price(at(number)) < math.inf), 1)
        low = high - 1
        while high < top and price(at(high)) <= goal:
            low, high = high, min(top, 2 * high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if price(at(middle)) <= goal else (low, middle)
        return max(1, low)

    def nearest(candidates: list[Job]) -> Job:
        return min(candidates, key=lambda one: abs(price(one) - goal))

    def changed(base: Job, key: str, multiple: int) -> Callable[[int], Job]:
        return lambda times: _sized(base, {key: times * multiple})

    (coarse, multiple), *rest = job.model.widths().items()
    whole = _proportional(job, largest(partial(_proportional, job), FINEST * FINEST))
    top = getattr(whole.model, coarse) // multiple
    best = nearest([changed(whole, coarse, multiple)(times) for times in (top, top + 1)])
    for times in range(top, max(0, top - TRIES), -1):
        if abs(price(best) / goal - 1) <= tolerance:
            return best
        base = changed(whole, coarse, multiple)(times)
        for fine, step in rest:
            at = changed(base, fine, step)
            low = largest(at, LARGEST // step)
            best = nearest([best, at(low), at(low + 1)])
    if abs(price(best) / goal - 1) <= tolerance:
        return best
    raise UserError(
        f"models.{job.model_name} on {job.task_name}: no {' or '.join(job.model.widths())} comes within "
        f"{100 * tolerance:g} % of {goal:,.10g} (nearest: {price(best):,.10g}); change its other sizes or what "
        "comparison.match asks for"
    )


def _proportional(job: Job, parts: int) -> Job:
    """The job with every width that is a number ``parts / FINEST`` times what is written, on its multiples."""
    sizes = {}
    for key, multiple in job.model.widths().items():
        written = getattr(job.model, key)
        if isinstance(written, int):
            sizes[key] = max(1, round(written * parts / FINEST / multiple)) * multiple
    return _sized(job, sizes)


def _doubling(top: int) -> Iterator[int]:
    number = 1
    while number <= top:
        yield number
        number *= 2


def _sized(job: Job, widths: dict[str, int]) -> Job:
    return replace(job, model=job.model.model_copy(update=widths)) if widths else job


def _parameters(job: Job) -> float:
    return sum(ledger(build_for(job, load_task(job))).values())


def _flops(job: Job) -> float:
    task = load_task(job)
    flops: int = build_for(job, task).flops_per_token(task.span)
    return flops


WORDS = {"parameters": "parameters", "flops": "operations per token"}
COSTS: dict[str, Cost] = {"parameters": _parameters, "flops": _flops}
