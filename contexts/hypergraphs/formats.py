"""Hypergraphs as text: MMP (:mod:`~contexts.hypergraphs.mmp`), the "2states" layout, graph6 and JSON, read and written.

``2states`` is the layout of Tkadlec's and Shekarriz & Svozil's programs. YAML is the caller's affair: it loads to the
dictionaries used here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from contexts.hypergraphs import entries, parsing
from contexts.hypergraphs.hypergraph import Hypergraph, from_graph
from contexts.hypergraphs.mmp import read_mmp, write_mmp
from contexts.hypergraphs.parsing import check_file, check_keys, is_name, parse_json, read_text, shown


def read_2states(text: str, name: str = "") -> Hypergraph:
    """Parse the 2states layout: an optional title, ``n atoms``, ``m blocks``, ``0 proper subsets of blocks``, then m
    block lines.

    Each block line gives its size and its atoms, numbered from 1. What follows the blocks (such a program's own output)
    is ignored. Raises ValueError naming the line. Proper subsets of blocks other than 0 are not supported.
    """
    last = len(text.splitlines()) + 1
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    title = ""
    if lines and not (len(lines[0][1]) == 2 and lines[0][1][1] == "atoms"):
        title = " ".join(lines.pop(0)[1])
    counts = {}
    for word in ("atoms", "blocks", "proper"):
        number, fields = lines.pop(0) if lines else (last, ["the", "end", "of", "the", "file"])
        if len(fields) < 2 or not _is_count(fields[0]) or not fields[1].startswith(word):
            want = "0 proper subsets of blocks" if word == "proper" else f"a number and '{word}'"
            raise ValueError(f"line {number}: expected {want}, got {shown(' '.join(fields))}")
        counts[word] = int(fields[0])
    if counts["proper"]:
        raise ValueError(
            f"{counts['proper']} proper subsets of blocks are declared; only 0 is supported (write "
            "exclusive pairs in JSON)"
        )
    contexts = []
    for number, fields in lines[: counts["blocks"]]:
        if not all(map(_is_count, fields)) or int(fields[0]) != len(fields) - 1:
            raise ValueError(f"line {number}: expected a size and that many atom numbers, got {' '.join(fields)!r}")
        if outside := [f for f in fields[1:] if not 1 <= int(f) <= counts["atoms"]]:
            raise ValueError(f"line {number}: atom {outside[0]} is not between 1 and {counts['atoms']}")
        contexts.append([str(int(f)) for f in fields[1:]])
    if len(contexts) < counts["blocks"]:
        raise ValueError(f"{counts['blocks']} blocks are declared but {len(contexts)} are given")
    if not contexts:
        raise ValueError("the file declares no blocks")
    vertices = [str(i + 1) for i in range(counts["atoms"])]
    return Hypergraph(vertices, contexts, (), max(map(len, contexts)), name=name or title)


def write_2states(h: Hypergraph) -> str:
    """The 2states text; atoms are numbered in order. Raises ValueError for exclusive pairs, which it cannot write."""
    if h.pair_masks:
        raise ValueError(
            f"the 2states layout cannot write the {len(h.pair_masks)} exclusive pairs; complete the "
            "contexts or write JSON"
        )
    width = len(str(len(h.vertices)))
    lines = [
        h.name or "hypergraph",
        f"{len(h.vertices)} atoms",
        f"{len(h.contexts)} blocks",
        "0 proper subsets of blocks",
    ]
    lines += [f"{len(c)}  " + " ".join(f"{h.index[v] + 1:>{width}}" for v in c) for c in h.contexts]
    return "\n".join(lines) + "\n"


def read_graph6(text: str, dimension: int | None = None, name: str = "") -> Hypergraph:
    """The hypergraph of one graph6 line (:func:`contexts.hypergraphs.hypergraph.from_graph`); atoms are 0, 1, …

    A graph does not say which of its cliques are contexts: what is taken for granted stands in ``notes["assumed"]``.
    Raises ValueError for text that is not one graph6 line.
    """
    lines = text.split()
    if len(lines) != 1:
        raise ValueError(f"expected one graph6 line, got {len(lines)}")
    code = lines[0].removeprefix(">>graph6<<")
    if outside := [c for c in code if not 63 <= ord(c) <= 126]:
        raise ValueError(f"{shown(code)} is not graph6: {outside[0]!r} is outside its alphabet, the characters ? to ~")
    try:
        graph = nx.from_graph6_bytes(code.encode())
    except (nx.NetworkXError, ValueError, UnicodeError, IndexError) as error:
        raise ValueError(f"{lines[0][:40]!r} is not graph6: {error}") from None
    h = from_graph(graph, dimension, name)
    if dimension is None:
        assumed = "no clique of the graph is a context, and every edge is an exclusive pair; give the dimension d to"
        return h.replace(notes={"assumed": f"{assumed} make the cliques of d atoms contexts"})
    if h.pair_masks:
        assumed = f"the {len(h.pair_masks)} edges in no clique of {dimension} atoms are exclusive pairs, not contexts"
        return h.replace(notes={"assumed": assumed})
    return h


def write_graph6(h: Hypergraph) -> str:
    """The orthogonality graph as graph6, atoms in the order of the vertices. The grouping into contexts is lost."""
    graph = nx.relabel_nodes(h.graph, h.index)
    return nx.to_graph6_bytes(graph, nodes=range(len(h.vertices)), header=False).decode().strip()


def from_dict(data: Mapping[str, Any], name: str = "") -> Hypergraph:
    """From ``{"vertices", "contexts", "exclusive_pairs"?, "dimension"?, "vectors"?, "field"?, "name"?}``.

    ``vectors`` maps atoms to lists; a complex entry is written ``[re, im]``, and a text such as ``"sqrt(2)"`` is read
    by :func:`contexts.hypergraphs.surds.parse`; where no entry is a decimal number, all stay exact.
    With ``"field": "real"`` a complex entry is an error. Without ``vertices`` they are the atoms of the contexts and
    pairs, as they come. Unknown keys are errors.
    Raises ValueError naming the entry that is missing or wrong.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"expected an object (a mapping) with 'vertices' and 'contexts', got {type(data).__name__}")
    known = ("vertices", "contexts", "exclusive_pairs", "dimension", "vectors", "field", "name", "notes")
    check_keys(data, known)
    if not isinstance(data.get("name") or "", str):
        raise ValueError(f"'name' must be a text; got {shown(data['name'])}")
    if not isinstance(data.get("notes") or {}, Mapping):
        raise ValueError(f"'notes' must map words to values; got {shown(data['notes'])}")
    contexts = _lists(data, "contexts")
    pairs = _lists(data, "exclusive_pairs")
    vertices = data.get("vertices")
    if vertices is None:
        vertices = list(dict.fromkeys(str(v) for group in (*contexts, *pairs) for v in group))
    elif not isinstance(vertices, list) or not all(map(is_name, vertices)):
        raise ValueError(f"'vertices' must be a list of names (texts or whole numbers); got {shown(vertices)}")
    if data.get("field", "real") not in ("real", "complex"):
        raise ValueError(f"'field' must be real or complex, got {data['field']!r}")
    given = data.get("vectors")
    if given is not None and not isinstance(given, Mapping):
        raise ValueError("'vectors' must map atoms to lists of numbers")
    rays = {} if given is None else entries.rays_of({str(v): x for v, x in given.items()}, data.get("field"))
    dimension = data.get("dimension")
    if dimension is not None and (isinstance(dimension, bool) or not isinstance(dimension, int)):
        raise ValueError(f"'dimension' must be a positive whole number; got {shown(dimension)}")
    if dimension is None:
        sizes = [len(x) for x in rays["vectors"].values()] if rays else [len(c) for c in contexts]
        dimension = max(sizes, default=None)
    name = data.get("name") or name
    return Hypergraph(vertices, contexts, pairs, dimension, name=name, notes=data.get("notes"), **rays)


def to_dict(h: Hypergraph) -> dict[str, Any]:
    """Inverse of :func:`from_dict`, ready for JSON or YAML."""
    data: dict[str, Any] = {"name": h.name} if h.name else {}
    data |= {"dimension": h.dimension, "vertices": list(h.vertices)}
    data |= {"contexts": [list(c) for c in h.contexts], "exclusive_pairs": [list(p) for p in h.exclusive_pairs]}
    if h.vectors is not None:
        data["field"] = "complex" if any(map(np.iscomplexobj, h.vectors.values())) else "real"
        data["vectors"] = {v: entries.plain(x) for v, x in h.vectors.items()}
    if h.exact is not None:
        data["vectors"] = {v: [entries.plain_exact(x) for x in ray] for v, ray in h.exact.items()}
    return data


def read_json(text: str, name: str = "") -> Hypergraph:
    """Parse the JSON form of :func:`from_dict`."""
    return from_dict(parse_json(text), name)


def from_dicts(data: Any, name: str = "") -> list[Hypergraph]:
    """One hypergraph of :func:`from_dict`, or the several of ``{"hypergraphs": {name: {…}, …}}``, a list in its place.

    Those of a list that have no name get their number. Raises ValueError naming the one that is wrong.
    """
    if not isinstance(data, Mapping) or "hypergraphs" not in data:
        return [from_dict(data, name)]
    check_keys(data, ("hypergraphs",))
    several = data["hypergraphs"]
    if not isinstance(several, Mapping | list) or not several:
        raise ValueError(f"'hypergraphs' must map names to hypergraphs, or list them; got {shown(several)}")
    pairs = several.items() if isinstance(several, Mapping) else enumerate(several, start=1)
    found = []
    for key, entry in pairs:
        try:
            found.append(from_dict(entry, str(key)))
        except ValueError as error:
            raise ValueError(f"hypergraph {shown(key)}: {error}") from None
    return found


def choose(several: Sequence[Hypergraph], which: str) -> Hypergraph:
    """The one named ``which``; without a name the only one. Raises ValueError with the names there are."""
    named = [h for h in several if h.name == which] if which else several
    if len(named) == 1:
        return named[0]
    names = ", ".join(h.name for h in several[:12]) + (", …" if len(several) > 12 else "")
    if not which:
        raise ValueError(
            f"there are {len(several)} hypergraphs: name one of {names} after a #, as in FILE#{named[0].name}"
        )
    raise ValueError(f"{len(named) or 'no'} hypergraphs are called {which!r}; there are {names}")


def split_source(source: str | Path) -> tuple[Path, str]:
    """A file and, where the source is ``FILE#NAME``, the name of one of its hypergraphs."""
    head, mark, which = str(source).rpartition("#")
    return (Path(head), which) if mark and not Path(source).exists() else (Path(source), "")


def write_json(h: Hypergraph) -> str:
    """A hypergraph as JSON text, which :func:`read_json` reads back."""
    return json.dumps(to_dict(h), indent=1, ensure_ascii=False) + "\n"


READERS: dict[str, Callable[..., Hypergraph]] = {
    ".mmp": read_mmp,
    ".txt": read_2states,
    ".g6": read_graph6,
    ".json": read_json,
}
WRITERS: dict[str, Callable[[Hypergraph], str]] = {
    ".mmp": write_mmp,
    ".txt": write_2states,
    ".g6": write_graph6,
    ".json": write_json,
}


def read(path: str | Path, dimension: int | None = None) -> Hypergraph:
    """Read a file by its ending: ``.mmp``, ``.txt`` (2states), ``.g6``, ``.json``; one of several as ``FILE#NAME``.

    Raises ValueError, or OSError.
    """
    given = path
    path, which = split_source(given)
    if path.suffix.lower() in READERS or path.is_dir():
        check_file(path if which else given)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        missing = "" if path.exists() else "there is no such file, and "
        raise ValueError(f"{missing}the ending must be one of {', '.join(READERS)}; got {path.suffix or 'none'!r}")
    if which or reader is read_json:
        several = list(read_many(path, dimension))
        return choose(several, which)
    text = read_text(path)
    if dimension is not None and reader in (read_mmp, read_graph6):
        return reader(text, dimension, name=path.stem)
    h = reader(text, name=path.stem)
    return h if dimension is None else h.replace(dimension=dimension)


def read_many(path: str | Path, dimension: int | None = None) -> Iterator[Hypergraph]:
    """The hypergraphs of a ``.g6`` or ``.mmp`` file with one per line, lazily, or of a ``.json`` file; one that has no
    name gets its number.

    Raises ValueError with the number of the line that is wrong, or for another ending; OSError.
    """
    if Path(path).suffix.lower() == ".json":
        for h in from_dicts(parsing.read_json(path), Path(path).stem):
            yield h if dimension is None else h.replace(dimension=dimension)
        return
    reader = {".g6": read_graph6, ".mmp": read_mmp}.get(Path(path).suffix.lower())
    if reader is None:
        raise ValueError(f"several hypergraphs are read from .g6, .mmp, .json and .yaml files; got {path}")
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip():
            try:
                yield reader(line, dimension, name=str(number))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None


def write(h: Hypergraph, path: str | Path) -> None:
    """Write a file by its ending (see :func:`read`). Raises ValueError for an unknown ending."""
    path = Path(path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ValueError(f"the ending must be one of {', '.join(WRITERS)}; got {path.suffix or 'none'!r}")
    path.write_text(writer(h).rstrip("\n") + "\n", encoding="utf-8")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _lists(data: Mapping[str, Any], key: str) -> list[list[Any]]:
    groups = data.get(key, [])
    if not isinstance(groups, list) or not all(isinstance(g, list) for g in groups):
        raise ValueError(f"{key!r} must be a list of lists of atom names; got {shown(groups)}")
    for number, group in enumerate(groups, start=1):
        if wrong := [v for v in group if not is_name(v)]:
            raise ValueError(
                f"{key!r}, entry {number}: an atom's name is a text or a whole number; got {shown(wrong[0])}"
            )
    return groups
