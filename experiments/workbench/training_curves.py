"""Curves of runs while they go on, from their logs: an SVG for the page and a line per run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.runs.run_folder import RunFolder
from experiments.workbench.workspace import Found


def curves(runs: Sequence[Found]) -> dict[str, Any]:
    """``rows``: per run its name, last step, losses and whether it is done; ``figure``: both losses against steps."""
    rows, lines = [], []
    for run in runs:
        folder = RunFolder(run.path)
        events = list(folder.events())
        validation = [(e["step"], e["val_nats"]) for e in events if isinstance(e.get("val_nats"), int | float)]
        training = [e["train_nats"] for e in events if isinstance(e.get("train_nats"), int | float)]
        rows.append({
            "name": run.name,
            "step": events[-1]["step"] if events else 0,
            "train": training[-1] if training else None,
            "validation": validation[-1][1] if validation else None,
            "done": (run.path / "result.json").exists(),
        })  # fmt: skip
        lines.append((run.name, [(e["step"], e["train_nats"]) for e in events if e.get("train_nats")], validation))
    return {"rows": rows, "figure": _figure(lines), "running": any(not row["done"] for row in rows)}


def _figure(lines: Sequence[tuple[str, Sequence[tuple[int, float]], Sequence[tuple[int, float]]]]) -> Any:
    from markupsafe import Markup

    from experiments.report.canvas import inline, svg
    from experiments.report.figures import PALETTE, canvas, plain

    figure, (axes,) = canvas(3.0)
    for at, (name, training, validation) in enumerate(lines):
        color = PALETTE[at % len(PALETTE)]
        axes.plot(*zip(*training, strict=True), lw=0.7, color=color, alpha=0.5) if training else None
        axes.plot(*zip(*validation, strict=True), "o-", ms=4, color=color, label=plain(name)) if validation else None
    axes.set_xlabel("step")
    axes.set_ylabel("nats per token")
    if axes.get_legend_handles_labels()[0] and len(lines) <= 12:
        axes.legend(frameon=False, fontsize=8)
    return Markup(inline(svg(figure), "curves", "training (thin) and validation loss against steps"))
