"""The opening of a report on tasks with theorems about memory: result against the states that a model carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments.report.figures import FAINT, INK, METRIC, dress, plain
from experiments.report.ladder import MARKS, SORTS, sort_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def bounded(summary: Mapping[str, Any]) -> list[str]:
    """The tasks for which a theorem says what so much memory reaches, those with a measured model."""
    return [name for name, task in summary["tasks"].items() if task.get("bounds") and _points(task)]


def memory(summary: Mapping[str, Any]) -> Figure:
    """Result against memory: a panel per task with theorems, which are dashed lines. Seeds are dots, the line of a sort
    of model goes through the best seed of each size, so that no model is judged by a start that failed.
    """
    from matplotlib.figure import Figure

    names = bounded(summary)
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4.1 * columns + 0.4, 2.9 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, names, strict=False):
        dress(panel)
        _panel(panel, summary["tasks"][name])
        panel.set_title(plain(name), loc="left", size=11, color=INK)
    present = {sort_of(model) for name in names for model in summary["tasks"][name]["models"].values()}
    for sort in (sort for sort in SORTS if sort in present):
        panels[0][0].plot([], [], f"{MARKS[sort]}-", color=SORTS[sort], label=sort, ms=6, lw=1.4)
    figure.legend(frameon=False, ncols=3, loc="outside upper left", labelcolor=INK, fontsize=9.5, borderpad=0)
    return figure


def _points(task: Mapping[str, Any]) -> dict[str, dict[int, list[float]]]:
    """By sort of model and by its states: the results of all seeds."""
    found: dict[str, dict[int, list[float]]] = {}
    for model in task["models"].values():
        if model.get("states") and model[task["metric"]]["mean"] is not None:
            sizes = found.setdefault(sort_of(model), {})
            sizes.setdefault(model["states"], []).extend(model[task["metric"]]["values"])
    return found


def _panel(axes: Axes, task: Mapping[str, Any]) -> None:
    best = max if task["metric"] == "accuracy" else min
    points = _points(task)
    for sort, sizes in points.items():
        xs = sorted(sizes)
        axes.plot(xs, [best(sizes[x]) for x in xs], f"{MARKS[sort]}-", color=SORTS[sort], ms=6, mec="white", lw=1.6)
        for x in xs:
            axes.plot([x] * len(sizes[x]), sizes[x], ".", color=SORTS[sort], alpha=0.45, ms=5, mew=0)
    every = sorted({x for sizes in points.values() for x in sizes})
    if every[-1] > 8 * every[0]:
        axes.set_xscale("log", base=2)
    axes.set_xticks(every, [str(x) for x in every])
    axes.minorticks_off()
    for name, value in task["bounds"].items():
        axes.axhline(value, color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=0)
        axes.annotate(f"{plain(name, 40)} {value:.4g}", (1, value), xycoords=("axes fraction", "data"), xytext=(-2, 2),
                      textcoords="offset points", ha="right", size=7.5, color=FAINT)  # fmt: skip
    axes.margins(0.12)
    axes.set_xlabel("states, or dimensions", size=9)
    axes.set_ylabel(METRIC[task["metric"]].split(" (")[0], size=9)
