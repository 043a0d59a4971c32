"""``qattn merge``: the runs of one experiment, trained in several folders, in one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import JsonOption, OutOption
from experiments.errors import UserError


def merge(
    run: Annotated[list[Path], typer.Argument(help="Folders that `qattn run … --out` wrote.", metavar="RUN...")],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Pool the seeds, models and tasks of one experiment that were trained in several folders, and report on all.

    Folders with a model that was trained otherwise are refused. `qattn run` continues in the merged folder.

    Example: `qattn merge runs/machine-a runs/machine-b --out runs/both`
    """
    if out is None or len(run) < 2:
        got = "no --out" if out is None else "one folder"
        raise UserError(f"expected at least two folders and --out with a new one, got {got}")
    from experiments.cli.report import report
    from experiments.lm.pooling import merge as pool

    pool(run, out)
    report([out], out, as_json=as_json)
