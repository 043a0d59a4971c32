"""Verbs about sets of rays and of contexts: made from components, compared, and searched for the parts that matter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.contexts import text as words
from experiments.cli.contexts.source import YAML, check_ending, progress, show, write
from experiments.cli.options import JsonOption
from experiments.errors import blame

verbs = typer.Typer()


@verbs.command("from-rays")
def from_rays(
    components: Annotated[
        str,
        typer.Argument(
            metavar="COMPONENTS|FILE",
            help="Components of all vectors, such as 0,1,-1,sqrt2 (also i, phi, w3), or a file with one ray per line.",
        ),
    ],
    dimension: Annotated[int | None, typer.Option(help="Number of components of a vector.")] = None,
    bases: Annotated[bool, typer.Option("--bases", help="Drop the rays of no basis, and the exclusive pairs.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the hypergraph to this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the hypergraph of all orthonormal bases among rays with given components, in exact arithmetic.

    Example: `qattn contexts from-rays "0,1,-1,sqrt2,-sqrt2" --dimension 3 --bases --out peres.json`
    """
    from contexts import notebook
    from contexts.hypergraphs import formats

    if out is not None:
        check_ending(out, (*formats.WRITERS, *YAML))
    with blame(components):
        h = notebook.from_rays(components, dimension, bases, progress())
        result = notebook.check(h)
    if out is not None:
        write(h, out)
    show(result, as_json, words.check_lines)
