"""Verbs about one hypergraph: its structure, states, bounds, commuting contexts, vectors and diagram."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.contexts import text as words
from experiments.cli.contexts.source import (
    YAML,
    Complete,
    Dimension,
    Source,
    check_ending,
    get,
    get_all,
    progress,
    show,
    write,
    write_states,
)
from experiments.cli.options import JsonOption
from experiments.errors import UserError, blame

if TYPE_CHECKING:
    from contexts.hypergraphs.hypergraph import Hypergraph

verbs = typer.Typer()


@verbs.command()
def check(
    source: Source,
    dimension: Dimension = None,
    tolerance: Annotated[float, typer.Option(help="Largest overlap of unit vectors that count as orthogonal.")] = 1e-9,
    convert: Annotated[
        Path | None, typer.Option(help="Also write it to this file, in the format of its ending.")
    ] = None,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Show the structure, and whether the vectors are proved to represent it; exit 1 when they do not.

    Example: `qattn contexts check cabello_18_9`
    """
    from contexts import notebook
    from contexts.hypergraphs import formats, hypergraph

    with blame("--tolerance"):
        hypergraph.as_tolerance(tolerance)
    if convert is not None:
        check_ending(convert, (*formats.WRITERS, *YAML))
    h = get(source, dimension, complete)
    with blame(source):
        result = notebook.check(h, tolerance)
    if convert is not None:
        write(h, convert)
    show(result, as_json, words.check_lines)
    raise typer.Exit(1 if result["ok"] is False else 0)


@verbs.command()
def states(
    source: Source,
    listed: Annotated[bool, typer.Option("--list", help="Also list the states, as their true atoms.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="List at most this many states.")] = 1_000_000,
    table: Annotated[
        Path | None, typer.Option(help="Write the states to this .csv file: one row per state, one column per atom.")
    ] = None,
    dimension: Dimension = None,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Count the two-valued states exactly, and say what they imply: unital, separating, true-implies-true, colours.

    Example: `qattn contexts states specker_bug`
    """
    from contexts import notebook

    if table is not None:
        check_ending(table, (".csv",))
    h = get(source, dimension, complete)
    with blame(source):
        result = notebook.states(h, limit, listed or table is not None, progress())
    if table is not None:
        write_states(h, result.get("states", []), table)
    if not listed:
        result.pop("states", None)
    show(result, as_json, words.states_lines)
    if result["interrupted"]:
        raise typer.Exit(130)


@verbs.command()
def batch(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .g6 or .mmp file with one hypergraph per line, or .json, .yaml.")
    ],
    dimension: Dimension = None,
) -> None:
    """Print one line of JSON per hypergraph of a file: sizes, whether a two-valued state exists, and how many do.

    Example: `qattn contexts batch graphs.g6 --dimension 3`
    """
    from contexts import notebook

    with blame(file):
        for row in notebook.batch(get_all(str(file), dimension)):
            print(json.dumps(row, ensure_ascii=False))


@verbs.command()
def commute(
    source: Source,
    eigenvalues: Annotated[
        str, typer.Option(help="Eigenvalues by place in each context, such as 1,2,3; by default 1, 2, … d.")
    ] = "",
    require: Annotated[bool, typer.Option("--require", help="Exit 1 unless all pairs commute.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Write the norms as a heat map (.svg, .png, .pdf).")] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="Tolerance relative to ‖A‖‖B‖ of the traceless parts; also of the vectors' orthogonality."),
    ] = 1e-9,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Say for every pair of contexts whether their maximal observables commute, with the norm of the commutator.

    FILE may also be JSON `{"observables": {"A": "XX", "B": "X0 Z1"}}` with Pauli words, or with matrices.

    Example: `qattn contexts commute bank --plot bank.svg`
    """
    from contexts import notebook
    from contexts.hypergraphs import drawing, entries, hypergraph

    with blame("--tolerance"):
        hypergraph.as_tolerance(tolerance)
    if plot is not None:
        with blame(plot):
            drawing.check_ending(plot)
    is_observables = Path(source).suffix.lower() == ".json" and Path(source).is_file()
    with blame(source):
        is_observables = is_observables and entries.read_observables(Path(source)) is not None
    target: str | Hypergraph = source if is_observables else get(source, None, complete)
    with blame(source):
        result = notebook.commute(target, _numbers(eigenvalues, "--eigenvalues"), tolerance)
    if plot is not None:
        if result["norms"] is None:
            raise UserError(f"--plot: a heat map shows up to 400 observables; got {len(result['labels'])}")
        with blame(plot):
            drawing.save(drawing.heat_map(result["norms"], result["labels"], "‖[A, B]‖"), plot)
    show(result, as_json, words.commute_lines)
    raise typer.Exit(1 if require and not result["all_commute"] else 0)


@verbs.command()
def bounds(
    source: Source,
    weights: Annotated[str, typer.Option(help="'multiplicity', or atom=number with commas, or a JSON file.")] = "",
    dimension: Dimension = None,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Bound the sum of probabilities: α (classical), θ (quantum), α* (exclusivity only), each with a certificate.

    Example: `qattn contexts bounds cabello_18_9 --weights multiplicity`
    """
    from contexts import notebook

    h = get(source, dimension, complete)
    with blame(source):
        result = notebook.bounds(h, _weights(weights))
    show(result, as_json, words.bounds_lines)


@verbs.command()
def realize(
    source: Source,
    level: Annotated[str, typer.Option(help="proper, injective or faithful: what the answer is about.")] = "injective",
    complex_rays: Annotated[bool, typer.Option("--complex", help="Allow complex rays.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Search, even if the source has vectors.")] = False,
    restarts: Annotated[int, typer.Option(min=0, help="Random starts of the numerical search.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts.")] = 0,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit; then the best found so far is printed.")] = 120,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the hypergraph with its vectors (.json, .yaml).")
    ] = None,
    dimension: Dimension = None,
    as_json: JsonOption = False,
) -> None:
    """Find vectors proved to make the contexts orthonormal bases, or a certificate that there are none (exit 1).

    Example: `qattn contexts realize specker_bug --fresh --level faithful`
    """
    from contexts import notebook
    from contexts.hypergraphs import formats

    if out is not None:
        check_ending(out, (".json", *YAML))
    h = get(source, dimension)
    with blame(source):
        result = notebook.realize(h, level, complex_rays, seed, restarts, fresh, seconds, progress())
    if out is not None and result["vectors"] is not None:
        write(formats.from_dict(formats.to_dict(h.replace(vectors=None)) | {"vectors": result["vectors"]}), out)
    show(result, as_json, words.realize_lines)
    raise typer.Exit(130 if result["interrupted"] else 1 if result["realizable"] is False else 0)


@verbs.command()
def draw(
    source: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture's file (.svg, .png, .pdf, .tex).")] = Path(
        "hypergraph.svg"
    ),
    state: Annotated[str, typer.Option(help="Fill a two-valued state's true atoms: names with commas, or 'any'.")] = "",
    dimension: Dimension = None,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Draw the Greechie diagram: one line or curve per context, a ring around intertwining atoms.

    Example: `qattn contexts draw pentagon --state any --out pentagon.svg`
    """
    from contexts import notebook
    from contexts.hypergraphs import drawing

    if out.suffix.lower() != ".tex":
        with blame(out):
            drawing.check_ending(out)
    h = get(source, dimension, complete)
    with blame(source):
        result = notebook.draw(h, out, state)
    show(
        result,
        as_json,
        lambda r: [f"wrote {r['file']}" + (f", true atoms: {words.names(r['true'])}" if r["true"] else "")],
    )


def _numbers(text: str, flag: str) -> list[float] | None:
    if not text:
        return None
    try:
        return [float(x) for x in text.split(",")]
    except ValueError:
        raise UserError(f"{flag}: expected numbers with commas between, such as 1,2,3; got {text!r}") from None


def _weights(text: str) -> str | dict[str, float | int] | None:
    from difflib import get_close_matches

    from contexts.hypergraphs import parsing

    if not text or text == "multiplicity":
        return text or None
    if Path(text).suffix == ".json":
        with blame(text):
            data = parsing.read_json(text)
        if not isinstance(data, dict) or not all(map(parsing.is_number, data.values())):
            raise UserError(f"{text}: expected an object of atom: number")
        return {str(v): float(w) for v, w in data.items()}
    try:
        pairs = [(name.strip(), float(number)) for name, number in (part.rsplit("=", 1) for part in text.split(","))]
    except ValueError:
        hint = "; did you mean multiplicity?" if get_close_matches(text, ["multiplicity"]) else ""
        raise UserError(
            f"--weights: expected multiplicity, a .json file, or atom=number with commas; got {text!r}{hint}"
        ) from None
    names = [name for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"--weights: atom {twice[0]!r} is given twice")
    return dict(pairs)
