"""Certificates that a hypergraph has no orthogonal representation, or none by different rays."""

from __future__ import annotations

from itertools import combinations

import networkx as nx

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.logic import graph_bounds, satisfiability


def impossible_level(h: Hypergraph) -> tuple[str | None, dict | None]:
    """The lowest level proved impossible, with a checkable certificate; (None, None) if no rule applies.

    proper     a clique of more than d atoms; or the multiplicity-weighted θ below the number of contexts m, all of d
               atoms (vectors would give every state Σ wᵢ p(i) = m ≤ θ_w)
    injective  two atoms whose common neighbours leave them one ray: d − 1 mutually exclusive ones, or in dimension 3
    any two
    """
    found = _too_large_clique(h) or _theta_below_contexts(h)
    if found is not None:
        return "proper", found
    found = _forced_parallel(h)
    return (None, None) if found is None else ("injective", found)


def _too_large_clique(h: Hypergraph) -> dict | None:
    d = h.dimension or 0
    clique = min((sorted(q) for q in nx.find_cliques(h.graph)), key=lambda q: (-len(q), q))
    if len(clique) <= d:
        return None
    return {"rule": f"{len(clique)} mutually exclusive atoms in dimension {d}", "atoms": clique}


def _theta_below_contexts(h: Hypergraph) -> dict | None:
    contexts = len(h.contexts)
    if not contexts or any(len(c) != h.dimension for c in h.contexts):
        return None
    if satisfiability.find_state(h) is not None:
        return None  # then θ_w ≥ α_w = m
    try:
        theta = graph_bounds.lovasz(h, "multiplicity")
    except graph_bounds.TooLarge:
        return None
    if theta.dual >= contexts * (1 - 1e-6):
        return None
    return {
        "rule": f"θ_w ≤ {theta.dual:.9g} < {contexts} contexts of {h.dimension} atoms each",
        "theta_dual": theta.dual,
        "dual_matrix": theta.dual_matrix.tolist(),
        "atoms": theta.atoms,
    }


def _forced_parallel(h: Hypergraph) -> dict | None:
    d = h.dimension or 0
    for u, v in combinations(h.vertices, 2):
        common = sorted(nx.common_neighbors(h.graph, u, v))
        if len(common) < (2 if d == 3 else d - 1):
            continue
        if d == 3:
            p, q = common[:2]
            rule = f"{u} and {v} are orthogonal to {p} and {q}; in dimension 3 one of the pairs is one ray"
            return {"rule": rule, "atoms": [u, v], "common": [p, q]}
        cliques = (sorted(c)[: d - 1] for c in nx.find_cliques(h.graph.subgraph(common)) if len(c) >= d - 1)
        span = min(cliques, default=None)
        if span is not None:
            rule = f"{u} and {v} are orthogonal to all of {', '.join(span)}; in dimension {d} that leaves one ray"
            return {"rule": rule, "atoms": [u, v], "common": span}
    return None
