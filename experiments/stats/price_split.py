"""The price of unitarity split into what it is paid for, by a model's twins: paired differences with their intervals.

    evolution = loss(register, softmax) − loss(best twin without a register)
    readout   = loss(register, Born)    − loss(register, softmax)
    price     = evolution + readout

A twin without attention or with another control gives a further term: what these do for the model, negative where they
help. Everything is in the metric of the task; positive is worse where it is a loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.stats.seed_pairs import pair_by_seed

Term = tuple[str, str, str]
"""What is paid for, and the two models a and b whose difference a − b says how much."""


def price(task: Mapping[str, Any], twins: Mapping[str, Any], level: float) -> dict[str, list[dict[str, Any]]]:
    """The price of each model with twins, term by term: what is paid for, a, b and the paired difference a − b."""
    models, metric = task["models"], task["metric"]
    split = {}
    for name, found in terms(models, twins, metric, task["best_classical"]).items():
        tests = pair_by_seed([(a, b) for _, a, b in found], models, metric, level)
        differences = [test["pair"].difference for test in tests]
        split[name] = [
            {"term": term, "a": a, "b": b, "n": d.n, "mean": d.mean, "low": d.low, "high": d.high}
            for (term, a, b), d in zip(found, differences, strict=True)
        ]
    return split


def terms(
    models: Mapping[str, Any], twins: Mapping[str, Mapping[str, str]], metric: str, best_classical: str | None
) -> dict[str, list[Term]]:
    """By model that has twins: the terms of its price, in order.

    ``models`` are a task's, best first; those without a finished run are left out. ``twins`` has, by twin and by the
    model that it stands beside, the part that it lacks (:data:`experiments.schema.twins.PARTS`).
    """
    measured = [name for name, entry in models.items() if entry[metric]["mean"] is not None]
    originals = dict.fromkeys(original for name, of in twins.items() if name in measured for original in of)
    found = {}
    for name in originals:
        if name in measured:
            mine = {twin: twins[twin][name] for twin in measured if name in twins.get(twin, {})}
            found[name] = list(_terms(name, mine, best_classical))
    return found


def _terms(name: str, twins: Mapping[str, str], best_classical: str | None) -> Iterator[Term]:
    """The terms of one model; of several twins without one part the best counts."""
    best: dict[str, str] = {}
    for twin, part in twins.items():  # best first
        best.setdefault(part, twin)
    if "register" in best and "readout" in best:
        yield "evolution", best["readout"], best["register"]
    if "readout" in best:
        yield "readout", name, best["readout"]
    if "register" in best:
        yield "price", name, best["register"]
    for part in ("coherence", "attention"):
        if part in best:
            yield part, name, best[part]
    yield from (("control", name, twin) for twin, part in twins.items() if part == "control")
    if best_classical is not None and best_classical not in (name, best.get("register")):
        yield "best classical", name, best_classical
