"""What the verbs of ``qattn contexts`` share: the hypergraph a person named, files written, progress, output."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.errors import UserError, blame

if TYPE_CHECKING:
    from contexts.hypergraphs.hypergraph import Hypergraph

YAML = (".yaml", ".yml")

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME",
        help="A .mmp, .txt (2states), .g6, .json or .yaml file, FILE#NAME of one that has several, or a library name.",
    ),
]
Dimension = Annotated[
    int | None, typer.Option(help="Dimension of the Hilbert space; by default the largest context's size.")
]
Complete = Annotated[bool, typer.Option("--complete", help="First add the missing rays of partial contexts and pairs.")]


def get(source: str, dimension: int | None = None, complete: bool = False) -> Hypergraph:
    """The hypergraph a person named, or a one-sentence error."""
    from contexts import notebook
    from contexts.hypergraphs import formats, rays

    path, which = formats.split_source(source)
    with blame(source or "FILE|NAME"):
        if path.suffix.lower() in YAML:
            h = formats.choose(list(get_all(str(path), dimension)), which)
        else:
            if path.is_file() and notebook.is_path(source):
                check_ending(path, (*formats.READERS, *YAML))
            h = notebook.get(source, dimension)
        return rays.complete(h) if complete else h


def get_all(source: str, dimension: int | None = None) -> Iterator[Hypergraph]:
    """The hypergraphs of a file that may have several, one after another; ValueError for a wrong one."""
    from contexts.hypergraphs import formats, parsing

    path = Path(source)
    if path.suffix.lower() not in YAML:
        yield from formats.read_many(path, dimension)
        return
    parsing.check_file(path)
    for h in formats.from_dicts(_yaml(path), path.stem):
        yield h if dimension is None else h.replace(dimension=dimension)


def _yaml(path: Path) -> Any:
    from experiments.located.yaml_source import read_file

    document = read_file(path)
    if document.problems:
        raise UserError("; ".join(map(str, document.problems)))
    return document.data


def check_ending(path: Path, known: tuple[str, ...]) -> None:
    """Before the work: a file whose ending says no known format."""
    if path.suffix.lower() not in known:
        raise UserError(f"{path}: the ending must be one of {', '.join(known)}; got {path.suffix or 'none'!r}")


def write(h: Hypergraph, path: Path) -> None:
    """Write a hypergraph in the format of the file's ending."""
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


def write_states(h: Hypergraph, states: list[list[str]], path: Path) -> None:
    """Two-valued states as a table: a column for every atom, a row of 0 and 1 for every state."""
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(h.vertices)
        rows.writerows([int(v in true) for v in h.vertices] for true in map(set, states))


def progress(seconds: float = 3.0) -> Callable[[str], None]:
    """A line on standard error now and then, the first after so many seconds: short work says nothing."""
    last = time.monotonic()

    def tell(line: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds:
            last = now
            print(line, file=sys.stderr, flush=True)

    return tell


def show(result: dict[str, Any], as_json: bool, lines: Callable[[dict[str, Any]], list[str]]) -> None:
    """Print a result as JSON, or as the lines made of it."""
    print(json.dumps(result, ensure_ascii=False, allow_nan=False) if as_json else "\n".join(lines(result)))
