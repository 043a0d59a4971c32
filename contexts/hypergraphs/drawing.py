"""Greechie diagrams of hypergraphs and heat maps of commutators, as matplotlib figures (no pyplot, no global state).

A context is a straight line or smooth curve through its atoms, told from others by colour and by style; intertwining
atoms carry a ring; a two-valued state fills its true atoms. Where the atoms lie: :mod:`contexts.hypergraphs.layout`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Real

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.layout import clearance, curve, layout, line_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe–Ito without its yellow and black: eight hues that colour-blind readers can tell apart on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#666666")


STYLES = ("-", (0, (7.0, 2.0)), (0, (7.0, 2.0, 1.5, 2.0)), (0, (1.5, 1.5)))
"""Line styles, changed after all colours were used: no two of the first 32 contexts are drawn alike."""

FOREIGN = 6.5
"""Points between an atom's centre and a line that is not through it, at least, as far as ``LARGEST`` allows."""

LARGEST = 24.0
"""Inches of the largest picture."""

CLEARANCE = 9.0
"""Points from an atom's centre to its name: more than the ring's radius with its line, 6."""

POINTS_PER_INCH = 72 * 0.7
"""Points per inch of the picture and unit of :func:`clearance`, margins and title taken off."""

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
    size = max(size, min(LARGEST, FOREIGN / (POINTS_PER_INCH * max(clearance(h, place), 1e-9))))
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.axis("off")
    lines = [line_order(context, place) for context in h.contexts]
    for number, line in enumerate(lines):
        points = curve(np.array([place[v] for v in line]))
        axes.plot(*points.T, color=COLOURS[number % len(COLOURS)], ls=style(number), lw=2, zorder=1)
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


def style(number: int) -> str | tuple[int, tuple[float, ...]]:
    """The line style of context ``number`` (from 0)."""
    return STYLES[number // len(COLOURS) % len(STYLES)]


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
