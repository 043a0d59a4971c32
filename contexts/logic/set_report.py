"""Answers about sets of contexts as dictionaries of plain data: symmetry, parity proofs, critical subsets, copies.

The modules that compute them are imported by the answer that needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from contexts.hypergraphs.hypergraph import Hypergraph


def symmetry(h: Hypergraph) -> dict[str, Any]:
    """What :func:`contexts.notebook.symmetry` describes."""
    from contexts.logic.symmetry import automorphisms

    found = automorphisms(h)
    return {
        "order": found.order,
        "generators": found.generators,
        "orbits": found.orbits,
        "context_orbits": [[list(h.contexts[i]) for i in orbit] for orbit in found.context_orbits],
    }


def isomorphic(first: Hypergraph, second: Hypergraph) -> dict[str, Any]:
    """What :func:`contexts.notebook.isomorphic` describes."""
    from contexts.logic.symmetry import isomorphism

    found = isomorphism(first, second)
    return {"isomorphic": found is not None, "map": found}


def parity(h: Hypergraph, seconds: float) -> dict[str, Any]:
    """What :func:`contexts.notebook.parity` describes."""
    from contexts.logic.parity import parity_proof

    found = parity_proof(h, seconds)
    return {
        "exists": found.proof is not None,
        "proof": None if found.proof is None else [list(h.contexts[i]) for i in found.proof],
        "smallest": found.smallest,
        "number": found.number,
        "sizes": None if found.sizes is None else {str(size): n for size, n in found.sizes.items()},
        "odd_set": found.odd_set,
        "definition": "an odd number of contexts in which every atom occurs an even number of times"
        if found.odd_set is None
        else "no parity proof: every context has an odd number of the atoms of odd_set",
    }


def critical(h: Hypergraph, most: int, seconds: float, progress: Callable[[str], None]) -> dict[str, Any]:
    """What :func:`contexts.notebook.critical` describes."""
    from contexts.logic.critical_sets import critical_sets

    found = critical_sets(h, most, seconds, progress)
    result: dict[str, Any] = {"exists": found is not None, "smallest": None, "at_least": None, "at_most": None}
    if found is None:
        return result | {"subsets": [], "sizes": {}, "complete": True, "interrupted": False}
    result |= {
        "smallest": found.smallest,
        "at_least": found.at_least if found.smallest is None else found.smallest,
        "at_most": len(found.example),
        "subsets": [[list(h.contexts[i]) for i in subset] for subset in found.found or [found.example]],
        "sizes": {str(size): n for size, n in found.sizes.items()},
        "sizes_complete_below": None if found.complete else found.at_least,
        "complete": found.complete,
        "interrupted": found.reason == "interrupted",
    }
    return result | ({"reason": found.reason} if found.reason else {})


def contains(large: Hypergraph, small: Hypergraph, most: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """What :func:`contexts.notebook.contains` describes."""
    from contexts.logic.embedding import copies

    found: list[dict[str, str]] = []
    interrupted = False
    try:
        found.extend(islice(copies(small, large, progress), most + 1))
    except KeyboardInterrupt:
        interrupted = True
    return {
        "contains": bool(found) or (None if interrupted else False),
        "copies": found[:most],
        "complete": not interrupted and len(found) <= most,
        "interrupted": interrupted,
    }
