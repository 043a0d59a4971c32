"""Figures that others have published, beside ours: what an experiment file states, what our runs measured, the gap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.stats.accuracy import accuracy_interval
from experiments.stats.statistics import t_interval

UNITS = {
    "test_nats": "nats per token",
    "val_nats": "nats per token",
    "bits_per_char": "bits per character",
    "accuracy": "accuracy",
}


def against_published(
    entries: Sequence[Mapping[str, Any]], task: str, only_task: bool, runs: Sequence[Mapping[str, Any]], level: float
) -> list[dict[str, Any]]:
    """The published figures of ``task``, each with ours: the mean over the seeds that finished, its interval, ours −
    published, and whether that is ``within`` the tolerance (null where none is stated or nothing was measured).

    ``entries`` are :class:`experiments.schema.experiment.Published` as plain data; one without a task belongs to the
    only task. ``runs`` are run records.
    """
    rows = []
    for entry in entries:
        if entry["task"] not in ((None, task) if only_task else (task,)):
            continue
        mine = [run for run in runs if (run["task"], run["model"]) == (task, entry["model"])]
        found = {run["seed"]: measured(run, entry) for run in mine if run["status"] == "done"}
        values = [value for value in found.values() if value is not None]
        ours = accuracy_interval(values, None, level) if entry["metric"] == "accuracy" else t_interval(values, level)
        gap = None if ours.mean is None else ours.mean - entry["value"]
        within = entry["within"]
        row: dict[str, Any] = {
            **entry, "task": task, "unit": UNITS[entry["metric"]], "figure": figure(entry),
            "ours": {"mean": ours.mean, "low": ours.low, "high": ours.high, "n": ours.n}, "difference": gap,
            "reproduced": None if gap is None or within is None else abs(gap) <= within,
        }  # fmt: skip
        if gap is None:
            row["reason"] = "no run finished" if not found else "not measured"
        rows.append(row)
    return rows


def measured(run: Mapping[str, Any], entry: Mapping[str, Any]) -> float | None:
    """What one run has for a published figure: of a test by name, at a step of its history, or at its end."""
    if entry["split"] is not None:
        value = (run.get("splits") or {}).get(entry["split"])
    elif entry["step"] is not None:
        value = dict(map(tuple, (run.get("history") or {}).get("validation", []))).get(entry["step"])
    else:
        value = run.get(entry["metric"])
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def figure(entry: Mapping[str, Any]) -> str:
    """A published figure in words: accuracy, length 30; nats per token, 250 steps."""
    at = entry["split"] or (f"{entry['step']:,} steps" if entry["step"] is not None else None)
    return UNITS[entry["metric"]] + (f", {at}" if at else "")


def lines(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The rows as text: model, figure, published, ours, difference, tolerance, source."""
    made = []
    for row in rows:
        ours, gap = row["ours"], row["difference"]
        interval = "" if ours["low"] is None else f" [{ours['low']:.4g}, {ours['high']:.4g}]"
        verdict = {True: "reproduced", False: "not reproduced", None: ""}[row["reproduced"]]
        tolerance = "" if row["within"] is None else f"{row['within']:g}"
        made.append([
            row["model"], row["figure"], f"{row['value']:g}",
            row["reason"] if ours["mean"] is None else f"{ours['mean']:.4g}{interval}",
            "" if gap is None else f"{gap:+.4f}", f"{tolerance} {verdict}".strip(), row["source"],
        ])  # fmt: skip
    return made
