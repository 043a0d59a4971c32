"""``qattn lens``: what a trained transformer would predict if it stopped after each block."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli.options import JsonOption, print_json
from experiments.errors import UserError

WINDOWS = 32
"""Validation windows that the lens is held on."""


def lens(
    target: Annotated[Path, typer.Argument(help="The folder of an experiment or of a run.")],
    as_json: JsonOption = False,
) -> None:
    """Loss after each block of every trained transformer, read through its own head, and how far each block moves a
    token (the logit lens).

    Example: `qattn lens runs/quickstart`

    Exit codes: 0 done, 2 bad input.
    """
    from classical.transformer import Transformer
    from experiments.lm.trained_models import one_a_model

    found = [trained for trained in one_a_model(target) if isinstance(trained.model, Transformer)]
    if not found:
        raise UserError(f"{target}: no trained transformer in it; the lens reads the blocks of models of that kind")
    rows = {trained.name: layers(trained) for trained in found}
    if as_json:
        print_json(rows)
    else:
        _table(rows)


def layers(trained: Any) -> list[dict[str, float | int | None]]:
    """For block 0 (the embeddings) to the last: nats per token on the first validation windows, and the median of
    |ΔE| / |E| over tokens, None for the embeddings.
    """
    import torch

    from classical.lens import relative_steps, residual_stream
    from experiments.lm.builders import load_task
    from experiments.lm.evaluate import mean_nats

    inputs, targets = (part[:WINDOWS] for part in load_task(trained.job).windows()[0])
    with torch.no_grad():
        stream = residual_stream(trained.model, inputs)
        moved = [None, *(step.median().item() for step in relative_steps(stream))]
        losses = [mean_nats(trained.model.read(state), targets).item() for state in stream]
    return [
        {"block": at, "nats": loss, "step": step} for at, (loss, step) in enumerate(zip(losses, moved, strict=True))
    ]


def _table(rows: dict[str, list[dict[str, Any]]]) -> None:
    from rich.console import Console
    from rich.table import Table

    for name, blocks in rows.items():
        table = Table("after", "nats per token", "moved by |ΔE| / |E|", box=None, title=name, title_justify="left")
        for row in blocks:
            after = f"block {row['block']}" if row["block"] else "the embeddings"
            table.add_row(after, f"{row['nats']:.4f}", "" if row["step"] is None else f"{row['step']:.3f}")
        Console().print(table)
