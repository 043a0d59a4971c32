"""``qattn report``: rebuild the report of one experiment, or put several into one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.options import JsonOption, user_path
from experiments.errors import UserError, blame


def report(
    run: Annotated[list[Path], typer.Argument(help="Folders that `qattn run … --out` wrote.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(parser=user_path, help="Write the report to this folder; default the run's own.")
    ] = None,
    models: Annotated[list[str], typer.Option("--models", metavar="NAME", help="Only this model; repeatable.")] = [],  # noqa: B006
    tasks: Annotated[list[str], typer.Option("--tasks", metavar="NAME", help="Only this task; repeatable.")] = [],  # noqa: B006
    seeds: Annotated[list[int], typer.Option("--seeds", metavar="N", help="Only this seed; repeatable.")] = [],  # noqa: B006
    as_json: JsonOption = False,
) -> None:
    """Rebuild report.html, figures/, results.json and results.csv from finished runs; trains nothing.

    Several folders make one combined report; they need --out, and so do chosen models, tasks and seeds.

    Example: `qattn report runs/quickstart`
    """
    if len(run) > 1 and out is None:
        raise UserError("several experiments make a combined report, which needs a folder of its own: add --out DIR")
    if (models or tasks or seeds) and out is None:
        raise UserError("--models, --tasks, --seeds: a report of a part needs a folder of its own: add --out DIR")
    from experiments.lm.pooling import chosen
    from experiments.lm.results_schema import combine, load
    from experiments.report import write
    from experiments.report.headline import answer
    from experiments.stats.compare import summarise

    experiment = chosen(combine([(str(folder), load(folder)) for folder in run]), models, tasks, seeds)
    with blame(", ".join(map(str, run))):
        summary = summarise(experiment.runs, experiment.tasks, experiment.comparison, experiment.name, experiment.about)
    page = write(
        out or run[0],
        summary,
        experiment.runs,
        experiment.tasks,
        experiment.config_yaml,
        experiment.environment,
        experiment.command,
    )
    if as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False))
        return
    for sentences in answer(summary).values():
        print(" ".join(sentences))
    print(page)
