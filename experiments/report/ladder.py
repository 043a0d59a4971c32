"""The opening of a report of several tasks: one figure and one table, models in the order of the ladder.

Pure functions of a summary, like :mod:`experiments.report.figures`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.report.figures import FAINT, GRID, INK, METRIC, PALETTE, canvas, dress, plain
from experiments.report.headline import audit_word, claims, fair_floor, largest_error
from experiments.schema.model_base import RUNGS
from experiments.stats.compare import chosen_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SORTS = {"classical": INK, "gives something up": PALETTE[1], "strictly unitary": PALETTE[0]}
"""What a model is, and its colour in the figures of this module."""
MARKS = {"classical": "s", "gives something up": "D", "strictly unitary": "o"}


def sort_of(model: Mapping[str, Any]) -> str:
    """Classical, strictly unitary by its own claim, or between the two."""
    if claims(model):
        return "strictly unitary"
    return "classical" if model["classical"] or not model.get("rung") else "gives something up"


def order(summary: Mapping[str, Any]) -> list[str]:
    """All models from the lowest rung up, on one rung as the experiment's file has them; twins follow their model."""
    twins: Mapping[str, Mapping[str, str]] = summary["twins"]
    entries = {name: model for task in summary["tasks"].values() for name, model in task["models"].items()}
    listed = [*(name for name in summary["models"] if name in entries), *sorted(entries)]

    def rung(name: str) -> int:
        given = entries[name].get("rung") or ""
        return RUNGS.index(given) if given in RUNGS else len(RUNGS)

    def place(name: str) -> tuple[int, int]:
        return rung(name), listed.index(name)

    first = {name: next((original for original in of if original in entries), name) for name, of in twins.items()}

    def key(name: str) -> tuple[Any, ...]:
        return place(first.get(name, name)), name in first, place(name)

    return sorted(dict.fromkeys(listed), key=key)


def labels(summary: Mapping[str, Any]) -> dict[str, str]:
    """The models in order, each with its rung before the name, twins indented below their model."""
    rungs = {name: m.get("rung") or "" for task in summary["tasks"].values() for name, m in task["models"].items()}
    marks = {name: f"{rung} · " if rung else "" for name, rung in rungs.items()} | dict.fromkeys(summary["twins"], "– ")
    return {name: f"{marks[name]}{plain(name, 24)}" for name in order(summary)}


def ladder(summary: Mapping[str, Any]) -> Figure:
    """Loss (or accuracy) by rung: a panel per task, mean and interval of each model, its seeds as dots, the best
    classical model as a line, floors or chance as a dashed one.
    """
    from matplotlib.figure import Figure

    names, tasks = labels(summary), summary["tasks"]
    columns = min(2, len(tasks))
    rows = -(-len(tasks) // columns)
    figure = Figure(figsize=(4.1 * columns + 0.6, rows * (0.25 * len(names) + 0.95) + 0.3), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for panel in panels.flat[len(tasks) :]:
        panel.set_visible(False)
    for panel, (name, task) in zip(panels.flat, tasks.items(), strict=False):
        dress(panel)
        _panel(panel, task, list(names))
        panel.set_title(plain(name), loc="left", size=11, color=INK, pad=14)
    first = panels[0][0]
    first.set_yticks(range(len(names)), list(names.values()))
    first.set_ylim(len(names) - 0.4, -0.6)
    present = {sort_of(model) for task in tasks.values() for model in task["models"].values()}
    for sort in (sort for sort in SORTS if sort in present):
        first.plot([], [], MARKS[sort], color=SORTS[sort], label=sort, ms=6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left", labelcolor=INK, fontsize=9.5, borderpad=0)
    return figure


def _panel(axes: Axes, task: Mapping[str, Any], names: Sequence[str]) -> None:
    metric = task["metric"]
    values: list[float] = []
    for y, name in enumerate(names):
        model = task["models"].get(name)
        if model is None or model[metric]["mean"] is None:
            said = "not run" if model is None else "no finished run"
            axes.annotate(said, (0.02, y), xycoords=("axes fraction", "data"), color=FAINT, va="center", size=8)
            continue
        estimate, sort = model[metric], sort_of(model)
        color = SORTS[sort]
        axes.plot(estimate["values"], [y] * estimate["n"], ".", color=color, alpha=0.35, ms=4, mew=0)
        if estimate["low"] is not None:
            axes.plot([estimate["low"], estimate["high"]], [y, y], color=color, lw=2.4, solid_capstyle="butt")
        face = "white" if sort == "gives something up" else color
        axes.plot(estimate["mean"], y, MARKS[sort], color=color, mfc=face, ms=5.5, mec=color, mew=1.2)
        values += [estimate["mean"], *estimate["values"]]
    lines = _lines(task)
    best = task.get("best_classical")
    if best is not None:
        at = task["models"][best][metric]["mean"]
        axes.axvline(at, color=INK, lw=1.0, zorder=0)
        marked = f"best classical {at:.3f}"
    if metric == "accuracy":
        axes.set_xlim(-0.04, 1.04)
    elif values:
        reach = max(values) - min(values) or 0.1
        lowest = -math.inf if fair_floor(task) else min(values) - reach
        lines = {name: at for name, at in lines.items() if lowest < at < max(values) + 0.15 * reach}
        ends = [*values, *lines.values()]
        pad = 0.08 * (max(ends) - min(ends)) or 0.05
        axes.set_xlim(min(ends) - pad, max(ends) + pad)
    if best is not None:
        left, right = axes.get_xlim()
        share = (at - left) / (right - left)
        side = "left" if share < 0.25 else "right" if share > 0.75 else "center"
        axes.annotate(marked, (at, 1), xycoords=("data", "axes fraction"), xytext=(0, 3),
                      textcoords="offset points", ha=side, size=8, color=INK)  # fmt: skip
    for name, level in lines.items():
        axes.axvline(level, color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=0)
        axes.annotate(plain(name), (level, 0), xycoords=("data", "axes fraction"), xytext=(2, 2), size=7.5,
                      textcoords="offset points", color=FAINT, rotation=90, va="bottom")  # fmt: skip
    axes.set_xlabel(METRIC[metric], size=9)


def _lines(task: Mapping[str, Any]) -> dict[str, float]:
    if task["metric"] == "accuracy":
        return {} if task.get("guess") is None else {"guessing": task["guess"]}
    fair = fair_floor(task)
    if fair is not None:
        return {fair[0].split()[0]: fair[1]}  # of which order stands in the tables
    return {f"{name} counts": value for name, value in task["floor"].items() if value is not None}


def sweeps(task: Mapping[str, Any], chosen: Sequence[Mapping[str, Any]]) -> Figure:
    """Loss (or accuracy) against the number in which models differ: mean, interval and seeds, a panel a sweep."""
    metric = task["metric"]
    figure, axes = canvas(3.2 * len(chosen), rows=len(chosen))
    for place, (panel, sweep) in enumerate(zip(axes, chosen, strict=True)):
        color = PALETTE[place % len(PALETTE)]
        points = sorted((value, task["models"][name][metric]) for name, value in sweep["values"].items()
                        if name in task["models"] and task["models"][name][metric]["mean"] is not None)  # fmt: skip
        xs, means = [value for value, _ in points], [estimate["mean"] for _, estimate in points]
        if all(estimate["low"] is not None for _, estimate in points):
            lows, highs = ([estimate[end] for _, estimate in points] for end in ("low", "high"))
            panel.fill_between(xs, lows, highs, color=color, alpha=0.22, lw=0)
        panel.plot(xs, means, "o-", color=color, lw=1.9, ms=6, mec="white", mew=0.8)
        for value, estimate in points:
            panel.plot([value] * estimate["n"], estimate["values"], ".", color=color, alpha=0.45, ms=5, mew=0)
        for name, at in _lines(task).items():
            bottom, top = panel.get_ylim()
            if bottom < at < top:
                panel.axhline(at, color=FAINT, lw=0.8, ls=(0, (4, 3)), zorder=0)
                panel.annotate(plain(name), (1, at), xycoords=("axes fraction", "data"), xytext=(-3, 2), size=8.5,
                               textcoords="offset points", ha="right", color=FAINT)  # fmt: skip
        panel.set_xlabel(f"{plain(sweep['key'])} of {plain(sweep['model'])}")
        panel.set_ylabel("accuracy" if metric == "accuracy" else "loss, nats per token")
        panel.axhline(means[0] if means else 0, color=GRID, lw=0.9, zorder=0)
    return figure


def rows(summary: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The opening table, by task: each model in order with what it costs and how it stands to the reference."""

    twins = summary["twins"]

    def row(task: Mapping[str, Any], model: str) -> dict[str, Any]:
        return _row(task, model) | {"twin": [f"{word} of {whose}" for whose, word in twins.get(model, {}).items()]}

    return {name: [row(task, model) for model in order(summary) if model in task["models"]]
            for name, task in summary["tasks"].items()}  # fmt: skip


def _row(task: Mapping[str, Any], name: str) -> dict[str, Any]:
    model, against = task["models"][name], task.get("reference") or task.get("best_classical")
    test = next((t for t in task["tests"] if {t["a"], t["b"]} == {name, against} and name != against), None)
    row = {"name": name, "model": model, "estimate": model[task["metric"]], "test": None, "word": audit_word(model)}
    row |= {
        "twin": None,
        "rung": model.get("rung") or "",
        "error": largest_error(model),
        "is_reference": name == against,
    }
    if test is not None:  # tests of every pair may hold the two the other way round
        sign = 1 if test["a"] == name else -1
        ends = sorted(sign * end for end in (test["difference"]["low"], test["difference"]["high"]) if end is not None)
        mean = test["difference"]["mean"]
        row["test"] = {
            "mean": None if mean is None else sign * mean,
            "low": ends[0] if ends else None,
            "high": ends[-1] if ends else None,
            "p_holm": test["p_holm"],
            "p_t_holm": test["p_t_holm"],
            "effect": None if test["effect"] is None else sign * test["effect"],
            "settled": test["settled"],
        }
    return row


def price(name: str, task: Mapping[str, Any]) -> dict[str, Any] | None:
    """What strict unitarity costs on a task: the best strictly unitary model against the best classical one.

    None where either is missing. ``difference`` is in the task's metric, strict minus classical, paired by seed where
    the two were tested.
    """
    metric, models = task["metric"], task["models"]
    strict = next((model for model in chosen_first(task) if claims(models[model])), None)
    classical = task.get("best_classical")
    if strict is None or classical is None:
        return None
    row = _row({**task, "reference": classical}, strict)
    test = row["test"]
    a, b = models[strict][metric]["mean"], models[classical][metric]["mean"]
    difference = test["mean"] if test is not None and test["mean"] is not None else a - b
    unit = "of accuracy" if metric == "accuracy" else "nats per token"
    better = difference > 0 if metric == "accuracy" else difference < 0
    how = {True: "settled", False: "not settled", None: "not tested"}[None if test is None else bool(test["settled"])]
    span = ""
    if test is not None and test["low"] is not None:
        span = f", interval {_signed(test['low'])} to {_signed(test['high'])}"
    text = (
        f"{name}: the best strictly unitary model, {strict}, {'is ahead of' if better else 'is behind'} the best "
        f"classical one, {classical}, by {abs(difference):.3f} {unit} ({a:.3f} against {b:.3f}{span}; {how})."
    )
    if math.isclose(difference, 0.0, abs_tol=5e-4):
        text = f"{name}: {strict}, strictly unitary, and {classical}, classical, both reach {a:.3f} {unit}."
    return {"strict": strict, "classical": classical, "difference": difference, "settled": how, "text": text}


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
