"""``qattn packing capacity --d D --plot``: constructed against proved at every ε from 1/d to 1/2, with real models."""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contexts.packing.bounds.capacity import greedy, upper_capacity
from contexts.packing.bounds.coherence_bounds import best_bound
from contexts.packing.constructions.combine import largest_construction
from contexts.packing.validation import check_size
from experiments.errors import UserError, blame
from experiments.report.figures import FAINT, INK, PALETTE, canvas
from experiments.runs.atomic_files import write_bytes, write_text
from experiments.studies.packing.formatting import power_of_ten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = list[dict[str, Any]]
LN10 = math.log(10)
LARGEST_D = 20_000
MODELS = Path(__file__).parent / "models.csv"


class Model(NamedTuple):
    """n directions in d dimensions of a published model: its vocabulary, or the features of a sparse autoencoder."""

    name: str
    d: int
    n: int
    what: str
    source: str


@lru_cache(maxsize=1)
def models() -> tuple[Model, ...]:
    """The shipped list, with sources."""
    with MODELS.open(encoding="utf-8") as lines:
        return tuple(
            Model(row["name"], int(row["d"]), int(row["n"]), row["what"], row["source"])
            for row in csv.DictReader(lines)
        )


def capacity_rows(d: int, points: int = 40) -> Rows:
    """ln N by ε and field: proved to exist (greedy, at least d), constructed, proved impossible to exceed.

    ``gap`` is the number of orders of magnitude between the least upper bound and the larger of the other two.
    """
    rows = []
    for field in ("real", "complex"):
        for eps in np.geomspace(1 / d, 0.5, points).tolist():
            built = largest_construction(d, eps, field)
            low = max(greedy(d, eps, field) or 0.0, math.log(d))
            high = upper_capacity(d, eps, field)
            assert high is not None  # ε < 1
            made = math.log(built.n)
            rows.append(
                {
                    "field": field, "d": d, "eps": eps, "ln_greedy": low, "ln_constructed": made, "ln_upper": high[0],
                    "gap": max(0.0, high[0] - max(low, made)) / LN10, "scale": eps * eps * d, "bound": high[1],
                    "construction": built.name,
                }
            )  # fmt: skip
    return rows


def model_rows(d: int) -> Rows:
    """For every shipped model of this dimension: the least coherence that its n directions must have somewhere."""
    rows = []
    for model in models():
        if model.d == d:
            bound, name = best_bound(d, model.n, "real")
            rows.append(model._asdict() | {"at_least": bound, "bound": name})
    return rows


def draw(rows: Rows, known: Rows) -> Figure:
    """Two panels, R^d and C^d: ln N / (ε²d) against ε, the band between constructed and impossible shaded."""
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, both = canvas(6.4, rows=2)
    for axes, field in zip(both, ("real", "complex"), strict=True):
        mine = [row for row in rows if row["field"] == field]
        eps = [row["eps"] for row in mine]

        def scaled(key: str, mine: Rows = mine) -> list[float]:
            return [row[key] / row["scale"] for row in mine]

        lower = [max(pair) for pair in zip(scaled("ln_greedy"), scaled("ln_constructed"), strict=True)]
        axes.fill_between(eps, lower, scaled("ln_upper"), color=PALETTE[0], alpha=0.15, lw=0)
        axes.plot(eps, scaled("ln_upper"), color=PALETTE[0], lw=1.6, label="proved: at most")
        axes.plot(eps, scaled("ln_constructed"), color=PALETTE[1], lw=1.2, label="constructed")
        axes.plot(eps, scaled("ln_greedy"), color=PALETTE[2], lw=1.2, label="proved: at least (greedy, or a basis)")
        d = mine[0]["d"]
        for k, row in enumerate(known if field == "real" else ()):
            height = math.log(row["n"]) / (row["at_least"] ** 2 * d)
            axes.plot(row["at_least"], height, "v", color=FAINT, ms=7, mec=INK, mew=0.5)
            text = f"{row['name']}, {row['what']}: {row['n']:,}"
            axes.annotate(text, (row["at_least"], height), (8, 2 + 11 * k), textcoords="offset points", fontsize=7)
        space = "R" if field == "real" else "C"
        axes.set(xscale="log", yscale="log", xlabel="tolerance ε", ylabel="ln N / (ε² d)")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(f"{space}^{d:,}", size=9, color=FAINT, loc="left")
        axes.legend(fontsize=8, frameon=False)
    return figure


def plot_capacity(d: int, out: Path) -> dict[str, Any]:
    """Compute, write ``capacity_dD.svg`` and ``.csv`` into the folder ``out``, and return rows, models and files.

    Raises :class:`UserError` for an invalid d, or one beyond 20,000.
    """
    from experiments.report.canvas import svg
    from experiments.studies.packing.study import table

    with blame("--d"):
        check_size("d", d)
    if not 3 <= d <= LARGEST_D:
        raise UserError(f"--d {d}: expected a dimension from 3 to {LARGEST_D} for the plot")
    rows, known = capacity_rows(d), model_rows(d)
    figure, numbers = out / f"capacity_d{d}.svg", out / f"capacity_d{d}.csv"
    write_bytes(figure, svg(draw(rows, known)))
    write_text(numbers, table(rows))
    return {"d": d, "rows": rows, "models": known, "figure": str(figure), "table": str(numbers)}


def show_plot(result: dict[str, Any], every: int = 4) -> None:
    """Every fourth row for people: at least, constructed, at most, and the gap in orders of magnitude."""
    for field in ("real", "complex"):
        print(f"{'R' if field == 'real' else 'C'}^{result['d']:,}")
        print(f"{'eps':>10}{'at least':>14}{'constructed':>14}{'at most':>14}{'gap':>9}")
        mine = [row for row in result["rows"] if row["field"] == field]
        for row in mine[::every]:
            counts = "".join(f"{power_of_ten(row[key]):>14}" for key in ("ln_greedy", "ln_constructed", "ln_upper"))
            print(f"{row['eps']:10.5f}{counts}{row['gap']:9.2f}")
    for row in result["models"]:
        print(
            f"{row['name']}: {row['n']:,} {row['what']} have a pair at {row['at_least']:.6f} or more ({row['source']})"
        )
    print(f"figure {result['figure']}, table {result['table']}")
