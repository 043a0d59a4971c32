"""Pictures of circuit trainings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.report.canvas import svg


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
