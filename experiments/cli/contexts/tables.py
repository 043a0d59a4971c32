"""Verbs about measured probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.contexts import text as words
from experiments.cli.contexts.source import show
from experiments.cli.options import JsonOption
from experiments.errors import blame

if TYPE_CHECKING:
    pass

verbs = typer.Typer()


@verbs.command()
def fraction(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="An empirical table as JSON.")],
    rounded: Annotated[bool, typer.Option("--round", help="Scale printed, rounded probabilities to sum to 1.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Contextual and signalling fraction of measured probabilities, and contextuality by default of a cyclic system.

    TABLE: `{"contexts": [{"measurements": ["A", "B"], "probabilities": {"0,0": 0.5, "1,1": 0.5}}, ...]}`, or
    `"counts"` in place of `"probabilities"`.

    Example: `qattn contexts fraction table.json --json`
    """
    from contexts import notebook

    with blame(table):
        result = notebook.fraction(table, rounded)
    show(result, as_json, words.fraction_lines)
