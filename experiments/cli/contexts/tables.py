"""Verbs about measured probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.contexts import text as words
from experiments.cli.contexts.source import get, progress, show
from experiments.cli.options import JsonOption
from experiments.errors import UserError, blame

verbs = typer.Typer()


@verbs.command()
def fraction(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE|NAME", help="An empirical table as JSON, or the name of one; with --state a hypergraph."
        ),
    ],
    rounded: Annotated[bool, typer.Option("--round", help="Scale printed, rounded probabilities to sum to 1.")] = False,
    bootstrap: Annotated[int, typer.Option(min=0, help="Resample counts so many times, for intervals of 95 %.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resamples.")] = 0,
    state: Annotated[str, typer.Option(help="Components of a state, such as 1,0,sqrt2, or 'mixed'.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Contextual and signalling fraction of measured probabilities, and contextuality by default with its measures.

    TABLE: `{"contexts": [{"measurements": ["A", "B"], "probabilities": {"0,0": 0.5, "1,1": 0.5}}, ...]}`, or
    `"counts"` in place of `"probabilities"`. NAME: pr, chsh, bell, kcbs, hardy, ghz, peres_mermin, clinton_gore.

    Example: `qattn contexts fraction clinton_gore --bootstrap 200`
    """
    from contexts import notebook

    if state:
        if rounded or bootstrap:
            raise UserError("--state: expected neither --round nor --bootstrap beside it, which are about tables")
        h = get(table)
        with blame(table):
            result = notebook.fraction_of_state(h, state)
    else:
        source = Path(table).expanduser() if notebook.is_path(table) else table
        with blame(table or "TABLE|NAME"):
            result = notebook.fraction(source, rounded, bootstrap, seed, progress())
    show(result, as_json, words.fraction_lines)


@verbs.command("question-order")
def question_order(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE|NAME", help="Contexts [A, B] and [B, A] as JSON, or clinton_gore and others."),
    ],
    rounded: Annotated[bool, typer.Option("--round", help="Scale printed, rounded probabilities to sum to 1.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Two questions in two orders: test the QQ equality, and predict the second order from the first.

    Example: `qattn contexts question-order clinton_gore`
    """
    from contexts import notebook

    source = Path(table).expanduser() if notebook.is_path(table) else table
    with blame(table or "TABLE|NAME"):
        result = notebook.question_order(source, rounded)
    show(result, as_json, words.question_order_lines)
