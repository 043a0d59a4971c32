"""How many almost orthogonal directions fit, with the dimension and the tolerance as sliders."""

from __future__ import annotations

from typing import Any

from experiments.errors import UserError

LARGEST = 1024
"""Dimensions up to which the figure is drawn while one waits; `qattn packing capacity --plot` draws all."""


def capacity(d: int, eps: float, field: str) -> dict[str, Any]:
    """Bounds and the largest construction at one point, and the figure over all tolerances.

    Raises :class:`UserError` for a dimension or a tolerance out of range.
    """
    from markupsafe import Markup

    from experiments.report.canvas import inline, svg
    from experiments.studies.packing.capacity_plot import capacity_rows, draw, model_rows
    from experiments.studies.packing.capacity_point import capacity_point

    if not 2 <= d <= LARGEST:
        raise UserError(
            f"d: expected 2 to {LARGEST:,} here, got {d}; qattn packing capacity --d {d} --plot has no limit"
        )
    point = capacity_point(d, eps, field)
    figure = draw(capacity_rows(d, points=16), model_rows(d))
    return {"point": point, "figure": Markup(inline(svg(figure), "capacity", f"capacity of dimension {d}"))}
