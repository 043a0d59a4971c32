"""Rays beside a hypergraph: checked on entry, tested for orthogonality, completed to bases.

Everything is float64 or complex128. A vector's length never matters (a ray is a line), so integer vectors such as
(1, −1, 0) are fine; what is reported is always the overlap |⟨u|v⟩| of the normalised vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
from jaxtyping import Bool, Inexact, Num

from contexts.hypergraphs import surds
from contexts.hypergraphs.hypergraph import TOLERANCE, Hypergraph, as_tolerance, from_graph

PARALLEL = 1e-9
"""Two unit vectors are the same ray when the sine of the angle between them is at most this."""


def unit_matrix(h: Hypergraph) -> Inexact[np.ndarray, "atoms d"]:
    """The normalised vectors as rows, (atoms, dimension), in the order of the vertices.

    Raises ValueError where the hypergraph has no vectors.
    """
    if h.vectors is None:
        raise ValueError("this needs vectors, and the hypergraph has none (realize finds some)")
    return normalised(np.stack([h.vectors[v] for v in h.vertices]))


def normalised(vectors: Num[np.ndarray, "*batch d"]) -> Inexact[np.ndarray, "*batch d"]:
    """Vectors (…, d), none of them zero, at length 1; first by the largest entry, so that no square leaves float64."""
    vectors = vectors / np.maximum(np.abs(vectors.real), np.abs(vectors.imag)).max(axis=-1, keepdims=True)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@dataclass(frozen=True)
class VectorCheck:
    """How well vectors represent a hypergraph; pairs are (atom, atom, |⟨u|v⟩| of the unit vectors)."""

    not_orthogonal: list[tuple[str, str, float]]
    parallel: list[tuple[str, str, float]]
    extra_orthogonal: list[tuple[str, str, float]]

    @property
    def proper(self) -> bool:
        """Adjacent atoms are orthogonal."""
        return not self.not_orthogonal

    @property
    def injective(self) -> bool:
        """Proper, and different atoms have different rays."""
        return self.proper and not self.parallel

    @property
    def faithful(self) -> bool:
        """Injective, and atoms are orthogonal *only* if adjacent (the iff sense)."""
        return self.injective and not self.extra_orthogonal

    @property
    def level(self) -> str | None:
        """The highest of proper, injective, faithful, or None."""
        for name in ("faithful", "injective", "proper"):
            if getattr(self, name):
                return name
        return None


def check_vectors(h: Hypergraph, tolerance: float = TOLERANCE) -> VectorCheck:
    """Compare the orthogonality of the vectors with the hypergraph's (see :class:`VectorCheck`).

    Where the vectors are exact, so are the answers, and the tolerance does not matter.
    """
    tolerance = as_tolerance(tolerance)
    unit = unit_matrix(h)
    overlap = np.abs(unit.conj() @ unit.T)
    orthogonal = overlap <= tolerance if h.exact is None else exactly_orthogonal(h)
    same = sines_vanish(unit) if h.exact is None else exactly_parallel(h)
    found: tuple[list, list, list] = ([], [], [])
    for i, j in combinations(range(len(h.vertices)), 2):
        adjacent = h.neighbour_masks[i] >> j & 1
        entry = (h.vertices[i], h.vertices[j], float(overlap[i, j]))
        if adjacent and not orthogonal[i, j]:
            found[0].append(entry)
        if same[i, j]:
            found[1].append(entry)
        if not adjacent and orthogonal[i, j]:
            found[2].append(entry)
    return VectorCheck(*found)


def sines_vanish(unit: Num[np.ndarray, "atoms d"]) -> Bool[np.ndarray, "atoms atoms"]:
    """Which two unit rays are the same one: the sine between them is at most ``PARALLEL``."""
    table = np.abs(unit.conj() @ unit.T) > 1 - 1e-6  # where the cosine leaves a doubt, the sine is computed
    for i, j in np.argwhere(np.triu(table, 1)).tolist():
        table[i, j] = table[j, i] = _sine(unit[i], unit[j]) <= PARALLEL
    return table


def exactly_parallel(h: Hypergraph) -> Bool[np.ndarray, "atoms atoms"]:
    """Which two atoms' exact vectors span one ray. Raises ValueError where the hypergraph has no exact vectors."""
    if h.exact is None:
        raise ValueError("this needs exact vectors: whole numbers, or texts such as sqrt(2)")
    number: dict[tuple[surds.Number, ...], int] = {}
    label = np.array([number.setdefault(surds.scaled(h.exact[v]), len(number)) for v in h.vertices])
    return label[:, None] == label[None, :]


def exactly_orthogonal(h: Hypergraph) -> Bool[np.ndarray, "atoms atoms"]:
    """Which two atoms' exact vectors are orthogonal. Raises ValueError where the hypergraph has no exact vectors."""
    if h.exact is None:
        raise ValueError("this needs exact vectors: whole numbers, or texts such as sqrt(2)")
    return surds.orthogonality([h.exact[v] for v in h.vertices])


def require_orthonormal(h: Hypergraph, tolerance: float = TOLERANCE) -> None:
    """Raise ValueError naming the worst adjacent pair that is not orthogonal, or two atoms with one ray."""
    check = check_vectors(h, tolerance)
    if check.not_orthogonal:
        a, b, size = max(check.not_orthogonal, key=lambda entry: entry[2])
        raise ValueError(
            f"atoms {a!r} and {b!r} should be orthogonal but |⟨{a}|{b}⟩| = {size:.3g}, more than the "
            f"tolerance {tolerance:g}"
            f" ({len(check.not_orthogonal)} such pairs)"
        )
    if check.parallel:
        a, b, _ = check.parallel[0]
        raise ValueError(f"atoms {a!r} and {b!r} have the same ray (nearly parallel vectors)")


def basis(h: Hypergraph, position: int) -> Inexact[np.ndarray, "d size"]:
    """The unit vectors of one context as columns, (dimension, size), in the context's order."""
    unit = unit_matrix(h)
    return unit[[h.index[v] for v in h.contexts[position]]].T


def null_space(rows: Num[np.ndarray, "rows d"], tolerance: float = 1e-9) -> Inexact[np.ndarray, "d nullity"]:
    """Orthonormal columns spanning all x with ⟨row|x⟩ = 0 for every row (Hermitian product), from an SVD."""
    _, singular, right = np.linalg.svd(rows.conj(), full_matrices=True)
    rank = int(np.sum(singular > tolerance))
    return right[rank:].conj().T


def complete(h: Hypergraph) -> Hypergraph:
    """Fill every partial context, and every exclusive pair, up to ``dimension`` atoms.

    With vectors, the missing rays are the orthogonal complement (in R³ the cross product); a ray that an atom already
    has, up to phase, is that atom, so shared rays become intertwining atoms and a completed Peres 33 is the 57-40 set.
    Where more than one ray is missing the complement has no preferred basis and an SVD's is taken. Without vectors,
    fresh atoms are added. New atoms are named x1, x2, … Raises ValueError when the dimension is unknown.
    """
    if h.dimension is None:
        raise ValueError("to complete contexts the dimension must be known; give it")
    dimension = h.dimension
    whole = [set(c) for c in h.contexts if len(c) == dimension]
    groups = list(h.contexts) + [p for p in h.exclusive_pairs if not any(set(p) <= c for c in map(set, h.contexts))]
    vertices = list(h.vertices)
    rays = None if h.vectors is None else {v: normalised(x) for v, x in h.vectors.items()}
    result: list[tuple[str, ...]] = []
    seen: set[frozenset[str]] = set()
    for group in groups:
        if len(group) == dimension or (len(group) == 2 and any(set(group) <= c for c in whole)):
            new = tuple(group)
        else:
            new = tuple(group) + _missing(group, dimension, vertices, rays)
        if len(new) == dimension and frozenset(new) not in seen:
            seen.add(frozenset(new))
            whole.append(set(new))
            result.append(new)
    vectors = None if rays is None else {v: (h.vectors or {}).get(v, rays[v]) for v in vertices}
    return h.replace(vertices=vertices, contexts=result, exclusive_pairs=(), vectors=vectors)


def _missing(
    group: Sequence[str], dimension: int, vertices: list[str], rays: dict[str, np.ndarray] | None
) -> tuple[str, ...]:
    """Names of the atoms that complete ``group``; appends new ones to ``vertices`` and ``rays``."""
    names = []
    columns = [None] * (dimension - len(group))
    if rays is not None:
        gap = null_space(np.stack([rays[v] for v in group]))
        if gap.shape[1] != len(columns):
            raise ValueError(f"the vectors of {', '.join(group)} are not independent: no basis contains them all")
        columns = list(gap.T)
    for column in columns:
        match = None
        if rays is not None and len(columns) == 1:
            match = next((v for v, ray in rays.items() if _sine(ray, column) <= 1e-7), None)  # type: ignore[arg-type]
        if match is None:
            number = 1
            while f"x{number}" in vertices:
                number += 1
            match = f"x{number}"
            vertices.append(match)
            if rays is not None:
                rays[match] = column  # type: ignore[assignment]
        names.append(match)
    return tuple(names)


def _sine(u: np.ndarray, v: np.ndarray) -> float:
    """Sine of the angle between two unit rays; accurate near zero, where 1 − |⟨u|v⟩|² is not."""
    return float(np.linalg.norm(v - np.vdot(u, v) * u))


def expand_pairs(h: Hypergraph, tolerance: float = TOLERANCE) -> Hypergraph:
    """Add as exclusive pairs all orthogonal pairs of the vectors that no context lists."""
    extra = [(a, b) for a, b, _ in check_vectors(h, tolerance).extra_orthogonal]
    return h.replace(exclusive_pairs=[*h.exclusive_pairs, *extra])


def from_vectors(vectors: Mapping[str, Any], name: str = "", tolerance: float = TOLERANCE) -> Hypergraph:
    """The hypergraph of a set of rays: every orthonormal basis among them is a context, other orthogonal pairs are
    exclusive.

    Raises ValueError for a zero or NaN vector, and for two atoms with one ray.
    """
    lengths = {len(v) for v in vectors.values()}
    if len(lengths) != 1:
        raise ValueError(f"all vectors must have one length; got lengths {sorted(lengths)}")
    return by_orthogonality(Hypergraph(vectors, dimension=lengths.pop(), vectors=vectors, name=name), tolerance)


def by_orthogonality(h: Hypergraph, tolerance: float = TOLERANCE) -> Hypergraph:
    """The hypergraph that the vectors of ``h`` span: every orthonormal basis among them is a context, other orthogonal
    pairs are exclusive.

    Exact where the vectors are. Raises ValueError for two atoms with one ray.
    """
    check = check_vectors(h.replace(contexts=(), exclusive_pairs=()), tolerance)
    if check.parallel:
        a, b, _ = check.parallel[0]
        raise ValueError(f"atoms {a!r} and {b!r} have the same ray (nearly parallel vectors)")
    graph = nx.Graph()
    graph.add_nodes_from(h.vertices)
    graph.add_edges_from((a, b) for a, b, _ in check.extra_orthogonal)
    spanned = from_graph(graph, h.dimension, h.name)
    return spanned.replace(vectors=h.vectors, exact=h.exact)
