"""Two models of one task compared seed by seed, as their metric asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.stats.accuracy import paired_accuracies
from experiments.stats.statistics import paired


def pair_by_seed(
    pairs: Sequence[tuple[str, str]], models: Mapping[str, Any], metric: str, level: float
) -> list[dict[str, Any]]:
    """Every pair (a, b) over the seeds that both have: a, b, ``metric``, ``seeds`` and ``pair``, a :class:`Paired`."""
    tests = []
    for a, b in pairs:
        left, right = (dict(zip(models[m][metric]["seeds"], models[m][metric]["values"], strict=True)) for m in (a, b))
        seeds = sorted(left.keys() & right.keys())
        values = [left[seed] for seed in seeds], [right[seed] for seed in seeds]
        if metric == "accuracy":
            pair = paired_accuracies(*values, fewest(models[m][metric].get("examples") for m in (a, b)), level)
        else:
            pair = paired(*values, level)
        tests.append({"a": a, "b": b, "metric": metric, "seeds": seeds, "pair": pair})
    return tests


def fewest(counts: Iterable[int | None]) -> int | None:
    """The smallest count; None if one is not known."""
    known = list(counts)
    numbers = [count for count in known if count]
    return min(numbers) if numbers and len(numbers) == len(known) else None
