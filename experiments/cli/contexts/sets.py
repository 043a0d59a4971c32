"""Verbs about sets of rays and of contexts: made from components, compared, and searched for the parts that matter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.contexts import text as words
from experiments.cli.contexts.source import YAML, Complete, Dimension, Source, check_ending, get, progress, show, write
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


@verbs.command()
def symmetry(source: Source, dimension: Dimension = None, as_json: JsonOption = False) -> None:
    """Give the order of the automorphism group, and the orbits of atoms and contexts (needs pynauty).

    Example: `qattn contexts symmetry cabello_18_9`
    """
    from contexts import notebook

    h = get(source, dimension)
    with blame(source):
        result = notebook.symmetry(h)
    show(result, as_json, words.symmetry_lines)


@verbs.command()
def isomorphic(first: Source, second: Source, dimension: Dimension = None, as_json: JsonOption = False) -> None:
    """Say whether two hypergraphs are the same up to the names of atoms, and give the map; exit 1 when they are not.

    Example: `qattn contexts isomorphic cycle_5 pentagon`
    """
    from contexts import notebook

    pair = get(first, dimension), get(second, dimension)
    with blame(f"{first}, {second}"):
        result = notebook.isomorphic(*pair)
    show(result, as_json, words.isomorphic_lines)
    raise typer.Exit(0 if result["isomorphic"] else 1)


@verbs.command()
def parity(
    source: Source,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit of the search for a smaller proof.")] = 10,
    dimension: Dimension = None,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Find a smallest parity proof that there is no two-valued state, or show that there is none (exit 1).

    Example: `qattn contexts parity cabello_18_9`
    """
    from contexts import notebook

    h = get(source, dimension, complete)
    with blame(source):
        result = notebook.parity(h, seconds)
    show(result, as_json, words.parity_lines)
    raise typer.Exit(0 if result["exists"] else 1)


@verbs.command()
def critical(
    source: Source,
    most: Annotated[int, typer.Option(min=1, help="Find at most this many critical subsets, smallest first.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit; then what is known is printed.")] = 60,
    dimension: Dimension = None,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Find the smallest critical subsets of the contexts, and count them by size.

    Example: `qattn contexts critical peres_24 --most 20`
    """
    from contexts import notebook

    h = get(source, dimension, complete)
    with blame(source):
        result = notebook.critical(h, most, seconds, progress())
    show(result, as_json, words.critical_lines)
    if result["interrupted"]:
        raise typer.Exit(130)


@verbs.command()
def contains(
    large: Source,
    small: Source,
    most: Annotated[int, typer.Option(min=1, help="Find at most this many copies.")] = 1,
    dimension: Dimension = None,
    as_json: JsonOption = False,
) -> None:
    """Find copies of the second hypergraph inside the first, contexts as contexts; exit 1 when there is none.

    Example: `qattn contexts contains specker_bug_TITS_extension specker_bug`
    """
    from contexts import notebook

    pair = get(large, dimension), get(small, dimension)
    with blame(f"{large}, {small}"):
        result = notebook.contains(*pair, most, progress())
    show(result, as_json, words.contains_lines)
    raise typer.Exit(130 if result["interrupted"] else 0 if result["contains"] else 1)
