"""The figure of scaling laws: loss against parameters at every number of training tokens, the fitted law as a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.report.figures import FAINT, INK, dress, plain
from experiments.stats.scaling import ScalingLaw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTERS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaling(
    laws: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    look: Mapping[str, Mapping[str, Any]],
) -> Figure:
    """One panel per number of training tokens of a text: each model's mean losses, its seeds, and its law.

    ``laws`` are those of one text (:func:`experiments.stats.scaling.scaling_laws`), ``tasks`` summarised ones, and
    ``look`` the models' styles.
    """
    from matplotlib.figure import Figure

    budgets: dict[float, list[str]] = {}
    for task in laws[0]["tasks"]:
        seen = next((entry["tokens_seen"] for entry in tasks[task]["models"].values() if entry["tokens_seen"]), None)
        if seen is not None:
            budgets.setdefault(float(seen), []).append(task)
    figure = Figure(figsize=(2.9 * len(budgets) + 0.6, 3.9), layout="constrained")
    panels = figure.subplots(1, len(budgets), squeeze=False, sharey=True, sharex=True)[0]
    for panel, (tokens, names) in zip(panels, sorted(budgets.items()), strict=True):
        dress(panel)
        for law in laws:
            style, metric = look[law["model"]], law["metric"]
            entries = [tasks[name]["models"][law["model"]] for name in names if law["model"] in tasks[name]["models"]]
            for entry in (entry for entry in entries if entry[metric]["mean"] is not None):
                size, values = entry["parameters"], entry[metric]["values"]
                panel.plot([size] * len(values), values, ".", color=style["color"], alpha=0.4, ms=4, mew=0)
                panel.plot(size, entry[metric]["mean"], style["marker"], color=style["color"], ms=5.5, mec="white")
            sizes = [entry["parameters"] for entry in entries if entry["parameters"]]
            if sizes:
                n = np.geomspace(min(sizes), max(sizes), 60)
                curve = _law(law).predict(n, np.full_like(n, tokens))
                panel.plot(n, curve, color=style["color"], ls=style["linestyle"], lw=1.5)
        panel.set_xscale("log")
        panel.set_title(f"{_count(tokens)} training tokens", loc="left", size=10, color=INK)
        panel.set_xlabel("parameters", size=9)
    split = "test" if laws[0]["metric"] == "test_nats" else "validation"
    panels[0].set_ylabel(f"{split} loss, nats per token", size=9)
    for law in laws:
        style = look[law["model"]]
        panels[0].plot([], [], color=style["color"], ls=style["linestyle"], marker=style["marker"], mec="white",
                       label=plain(law["model"]))  # fmt: skip
    figure.legend(frameon=False, ncols=4, loc="outside upper left", labelcolor=INK, fontsize=9, borderpad=0)
    figure.text(0.995, 0.005, plain(laws[0]["text"]), ha="right", va="bottom", size=8, color=FAINT)
    return figure


def _law(found: Mapping[str, Any]) -> ScalingLaw:
    return ScalingLaw(*(float(found[name]) for name in ("E", "A", "alpha", "B", "beta")))


def _count(number: float) -> str:
    size, letter = next(((size, letter) for size, letter in LETTERS if number >= size), (1.0, ""))
    return f"{number / size:.3g} {letter}".strip()
