"""The figure of the split price: what the unitary evolution, the Born readout and both together cost each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.report.figures import GRID, INK, PALETTE, canvas, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = {
    "evolution": ("unitary evolution", PALETTE[2], "^"),
    "readout": ("Born readout", PALETTE[1], "D"),
    "price": ("price: both", INK, "o"),
}
"""The terms that are drawn, in the order from top to bottom: their words, colour and marker."""


def split_models(task: Mapping[str, Any], models: Sequence[str]) -> list[str]:
    """Those of ``models``, in their order, whose price is split into evolution and readout."""
    measured = {
        name: {term["term"] for term in terms if term["mean"] is not None} for name, terms in task["split"].items()
    }
    return [name for name in models if set(PARTS) <= measured.get(name, set())]


def price_by_model(task: Mapping[str, Any], models: Sequence[str]) -> Figure:
    """One row per model of ``models``: the terms of its price with their intervals; right of zero is worse.

    The terms are those of :mod:`experiments.stats.price_split`, paired by seed.
    """
    figure, (axes,) = canvas(1.1 + 0.52 * len(models))
    sign = -1 if task["metric"] == "accuracy" else 1  # so that right is worse
    for place, (part, (words, color, marker)) in enumerate(PARTS.items()):
        axes.plot([], [], marker, color=color, ms=6, label=words)
        for row, model in enumerate(models):
            term = next(term for term in task["split"][model] if term["term"] == part)
            y = row + 0.22 * (place - 1)
            if term["low"] is not None:
                axes.plot([sign * term["low"], sign * term["high"]], [y, y], color=color, lw=2.2,
                          solid_capstyle="butt")  # fmt: skip
            axes.plot(sign * term["mean"], y, marker, color=color, ms=5.5, mec="white", mew=0.7)
    axes.axvline(0, color=INK, lw=0.9, zorder=0)
    for row in range(1, len(models)):
        axes.axhline(row - 0.5, color=GRID, lw=0.7, zorder=0)
    axes.set_yticks(range(len(models)), [plain(name) for name in models])
    axes.set_ylim(len(models) - 0.45, -0.55)
    axes.set_xlabel("accuracy lost" if task["metric"] == "accuracy" else "price, nats per token (right is worse)")
    axes.grid(axis="y", visible=False)
    figure.legend(frameon=False, ncols=3, loc="outside upper left", labelcolor=INK, fontsize=9.5, borderpad=0)
    return figure
