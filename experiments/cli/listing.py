"""``qattn list``: what there is to name in an experiment file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from experiments.cli.options import JsonOption, print_json
from experiments.errors import UserError
from experiments.located.error_messages import suggestion
from experiments.schema import shipped_configs

Rows = list[dict[str, Any]]


def tasks() -> Rows:
    """The kinds of task, those of installed packages included."""
    from experiments.schema.task_kinds import TASKS

    rows = [{"name": kind, "about": task.note} for kind, task in TASKS.items()]
    return rows + [{"name": kind, "about": reason} for kind, reason in TASKS.broken.items()]


def models() -> Rows:
    """The kinds of model with their parameter groups, those of installed packages included."""
    from experiments.schema.model_kinds import MODELS

    rows: Rows = [{"name": kind, "about": m.note, "groups": list(m.groups)} for kind, m in MODELS.items()]
    return rows + [{"name": kind, "about": reason, "groups": []} for kind, reason in MODELS.broken.items()]


def configs() -> Rows:
    """The shipped experiment files."""
    from experiments.located.yaml_source import read_file

    rows: Rows = []
    for name, path in shipped_configs().items():
        data = read_file(path).data
        rows.append({"name": name, "about": str(data.get("description") or ""), "path": str(path)})
    return rows


def hypergraphs() -> Rows:
    """The hypergraphs of the library with their sizes and sources."""
    from contexts.hypergraphs import library, ray_sets

    rows: Rows = []
    for name in library.names():
        if (made := ray_sets.SETS.get(name)) is not None:  # the largest takes seconds to build
            about = f"{made.atoms} atoms, {made.contexts} contexts, dimension {made.dimension}"
            rows.append({"name": name, "about": about, "source": made.source})
            continue
        try:
            h = library.load(name)
        except ValueError as error:  # of another package
            rows.append({"name": name, "about": str(error), "source": ""})
            continue
        about = f"{len(h.vertices)} atoms, {len(h.contexts)} contexts, dimension {h.dimension}"
        rows.append({"name": name, "about": about, "source": h.notes.get("source", "built here")})
    return rows


def ansatze() -> Rows:
    """The ansätze with their number of parameters and sources, those of installed packages included."""
    from qattn.circuits.ir.ansatz import find, names

    rows: Rows = []
    for name in names():
        try:
            ansatz = find(name)
        except ValueError as error:  # of another package
            rows.append({"name": name, "about": str(error)})
            continue
        about = f"{ansatz.n_params(4, 1)} parameters on 4 qubits, 1 layer; {ansatz.source}"
        rows.append({"name": name, "about": about})
    return rows


LISTINGS: dict[str, Callable[[], Rows]] = {
    "tasks": tasks,
    "models": models,
    "configs": configs,
    "hypergraphs": hypergraphs,
    "ansatze": ansatze,
}
"""What can be listed: rows with a name and a line about it. Another family is one function and one line."""


def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[tasks|models|configs|hypergraphs|ansatze|schema]",
            help="What to list; without it everything that loads quickly.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the kinds of tasks and models, the shipped configs, or print the JSON Schema of experiment files.

    Example: `qattn list models`
    """
    if what == "schema":
        from experiments.schema.reference import json_schema

        print(json_schema(), end="")
        return
    if what is not None and what not in LISTINGS:
        options = [*LISTINGS, "schema"]
        raise UserError(f"list {what}: expected one of {', '.join(options)}, got '{what}'{suggestion(what, options)}")
    light = [name for name in LISTINGS if name != "ansatze"]  # which takes torch along
    found = {name: LISTINGS[name]() for name in (light if what is None else [what])}
    if as_json:
        print_json(found)
        return
    for name, rows in found.items():
        print(f"{name}:")
        width = max(len(row["name"]) for row in rows) if rows else 0
        for row in rows:
            print(f"  {row['name']:<{width}}  {row['about']}".rstrip())
