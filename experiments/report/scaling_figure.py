"""The figure of scaling laws: loss, and the price of unitarity, against parameters, by number of training tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.report.figures import DASHES, FAINT, INK, dress, plain
from experiments.report.price_figure import PARTS, split_models
from experiments.stats.scaling import ScalingLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
Tasks = Mapping[str, Mapping[str, Any]]


def scaling(laws: Sequence[Mapping[str, Any]], tasks: Tasks, look: Mapping[str, Mapping[str, Any]]) -> Figure:
    """One column per number of training tokens of a text: each model's mean losses, its seeds, and its law; below,
    where models have twins, the terms of their price with intervals.

    ``laws`` are those of one text (:func:`experiments.stats.scaling.scaling_laws`), ``tasks`` summarised ones, and
    ``look`` the models' styles.
    """
    from matplotlib.figure import Figure

    columns = sorted(_by_tokens(laws[0]["tasks"], tasks).items())
    divided = [name for name in (law["model"] for law in laws)
               if all(split_models(tasks[task], [name]) for task in laws[0]["tasks"])]  # fmt: skip
    rows = 2 if divided else 1
    figure = Figure(figsize=(2.9 * len(columns) + 0.6, 0.7 + 3.2 * rows), layout="constrained")
    panels = figure.subplots(rows, len(columns), squeeze=False, sharey="row", sharex=True)
    sizes = _sizes(laws, tasks)
    for panel in panels.flat:
        dress(panel)
        panel.set_xscale("log")
        panel.set_xticks(sizes, [_count(size) for size in sizes])
        panel.minorticks_off()
    for place, (tokens, names) in enumerate(columns):
        _losses(panels[0][place], laws, names, tasks, look, tokens)
        panels[0][place].set_title(f"{_count(tokens)} training tokens", loc="left", size=10, color=INK)
        panels[-1][place].set_xlabel("parameters", size=9)
        if divided:
            _prices(panels[1][place], divided, names, tasks)
    split = "test" if laws[0]["metric"] == "test_nats" else "validation"
    panels[0][0].set_ylabel(f"{split} loss, nats per token", size=9)
    if divided:
        panels[1][0].set_ylabel("price, nats per token", size=9)
        panels[1][0].legend(frameon=False, labelcolor=INK, fontsize=8, borderpad=0)
    handles, words = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, words, frameon=False, ncols=4, loc="outside upper left", labelcolor=INK, fontsize=9,
                  borderpad=0)  # fmt: skip
    figure.text(0.995, 0.005, plain(laws[0]["text"]), ha="right", va="bottom", size=8, color=FAINT)
    return figure


def _by_tokens(names: Sequence[str], tasks: Tasks) -> dict[float, list[str]]:
    """The tasks by how many tokens their models were trained on."""
    found: dict[float, list[str]] = {}
    for name in names:
        seen = (entry["tokens_seen"] for entry in tasks[name]["models"].values() if entry["tokens_seen"])
        found.setdefault(float(next(seen, 0)), []).append(name)
    return found


def _sizes(laws: Sequence[Mapping[str, Any]], tasks: Tasks) -> list[float]:
    """One of the models' sizes for each task, of those within a tenth of one another the first."""
    found: list[float] = []
    models = [law["model"] for law in laws]
    entries = [tasks[task]["models"][model] for task in laws[0]["tasks"] for model in models
               if model in tasks[task]["models"]]  # fmt: skip
    for size in sorted(float(entry["parameters"]) for entry in entries if entry["parameters"]):
        if not found or size > 1.1 * found[-1]:
            found.append(size)
    return found


def _losses(
    axes: Axes,
    laws: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    tasks: Tasks,
    look: Mapping[str, Mapping[str, Any]],
    tokens: float,
) -> None:
    for law in laws:
        style, metric, model = look[law["model"]], law["metric"], law["model"]
        entries = [tasks[name]["models"][model] for name in names if model in tasks[name]["models"]]
        measured = [entry for entry in entries if entry[metric]["mean"] is not None]
        for entry in measured:
            values = entry[metric]["values"]
            axes.plot([entry["parameters"]] * len(values), values, ".", color=style["color"], alpha=0.4, ms=4, mew=0)
        sizes = [entry["parameters"] for entry in measured]
        axes.plot(sizes, [entry[metric]["mean"] for entry in measured], style["marker"], color=style["color"], ms=5.5,
                  mec="white", label=plain(model))  # fmt: skip
        if sizes:
            n = np.geomspace(min(sizes), max(sizes), 60)
            curve = _law(law).predict(n, np.full_like(n, tokens))
            axes.plot(n, curve, color=style["color"], ls=style["linestyle"], lw=1.5)


def _prices(axes: Axes, models: Sequence[str], names: Sequence[str], tasks: Tasks) -> None:
    axes.axhline(0, color=INK, lw=0.8, zorder=0)
    for model, dash in zip(models, DASHES * len(models), strict=False):
        whose = f" of {plain(model)}" if len(models) > 1 else ""
        sizes = [tasks[name]["models"][model]["parameters"] for name in names]
        for part, (words, color, marker) in PARTS.items():
            found = [next(one for one in tasks[name]["split"][model] if one["term"] == part) for name in names]
            axes.plot(sizes, [one["mean"] for one in found], marker=marker, ls=dash, lw=1.2, ms=5, mec="white",
                      color=color, label=words + whose)  # fmt: skip
            for size, one in zip(sizes, found, strict=True):
                if one["low"] is not None:
                    axes.plot([size, size], [one["low"], one["high"]], color=color, lw=1.2, alpha=0.7)


def _law(found: Mapping[str, Any]) -> ScalingLaw:
    return ScalingLaw(*(float(found[name]) for name in ("E", "A", "alpha", "B", "beta")))


def _count(number: float) -> str:
    size, letter = next(((size, letter) for size, letter in LETTERS if number >= size), (1.0, ""))
    return f"{number / size:.3g} {letter}".strip()
