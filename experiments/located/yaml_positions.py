"""Load a YAML file into any strict pydantic model; every error is reported at once, each with its place in the file.

``load_located("run.yaml", Model, ["training.steps=10"])`` reads, applies overrides, validates, checks contradictions.
Overrides take the same path as the file, so a typo in ``--set`` gets the same sentence. Famous other names of a key
(``learning_rate`` for ``lr``) are not accepted, they are suggested: a file has one spelling.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from experiments.errors import UserError
from experiments.located.error_messages import complaints
from experiments.located.tagged_union import peel
from experiments.located.yaml_source import ConfigError, Document, KeyPath, Mark, Problem, read_file, read_text

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Override:
    """One value from the command line: ``Override("seeds", "3", "--seeds")``; the value is read as YAML."""

    key: str
    value: str
    flag: str = "--set"

    @classmethod
    def literal(cls, key: str, text: str, flag: str) -> Override:
        """An override whose value is ``text`` as it stands, even if YAML would read a number."""
        return cls(key, json.dumps(text), flag)

    @classmethod
    def parse(cls, text: str) -> Override:
        """``a.b=c``. Raises :class:`UserError` if there is no ``=`` or no key."""
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set {text}: expected key.path=value, such as training.steps=100, got '{text}'")
        odd = re.search(r"(^|\s)#|^&", re.sub(r"'[^']*'|\"[^\"]*\"", "", value.strip()))
        if odd:  # a comment or an anchor: YAML would drop it, or the whole value, without a word
            raise UserError(
                f"--set {text}: YAML reads no value from '{odd.group().strip()}' on; put the value in quotes, such as "
                f"--set {key.strip()}='\"{value.strip()}\"'"
            )
        return cls(key.strip(), value.strip())

    @property
    def mark(self) -> Mark:
        """The place that messages name: the option as it was typed."""
        return Mark(
            f"--set {self.key}={self.value}" if self.flag == "--set" else f"{self.flag} {self.value}", flag=self.flag
        )


@dataclass(frozen=True)
class Contradiction:
    """Values that are fine alone and impossible together.

    ``path`` is where to say so, ``against`` what else it rests on, ``text`` reads "expected …, got …".
    """

    path: KeyPath
    text: str
    against: tuple[KeyPath, ...] = ()


@dataclass(frozen=True)
class Loaded(Generic[Model]):
    """A validated value, and the origin (``run.yaml:12``, ``--set``) of every key path that was written."""

    value: Model
    origins: dict[KeyPath, str]
    path: Path
    document: Document

    def error(self, path: KeyPath, text: str) -> ConfigError:
        """An error about ``path`` that was found only later, with its place in the file; raise it."""
        return ConfigError([Problem(self.document.mark(path), path, text)])


Check = Callable[[Model, Path], Iterable[Contradiction]]


def load_located(
    path: str | Path,
    model: type[Model],
    overrides: Sequence[str | Override] = (),
    check: Check[Model] | None = None,
    preset: str | None = None,
) -> Loaded[Model]:
    """Load ``path`` as ``model``. ``check(value, path)`` yields contradictions.

    ``preset`` names a top-level mapping of the file whose keys (``training.steps``) override the others before
    ``overrides`` do; what is wrong with them is said where they stand.

    Raises :class:`UserError` (:class:`ConfigError` with one line a problem) for a wrong file or override.
    """
    path = Path(path)
    return validated(read_file(path), path, model, overrides, check, preset)


def validated(
    document: Document,
    path: Path,
    model: type[Model],
    overrides: Sequence[str | Override] = (),
    check: Check[Model] | None = None,
    preset: str | None = None,
) -> Loaded[Model]:
    """A document that was read, or made of plain data, as ``model``; otherwise as :func:`load_located`."""
    for key, given, mark in _preset(document, preset) if preset is not None else ():
        _apply(document, model, key, given, mark)
    for override in overrides:
        one = Override.parse(override) if isinstance(override, str) else override
        _apply(document, model, one.key, read_text(one.value, one.mark), one.mark)
    problems = list(document.problems)
    value, wrong, left_out = _validate(model, document)
    problems += [problem for problem in wrong if problem.path not in {told.path for told in document.problems}]
    if check is not None and value is not None:
        alone = not problems
        for found in check(value, path):
            if alone or _sure(found, document, left_out):
                problems.append(Problem(document.mark(found.path), found.path, found.text))
    if problems or value is None:
        raise ConfigError(problems)
    origins = {where: document.mark(where, of_key=True).origin for where in document.values if where}
    return Loaded(value, origins, path, document)


def _validate(model: type[Model], document: Document) -> tuple[Model | None, list[Problem], set[KeyPath]]:
    """The value, what is wrong with it, and what was left out so that the rest can be checked for contradictions."""
    problems: list[Problem] = []
    left_out: set[KeyPath] = set()
    rest = Document(document.source, copy.deepcopy(document.data), document.keys, document.values)
    while True:
        try:  # as JSON, since only there a strict model takes a list for a tuple and text for an enumeration
            return model.model_validate_json(json.dumps(rest.data), strict=True), problems, left_out
        except ValidationError as error:
            found = complaints(error, model, rest)
        if not left_out:
            problems = [problem for problem, _ in found]
        removed = {path for _, path in found if path}
        if removed <= left_out or any(path is None for _, path in found):
            return None, problems, left_out
        for path in removed:
            _remove(rest.data, path)
        left_out |= removed


def _sure(found: Contradiction, document: Document, left_out: set[KeyPath]) -> bool:
    """Whether a contradiction seen beside other errors rests on what was written, not on what was left out."""
    for path in (found.path, *found.against):
        if path not in document.values or any(gone == path[: len(gone)] or gone[:-1] == path for gone in left_out):
            return False
    return True


def _remove(data: Any, path: KeyPath) -> None:
    """Leave out ``path``; of a list leave out the whole, for its other items would move."""
    for depth, part in enumerate(path):
        if not isinstance(data, dict) or part not in data:
            return
        if depth == len(path) - 1 or isinstance(data[part], list):
            del data[part]
            return
        data = data[part]


def _preset(document: Document, name: str) -> list[tuple[str, Document, Mark]]:
    """The entries of a top-level mapping of overrides: each key, its value as a document of its own, its place."""
    table = document.data.get(name)
    if not isinstance(table, dict) or not table:
        got = "nothing" if name not in document.data else "no mapping" if table else "an empty one"
        text = (
            f"expected a mapping such as {{training.steps: 100}} for --{name}, got {got}; add it or leave out --{name}"
        )
        raise ConfigError([Problem(document.mark((name,)), (name,), text)])
    entries = []
    for key, value in table.items():
        place, text = (name, key), str(key)
        keys, values = (
            {where[2:]: mark for where, mark in marks.items() if where[:2] == place and len(where) > 2}
            for marks in (document.keys, document.values)
        )
        given = Document(document.source, copy.deepcopy(value), keys, values)
        entries.append((text, given, document.mark(place, of_key=True)))
    return entries


def _apply(document: Document, model: type[BaseModel], key: str, given: Document, mark: Mark) -> None:
    """Write one override into the document, as if it had stood in the file; null takes a named entry (a task) away."""
    document.problems += [Problem(p.mark, (*key.split("."), *p.path), p.text) for p in given.problems]
    parts, named = _split(document.data, model, key)
    here: Any = document.data
    for depth, part in enumerate(parts):
        if not isinstance(here, dict) and not (isinstance(here, list) and isinstance(part, int)):
            text = f"expected a mapping to set '{part}' in, got a value without keys"
            raise ConfigError([Problem(mark, parts[:depth], text)])
        container: Any = here
        if depth == len(parts) - 1:
            if given.data is None and named and part in container:
                del container[part]
                _forget(document, parts)
                return
            container[part] = given.data
        elif isinstance(part, str) and container.get(part) is None:
            container[part] = {}
            document.keys[parts[: depth + 1]] = document.values[parts[: depth + 1]] = mark
        here = container[part]
    _forget(document, parts)
    document.keys[parts] = document.values[parts] = mark
    document.keys.update({(*parts, *inner): mark for inner, mark in given.keys.items()})
    document.values.update({(*parts, *inner): mark for inner, mark in given.values.items()})


def _forget(document: Document, path: KeyPath) -> None:
    """Where ``path`` and everything below it was written."""
    for table in (document.keys, document.values):
        for old in [old for old in table if old[: len(path)] == path]:
            del table[old]


def _split(data: Any, model: Any, key: str) -> tuple[KeyPath, bool]:
    """The parts of a dotted key, and whether the last one is a name of the user's own (of a task, of a model).

    Taken whole are a key of the file that itself holds dots (``unitary lr=0.001``), and what follows a mapping
    to lists (``grid.models.unitary.dim`` sets the key ``models.unitary.dim`` of the grid).
    """
    path: list[str | int] = []
    named = False
    while key:
        named = _maps_names(model)
        known = [name for name in data if key == name or key.startswith(f"{name}.")] if isinstance(data, dict) else []
        name = max(known, key=len) if known else key if _maps_to_lists(model) else key.partition(".")[0]
        key = key[len(name) + 1 :]
        if isinstance(data, list) and name.isdigit() and int(name) < len(data):
            path.append(int(name))
            data, model = data[int(name)], None
        else:
            path.append(name)
            data = data.get(name) if isinstance(data, dict) else None
            fields = model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else {}
            model = peel(fields[name].annotation)[0] if name in fields else None
    return tuple(path), named


def _maps_names(annotation: Any) -> bool:
    """Whether names of the user's own stand at this place, with values of which none may be null."""
    mappings = [part for part in (annotation, *get_args(annotation)) if get_origin(part) is dict]
    values = [get_args(part)[1] for part in mappings]
    return any(value is not Any and type(None) not in get_args(value) for value in values)


def _maps_to_lists(annotation: Any) -> bool:
    return get_origin(annotation) is dict and get_origin(peel(get_args(annotation)[1])[0]) is list
