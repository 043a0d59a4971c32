"""The verbs of ``qattn contexts`` for a notebook: the same names, the same dictionaries that ``--json`` prints.

    from contexts import api
    api.states("peres_57")["count"]          # '0'
    api.bounds("kcbs")["theta"]              # 2.236…

Every verb takes a :class:`~contexts.hypergraph.Hypergraph`, the path of a file, or a name of the library. Results are
plain data: numbers, strings, lists, None with a reason beside it; never NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from contexts import counting, formats, library, satisfiability, valuations
from contexts.hypergraph import TOLERANCE, Hypergraph
from contexts.vectors import check_vectors

RELATION_LIMIT = 2_000
"""Atoms past which `states` does not ask about all pairs."""

CONFLICT_LIMIT = 500_000
"""Conflicts of the SAT solver after which the chromatic number is left undecided."""


def get(source: Hypergraph | str | Path, dimension: int | None = None) -> Hypergraph:
    """A hypergraph from itself, a file (by its ending) or a library name. Raises ValueError or OSError."""
    if isinstance(source, Hypergraph):
        return source if dimension is None else source.replace(dimension=dimension)
    if Path(source).suffix.lower() in formats.READERS or Path(source).is_file():
        return formats.read(source, dimension)
    h = library.load(str(source))
    return h if dimension is None else h.replace(dimension=dimension)


def check(source: Hypergraph | str | Path, tolerance: float = TOLERANCE) -> dict[str, Any]:
    """Structure of a hypergraph, and whether its vectors, if any, represent it (``ok`` is the answer)."""
    h = get(source)
    counts = h.multiplicity
    result: dict[str, Any] = {
        "name": h.name,
        "ok": True,
        "atoms": len(h.vertices),
        "contexts": len(h.contexts),
        "exclusive_pairs": len(h.pair_masks),
        "dimension": h.dimension,
        "context_sizes": sorted({len(c) for c in h.contexts}),
        "partial_contexts": [list(c) for c in h.contexts if h.dimension and len(c) < h.dimension],
        "intertwining": list(h.intertwining),
        "leaves": [v for v in h.vertices if counts[v] == 1],
        "in_no_context": [v for v in h.vertices if counts[v] == 0],
        "components": nx.number_connected_components(h.graph),
        "vectors": None,
        "problems": [],
    }
    if h.vectors is not None:
        found = check_vectors(h, tolerance)
        result["vectors"] = {
            "field": "complex" if any(map(np.iscomplexobj, h.vectors.values())) else "real",
            "level": found.level,
            "tolerance": tolerance,
            "not_orthogonal": found.not_orthogonal,
            "parallel": found.parallel,
            "orthogonal_but_not_listed": found.extra_orthogonal,
        }
        for a, b, size in found.not_orthogonal:
            result["problems"].append(f"{a} and {b} should be orthogonal but |⟨{a}|{b}⟩| = {size:.3g}")
        for a, b, _ in found.parallel:
            result["problems"].append(f"{a} and {b} are the same ray")
        result["ok"] = not result["problems"]
    return result


def states(source: Hypergraph | str | Path, limit: int = valuations.LIST_LIMIT, listed: bool = False) -> dict[str, Any]:
    """Two-valued states: exact count (a decimal string), marginals, relations between atoms, colours, criticality.

    ``listed`` adds up to ``limit`` states as lists of true atoms. Where the count is out of reach, ``count`` is how
    many were found, ``complete`` is False and ``reason`` says why.
    """
    h = get(source)
    result: dict[str, Any] = {
        "definition": "one true atom in every context, at most one in every exclusive pair",
        "count": "0",
        "complete": True,
    }
    listing = None
    try:
        counts = counting.count_with_marginals(h)
        result |= {"count": str(counts.total), "marginals": {v: str(n) for v, n in counts.marginals.items()}}
    except (counting.TooWide, MemoryError) as error:
        listing = valuations.list_states(h, limit)
        result |= {"count": str(len(listing.states)), "complete": listing.complete, "marginals": None}
        result |= {} if listing.complete else {"reason": f"{error}; {listing.reason}"}
    if listed:
        listing = listing or valuations.list_states(h, limit)
        result["states"] = [list(valuations.true_atoms(h, s)) for s in listing.states]
        result["states_complete"] = listing.complete
        if not listing.complete:
            result["states_reason"] = listing.reason
    result |= _relations(h)
    try:
        result["strong_chromatic_number"] = satisfiability.strong_chromatic_number(h, CONFLICT_LIMIT)
    except satisfiability.Undecided as error:
        result |= {"strong_chromatic_number": None, "strong_chromatic_number_reason": str(error)}
    if result["exists"] is False:
        result["critical"] = satisfiability.is_critical(h)
        subset = satisfiability.critical_contexts(h)
        result["critical_subset"] = [list(h.contexts[i]) for i in subset or []]
    return result


def _relations(h: Hypergraph) -> dict[str, Any]:
    keys = ("unital", "separating", "never_true", "not_separated", "true_implies_false", "true_implies_true")
    if len(h.vertices) > RELATION_LIMIT:
        exists = satisfiability.find_state(h) is not None
        return {"exists": exists, **dict.fromkeys(keys), "relations_reason": f"not asked past {RELATION_LIMIT} atoms"}
    found = satisfiability.relations(h)
    listed = {key: getattr(found, key) for key in keys}
    return {"exists": found.exists} | {
        k: [list(p) for p in v] if "_" in k and k != "never_true" else v for k, v in listed.items()
    }


def commute(
    source: Hypergraph | str | Path, eigenvalues: list[float] | None = None, tolerance: float = TOLERANCE
) -> dict[str, Any]:
    """Which pairs of contexts, as maximal observables, commute; ``source`` may also be a file of observables.

    Such a file is JSON ``{"observables": {name: matrix or Pauli string}}``; complex entries are written [re, im].
    """
    from contexts import observables as obs

    labels, stack, bases = _observables(source, eigenvalues)
    norms, table = obs.commute_table(stack, tolerance)
    pairs = []
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            pair: dict[str, Any] = {
                "a": labels[i],
                "b": labels[j],
                "norm": float(norms[i, j]),
                "commute": bool(table[i, j]),
            }
            if bases is not None:
                pair["unbiasedness"] = obs.mutual_unbiasedness(bases[i], bases[j])
                pair["entropic_bound_bits"] = obs.maassen_uffink(bases[i], bases[j])
                pair["incompatibility"] = obs.incompatibility(bases[i], bases[j])
            pairs.append(pair)
    return {
        "pairs": pairs,
        "all_commute": bool(table.all()),
        "largest_commuting": [[labels[i] for i in s] for s in obs.largest_commuting_subsets(table)],
        "degenerate": [label for label, m in zip(labels, stack, strict=True) if obs.spectral_form(m).degenerate],
        "labels": labels,
        "norms": norms.tolist(),
        "tolerance": tolerance,
    }


def _observables(
    source: Hypergraph | str | Path, eigenvalues: list[float] | None
) -> tuple[list[str], np.ndarray, np.ndarray | None]:
    """Names, matrices, and bases where the source gives vectors."""
    from contexts import observables as obs

    if not isinstance(source, Hypergraph) and Path(source).suffix.lower() == ".json":
        named = formats.read_observables(Path(source))
        if named is not None:
            matrices = {k: obs.pauli(m) if isinstance(m, str) else m for k, m in named.items()}
            try:
                checked = [obs.hermitian(m) for m in matrices.values()]
            except ValueError as error:
                bad = next(k for k, m in matrices.items() if not _is_hermitian(m))
                raise ValueError(f"observable {bad!r}: {error}") from None
            if len({m.shape for m in checked}) != 1:
                raise ValueError(f"all observables must have one size; got {sorted({m.shape for m in checked})}")
            return list(matrices), np.stack(checked), None
    h = get(source)
    bases = obs.context_bases(h)
    labels = ["{" + ",".join(c) + "}" for c in h.contexts]
    return labels, obs.context_observables(h, eigenvalues), bases


def _is_hermitian(matrix: Any) -> bool:
    from contexts.observables import hermitian

    try:
        hermitian(matrix)
    except ValueError:
        return False
    return True
