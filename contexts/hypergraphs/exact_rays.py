"""Rays given exactly, and the hypergraph of all orthonormal bases among them.

Most published Kochen–Specker sets are found in, or are, the bases among all rays whose components come from a small
set, such as {0, ±1} or {0, ±1, √2} (Pavičić & Megill, Entropy 20, 928 (2018)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from contexts.hypergraphs import surds
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.parsing import shown
from contexts.hypergraphs.rays import by_orthogonality
from contexts.hypergraphs.surds import Number

VECTOR_LIMIT = 300_000
"""Vectors, before those of one ray are taken together, that are written down at most."""

RAY_LIMIT = 4_000
"""Rays whose orthogonality is decided at most: some eight million pairs."""


def of_components(components: Sequence[str], dimension: int) -> dict[str, tuple[Number, ...]]:
    """All rays of the vectors whose components are in a list of texts (:func:`contexts.hypergraphs.surds.parse`).

    Each is named by its first vector in the order of the list, such as ``1 -1 0``. Raises ValueError for a text that is
    no number, no component but 0, and for more vectors or rays than are dealt with.
    """
    texts = [text.strip() for text in components]
    values = [surds.parse(text) for text in texts]
    if dimension < 2:
        raise ValueError(f"the dimension must be 2 or more; got {dimension}")
    if len(values) ** dimension > VECTOR_LIMIT:
        raise ValueError(
            f"{len(values)} components in dimension {dimension} are {len(values) ** dimension} vectors, more than "
            f"{VECTOR_LIMIT}"
        )
    found: dict[tuple[Number, ...], tuple[str, tuple[Number, ...]]] = {}
    for places in product(range(len(values)), repeat=dimension):
        vector = tuple(values[k] for k in places)
        if any(any(x) for x in vector):
            found.setdefault(surds.scaled(vector), (" ".join(texts[k] for k in places), vector))
    if not found:
        raise ValueError("every vector of these components is zero")
    return dict(found.values())


def read(text: str) -> dict[str, tuple[Number, ...]]:
    """One ray per line, its components separated by commas, with a name and a colon before it where it has one.

    Raises ValueError with the number of the line that is wrong.
    """
    found: dict[str, tuple[Number, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, colon, rest = line.partition(":")
        components = (rest if colon else line).split(",")
        name = name.strip() if colon else " ".join(part.strip() for part in components)
        try:
            vector = tuple(surds.parse(part) for part in components)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if name in found:
            raise ValueError(f"line {number}: the ray {shown(name)} is given twice")
        found[name] = vector
    return found


def spanned(rays: Mapping[str, Sequence[Number]], name: str = "", bases: bool = False) -> Hypergraph:
    """The hypergraph of rays: every orthonormal basis among them is a context, other orthogonal pairs are exclusive.

    With ``bases`` atoms of no basis are dropped, and the pairs too. Raises ValueError for vectors of different lengths,
    two atoms of one ray, more rays than are dealt with, and, with ``bases``, where there is no basis.
    """
    if len(rays) > RAY_LIMIT:
        raise ValueError(f"there are {len(rays)} rays, more than {RAY_LIMIT}")
    lengths = sorted({len(ray) for ray in rays.values()})
    if len(lengths) != 1:
        raise ValueError(f"all rays must have one number of components; got {lengths or 'none'}")
    h = by_orthogonality(Hypergraph(rays, dimension=lengths[0], exact=rays, name=name))
    if not bases:
        return h
    if not h.contexts:
        raise ValueError(f"no {h.dimension} of the {len(h.vertices)} rays are orthogonal to each other")
    return h.subset(v for v in h.vertices if h.multiplicity[v]).replace(exclusive_pairs=())
