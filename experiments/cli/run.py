"""``qattn run``: train every model on every task and compare."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from experiments.cli.options import (
    ConfigArgument,
    FreshOption,
    JsonOption,
    OutOption,
    ResumeOption,
    SetOption,
    WorkersOption,
    check_resume,
    print_json,
    user_path,
)
from experiments.errors import UserError
from experiments.schema import Experiment, Override, find_config, load_experiment


def run(
    config: ConfigArgument,
    overrides: SetOption = [],  # noqa: B006  (typer copies it)
    seeds: Annotated[str | None, typer.Option(metavar="N", help="Train with the seeds 0 to N−1.")] = None,
    workers: WorkersOption = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="Send the runs to an existing Dask cluster.")
    ] = None,
    resume: ResumeOption = False,
    fresh: FreshOption = False,
    out: OutOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the runs, with parameters and estimated time.")
    ] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the resolved configuration, each value with its origin.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="The quick form: as the file's `quick` section says; folder DIR-quick.")
    ] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="Run one batch through everything, report included.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Train every model on every task with every seed, then compare them and write a report.

    Repeating the command continues: finished runs are kept, an interrupted one resumes from its last checkpoint.

    Example: `qattn run quickstart --seeds 2 --out runs/first`

    Exit codes: 0 done, 1 a run failed, 2 bad input, 130 interrupted.
    """
    check_resume(resume, fresh)
    if dry_run and print_config:
        raise UserError("--dry-run --print-config: expected one of the two, got both")
    if scheduler is not None and "://" not in scheduler:
        raise UserError(f"--scheduler {scheduler}: expected an address such as tcp://127.0.0.1:8786, got '{scheduler}'")
    given: list[str | Override] = list(overrides)
    given += [Override("seeds", seeds, "--seeds")] if seeds is not None else []
    given += [Override("workers", workers, "--workers")] if workers is not None else []
    given += [Override.literal("output.dir", str(out), "--out")] if out is not None else []
    experiment = load_experiment(find_config(config), given, quick)
    folder = str(experiment.output.dir) + ("-quick" if quick and out is None else "")
    if print_config:
        _print_config(experiment, as_json)
    elif dry_run:
        _print_plan(experiment, as_json)
    else:
        from experiments.lm.engine import run_experiment

        code = run_experiment(
            experiment,
            out=user_path(folder),
            workers=experiment.workers,
            scheduler=scheduler,
            fresh=fresh,
            smoke=smoke,
            command=shlex.join(["qattn", *sys.argv[1:]]),
            as_json=as_json,
        )
        raise typer.Exit(code)


def _print_config(experiment: Experiment, as_json: bool) -> None:
    from experiments.located.yaml_dump import config_text
    from experiments.located.yaml_source import dotted

    if as_json:
        print_json(
            {
                "config": experiment.data(),
                "origins": {dotted(path): origin for path, origin in experiment.origins.items()},
            }
        )
    else:
        print(config_text(experiment.data(), experiment.origins), end="")


def _print_plan(experiment: Experiment, as_json: bool) -> None:
    from experiments.lm.engine import plan

    runs: list[dict[str, Any]] = plan(experiment)
    known = [run["seconds"] for run in runs if run["seconds"] is not None]
    total = sum(known) if len(known) == len(runs) else None
    if as_json:
        print_json({"runs": runs, "seconds": total, "workers": experiment.workers})
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("task", "model", "seed", "parameters", "time"):
        table.add_column(name, justify="left" if name in ("task", "model") else "right")
    for run in runs:
        table.add_row(run["task"], run["model"], str(run["seed"]), f"{run['parameters']:,}", duration(run["seconds"]))
    console = Console()
    console.print(table)
    side_by_side = f", {experiment.workers} side by side" if experiment.workers > 1 else ", one after the other"
    console.print(f"{len(runs)} runs, {duration(total)} of training{side_by_side}", highlight=False)


def duration(seconds: float | None) -> str:
    """``45 s``, ``3 min``, ``2.5 h``, or ``unknown``."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
