"""``qattn contexts``: hypergraph files and named hypergraphs checked, counted, bounded, realised, drawn and trained.

The work is done by :mod:`contexts.notebook`; here files are found, YAML is read, and results are printed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.cli import contexts_text as words
from experiments.cli.options import FreshOption, JsonOption, OutOption, ResumeOption, check_resume
from experiments.errors import UserError, blame

if TYPE_CHECKING:
    from contexts.hypergraphs.hypergraph import Hypergraph

YAML = (".yaml", ".yml")

verbs = typer.Typer(no_args_is_help=True, help="Orthogonality hypergraphs: tokens shared by orthonormal bases.")

Source = Annotated[
    str,
    typer.Argument(metavar="FILE|NAME", help="A .mmp, .txt (2states), .g6, .json or .yaml file, or a library name."),
]
Dimension = Annotated[
    int | None, typer.Option(help="Dimension of the Hilbert space; by default the largest context's size.")
]
Complete = Annotated[bool, typer.Option("--complete", help="First add the missing rays of partial contexts and pairs.")]


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
        _check_ending(convert, (*formats.WRITERS, *YAML))
    h = _get(source, dimension, complete)
    with blame(source):
        result = notebook.check(h, tolerance)
    if convert is not None:
        _write(h, convert)
    _show(result, as_json, words.check_lines)
    raise typer.Exit(1 if result["ok"] is False else 0)


@verbs.command()
def states(
    source: Source,
    listed: Annotated[bool, typer.Option("--list", help="Also list the states, as their true atoms.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="List at most this many states.")] = 1_000_000,
    dimension: Dimension = None,
    complete: Complete = False,
    as_json: JsonOption = False,
) -> None:
    """Count the two-valued states exactly, and say what they imply: unital, separating, true-implies-true, colours.

    Example: `qattn contexts states specker_bug`
    """
    from contexts import notebook

    h = _get(source, dimension, complete)
    with blame(source):
        result = notebook.states(h, limit, listed, _progress())
    _show(result, as_json, words.states_lines)
    if result["interrupted"]:
        raise typer.Exit(130)


@verbs.command()
def batch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .g6 or .mmp file with one hypergraph per line.")],
    dimension: Dimension = None,
) -> None:
    """Print one JSON object per line of a file: sizes, whether a two-valued state exists, and how many there are.

    Example: `qattn contexts batch graphs.g6 --dimension 3`
    """
    from contexts import notebook

    with blame(file):
        for row in notebook.batch(file, dimension):
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
    from contexts.hypergraphs import drawing, formats, hypergraph

    with blame("--tolerance"):
        hypergraph.as_tolerance(tolerance)
    if plot is not None:
        with blame(plot):
            drawing.check_ending(plot)
    is_observables = Path(source).suffix.lower() == ".json" and Path(source).is_file()
    with blame(source):
        is_observables = is_observables and formats.read_observables(Path(source)) is not None
    target: str | Hypergraph = source if is_observables else _get(source, None, complete)
    with blame(source):
        result = notebook.commute(target, _numbers(eigenvalues, "--eigenvalues"), tolerance)
    if plot is not None:
        if result["norms"] is None:
            raise UserError(f"--plot: a heat map shows up to 400 observables; got {len(result['labels'])}")
        with blame(plot):
            drawing.save(drawing.heat_map(result["norms"], result["labels"], "‖[A, B]‖"), plot)
    _show(result, as_json, words.commute_lines)
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

    h = _get(source, dimension, complete)
    with blame(source):
        result = notebook.bounds(h, _weights(weights))
    _show(result, as_json, words.bounds_lines)


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
        _check_ending(out, (".json", *YAML))
    h = _get(source, dimension)
    with blame(source):
        result = notebook.realize(h, level, complex_rays, seed, restarts, fresh, seconds, _progress())
    if out is not None and result["vectors"] is not None:
        _write(formats.from_dict(formats.to_dict(h.replace(vectors=None)) | {"vectors": result["vectors"]}), out)
    _show(result, as_json, words.realize_lines)
    raise typer.Exit(130 if result["interrupted"] else 1 if result["realizable"] is False else 0)


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
    _show(result, as_json, words.fraction_lines)


@verbs.command()
def draw(
    source: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture's file (.svg, .png, .pdf).")] = Path(
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

    with blame(out):
        drawing.check_ending(out)
    h = _get(source, dimension, complete)
    with blame(source):
        result = notebook.draw(h, out, state)
    _show(
        result,
        as_json,
        lambda r: [f"wrote {r['file']}" + (f", true atoms: {words.names(r['true'])}" if r["true"] else "")],
    )


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
    if out is None and (resume or fresh):
        raise UserError("--resume, --fresh: expected --out with the folder they are about, got none")
    with blame(task):
        data = sense_task(task, text)
    others = {"transformer": transformer_answers} if transformer else {}
    settings = {"dimension": dimension, "own": own, "places": places, "steps": steps, "rate": rate}
    with blame(f"{task}, --dim {dimension}, --own {own}"):
        no_room(data, settings)
    with kept_in(out, data, settings, fresh) as keep:
        say = lambda line: print(line, file=sys.stderr)  # noqa: E731
        result = study(data, range(seeds), others, progress=say, keep=keep, **settings)
        if out is not None:
            write_record(out / "result.json", result)
    _show(result, as_json, words.train_lines)
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
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep finished word pairs in this folder and resume there.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare learned contexts with tuned baselines on pseudo-words drawn by rule, chosen on dev and tested once.

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
    _show(result, as_json, words.compare_lines)
    if result["interrupted"]:
        raise typer.Exit(130)


def _get(source: str, dimension: int | None = None, complete: bool = False) -> Hypergraph:
    """The hypergraph a person named, or a one-sentence error."""
    from contexts import notebook
    from contexts.hypergraphs import formats, parsing, rays

    path = Path(source)
    with blame(source or "FILE|NAME"):
        if path.suffix.lower() in YAML:
            parsing.check_file(path)
            h = formats.from_dict(_yaml(path), path.stem)
            h = h if dimension is None else h.replace(dimension=dimension)
        else:
            if path.is_file() and notebook.is_path(source):
                _check_ending(path, (*formats.READERS, *YAML))
            h = notebook.get(source, dimension)
        return rays.complete(h) if complete else h


def _yaml(path: Path) -> Any:
    from experiments.located.yaml_source import read_file

    document = read_file(path)
    if document.problems:
        raise UserError("; ".join(map(str, document.problems)))
    return document.data


def _check_ending(path: Path, known: tuple[str, ...]) -> None:
    """Before the work: a file whose ending says no known format."""
    if path.suffix.lower() not in known:
        raise UserError(f"{path}: the ending must be one of {', '.join(known)}; got {path.suffix or 'none'!r}")


def _write(h: Hypergraph, path: Path) -> None:
    from contexts.hypergraphs import formats

    with blame(path):
        if path.suffix.lower() not in YAML:
            formats.write(h, path)
            return
        from ruamel.yaml import YAML as Yaml

        yaml = Yaml(typ="safe")
        yaml.default_flow_style = None  # lists of plain values on one line
        yaml.width = 110
        with path.open("w", encoding="utf-8") as file:
            yaml.dump(formats.to_dict(h), file)


def _progress(seconds: float = 3.0) -> Callable[[str], None]:
    """A line on standard error now and then, the first after so many seconds: short work says nothing."""
    last = time.monotonic()

    def tell(line: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds:
            last = now
            print(line, file=sys.stderr, flush=True)

    return tell


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


def _show(result: dict[str, Any], as_json: bool, lines: Callable[[dict[str, Any]], list[str]]) -> None:
    print(json.dumps(result, ensure_ascii=False, allow_nan=False) if as_json else "\n".join(lines(result)))
