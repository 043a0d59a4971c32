"""Greechie diagrams of hypergraphs and heat maps of commutators, as matplotlib figures (no pyplot, no global state).

A context is a straight line or smooth curve through its atoms; intertwining atoms carry a ring; a two-valued state
fills its true atoms. The layout is found by stress minimisation, so that rings of contexts come out round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from jaxtyping import Real

from contexts.hypergraphs.hypergraph import Hypergraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe–Ito without its yellow and black: eight hues that colour-blind readers can tell apart on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#666666")


CLEARANCE = 9.0
"""Points from an atom's centre to its name: more than the ring's radius with its line, 6."""

LABEL_WIDTH = 24
"""Characters of a heat map's label on one line."""


def heat_map(
    table: Sequence[Sequence[float]] | Real[np.ndarray, "n n"], labels: Sequence[str], title: str = ""
) -> Figure:
    """A square table of non-negative numbers as a picture; numbers are written in the cells up to 12 rows.

    No label is cut: long ones are broken into lines, or, past 12 rows, replaced by their numbers.
    """
    from matplotlib.figure import Figure

    values = np.asarray(table, dtype=float)
    size = min(12.0, 2.5 + 0.35 * len(labels))
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(values, cmap="viridis", vmin=0)
    figure.colorbar(image, ax=axes, label=title)
    if len(labels) <= 40:
        ticks = list(labels)
        if max(map(len, labels), default=0) > LABEL_WIDTH:
            few = len(labels) <= 12
            ticks = ["\n".join(wrap(name, LABEL_WIDTH)) if few else str(k) for k, name in enumerate(labels, start=1)]
        axes.set_xticks(range(len(labels)), ticks, rotation=90, fontsize=6)
        axes.set_yticks(range(len(labels)), ticks, fontsize=6)
    if len(labels) <= 12:
        for (i, j), value in np.ndenumerate(values):
            light = value < values.max() / 2
            axes.text(j, i, f"{value:.2g}", ha="center", va="center", fontsize=7, color="white" if light else "black")
    return figure


def greechie(
    h: Hypergraph, state: int | None = None, positions: Mapping[str, tuple[float, float]] | None = None, title: str = ""
) -> Figure:
    """The Greechie diagram. ``state`` (a bitmask) fills its true atoms; ``positions`` override the layout."""
    from matplotlib.figure import Figure

    place = dict(positions) if positions is not None else layout(h)
    names = len(h.vertices) <= 80
    size = float(np.clip(3.5 + 0.09 * len(h.vertices), 4, 11))
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.axis("off")
    lines = [line_order(context, place) for context in h.contexts]
    for number, line in enumerate(lines):
        points = curve(np.array([place[v] for v in line]))
        axes.plot(*points.T, color=COLOURS[number % len(COLOURS)], lw=2, zorder=1, solid_capstyle="round")
    for a, b in h.exclusive_pairs:
        axes.plot(*np.array([place[a], place[b]]).T, color="#999999", lw=1, ls="--", zorder=0)
    shared = set(h.intertwining)
    for vertex in h.vertices:
        point = np.array(place[vertex])
        true = state is not None and bool(state >> h.index[vertex] & 1)
        face = "black" if true else "white"
        axes.plot(*point, "o", ms=7, mfc=face, mec="black", mew=1.2, zorder=3)
        if vertex in shared:
            axes.plot(*point, "o", ms=11, mfc="none", mec="black", mew=1, zorder=2)
        if names:
            away = _clear_side(vertex, lines, place)
            side = "left" if away[0] > 0.38 else "right" if away[0] < -0.38 else "center"
            level = "bottom" if away[1] > 0.38 else "top" if away[1] < -0.38 else "center"
            shift = tuple(CLEARANCE * away)
            axes.annotate(
                vertex, tuple(point), shift, textcoords="offset points", ha=side, va=level, fontsize=8, zorder=4
            )
    axes.margins(0.12)
    if title or h.name:
        axes.set_title(title or h.name, fontsize=10)
    return figure


def _clear_side(vertex: str, lines: Sequence[Sequence[str]], place: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """A unit direction away from the lines that pass through an atom: where its name disturbs least."""
    steps = [
        np.array(place[vertex]) - np.array(place[other])
        for line in lines
        for pair in pairwise(line)
        if vertex in pair
        for other in pair
        if other != vertex
    ]
    units = [step / length for step in steps if (length := float(np.linalg.norm(step))) > 0]
    away = np.sum(units, axis=0) if units else np.array([0.0, 1.0])
    if np.linalg.norm(away) < 0.3:  # lines leave on opposite sides: go across the first
        away = np.array([-units[0][1], units[0][0]])
        away *= 1 if away[0] > 0 else -1
        away = away + 0.4 * units[0]
    return away / np.linalg.norm(away)


def layout(h: Hypergraph) -> dict[str, tuple[float, float]]:
    """Positions of the atoms: a star's shared atom in the middle, otherwise least stress along the contexts' lines.

    Deterministic. Two rounds: atoms of one context first attract each other all alike, then in the order of their line.
    """
    star = _star(h)
    if star is not None:
        return star
    place: dict[str, np.ndarray] | None = None
    for _ in range(2):
        lines = nx.Graph()
        lines.add_nodes_from(h.vertices)
        for context in h.contexts:
            ordered = line_order(context, place) if place else _ends_shared(h, context)
            lines.add_edges_from(pairwise(ordered))
        lines.add_edges_from(h.exclusive_pairs, length=1.5)
        place = _stress(lines, place)
    return {v: (float(p[0]), float(p[1])) for v, p in (place or {}).items()}


def _star(h: Hypergraph) -> dict[str, tuple[float, float]] | None:
    """All contexts through one atom and otherwise disjoint (Fig. 1 of the paper): straight spokes through the
    centre."""
    if (
        len(h.intertwining) != 1
        or len(h.contexts) < 2
        or h.exclusive_pairs
        or len(h.contexts) != h.multiplicity[h.intertwining[0]]
    ):
        return None
    centre = h.intertwining[0]
    place = {centre: (0.0, 0.0)}
    for k, context in enumerate(h.contexts):
        angle = (
            np.pi / 2 - 2 * np.pi * k / len(h.contexts) if len(h.contexts) > 2 else np.pi / 2 - np.pi * (k - 0.5) / 2
        )
        for step, vertex in enumerate((v for v in context if v != centre), start=1):
            place[vertex] = (step * float(np.cos(angle)), step * float(np.sin(angle)))
    return place if len(place) == len(h.vertices) else None


def _stress(graph: nx.Graph, start: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
    """Kamada–Kawai by component, components side by side."""
    result: dict[str, np.ndarray] = {}
    offset = 0.0
    for part in sorted(nx.connected_components(graph), key=len, reverse=True):
        piece = graph.subgraph(part)
        first = start and {v: np.asarray(start[v]) for v in piece}
        place = nx.kamada_kawai_layout(piece, pos=first) if len(part) > 1 else {next(iter(part)): np.zeros(2)}
        scale = max(1.0, np.sqrt(len(part)))
        points = {v: scale * np.asarray(p) for v, p in place.items()}
        left = min(p[0] for p in points.values())
        result |= {v: p + np.array([offset - left, 0]) for v, p in points.items()}
        offset = max(p[0] for p in result.values()) + 1.0
    return result


def _ends_shared(h: Hypergraph, context: Sequence[str]) -> list[str]:
    """First guess of a line's order: intertwining atoms at the ends, private ones between."""
    shared = [v for v in context if h.multiplicity[v] > 1]
    private = [v for v in context if h.multiplicity[v] == 1]
    return shared[: (len(shared) + 1) // 2] + private + shared[(len(shared) + 1) // 2 :]


def line_order(context: Sequence[str], place: Mapping[str, object]) -> list[str]:
    """Atoms of a context in the order of the shortest path through their positions (exact up to 7 atoms)."""
    from itertools import permutations

    points = {v: np.asarray(place[v], dtype=float) for v in context}
    if len(context) > 7:
        centred = np.stack(list(points.values())) - np.mean(list(points.values()), axis=0)
        along = centred @ np.linalg.svd(centred)[2][0]
        return [context[i] for i in np.argsort(along)]
    gap = {(a, b): float(np.linalg.norm(points[a] - points[b])) for a in context for b in context}
    return list(min(permutations(context), key=lambda path: sum(gap[step] for step in pairwise(path))))


def curve(points: Real[np.ndarray, "points 2"], samples: int = 40) -> Real[np.ndarray, "samples 2"]:
    """A smooth curve through points (n, 2): straight where they are in line, else a spline by chord length."""
    from scipy.interpolate import CubicSpline

    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if len(points) < 3 or not steps.all():
        return points
    at = np.concatenate([[0], np.cumsum(steps)])
    return CubicSpline(at, points, bc_type="natural")(np.linspace(0, at[-1], samples))


def check_ending(path: str | Path) -> None:
    """Raise ValueError where no picture can be written under such a name."""
    from matplotlib.backend_bases import FigureCanvasBase

    ending = Path(path).suffix
    kinds = FigureCanvasBase.get_supported_filetypes()
    if ending.lstrip(".").lower() not in kinds:
        raise ValueError(f"the ending must be one of {', '.join(sorted(kinds))}; got {ending or 'none'!r}")


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; .svg files are byte for byte the same on every run. Raises ValueError for an unknown ending."""
    import matplotlib

    path = Path(path)
    check_ending(path)
    with matplotlib.rc_context({"svg.hashsalt": "qattn"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
