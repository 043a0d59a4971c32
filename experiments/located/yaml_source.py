"""YAML to plain data in which every key and value remembers where it was written.

YAML 1.2: ``3e-4`` is a number, ``no`` and dates are text. Only plain data is read: a tag such as ``!!python/object`` is
refused, never run. A duplicate key is a problem, not an overwrite.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from experiments.errors import UserError

KeyPath = tuple[str | int, ...]
MOST_VALUES = (
    100_000  # far above any honest file; stops an alias that doubles itself a thousand times ("billion laughs")
)
DEEPEST = 50
TOO_DEEP = f"expected at most {DEEPEST} levels of nesting, got more"
PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float")}
MERGE = "tag:yaml.org,2002:merge"
TEXT = {f"tag:yaml.org,2002:{name}" for name in ("str", "timestamp", "value")}


@dataclass(frozen=True, order=True)
class Mark:
    """A place in a file (line and column from 1), or the text of an option of the command line (line 0)."""

    source: str
    line: int = 0
    column: int = 0
    flag: str = ""  # the option's name, such as --set

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source

    @property
    def origin(self) -> str:
        """The short form for ``--print-config``: ``quickstart.yaml:12`` or ``--set``."""
        return f"{Path(self.source).name}:{self.line}" if self.line else self.flag or self.source


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, printed as ``file:line:column: key.path: expected X, got Y``."""

    mark: Mark
    path: KeyPath
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.mark), dotted(self.path), self.text) if part)


class ConfigError(UserError):
    """All that is wrong with a file, one line each; ``problems`` holds them apart."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(dict.fromkeys(problems), key=lambda problem: problem.mark)
        super().__init__("\n".join(map(str, self.problems)))


@dataclass
class Document:
    """Plain ``data`` with the mark of each key and of each value; ``problems`` holds what reading alone can see."""

    source: str
    data: Any = None
    keys: dict[KeyPath, Mark] = field(default_factory=dict)
    values: dict[KeyPath, Mark] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def mark(self, path: KeyPath, of_key: bool = False) -> Mark:
        """Where ``path`` was written; for a path that nobody wrote, its nearest ancestor's key."""
        if not of_key and path in self.values:
            return self.values[path]
        while path and path not in self.keys:
            path = path[:-1]
        return self.keys.get(path) or self.values.get((), Mark(self.source, 1, 1))


def dotted(path: KeyPath) -> str:
    """``("seeds", 2)`` as ``seeds[2]``, ``("models", "gpt2", "dim")`` as ``models.gpt2.dim``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_file(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping. Raises :class:`UserError` with one sentence and the place."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: expected a YAML file, got a folder") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = raw.count(b"\n", 0, error.start) + 1, error.start - raw.rfind(b"\n", 0, error.start)
        where = f"{path}:{line}:{column}"
        raise UserError(
            f"{where}: expected UTF-8 text, got the byte 0x{raw[error.start]:02x}; save the file as UTF-8"
        ) from None
    document = read_text(text, Mark(str(path), 1, 1))
    if document.data is None:
        raise UserError(f"{path}: expected a mapping of keys to values, got an empty file")
    if not isinstance(document.data, dict):
        kind = "a list" if isinstance(document.data, list) else "a single value"
        raise UserError(f"{document.mark(())}: expected a mapping of keys to values at the top, got {kind}")
    return document


def read_text(text: str, start: Mark) -> Document:
    """Read YAML text. Marks count lines of a file, or are all ``start`` for an option of the command line."""
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = DEEPEST
    document = Document(start.source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ruamel warns of an anchor used twice, which YAML 1.2 allows
            node = yaml.compose(text)
        if node is not None:
            document.data = _Builder(yaml, document, start).build(node, ())
    except MarkedYAMLError as error:
        unfinished = "end" in str(error.problem)  # of what was opened and never closed, show the beginning
        mark = (error.context_mark if unfinished else None) or error.problem_mark or error.context_mark
        place = _mark(mark, start) if mark is not None else start
        raise ConfigError([Problem(place, (), _syntax(error))]) from None
    except ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else ""
        place = Mark(start.source, before.count("\n") + 1, len(before) - before.rfind("\n")) if start.line else start
        raise ConfigError([Problem(place, (), f"not YAML: the character {_character(error)} is not allowed")]) from None
    except (YAMLError, RecursionError) as error:
        text = TOO_DEEP if isinstance(error, RecursionError) else f"not YAML: {' '.join(str(error).split())}"
        raise ConfigError([Problem(start, (), text)]) from None
    return document


class _Builder:
    """Turns ruamel's nodes into plain data, noting marks and problems in the document."""

    def __init__(self, yaml: YAML, document: Document, start: Mark) -> None:
        self.yaml, self.document, self.start = yaml, document, start
        self.open: list[Node] = []
        self.count = 0
        self.bases: dict[int, dict[str, tuple[Node, Node]] | None] = {}  # by the identity of a node, which is kept

    def build(self, node: Node, path: KeyPath) -> Any:
        self.document.values.setdefault(path, _mark(node.start_mark, self.start))
        self.count += 1
        if self.count > MOST_VALUES:
            raise MarkedYAMLError(problem=f"more than {MOST_VALUES} values", problem_mark=node.start_mark)
        if any(node is parent for parent in self.open):
            raise MarkedYAMLError(problem="an alias contains itself", problem_mark=node.start_mark)
        self.open.append(node)
        try:
            if isinstance(node, MappingNode) and node.tag == "tag:yaml.org,2002:map":
                return self.mapping(node, path)
            if isinstance(node, SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            return self.scalar(node, path)
        finally:
            self.open.pop()

    def mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            mark = _mark(key_node.start_mark, self.start)
            if key_node.tag == MERGE:
                continue
            if not isinstance(key_node, ScalarNode):
                self.document.problems.append(
                    Problem(mark, path, "expected a plain key, got a list or a mapping as key")
                )
                continue
            key = str(key_node.value)
            if key in data:
                first = self.document.keys[(*path, key)]
                earlier = f" (first in line {first.line})" if first.line else ""
                text = f"expected each key once, got '{key}' again{earlier}; remove one"
                self.document.problems.append(Problem(mark, (*path, key), text))
                continue
            self.document.keys[(*path, key)] = mark
            data[key] = self.build(value_node, (*path, key))
        for key, (key_node, value_node) in self.entries(node).items():
            if key not in data:
                self.document.keys[(*path, key)] = _mark(key_node.start_mark, self.start)
                data[key] = self.build(value_node, (*path, key))
        return data

    def entries(self, node: MappingNode) -> dict[str, tuple[Node, Node]]:
        """What a mapping holds with ``<<: *base`` or ``<<: [*a, *b]`` followed to the end; keys written beside it win,
        then those of earlier bases."""
        if id(node) in self.bases:
            known = self.bases[id(node)]
            if known is None:
                raise MarkedYAMLError(problem="an alias contains itself", problem_mark=node.start_mark)
            return known
        self.bases[id(node)] = None
        found: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            if isinstance(key, ScalarNode) and key.tag != MERGE:
                found.setdefault(str(key.value), (key, value))
        for part in (part for key, value in node.value if key.tag == MERGE for part in _merged(value)):
            for name, entry in self.entries(part).items():
                found.setdefault(name, entry)
        self.bases[id(node)] = found
        return found

    def scalar(self, node: Node, path: KeyPath) -> Any:
        if isinstance(node, ScalarNode) and node.tag in TEXT:
            return str(node.value)
        if isinstance(node, ScalarNode) and node.tag in PLAIN:
            try:
                return self.yaml.constructor.construct_object(node)
            except (ValueError, KeyError):
                return str(node.value)  # such as `!!int abc`: the schema will ask for a number
        text = f"expected plain YAML, got the tag {node.tag!r}; remove it (no code or object is built from a file)"
        self.document.problems.append(Problem(_mark(node.start_mark, self.start), path, text))
        return None


def _merged(node: Node) -> list[MappingNode]:
    """The mappings of ``<<: *base`` or ``<<: [*a, *b]``."""
    parts: list[Any] = node.value if isinstance(node, SequenceNode) else [node]
    for part in parts:
        if not isinstance(part, MappingNode):
            raise MarkedYAMLError(problem="`<<` merges mappings only", problem_mark=node.start_mark)
    return parts


def _mark(mark: Any, start: Mark) -> Mark:
    return Mark(start.source, mark.line + 1, mark.column + 1) if start.line else start


def _character(error: ReaderError) -> str:
    code = error.character if isinstance(error.character, int) else ord(error.character)
    return f"U+{code:04X}"


def _syntax(error: MarkedYAMLError) -> str:
    problem = " ".join(str(error.problem or error.context or "unreadable").split())
    if "'\\t'" in problem:
        return "not YAML: expected spaces, got a tab; indent with spaces"
    if "maximum depth" in problem:
        return TOO_DEEP
    if "another document" in problem:
        return "not YAML of one document: expected the file to end here, got a second '---'"
    if problem == "mapping values are not allowed here":
        return "not YAML: expected no ':' here; check the indentation, or quote the text"
    return f"not YAML: {error.context + ': ' if error.context and error.problem else ''}{problem}"
