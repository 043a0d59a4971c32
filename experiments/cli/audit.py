"""``qattn audit``: is it really unitary? Numbers for trained models, or for the untrained ones of a configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli.options import JsonOption
from experiments.errors import UserError


def audit(
    target: Annotated[str, typer.Argument(help="An experiment's or run's folder, or a config (untrained models).")],
    dtype: Annotated[
        str | None, typer.Option(help="Precision of the audit, float32 or float64; default as trained.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure norm drift, linearity, reversal, causality and completeness of every model; exit 1 if a strict one fails.

    Example: `qattn audit quickstart --dtype float64`
    """
    if dtype not in (None, "float32", "float64"):
        raise UserError(f"--dtype: expected float32 or float64, got {dtype!r}")
    results = _trained(Path(target), dtype) if Path(target).is_dir() else _untrained(target, dtype)
    if as_json:
        print(json.dumps(results))
    else:
        _table(results)
    raise typer.Exit(1 if any(result["passed"] is False for result in results.values()) else 0)


def _trained(path: Path, dtype: str | None) -> dict[str, Any]:
    from experiments.lm.builders import load_task
    from experiments.lm.run import audited_windows
    from experiments.lm.trained_models import finished, load
    from experiments.lm.unitarity_audit import audit_model

    loaded = [load(folder, dtype) for folder in finished(path)]
    return {trained.name: audit_model(trained.model, audited_windows(load_task(trained.job))) for trained in loaded}


def _untrained(config: str, dtype: str | None) -> dict[str, Any]:
    from experiments.lm.builders import build_for, load_task
    from experiments.lm.matching import matched_jobs
    from experiments.lm.run import audited_windows
    from experiments.lm.unitarity_audit import audit_model
    from experiments.schema import load_experiment

    overrides = [f"training.dtype={dtype}"] if dtype else []
    todo, _ = matched_jobs(load_experiment(config, overrides))
    chosen = {(job.task_name, job.model_name): job for job in reversed(todo)}
    results = {}
    for job in chosen.values():
        task = load_task(job)
        results[f"{job.model_name} on {job.task_name}, untrained"] = audit_model(
            build_for(job, task), audited_windows(task)
        )
    return results


def _table(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from experiments.schema.audit_columns import AUDIT_COLUMNS

    console = Console()
    for name, result in results.items():
        table = Table("", "largest deviation", box=None, title=name, title_justify="left", title_style="bold")
        for key in AUDIT_COLUMNS:
            value = result[key]
            table.add_row(key.replace("_", " "), f"none: {result['reasons'][key]}" if value is None else f"{value:.1e}")
        table.add_row("budget", f"{result['budget']:.0e} ({result['dtype']})")
        table.add_row("unitary", {True: "yes", False: "NO", None: "not claimed"}[result["passed"]])
        console.print(table)
