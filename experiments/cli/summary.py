"""``qattn summary``: where the parameters of each model sit, before anything is trained."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli.options import ConfigArgument, JsonOption, SetOption, print_json
from experiments.errors import UserError
from experiments.schema import Experiment, load_experiment


def summary(
    config: ConfigArgument,
    overrides: SetOption = [],  # noqa: B006  (typer copies it)
    max_parameters: Annotated[
        int | None, typer.Option(metavar="N", help="Exit with 1 if a model has more parameters than N.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The parameters of every model, group by group, side by side; published figures beside ours, where there are any.

    Example: `qattn summary shakespeare --max-parameters 800000`

    Exit codes: 0 all within the budget, 1 a model exceeds it, 2 bad input.
    """
    if max_parameters is not None and max_parameters < 1:
        raise UserError(f"--max-parameters {max_parameters}: expected a number of at least 1, got {max_parameters}")
    experiment = load_experiment(config, overrides)
    from experiments.lm.engine import summary as count

    models: dict[str, dict[str, int]] = count(experiment)
    totals = {name: sum(groups.values()) for name, groups in models.items()}
    stated = published(experiment)
    over = [name for name, total in totals.items() if max_parameters is not None and total > max_parameters]
    if as_json:
        blocks = {name: {"groups": groups, "total": totals[name]} for name, groups in models.items()}
        print_json({"models": blocks, "max_parameters": max_parameters, "over": over, "published": stated})
    else:
        _print_table(models, totals)
        if stated:
            from rich.console import Console

            from experiments.runs.progress import published_table

            Console().print(published_table(stated))
        for name in over:
            print(f"{name} has {totals[name]:,} parameters, {totals[name] - max_parameters:,} over {max_parameters:,}")  # type: ignore[operator]
    raise typer.Exit(1 if over else 0)


def published(experiment: Experiment) -> list[dict[str, Any]]:
    """The published figures that the file states, with ours from its output folder where runs have finished there.

    Runs of another configuration of the same names are left out.
    """
    from experiments.lm.results_schema import finished_runs
    from experiments.runs.json_files import by_first_version, read_record
    from experiments.schema.jobs import identities
    from experiments.stats.published import against_published

    folder = Path(experiment.output.dir or "")
    marker = folder / "experiment.json"
    record = read_record(marker) if marker.exists() else None
    held = record.get("identity") if record else None
    same = set(held.items()) & set(identities(experiment).items()) if isinstance(held, dict) else set()
    known = {part for part, _ in same}
    if record and not known and by_first_version(marker):
        print(f"qattn: {folder}: its runs are of qattn 0.1.0, whose figures are not set beside these", file=sys.stderr)
    runs = [run for run in finished_runs(folder) if f"model {run['model']} on task {run['task']}" in known]
    stated = [entry.model_dump() for entry in experiment.comparison.published]
    alone, level = len(experiment.tasks) == 1, experiment.comparison.confidence
    return [row for task in experiment.tasks for row in against_published(stated, task, alone, runs, level)]


def _print_table(models: dict[str, dict[str, int]], totals: dict[str, int]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table("parameters", box=box.SIMPLE_HEAD, show_footer=True)
    table.columns[0].footer = "total"
    for name, total in totals.items():
        table.add_column(name, justify="right", footer=f"{total:,}")
    for group in dict.fromkeys(group for groups in models.values() for group in groups):
        table.add_row(group, *(f"{groups[group]:,}" if group in groups else "" for groups in models.values()))
    console = Console()
    if not console.is_terminal:  # nothing is cut off in a file
        console = Console(width=max(console.width, 16 * (len(totals) + 1)))
    console.print(table)
