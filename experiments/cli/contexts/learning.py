"""Verbs that train contexts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.contexts import text as words
from experiments.cli.contexts.source import show
from experiments.cli.options import (
    FreshOption,
    JsonOption,
    OutOption,
    ResumeOption,
    WorkersOption,
    check_resume,
    check_workers,
)
from experiments.errors import UserError, blame

if TYPE_CHECKING:
    pass

verbs = typer.Typer()


@verbs.command()
def train(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="bank, MC, RP, pseudo:WORD,WORD, wordnet:NOUN, or a folder in CoarseWSD-20 layout."
        ),
    ] = "bank",
    text: Annotated[Path | None, typer.Option(help="Text of the pseudo-words; default Moby Dick.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Independent runs; fewer than 6 make no claim.")] = 6,
    dimension: Annotated[int, typer.Option("--dim", min=3, help="Dimension of the Hilbert space.")] = 12,
    own: Annotated[int, typer.Option(min=1, help="Vectors that speak for a context, beside the shared one.")] = 2,
    places: Annotated[int, typer.Option(min=0, help="Neighbours on each side whose order counts; 0: none does.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Adam's steps.")] = 150,
    rate: Annotated[float, typer.Option(min=1e-6, help="Adam's learning rate.")] = 0.05,
    transformer: Annotated[bool, typer.Option(help="Also train a small transformer (slower).")] = True,
    out: OutOption = None,
    resume: ResumeOption = False,
    fresh: FreshOption = False,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train contexts and tokens to tell senses apart, beside baselines and controls on the same tokens.

    With --out every run is kept as it is done, and repeating the command continues: more seeds train these alone.

    Example: `qattn contexts train bank --seeds 6`
    """
    from experiments.runs.json_files import write_record
    from experiments.studies.senses import kept_in, no_room, study
    from experiments.tasks.polysemy import sense_task, transformer_answers

    check_resume(resume, fresh)
    side_by_side = check_workers(workers)
    if out is None and (resume or fresh or side_by_side > 1):
        raise UserError("--resume, --fresh, --workers: expected --out with the folder they are about, got none")
    with blame(task):
        data = sense_task(task, text)
    others = {"transformer": transformer_answers} if transformer else {}
    settings = {"dimension": dimension, "own": own, "places": places, "steps": steps, "rate": rate}
    with blame(f"{task}, --dim {dimension}, --own {own}"):
        no_room(data, settings)
    with kept_in(out, data, settings, fresh) as parts:
        say = lambda line: print(line, file=sys.stderr)  # noqa: E731
        result = study(data, range(seeds), others, say, parts, side_by_side, **settings)
        if out is not None:
            write_record(out / "result.json", result)
    show(result, as_json, words.train_lines)
    if result["interrupted"]:
        raise typer.Exit(130)


@verbs.command()
def compare(
    text: Annotated[Path | None, typer.Option(help="Text of the pseudo-words; default Moby Dick.")] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Number of word pairs; fewer than 6 make no claim.")] = 20,
    seeds: Annotated[int, typer.Option(min=1, help="Independent runs per word pair.")] = 2,
    dimension: Annotated[int, typer.Option("--dim", min=3, help="Dimension of the Hilbert space.")] = 12,
    own: Annotated[int, typer.Option(min=1, help="Vectors that speak for a context, beside the shared one.")] = 2,
    steps: Annotated[int, typer.Option(min=1, help="Adam's steps for contexts and the log-linear model.")] = 100,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare learned contexts with tuned baselines on pseudo-words drawn by rule, chosen on dev and tested once.

    With --out every finished word pair is kept, and repeating the command continues.

    Example: `qattn contexts compare --pairs 20 --out runs/senses`
    """
    from experiments.studies.sense_protocol import check_room, compare
    from experiments.tasks.polysemy import text_of

    with blame(text or "--dim"):
        content = text_of(text)
        check_room(content, pairs, dimension, own)
    result = compare(
        content, pairs, seeds, dimension, own, steps, out=out, progress=lambda line: print(line, file=sys.stderr)
    )
    show(result, as_json, words.compare_lines)
    if result["interrupted"]:
        raise typer.Exit(130)
