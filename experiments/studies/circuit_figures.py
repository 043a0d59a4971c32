"""Pictures of circuit trainings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from experiments.report.canvas import svg
from experiments.report.figures import INK, PALETTE


def energy_curve(rows: Sequence[dict[str, Any]], ground: float) -> bytes:
    """The energy of every step above the exact ground energy, on a logarithmic axis, as SVG.

    What lies within rounding of the ground energy, 1e-14 of its size, is drawn at that height.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axes = figure.subplots()
    floor = 1e-14 * max(1.0, abs(ground))
    axes.semilogy([row["step"] for row in rows], [max(row["loss"] - ground, floor) for row in rows])
    axes.set_xlabel("step")
    axes.set_ylabel("energy above the ground state")
    axes.set_title(f"exact ground energy {ground:.8g}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return svg(figure)


def boundary(
    grid: tuple[Float[np.ndarray, " side"], Float[np.ndarray, " side"], Float[np.ndarray, "side side"]],
    points: Float[np.ndarray, "rows two"],
    labels: Float[np.ndarray, " rows"],
    learnt: int,
    names: tuple[str, str, str, str],
) -> bytes:
    """Probabilities of the second class over two features, and the data: rows learnt from filled, held out open.

    ``grid`` has the features' values and P(second class); ``names`` are the two features' and the two classes'.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 4), layout="constrained")
    axes = figure.subplots()
    levels = np.linspace(0, 1, 11)
    colors = LinearSegmentedColormap.from_list("sides", [PALETTE[0], "#ffffff", PALETTE[1]])
    filled = axes.contourf(*grid, levels=levels, cmap=colors, alpha=0.6)
    if grid[2].min() < 0.5 < grid[2].max():
        axes.contour(*grid, levels=[0.5], colors=[INK], linewidths=1)
    for side in (0, 1):
        for rows, face in ((slice(0, learnt), PALETTE[side]), (slice(learnt, None), "none")):
            chosen = points[rows][labels[rows] == side]
            axes.scatter(chosen[:, 0], chosen[:, 1], s=14, facecolors=face, edgecolors=PALETTE[side], linewidths=0.8)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.set_title(f"{names[2]} or {names[3]}; open circles were held out", fontsize=10)
    figure.colorbar(filled, ax=axes, label=f"probability of {names[3]}")
    return svg(figure)


def regression_fit(
    curve: tuple[Float[np.ndarray, " places"], Float[np.ndarray, " places"]] | None,
    x: Float[np.ndarray, " rows"],
    y: Float[np.ndarray, " rows"],
    learnt: int,
    names: tuple[str, str],
) -> bytes:
    """Values against one feature with the fitted ``curve``, or against their predictions (None: the diagonal)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 3.6), layout="constrained")
    axes = figure.subplots()
    ends = np.array([min(x.min(), y.min()), max(x.max(), y.max())])
    axes.plot(*((ends, ends) if curve is None else curve), color=INK, linewidth=1.2)
    axes.scatter(x[:learnt], y[:learnt], s=14, color=PALETTE[0], label="learnt from")
    axes.scatter(x[learnt:], y[learnt:], s=14, facecolors="none", edgecolors=PALETTE[1], label="held out")
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return svg(figure)
