"""Orthogonality hypergraphs: atoms (rays) and the contexts (maximal observables, orthonormal bases) they form.

An atom stands for a one-dimensional projector, a context for a set of mutually orthogonal atoms of which exactly one
is found in a measurement (Svozil, section VIII.2; "block" or "edge" elsewhere). Two atoms may also be exclusive without
sharing a listed context: that is an *exclusive pair*, of which at most one is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
from jaxtyping import Inexact

from contexts.hypergraphs import surds

TOLERANCE = 1e-9
"""Largest |⟨u|v⟩| of unit vectors that still counts as orthogonal (float64)."""


def as_tolerance(value: float | int) -> float:
    """A tolerance as a float; ValueError unless it is a number of 0 ≤ value < 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"the tolerance must be a number from 0 up to, not including, 1; got {value!r}")
    return float(value)


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """Atoms, contexts and exclusive pairs, with optional vectors.

    vertices         names of the atoms; an atom in no context and no pair is allowed and is free
    contexts         each a sequence of two or more different atoms; sizes may differ; exactly one atom of each is true
    exclusive_pairs  at most one atom of each is true
    dimension        of the Hilbert space, or None when unknown; no context may be larger
    vectors          atom → vector of ``dimension`` real or complex numbers, of any length but zero: only rays matter
    exact            the same vectors as exact numbers (:mod:`contexts.hypergraphs.surds`), or None where they are
                     floats; given without ``vectors``, they make these

    A context smaller than ``dimension`` is a *partial* basis: two-valued states still give it exactly one 1, as in
    Pavičić's definition; :func:`contexts.hypergraphs.rays.complete` adds the missing rays. A repeated context, an atom
    twice in one context, a context of one atom or an unknown atom raises ValueError.
    """

    vertices: tuple[str, ...]
    contexts: tuple[tuple[str, ...], ...] = ()
    exclusive_pairs: tuple[tuple[str, str], ...] = ()
    dimension: int | None = None
    vectors: Mapping[str, np.ndarray] | None = None
    name: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    exact: Mapping[str, tuple[surds.Number, ...]] | None = field(default=None, repr=False)

    def __init__(
        self,
        vertices: Iterable[object],
        contexts: Iterable[Iterable[object]] = (),
        exclusive_pairs: Iterable[Iterable[object]] = (),
        dimension: int | None = None,
        vectors: Mapping[Any, Any] | None = None,
        name: str = "",
        notes: Mapping[str, Any] | None = None,
        exact: Mapping[str, Sequence[surds.Number]] | None = None,
    ) -> None:
        put = object.__setattr__  # a frozen dataclass is filled through object
        put(self, "vertices", tuple(str(v) for v in vertices))
        put(self, "contexts", tuple(tuple(str(v) for v in context) for context in contexts))
        pairs = [tuple(str(v) for v in pair) for pair in exclusive_pairs]
        put(self, "exclusive_pairs", tuple(pairs))
        put(self, "dimension", dimension)
        put(self, "name", name)
        put(self, "notes", dict(notes or {}))
        _check_shape(self)
        if exact is not None:
            vectors = {v: surds.as_floats(x) for v, x in exact.items()} if vectors is None else vectors
            exact = {str(v): tuple(x) for v, x in exact.items()}
        if vectors is not None:
            vectors = as_rays(self, {str(atom): vector for atom, vector in vectors.items()})
        put(self, "vectors", vectors)
        put(self, "exact", exact)

    def __eq__(self, other: object) -> bool:
        """Equal combinatorics: the same atoms, contexts and pairs as sets (order, vectors and names do not count)."""
        if not isinstance(other, Hypergraph):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[frozenset, frozenset, frozenset]:
        return (
            frozenset(self.vertices),
            frozenset(map(frozenset, self.contexts)),
            frozenset(map(frozenset, self.exclusive_pairs)),
        )

    # ── indices and bitmasks: what the counting and search modules work on ──

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each vertex in ``vertices``."""
        return {vertex: i for i, vertex in enumerate(self.vertices)}

    @cached_property
    def context_masks(self) -> tuple[int, ...]:
        """Each context as an integer whose bit i is atom i."""
        return tuple(sum(1 << self.index[v] for v in context) for context in self.contexts)

    @cached_property
    def pair_masks(self) -> tuple[int, ...]:
        """Exclusive pairs that no context already implies, each once, as bitmasks."""
        masks = {(1 << self.index[a]) | (1 << self.index[b]) for a, b in self.exclusive_pairs}
        return tuple(sorted(m for m in masks if not any(m & c == m for c in self.context_masks)))

    @cached_property
    def neighbour_masks(self) -> tuple[int, ...]:
        """For each atom the bitmask of the atoms exclusive with it (without itself)."""
        masks = [0] * len(self.vertices)
        for group in (*self.context_masks, *self.pair_masks):
            for i in bits(group):
                masks[i] |= group
        return tuple(mask & ~(1 << i) for i, mask in enumerate(masks))

    # ── derived objects ──

    @cached_property
    def graph(self) -> nx.Graph:
        """The orthogonality (exclusivity) graph: an edge between any two atoms that cannot both be true."""
        graph = nx.Graph()
        graph.add_nodes_from(self.vertices)
        for context in self.contexts:
            graph.add_edges_from(combinations(context, 2))
        graph.add_edges_from(self.exclusive_pairs)
        return graph

    @cached_property
    def multiplicity(self) -> dict[str, int]:
        """In how many contexts each atom lies: the weight under which every basis counts once."""
        count = dict.fromkeys(self.vertices, 0)
        for context in self.contexts:
            for vertex in context:
                count[vertex] += 1
        return count

    @property
    def intertwining(self) -> tuple[str, ...]:
        """Atoms shared by two or more contexts, in the order of the vertices."""
        return tuple(v for v in self.vertices if self.multiplicity[v] > 1)

    def strip_leaves(self) -> Hypergraph:
        """Drop the atoms that lie in one context and no exclusive pair, as Pavičić's stripped (non-complete)
        hypergraphs do.

        A context that keeps two atoms becomes an exclusive pair's equal in colouring only if it lost an atom, so
        shortened contexts are listed as exclusive pairs: the dropped atom may be the true one. A context left with
        fewer than two atoms disappears. One pass: atoms that become leaves by the stripping stay.
        """
        paired = {v for pair in self.exclusive_pairs for v in pair}
        return self.subset(v for v in self.vertices if self.multiplicity[v] > 1 or v in paired)

    def subset(self, keep: Iterable[str]) -> Hypergraph:
        """These atoms with the exclusivities between them; contexts that lost an atom are listed as exclusive pairs."""
        kept = set(keep)
        whole, pairs = [], [pair for pair in self.exclusive_pairs if kept.issuperset(pair)]
        for context in self.contexts:
            rest = [v for v in context if v in kept]
            if len(rest) == len(context):
                whole.append(context)
            else:
                pairs.extend(combinations(rest, 2))
        return self.replace(
            vertices=[v for v in self.vertices if v in kept],
            contexts=whole,
            exclusive_pairs=pairs,
            **self._rays({v: v for v in self.vertices if v in kept}),
        )

    def without_context(self, position: int) -> Hypergraph:
        """Delete one context, and the atoms that are then in no context and no exclusive pair."""
        contexts = [c for i, c in enumerate(self.contexts) if i != position]
        used = {v for group in (*contexts, *self.exclusive_pairs) for v in group}
        lost = set(self.contexts[position]) - used
        return self.replace(
            vertices=[v for v in self.vertices if v not in lost],
            contexts=contexts,
            **self._rays({v: v for v in self.vertices if v not in lost}),
        )

    def relabel(self, names: Mapping[str, str] | Sequence[str]) -> Hypergraph:
        """The same hypergraph under new atom names: a mapping, or one name for each vertex in order."""
        if not isinstance(names, Mapping):
            names = dict(zip(self.vertices, names, strict=True))
        return self.replace(
            vertices=[names[v] for v in self.vertices],
            contexts=[[names[v] for v in context] for context in self.contexts],
            exclusive_pairs=[[names[a], names[b]] for a, b in self.exclusive_pairs],
            **self._rays(names),
        )

    def _rays(self, names: Mapping[str, str]) -> dict[str, Any]:
        """``vectors`` and ``exact`` of the atoms in ``names``, under their new names."""
        given = (("vectors", self.vectors), ("exact", self.exact))
        return {key: None if rays is None else {new: rays[old] for old, new in names.items()} for key, rays in given}

    def replace(self, **changes: Any) -> Hypergraph:
        """A copy with some fields changed; with new ``vectors`` the old exact ones are gone."""
        fields = ("vertices", "contexts", "exclusive_pairs", "dimension", "vectors", "name", "notes", "exact")
        if "vectors" in changes:
            changes = {"exact": None, **changes}
        return Hypergraph(**{key: changes.get(key, getattr(self, key)) for key in fields})


def from_graph(graph: nx.Graph, dimension: int | None = None, name: str = "") -> Hypergraph:
    """The hypergraph of an orthogonality graph.

    With a dimension d, every maximal clique of d vertices is a context and the other edges are exclusive pairs (a
    larger clique is an error: no d+1 rays are orthogonal). Without one, all edges are exclusive pairs. Raises
    ValueError for a clique larger than the dimension.
    """
    contexts: list[list[object]] = []
    if dimension is not None:
        cliques = [sorted(clique, key=str) for clique in nx.find_cliques(graph)]
        largest = max(map(len, cliques), default=0)
        if largest > dimension:
            raise ValueError(
                f"the graph has {largest} mutually adjacent vertices, more than dimension {dimension} can hold"
            )
        contexts = sorted((c for c in cliques if len(c) == dimension), key=lambda c: [str(v) for v in c])
    covered = {frozenset(pair) for context in contexts for pair in combinations(context, 2)}
    pairs = [pair for pair in graph.edges if frozenset(pair) not in covered]
    return Hypergraph(graph.nodes, contexts, pairs, dimension, name=name)


def bits(mask: int) -> list[int]:
    """Positions of the ones in ``mask``, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _check_shape(h: Hypergraph) -> None:
    known = set(h.vertices)
    if not h.vertices:
        raise ValueError("a hypergraph needs at least one atom; got none")
    if len(known) < len(h.vertices):
        twice = next(v for i, v in enumerate(h.vertices) if v in h.vertices[:i])
        raise ValueError(f"atom {twice!r} is listed twice among the vertices")
    if h.dimension is not None and (
        isinstance(h.dimension, bool) or not isinstance(h.dimension, int) or h.dimension < 1
    ):
        raise ValueError(f"the dimension must be a positive whole number; got {h.dimension!r}")
    seen: dict[frozenset[str], int] = {}
    for position, context in enumerate(h.contexts, start=1):
        where = f"context {position} ({', '.join(context)})"
        if len(context) < 2:
            raise ValueError(f"{where} needs at least two atoms; got {len(context)}")
        if len(set(context)) < len(context):
            twice = next(v for i, v in enumerate(context) if v in context[:i])
            raise ValueError(f"{where} contains atom {twice!r} twice")
        if unknown := [v for v in context if v not in known]:
            raise ValueError(f"{where} names {unknown[0]!r}, which is not among the vertices")
        if h.dimension is not None and len(context) > h.dimension:
            raise ValueError(
                f"{where} has {len(context)} atoms; at most {h.dimension} rays are orthogonal in "
                f"dimension {h.dimension}"
            )
        key = frozenset(context)
        if key in seen:
            raise ValueError(f"{where} repeats context {seen[key]}")
        seen[key] = position
    for pair in h.exclusive_pairs:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"an exclusive pair needs two different atoms; got {list(pair)}")
        if unknown := [v for v in pair if v not in known]:
            raise ValueError(f"exclusive pair {list(pair)} names {unknown[0]!r}, which is not among the vertices")


def as_rays(h: Hypergraph, vectors: Mapping[str, Any]) -> dict[str, Inexact[np.ndarray, " d"]]:
    """Check one vector for every atom and return them as float64 or complex128 arrays, lengths untouched.

    Raises ValueError for a missing or unknown atom, a wrong length, an entry that is no finite number, a zero vector.
    """
    if unknown := [atom for atom in vectors if atom not in h.index]:
        raise ValueError(f"a vector is given for {unknown[0]!r}, which is not among the vertices")
    if missing := [atom for atom in h.vertices if atom not in vectors]:
        raise ValueError(f"no vector is given for atom {missing[0]!r} (give all atoms one, or none)")
    rays = {}
    for atom in h.vertices:
        try:
            ray = np.asarray(vectors[atom])
            ray = ray.astype(np.complex128 if np.iscomplexobj(ray) else np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"the vector of atom {atom!r} must be a list of numbers; got {vectors[atom]!r}") from None
        if ray.ndim != 1 or not ray.size:
            raise ValueError(f"the vector of atom {atom!r} must be one row of numbers; got shape {ray.shape}")
        if not np.all(np.isfinite(ray)):
            raise ValueError(f"the vector of atom {atom!r} has an entry that is not a finite number")
        if not ray.any():
            raise ValueError(f"the vector of atom {atom!r} is zero: it spans no ray")
        rays[atom] = ray
    usual = Counter(ray.size for ray in rays.values()).most_common(1)[0][0]  # the odd one out is to blame
    length = usual if h.dimension is None else h.dimension
    if wrong := [atom for atom, ray in rays.items() if ray.size != length]:
        raise ValueError(f"the vector of atom {wrong[0]!r} must be {length} numbers; got {rays[wrong[0]].size}")
    return rays
