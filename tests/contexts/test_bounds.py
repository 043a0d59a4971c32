"""Certificates are checked here by arithmetic alone; values against theorems and published verdicts."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from contexts import notebook
from contexts.hypergraphs import library
from contexts.hypergraphs.hypergraph import from_graph
from contexts.logic import graph_bounds


def check_certificates(h, weights=None):
    """No solver is trusted: feasibility of every returned object is verified from the hypergraph."""
    w = graph_bounds.weights_of(h, weights)
    alpha, star, theta = (
        graph_bounds.independence_number(h, weights),
        graph_bounds.fractional_packing(h, weights),
        graph_bounds.lovasz(h, weights),
    )
    chosen = set(alpha.independent_set)
    assert not any(a in chosen and b in chosen for a, b in h.graph.edges)
    assert alpha.value == pytest.approx(sum(w[v] for v in chosen))
    for clique, y in star.cover:
        assert y >= 0
        assert all(h.graph.has_edge(a, b) for a in clique for b in clique if a != b)
    assert all(sum(y for c, y in star.cover if v in c) >= w[v] - 1e-7 for v in h.vertices)
    assert star.dual == pytest.approx(sum(y for _, y in star.cover), abs=1e-7)
    root = np.sqrt([w[v] for v in theta.atoms])
    x, m = theta.primal_matrix, theta.dual_matrix
    edge = np.array([[h.graph.has_edge(a, b) for b in theta.atoms] for a in theta.atoms])
    assert np.linalg.eigvalsh(x)[0] > -1e-12
    assert np.trace(x) == pytest.approx(1)
    assert not x[edge].any()
    assert theta.value == pytest.approx(root @ x @ root, abs=1e-9)
    assert np.allclose(m[~edge], np.outer(root, root)[~edge], atol=1e-12)
    assert theta.dual == pytest.approx(np.linalg.eigvalsh(m)[-1], abs=1e-9)
    assert alpha.value - 1e-6 <= theta.dual
    assert theta.value <= star.dual + 1e-6
    return alpha, theta, star


@pytest.mark.parametrize("weights", [None, "multiplicity", {"a1": 2.5, "a4": 1, "a10": 0.3}])
def test_certificates_hold_by_arithmetic(weights):
    check_certificates(library.load("specker_bug"), weights)


def test_sandwich_on_random_graphs():
    """α ≤ θ ≤ α*, and θ of a graph times θ of its complement is at least n (Lovász 1979)."""
    for seed in range(4):
        graph = nx.gnp_random_graph(11, 0.4, seed=seed)
        _, theta, _ = check_certificates(from_graph(graph))
        _, other, _ = check_certificates(from_graph(nx.complement(graph)))
        assert theta.dual * other.dual >= 11 - 1e-6


def test_no_states_does_not_mean_a_gap_without_weights():
    """Trap: Peres-33 has no two-valued state, yet α = θ = α* = 12; the verdict names the definition of each answer."""
    result = notebook.bounds("peres_33")
    assert (result["alpha"], result["alpha_star"]) == (12, 12)
    assert result["theta"] - 1e-5 <= 12 <= result["theta_dual"] + 1e-5
    verdict = result["verdict"]
    assert verdict["no_two_valued_state"]["answer"] is True
    assert verdict["theta_exceeds_alpha"]["answer"] is False
    assert "unit weights" in verdict["theta_exceeds_alpha"]["definition"]


def test_yu_oh_needs_its_weights():
    """Trap: unweighted 5 = 5. Weights 3 on z and y, 2 on h: α = 11, 35/3 in every state (Yu & Oh; Kleinmann et al.)."""
    h = library.load("yu_oh_13_rays")
    plain = notebook.bounds(h)
    assert plain["alpha"] == 5
    assert plain["verdict"]["theta_exceeds_alpha"]["answer"] is False
    weights = {v: 2.0 if v.startswith("h") else 3.0 for v in h.vertices}
    alpha, theta, _ = check_certificates(h, weights)
    assert alpha.value == 11
    assert theta.dual == pytest.approx(11.9776, abs=1e-4)
    operator = sum(w * np.outer(u, u) for w, u in ((weights[v], x / np.linalg.norm(x)) for v, x in h.vectors.items()))
    assert np.allclose(operator, 35 / 3 * np.eye(3))
    assert theta.dual >= 35 / 3
    assert notebook.bounds(h, weights)["verdict"]["theta_exceeds_alpha"]["answer"] is True


def test_multiplicity_weights_decide_kochen_specker():
    """α_w equals the number of contexts exactly when a state exists."""
    for name, has_states in (("cabello_18_9", False), ("specker_bug", True)):
        h = library.load(name)
        alpha = graph_bounds.independence_number(h, "multiplicity").value
        assert (alpha == len(h.contexts)) == has_states


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("depth", "'multiplicity' or a number"),
        ({"zz": 1.0}, "'zz', which is not among"),
        ({"a1": -1.0}, "not negative"),
        ({"a1": float("nan")}, "finite number"),
        ({"a1": 0.0}, "all weights are zero"),
    ],
)
def test_bad_weights(weights, words):
    with pytest.raises(ValueError, match=words):
        graph_bounds.weights_of(library.load("specker_bug"), weights)


def test_multiplicity_needs_contexts():
    with pytest.raises(ValueError, match="no atom lies in a context"):
        graph_bounds.weights_of(library.load("kcbs"), "multiplicity")


def test_too_many_atoms_for_theta_is_said_and_the_rest_answered():
    result = notebook.bounds(from_graph(nx.path_graph(160)))
    assert result["theta"] is None
    assert "at most 150 atoms" in result["theta_reason"]
    assert (result["alpha"], result["alpha_star"]) == (80, 80)


@pytest.mark.slow
def test_theta_of_a_cycle_past_the_interior_point_limit():
    """SCS takes over; the two bounds still enclose the exact value."""
    n = 75
    theta = graph_bounds.lovasz(from_graph(nx.cycle_graph(n)))
    exact = n * np.cos(np.pi / n) / (1 + np.cos(np.pi / n))
    assert theta.value - 1e-9 <= exact <= theta.dual + 1e-9
    assert theta.dual - theta.value < 0.05


@pytest.mark.parametrize("unit", [1e-6, 1.0, 5e5])
def test_alpha_is_exact_with_real_weights(unit):
    """Weights that differ in their last digits, against networkx's exact clique search on whole numbers."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        graph = nx.gnp_random_graph(30, 0.15, seed=seed)
        whole = {str(v): int(10**6 + rng.integers(60)) for v in graph}
        h = from_graph(graph)
        alpha = graph_bounds.independence_number(h, {v: w / 10**6 * unit for v, w in whole.items()})
        other = nx.complement(h.graph)
        nx.set_node_attributes(other, whole, "weight")
        assert sum(whole[v] for v in alpha.independent_set) == nx.max_weight_clique(other)[1]
        assert alpha.exact
        assert alpha.upper == pytest.approx(alpha.value, rel=1e-11)


@pytest.mark.parametrize("weights", [None, "multiplicity", {"a1": 1e-6, "a4": 3e-6, "a10": 2e-6}])
def test_theta_is_never_below_alpha(weights):
    """The independent set is itself a feasible X for θ, so the solver's last digits do not count."""
    h = library.load("specker_bug")
    result = notebook.bounds(h, weights)
    assert result["alpha"] <= result["theta"] <= result["theta_dual"]
    found = result["certificate"]["theta"]
    root = np.sqrt([graph_bounds.weights_of(h, weights)[v] for v in found["atoms"]])
    x = np.array(found["primal_matrix"])
    assert root @ x @ root == pytest.approx(result["theta"], rel=1e-9)
    assert np.trace(x) == pytest.approx(1)
    assert np.linalg.eigvalsh(x)[0] > -1e-12
