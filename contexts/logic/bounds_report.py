"""The bounds of a hypergraph as one dictionary of plain data: what ``bounds`` answers."""

from __future__ import annotations

from typing import Any

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.logic import graph_bounds, satisfiability


def bounds_report(h: Hypergraph, weights: str | dict[str, float | int] | None = None) -> dict[str, Any]:
    """α, θ and α* with their certificates, and a verdict: :func:`contexts.notebook.bounds`.

    Raises ValueError for weights that name another atom or are no numbers of at least 0.
    """
    alpha = graph_bounds.independence_number(h, weights)
    star = graph_bounds.fractional_packing(h, weights)
    result: dict[str, Any] = {
        "weights": weights if isinstance(weights, str) else "user" if weights else "unit",
        "alpha": alpha.value,
        "alpha_exact": alpha.exact,
        "theta": None,
        "theta_dual": None,
        "alpha_star": star.value,
        "alpha_star_dual": star.dual,
        "contexts": len(h.contexts),
        "certificate": {
            "independent_set": alpha.independent_set,
            "alpha_upper": alpha.upper,
            "fractional_packing": star.assignment,
            "clique_cover": [[clique, y] for clique, y in star.cover],
        },
    }
    theta = None
    try:
        theta = graph_bounds.lovasz(h, weights)
        theta = graph_bounds.at_least_alpha(theta, alpha, graph_bounds.weights_of(h, weights))
    except graph_bounds.TooLarge as error:
        result["theta_reason"] = str(error)
    if theta is not None:
        result |= {"theta": theta.value, "theta_dual": theta.dual}
        result["certificate"]["theta"] = {
            "atoms": theta.atoms,
            "primal_matrix": theta.primal_matrix.tolist(),
            "dual_matrix": theta.dual_matrix.tolist(),
            "meaning": "primal: X ⪰ 0, tr X = 1, 0 on exclusive pairs; dual: √(wᵢwⱼ) off the "
            "exclusive pairs, θ ≤ largest eigenvalue",
        }
    result["verdict"] = _verdict(h, result["weights"], alpha, theta)
    return result


def _verdict(h: Hypergraph, label: str, alpha: graph_bounds.Alpha, theta: graph_bounds.Theta | None) -> dict[str, Any]:
    """Three statements that differ, each with the definition it rests on and its answer in words (``says``).

    An answer is None where it was not decided.
    """
    gap = None
    if theta is not None and theta.value > alpha.upper * (1 + 1e-6):
        gap = True
    elif theta is not None and theta.dual < alpha.value * (1 + 1e-5):
        gap = False
    no_state = satisfiability.find_state(h) is None
    verdict: dict[str, Any] = {
        "no_two_valued_state": {
            "definition": "Kochen–Specker: no assignment of one true atom to every context, at most "
            "one to every exclusive pair",
            "answer": no_state,
            "says": "no two-valued state exists" if no_state else "a two-valued state exists",
        },
        "theta_exceeds_alpha": {
            "definition": f"Cabello–Severini–Winter: θ > α with {label} weights, so some state and "
            "vectors beat every mixture of classical assignments of this sum (it says nothing of other weights)",
            "answer": gap,
            "says": {
                True: "θ > α: quantum theory exceeds every classical assignment",
                False: "θ = α within 1e-5 of it: no quantum advantage",
                None: "whether θ exceeds α is not decided",
            }[gap],
        },
    }
    if h.contexts and all(len(c) == h.dimension for c in h.contexts) and label == "multiplicity" and theta:
        excluded = bool(theta.dual < len(h.contexts) * (1 - 1e-6))
        verdict["no_representation"] = {
            "definition": f"θ_w < number of contexts ({len(h.contexts)}): no vectors make every "
            "context an orthonormal basis",
            "answer": excluded,
            "says": "no vectors represent all contexts" if excluded else "θ_w does not exclude vectors",
        }
    return verdict
