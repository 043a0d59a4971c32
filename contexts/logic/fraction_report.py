"""How contextual a table, or a state on a hypergraph's vectors, is: what ``fraction`` answers, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from contexts.hypergraphs import surds
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.rays import require_orthonormal, unit_matrix
from contexts.logic import contextuality
from contexts.logic.contextuality import EmpiricalTable
from contexts.logic.couplings import measures

LEVEL = 0.95
"""Share of the resampled values between the ends of an interval."""


def of_table(
    table: EmpiricalTable, bootstrap: int = 0, seed: int = 0, progress: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Contextual and signalling fraction, and contextuality by default with its measures, each None with a reason
    where it is not defined.

    ``bootstrap`` resamples of the counts give percentile intervals; ValueError for a table without counts.
    """
    result: dict[str, Any] = dict(_measured(table))
    result |= {
        "contexts": len(table.contexts),
        "definition": "1 − largest weight of a mixture of global assignments below the table"
        + (" (the table signals: part of the fraction is due to that alone)" if _signals(result) else ""),
    }
    result |= _by_default(table)
    result["intervals"] = _intervals(table, bootstrap, seed, progress) if bootstrap else None
    return result


def of_state(h: Hypergraph, state: str) -> dict[str, Any]:
    """The contextual fraction of a state's Born probabilities on the contexts of a hypergraph with vectors.

    ``state`` is ``mixed`` (maximally), or a vector's components with commas. Raises ValueError for vectors that do not
    represent the hypergraph, contexts that are no bases, and a state of another dimension.
    """
    require_orthonormal(h)
    unit = unit_matrix(h)
    if state == "mixed":
        p = np.full(len(unit), 1 / unit.shape[1])
    else:
        vector = surds.as_floats([surds.parse(part) for part in state.split(",")])
        if len(vector) != unit.shape[1] or not vector.any():
            raise ValueError(f"the state must be {unit.shape[1]} numbers, not all 0, or 'mixed'; got {state!r}")
        p = np.abs(unit.conj() @ vector) ** 2 / np.linalg.norm(vector) ** 2
    probabilities = dict(zip(h.vertices, p.tolist(), strict=True))
    return {
        "contextual_fraction": contextuality.contextual_fraction_of(h, probabilities),
        "probabilities": probabilities,
        "contexts": len(h.contexts),
        "definition": "1 − largest weight of a mixture of two-valued states below the state's probabilities",
    }


def _measured(table: EmpiricalTable) -> dict[str, float]:
    return {
        "contextual_fraction": contextuality.contextual_fraction(table),
        "signalling_fraction": contextuality.signalling_fraction(table),
    }


def _signals(result: dict[str, Any]) -> bool:
    return result["signalling_fraction"] > 1e-6


def _by_default(table: EmpiricalTable) -> dict[str, Any]:
    """The cyclic criterion, and the measures of any system of yes–no measurements."""
    result: dict[str, Any] = {"by_default": None, "measures": None}
    try:
        cyclic = contextuality.by_default(table)
    except ValueError as error:
        result["by_default_reason"] = str(error)
    else:
        shown = ("rank", "s_odd", "inconsistency", "excess", "contextual")
        result["by_default"] = {key: getattr(cyclic, key) for key in shown}
    try:
        found = measures(table)
    except ValueError as error:
        result["measures_reason"] = str(error)
    else:
        keys = ("cnt1", "cnt2", "ncnt2", "contextual")
        result["measures"] = {key: getattr(found, key) for key in keys}
    return result


def _intervals(
    table: EmpiricalTable, number: int, seed: int, progress: Callable[[str], None]
) -> dict[str, dict[str, float]]:
    """Percentile intervals over multinomial resamples of every context's counts, and their mean.

    A mean apart from the value shows the bias: chance differences between contexts look like signalling.
    """
    if not table.counts:
        raise ValueError("intervals are made of counts; the table has probabilities")
    rng = np.random.default_rng(seed)
    values: dict[str, list[float]] = {}
    for k in range(number):
        again = contextuality.resampled(table, rng)
        for key, value in _once(again).items():
            values.setdefault(key, []).append(value)
        progress(f"{k + 1} of {number} resamples")
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    return {
        key: {"low": low, "high": high, "mean": float(np.mean(found))}
        for key, found in values.items()
        for low, high in [np.quantile(found, ends).tolist()]
    }


def _once(table: EmpiricalTable) -> dict[str, float]:
    found = _measured(table)
    with suppress(ValueError):  # not cyclic
        found["excess"] = contextuality.by_default(table).excess
    return found
