"""Automorphisms of a hypergraph, and isomorphism of two: nauty on the graph of atoms and contexts.

An automorphism maps atoms to atoms such that contexts become contexts and exclusive pairs exclusive pairs; vectors do
not count. McKay & Piperno, J. Symb. Comput. 60, 94 (2014). Needs the extra ``symmetry`` (pynauty).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from contexts.hypergraphs.hypergraph import Hypergraph, bits


@dataclass(frozen=True)
class Symmetry:
    """The automorphism group: its ``order``, ``generators`` as maps of atoms, and the ``orbits`` of atoms and contexts.

    Orbits are in the order of their first member; ``context_orbits`` holds positions of contexts.
    """

    order: int
    generators: list[dict[str, str]]
    orbits: list[list[str]]
    context_orbits: list[list[int]]


def automorphisms(h: Hypergraph) -> Symmetry:
    """The automorphism group of a hypergraph, its order exactly. Raises ValueError without pynauty."""
    nauty, n, m = _nauty(), len(h.vertices), len(h.contexts)
    generators, mantissa, exponent, orbits, _ = nauty.autgrp(_graph(h))
    order = round(mantissa) if exponent == 0 else _order(h, orbits)
    moved = [{h.vertices[i]: h.vertices[j] for i, j in enumerate(g[:n]) if i != j} for g in generators]
    atoms = [[h.vertices[i] for i in orbit] for orbit in _classes(orbits[:n])]
    return Symmetry(order, moved, atoms, _classes(orbits[n : n + m]))


def isomorphism(a: Hypergraph, b: Hypergraph) -> dict[str, str] | None:
    """A map of the atoms of ``a`` to those of ``b`` that takes contexts to contexts and exclusive pairs to exclusive
    pairs, checked; None if there is none. Raises ValueError without pynauty.
    """
    nauty = _nauty()
    sizes = [(len(h.vertices), sorted(map(len, h.contexts)), len(h.pair_masks)) for h in (a, b)]
    if sizes[0] != sizes[1]:
        return None
    first, second = _graph(a), _graph(b)
    if nauty.certificate(first) != nauty.certificate(second):
        return None
    pairs = zip(nauty.canon_label(first), nauty.canon_label(second), strict=True)
    found = {a.vertices[i]: b.vertices[j] for i, j in pairs if i < len(a.vertices)}
    image = a.relabel(found)
    if (set(map(frozenset, image.contexts)), _pairs(image)) != (set(map(frozenset, b.contexts)), _pairs(b)):
        raise AssertionError("nauty's canonical labels are not an isomorphism")
    return found


def _nauty() -> Any:
    try:
        import pynauty
    except ImportError:
        raise ValueError("automorphisms need pynauty: pip install 'qattn-lab[symmetry]'") from None
    return pynauty


def _graph(h: Hypergraph, fixed: Sequence[int] = ()) -> Any:
    """Atoms 0 … n−1 and contexts n … as the two colours; atoms in ``fixed`` have a colour each."""
    n = len(h.vertices)
    adjacency = {n + k: bits(mask) for k, mask in enumerate(h.context_masks)}
    for mask in h.pair_masks:
        first, second = bits(mask)
        adjacency.setdefault(first, []).append(second)
    free = set(range(n)) - set(fixed)
    colours = [*({i} for i in fixed), free, set(range(n, n + len(h.contexts)))]
    return _nauty().Graph(
        n + len(h.contexts), adjacency_dict=adjacency, vertex_coloring=[colour for colour in colours if colour]
    )


def _order(h: Hypergraph, orbits: Sequence[int]) -> int:
    """The order as a whole number of any size: the orbit of an atom times the order of its stabiliser, and so on."""
    order, fixed = 1, []
    while moved := [orbit for orbit in _classes(orbits[: len(h.vertices)]) if len(orbit) > 1]:
        order *= len(moved[0])
        fixed.append(moved[0][0])
        orbits = _nauty().autgrp(_graph(h, fixed))[3]
    return order


def _classes(label: Sequence[int]) -> list[list[int]]:
    """Positions with equal labels, in the order of the first of each class."""
    by_label = sorted(range(len(label)), key=lambda i: label[i])
    return sorted(list(group) for _, group in groupby(by_label, key=lambda i: label[i]))


def _pairs(h: Hypergraph) -> set[frozenset[str]]:
    """The exclusive pairs that no context implies."""
    return {frozenset(h.vertices[i] for i in bits(mask)) for mask in h.pair_masks}
