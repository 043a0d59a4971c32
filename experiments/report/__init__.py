"""The report of an experiment: one self-contained page, its figures as SVG, and the numbers for machines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.runs.atomic_files import write_bytes, write_json, write_text
from experiments.schema.experiment import BEST_CLASSICAL
from experiments.stats.compare import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "final_loss": "Final loss by model, with interval bars and floors",
    "loss_curves": "Loss against training steps, with bands over seeds",
    "differences": "Paired differences with intervals",
    "ledger": "Parameters by group",
    "price": "The price by model, split into unitary evolution and Born readout, with intervals",
    "sweeps": "Final result against the number in which models differ",
}
SCALING = "Loss against parameters by number of training tokens, with fitted laws"
MEMORY = "Final result against the states that a model carries, with the values of the theorems"
LADDER = "Final result by rung of the ladder, with interval bars and the best classical model"


def write(
    out: Path,
    summary: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    experiment_yaml: str,
    environment: Mapping[str, Any],
    command: str,
) -> Path:
    """Write ``report.html``, ``figures/*.svg``, ``results.json`` and ``results.csv``; return the page.

    ``summary`` is what :func:`experiments.stats.compare.summarise` made of ``runs`` and ``tasks``. Each file is
    replaced atomically and depends on the arguments alone: the same records give the same bytes.
    """
    from experiments.report.canvas import inline, svg
    from experiments.report.page import Made, html

    out = Path(out)
    write_json(out / "results.json", summary)
    write_bytes(out / "results.csv", table(runs).encode("utf-8", errors="replace"))
    inlined: dict[str, dict[str, str]] = {}
    for i, (task, drawn) in enumerate(draw(summary, runs).items()):
        inlined[task] = {}
        for key, figure in drawn.items():
            stem = "-".join(part for part in (_slug(task, i, list(summary["tasks"])), key.replace("_", "-")) if part)
            drawing = svg(figure)
            write_bytes(out / "figures" / f"{stem}.svg", drawing)
            inlined[task][key] = inline(drawing, f"f{i}-{key}", f"{TITLES[key]}: {task}")
    opening = None
    if several(summary):
        from experiments.report.ladder import ladder
        from experiments.report.memory import bounded, memory

        stem, caption, figure = (
            ("memory", MEMORY, memory(summary)) if bounded(summary) else ("ladder", LADDER, ladder(summary))
        )
        drawing = svg(figure)
        write_bytes(out / "figures" / f"{stem}.svg", drawing)
        opening = inline(drawing, stem, caption)
    laws, drawn_laws = {}, draw_laws(summary)
    for i, (text, figure) in enumerate(drawn_laws.items()):
        drawing = svg(figure)
        write_bytes(out / "figures" / f"scaling-{_slug(text, i, list(drawn_laws))}.svg", drawing)
        laws[text] = inline(drawing, f"scaling-{i}", f"{SCALING}: {text}")
    page = html(summary, runs, tasks, inlined, opening, Made(experiment_yaml, environment, command), laws)
    return write_text(out / "report.html", page)


def several(summary: Mapping[str, Any]) -> bool:
    """Whether the report opens with all tasks: several of them, or the best classical model as the reference. The
    figure is the ladder; where a theorem says what so much memory reaches, the result against memory."""
    return len(summary["tasks"]) > 1 or summary["comparison"]["reference"] == BEST_CLASSICAL


def draw(summary: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Figure]]:
    """The figures of every task that has something to show, by task and then by the keys of `TITLES`."""
    from experiments.report import figures, ladder, price_figure

    look = figures.styles(name for task in summary["tasks"].values() for name in task["models"])
    drawn: dict[str, dict[str, Figure]] = {}
    for name, task in summary["tasks"].items():
        mine = [run for run in runs if run["task"] == name]
        drawn[name] = {}
        if task["models"]:
            drawn[name]["final_loss"] = figures.final_loss(task, look)
        if any(figures.curve(run, "validation") for run in mine):
            drawn[name]["loss_curves"] = figures.loss_curves(mine, task, look)
        if any(test["difference"]["low"] is not None for test in task["tests"]):
            drawn[name]["differences"] = figures.differences(
                task, 0.0 if task["metric"] == "accuracy" else summary["comparison"]["equivalence"]
            )
        if any(entry["ledger"] for entry in task["models"].values()):
            drawn[name]["ledger"] = figures.ledger(task)
        divided = price_figure.split_models(task, summary["models"])
        if len(divided) > 1:
            drawn[name]["price"] = price_figure.price_by_model(task, divided)
        swept = [
            one for one in summary["sweeps"].values() if sum(model in task["models"] for model in one["values"]) > 2
        ]
        if swept:
            drawn[name]["sweeps"] = ladder.sweeps(task, swept)
    return drawn


def draw_laws(summary: Mapping[str, Any]) -> dict[str, Figure]:
    """The figure of the scaling laws of every text that has them."""
    from experiments.report.figures import styles
    from experiments.report.scaling_figure import scaling

    look = styles(name for task in summary["tasks"].values() for name in task["models"])
    texts = dict.fromkeys(law["text"] for law in summary["scaling"])
    return {
        text: scaling([law for law in summary["scaling"] if law["text"] == text], summary["tasks"], look)
        for text in texts
    }


def _slug(task: str, place: int, names: list[str]) -> str:
    """A file name for a task; its place is added where two tasks would share one."""
    slugs = [re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.").lower()[:60] for name in names]
    return slugs[place] if slugs[place] and slugs.count(slugs[place]) == 1 else f"{slugs[place]}-{place}".strip("-")
