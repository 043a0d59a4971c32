"""Greechie diagrams as TikZ, for papers: names typeset by LaTeX, lines as smooth paths."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.layout import curve, layout, line_order

COLOURS = ("blue", "red", "green!60!black", "magenta", "orange", "cyan", "violet", "gray")
STYLES = ("solid", "dashed", "dashdotted", "densely dotted")

WIDTH = 8.0
"""Centimetres of the picture's larger side."""

SPECIAL = str.maketrans({c: f"\\{c}" for c in "#$%&_{}"} | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"})


def tikz(h: Hypergraph, state: int | None = None, positions: Mapping[str, tuple[float, float]] | None = None) -> str:
    """A ``tikzpicture`` of the Greechie diagram: one path per context, a circle per atom, twice around shared ones.

    ``state`` (a bitmask) fills its true atoms; ``positions`` override the layout.
    """
    place = dict(positions) if positions is not None else layout(h)
    points = np.array([place[v] for v in h.vertices])
    scale = WIDTH / (float(np.ptp(points, axis=0).max(initial=0.0)) or 1.0)
    shift = points.min(axis=0)

    def at(point: tuple[float, float] | np.ndarray) -> str:
        x, y = (np.asarray(point) - shift) * scale
        return f"({x:.3f},{y:.3f})"

    lines = [r"\begin{tikzpicture}[every node/.style={font=\scriptsize}]"]
    for a, b in h.exclusive_pairs:
        lines.append(rf"\draw[gray, dashed] {at(place[a])} -- {at(place[b])};")
    for number, context in enumerate(h.contexts):
        path = curve(np.array([place[v] for v in line_order(context, place)]), 24)
        colour = COLOURS[number % len(COLOURS)]
        dashes = STYLES[number // len(COLOURS) % len(STYLES)]
        lines.append(rf"\draw[{colour}, {dashes}, very thick] {' -- '.join(map(at, path))};")
    shared = set(h.intertwining)
    for vertex in h.vertices:
        true = state is not None and bool(state >> h.index[vertex] & 1)
        if vertex in shared:
            lines.append(rf"\draw {at(place[vertex])} circle (4.5pt);")
        name = vertex.translate(SPECIAL)
        lines.append(rf"\filldraw[fill={'black' if true else 'white'}] {at(place[vertex])} circle (2.8pt)")
        lines.append(rf"  node[above right=2pt] {{{name}}};")
    return "\n".join([*lines, r"\end{tikzpicture}", ""])
