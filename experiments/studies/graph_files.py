"""Graphs that people bring: edge lists (``a b`` or ``a b weight`` per line), GraphML, GML, and networkx' JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.errors import UserError

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class WeightedGraph:
    """Names of the nodes, and edges between their numbers with a weight."""

    nodes: tuple[str, ...]
    edges: tuple[tuple[int, int, float], ...]


def read_graph(path: Path) -> WeightedGraph:
    """An undirected graph in one of the formats, by the file's ending (any other one is an edge list).

    Raises :class:`UserError` naming the file, the line, and the fix.
    """
    import networkx as nx

    try:
        if path.suffix == ".graphml":
            found = nx.read_graphml(path)
        elif path.suffix == ".gml":
            found = nx.read_gml(path, label=None)
        elif path.suffix == ".json":
            found = nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")), edges="edges")
        else:
            return from_edges(edge_lines(path), str(path))
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except UserError:
        raise
    except Exception as error:  # the readers of networkx raise what their parsers raise
        told = " ".join(str(error).split())
        raise UserError(f"{path}: not a graph in the format that its ending {path.suffix} says ({told})") from error
    return from_networkx(found, str(path))


def from_networkx(graph: nx.Graph, where: str) -> WeightedGraph:
    """The edges of a graph in their order, weight 1 where none is given. Raises :class:`UserError` for odd weights."""
    return from_edges([(str(a), str(b), data.get("weight", 1.0)) for a, b, data in graph.edges(data=True)], where)


def edge_lines(path: Path) -> list[tuple[str, str, Any]]:
    """The lines of an edge list, words apart by blanks or commas, comments behind ``#``.

    Raises :class:`UserError` naming the line that is no edge.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{path}: expected an edge list as text in UTF-8") from None
    found: list[tuple[str, str, Any]] = []
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) not in (2, 3):
            raise UserError(f"{path}, line {number}: expected an edge `a b` or `a b weight`, got {line.strip()!r}")
        found.append((words[0], words[1], words[2] if len(words) == 3 else 1.0))
    return found


def from_edges(edges: list[tuple[str, str, Any]], where: str) -> WeightedGraph:
    """Edges between named nodes. Raises :class:`UserError` for no edges, loops, and weights that are no numbers."""
    if not edges:
        raise UserError(f"{where}: the graph has no edges")
    names: dict[str, int] = {}
    found = []
    for a, b, weight in edges:
        if a == b:
            raise UserError(f"{where}: the edge {a} – {b} joins a node to itself")
        try:
            number = float(weight)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UserError(f"{where}: the weight of the edge {a} – {b} is no finite number, got {weight!r}")
        found.append((names.setdefault(a, len(names)), names.setdefault(b, len(names)), number))
    return WeightedGraph(tuple(names), tuple(found))
