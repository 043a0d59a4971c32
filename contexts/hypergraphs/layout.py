"""Where the atoms of a Greechie diagram lie, and the curves through them.

Stress minimisation brings out rings of contexts as rings. Then what lies between two intertwining atoms goes onto the
straight line between them, so that contexts break at the corners where they meet, as in the papers; and atoms are moved
away from lines that are not theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import networkx as nx
import numpy as np
from jaxtyping import Float, Real

from contexts.hypergraphs.hypergraph import Hypergraph

WANTED = 0.03
"""Distance from an atom to a foreign line that is aimed at, relative to the larger side of the picture."""

ROUNDS = 40
"""How often atoms are moved away from foreign lines at most."""


def layout(h: Hypergraph) -> dict[str, tuple[float, float]]:
    """Positions of the atoms: a star's shared atom in the middle, otherwise least stress along the contexts' lines.

    Deterministic. Two rounds: atoms of one context first attract each other all alike, then in the order of their line.
    The best of the result, straightened and not, and cleared of foreign lines is taken.
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
    stressed = {v: (float(p[0]), float(p[1])) for v, p in (place or {}).items()}
    straight = _straightened(h, stressed)
    if clearance(h, straight) >= WANTED:
        return straight
    first = _cleared(h, straight)
    gap = clearance(h, first)
    if gap >= 0.99 * WANTED:
        return first
    second = _cleared(h, stressed)
    return second if clearance(h, second) > gap else first


def clearance(h: Hypergraph, place: Mapping[str, tuple[float, float]]) -> float:
    """The least distance from an atom to the curve of a context that it is not in, relative to the larger side.

    Infinite where there is no such pair.
    """
    points = np.array([place[v] for v in h.vertices])
    side = float(np.ptp(points, axis=0).max(initial=0.0)) or 1.0
    gaps = [gap for gap, _ in _foreign(h, points, _orders(h, points))]
    return min((float(gap.min()) for gap in gaps), default=np.inf) / side


def _orders(h: Hypergraph, points: Float[np.ndarray, "atoms 2"]) -> list[list[int]]:
    """Each context's atoms in the order of its line."""
    place = {v: (float(x), float(y)) for v, (x, y) in zip(h.vertices, points, strict=True)}
    return [[h.index[v] for v in line_order(context, place)] for context in h.contexts]


def _foreign(
    h: Hypergraph, points: Float[np.ndarray, "atoms 2"], orders: Sequence[Sequence[int]]
) -> list[tuple[Float[np.ndarray, " atoms"], Float[np.ndarray, "atoms 2"]]]:
    """For every context each atom's distance to its curve, infinite for its own, and the curve's nearest point."""
    found = []
    for order in orders:
        line = curve(points[order], 24)
        start, step = line[:-1], np.diff(line, axis=0)
        length = np.maximum(np.sum(step**2, axis=1), 1e-300)
        along = np.clip(np.sum((points[:, None] - start) * step, axis=2) / length, 0, 1)
        feet = start + along[..., None] * step
        gaps = np.linalg.norm(points[:, None] - feet, axis=2)
        nearest = np.argmin(gaps, axis=1)
        rows = np.arange(len(points))
        gap = gaps[rows, nearest]
        gap[list(order)] = np.inf
        found.append((gap, feet[rows, nearest]))
    return found


def _straightened(h: Hypergraph, place: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Atoms of one context that lie between two shared ones, evenly on the straight line between these."""
    moved = dict(place)
    for context in h.contexts:
        line = line_order(context, place)
        corners = [k for k, v in enumerate(line) if h.multiplicity[v] > 1]
        for a, b in pairwise(corners):
            start, end = np.array(place[line[a]]), np.array(place[line[b]])
            for k in range(a + 1, b):
                x, y = start + (end - start) * (k - a) / (b - a)
                moved[line[k]] = (float(x), float(y))
    return moved


def _cleared(h: Hypergraph, place: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Atoms pushed away from foreign curves, step by step; the best picture on the way."""
    points = np.array([place[v] for v in h.vertices])
    side = float(np.ptp(points, axis=0).max(initial=0.0)) or 1.0
    orders = _orders(h, points)
    best, best_gap = points, -1.0
    for _ in range(ROUNDS):
        near = _foreign(h, points, orders)
        least = min((float(gap.min()) for gap, _ in near), default=np.inf)
        if least > best_gap:
            best, best_gap = points, least
        if least >= WANTED * side:
            break
        push = np.zeros_like(points)
        for gap, foot in near:
            for i in np.flatnonzero(gap < WANTED * side).tolist():
                away, size = points[i] - foot[i], float(gap[i])
                if size < 1e-9 * side:  # on the line: to a side that depends on the atom, the same every time
                    away, size = np.array([np.cos(2.4 * i), np.sin(2.4 * i)]), 1.0
                push[i] += away / size * (1.05 * WANTED * side - gap[i])
        points = points + 0.6 * push
    return {v: (float(x), float(y)) for v, (x, y) in zip(h.vertices, best, strict=True)}


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
