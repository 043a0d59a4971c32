"""Every entry of the shipped data file against the code; the numbers in it came from independent programs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from contexts.hypergraphs import formats, library
from contexts.hypergraphs.hypergraph import from_graph
from contexts.hypergraphs.rays import check_vectors
from contexts.logic import graph_bounds, satisfiability
from contexts.logic.state_counting import count_states, count_with_marginals
from contexts.logic.valuations import list_states

ENTRIES = {e["name"]: e for e in library.catalogue()["entries"]}
HYPERGRAPHS = [n for n, e in ENTRIES.items() if "n_two_valued_states" in e.get("recomputed", {})]
WEIGHTED = "weighted_by_context_multiplicity"
BOUNDED = [
    (name, weights)
    for name, e in ENTRIES.items()
    if "vertices" in e and len(e["vertices"]) <= 30
    for weights, key in ((None, "alpha"), ("multiplicity", WEIGHTED))
    if key in e["recomputed"]
]


def test_every_entry_is_tested():
    """A new entry must be met by a test here: 19 hypergraphs, and 7 others by name below."""
    others = {
        "kcbs_pentagram", "chsh_exclusivity_graph", "theta_of_odd_cycles", "contextuality_gap_maxima_small_graphs",
        "contextual_fractions", "peres_mermin_square", "commutator_of_two_contexts_sharing_one_vector_R3",
    }  # fmt: skip
    assert set(ENTRIES) == others | set(HYPERGRAPHS)
    assert len(ENTRIES) == 26


@pytest.mark.parametrize("name", HYPERGRAPHS)
def test_states_relations_colours(name):
    h, facts = library.load(name), ENTRIES[name]["recomputed"]
    assert (len(h.vertices), len(h.contexts)) == (facts["n_vertices"], facts["n_contexts"])
    counts = count_with_marginals(h)
    assert count_states(h) == counts.total == facts["n_two_valued_states"]
    assert len(set(list_states(h).states)) == counts.total
    found = satisfiability.relations(h)
    assert (found.unital, found.separating) == (facts["unital"], facts["separating"])
    if not isinstance(facts["nonunital_vertices"], str):
        assert set(found.never_true) == {str(v) for v in facts["nonunital_vertices"]}
    assert satisfiability.strong_chromatic_number(h) == facts["strong_chromatic_number"]
    if isinstance(facts["tifs_pairs"], list):
        assert {frozenset(p) for p in found.true_implies_false} == {frozenset(p) for p in facts["tifs_pairs"]}
        assert set(found.true_implies_true) == {tuple(p) for p in facts["tits_pairs"]}
    if "critical" in facts:
        assert satisfiability.is_critical(h) == facts["critical"]


def test_implications_of_the_non_unital_hypergraph():
    """171 ordered true-implies-true pairs. The file's 114 true-implies-false pairs count only u met before v.

    Both orders are asked here; restricted to u before v in order of first appearance, the 114 come out.
    """
    h = library.load("nonunital_36_26")
    found = satisfiability.relations(h)
    assert len(found.true_implies_true) == 171
    first = {v: k for k, v in enumerate(dict.fromkeys(v for c in h.contexts for v in c))}
    never = set(found.never_true)
    earlier = [(u, v) for u, v in found.true_implies_false if v not in never or first[u] < first[v]]
    assert len(earlier) == 114


@pytest.mark.parametrize("name", [n for n in HYPERGRAPHS if ENTRIES[n].get("mmp")])
def test_mmp_strings(name):
    """The MMP string and the list of contexts are the same incidence, atoms in the order of first appearance or
    number."""
    entry, h = ENTRIES[name], library.load(name)
    read = formats.read_mmp(entry["mmp"])
    assert [len(c) for c in read.contexts] == [len(c) for c in h.contexts]
    pairs = {
        (a, b) for left, right in zip(read.contexts, h.contexts, strict=True) for a, b in zip(left, right, strict=True)
    }
    assert len(pairs) == len(h.vertices)  # position by position it is one renaming
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(h.vertices)


@pytest.mark.parametrize("name", [n for n in HYPERGRAPHS if "vectors_check" in ENTRIES[n]["recomputed"]])
def test_vectors(name):
    facts = ENTRIES[name]["recomputed"]["vectors_check"]
    check = check_vectors(library.load(name))
    assert check.proper == facts["all_context_pairs_orthogonal"]
    assert len(check.parallel) == facts["parallel_pairs"]
    assert len(check.extra_orthogonal) == facts["extra_orthogonal_pairs_not_in_a_context"]
    assert check.faithful == facts["faithful"]


@pytest.mark.parametrize(("name", "weights"), BOUNDED)
def test_alpha_theta_alpha_star(name, weights):
    """θ to 1e-5 of the recorded value, and its two bounds enclose that; larger graphs are in the slow test."""
    facts = ENTRIES[name]["recomputed"]
    _compare(library.load(name), weights, facts[WEIGHTED] if weights else facts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["conway_kochen_31", "peres_33", "peres_57_40", "witting_penrose_40_40"])
def test_alpha_theta_alpha_star_of_larger_sets(name):
    _compare(library.load(name), None, ENTRIES[name]["recomputed"])
    weighted = ENTRIES[name]["recomputed"].get(WEIGHTED)
    if weighted and name != "peres_57_40":
        _compare(library.load(name), "multiplicity", weighted)


def _compare(h, weights, facts):
    assert graph_bounds.independence_number(h, weights).value == facts["alpha"]
    star = graph_bounds.fractional_packing(h, weights)
    assert star.value == pytest.approx(facts["alpha_star"], abs=1e-6)
    assert star.dual == pytest.approx(star.value, abs=1e-7)
    theta = graph_bounds.lovasz(h, weights)
    assert theta.value - 1e-6 <= facts["theta"] <= theta.dual + 1e-6
    assert theta.dual - theta.value < 1e-5


@pytest.mark.parametrize("name", [n for n in HYPERGRAPHS if "automorphism_group_order" in ENTRIES[n]["recomputed"]])
def test_automorphism_group_order(name):
    """By nauty on the bipartite incidence graph, atoms and contexts coloured apart."""
    pynauty = pytest.importorskip("pynauty")
    h = library.load(name)
    n, m = len(h.vertices), len(h.contexts)
    adjacency = {n + k: [h.index[v] for v in c] for k, c in enumerate(h.contexts)}
    graph = pynauty.Graph(n + m, adjacency_dict=adjacency, vertex_coloring=[set(range(n)), set(range(n, n + m))])
    _, mantissa, exponent, *_ = pynauty.autgrp(graph)
    assert round(mantissa * 10**exponent) == ENTRIES[name]["recomputed"]["automorphism_group_order"]


def test_kcbs():
    """√5 in the state along the axis; 11 independent sets are its partial states (Klyachko et al. 2008)."""
    entry, h = ENTRIES["kcbs_pentagram"], library.load("kcbs")
    _compare(h, None, entry["recomputed"])
    assert count_states(h) == entry["recomputed"]["independent_sets_as_partial_states"]
    state = np.array(entry["state_for_max_violation"], dtype=float)
    unit = [v / np.linalg.norm(v) for v in h.vectors.values()]
    assert sum((u @ state) ** 2 for u in unit) == pytest.approx(5**0.5, abs=1e-9)
    assert check_vectors(h).faithful


def test_chsh_graph():
    h = library.load("chsh_exclusivity_graph")
    assert nx.is_isomorphic(h.graph, nx.circulant_graph(8, [1, 4]))
    theta = graph_bounds.lovasz(h)
    assert theta.value - 1e-6 <= 2 + 2**0.5 <= theta.dual + 1e-6
    assert graph_bounds.independence_number(h).value == 3
    assert graph_bounds.fractional_packing(h).value == 4


@pytest.mark.parametrize("n", [5, 7, 9, 11])
def test_theta_of_odd_cycles(n):
    """θ(Cₙ) = n cos(π/n)/(1 + cos(π/n)), and θ(Cₙ) θ(complement) = n for vertex-transitive graphs (Lovász 1979)."""
    facts = ENTRIES["theta_of_odd_cycles"]["recomputed"][str(n)]
    exact = n * np.cos(np.pi / n) / (1 + np.cos(np.pi / n))
    assert facts["theta"] == pytest.approx(exact, abs=1e-6)
    theta = graph_bounds.lovasz(from_graph(nx.cycle_graph(n)))
    assert theta.value - 1e-6 <= exact <= theta.dual + 1e-6
    other = graph_bounds.lovasz(from_graph(nx.complement(nx.cycle_graph(n))))
    assert other.dual == pytest.approx(facts["theta_complement"], abs=1e-5)
    assert graph_bounds.independence_number(from_graph(nx.cycle_graph(n))).value == facts["alpha"]
    assert graph_bounds.fractional_packing(from_graph(nx.cycle_graph(n))).value == facts["alpha_star"]


@pytest.mark.parametrize("code", ["DUW", "EUZw", "FCp`_"])
def test_largest_gaps_of_small_graphs(code):
    facts = ENTRIES["contextuality_gap_maxima_small_graphs"]["recomputed"][code]
    h = formats.read_graph6(code)
    assert len(h.vertices) == facts["n"]
    assert graph_bounds.lovasz(h).dual - graph_bounds.independence_number(h).value == pytest.approx(
        facts["gap"], abs=1e-5
    )


@pytest.mark.parametrize(("n", "count"), [(3, 4), (4, 7), (5, 11), (6, 18), (7, 29), (24, 103_682)])
def test_cycles_have_lucas_many_states(n, count):
    assert count_states(library.cycle(n)) == count


def test_a_thousand_contexts_in_a_ring():
    """L_1000 by the recurrence, 209 digits."""
    a, b = 2, 1
    for _ in range(1000):
        a, b = b, a + b
    assert count_states(library.cycle(1000)) == a


def test_families_and_names():
    assert count_states(library.load("firefly_4")) == 1 + 2**4
    chain = library.load("bugs_50")
    assert (len(chain.vertices), len(chain.contexts), len(str(count_states(chain)))) == (601, 350, 48)
    assert count_states(library.load("bugs_1")) == 14
    with pytest.raises(ValueError, match="did you mean"):
        library.load("spekker_bug")
    with pytest.raises(ValueError, match="at least 3 contexts"):
        library.load("cycle_2")


def test_the_papers_two_examples():
    bank = library.load("bank")
    assert bank.intertwining == ("bank",)
    assert {c[1] for c in bank.contexts} == {"economy", "river", "seat"}
    assert check_vectors(bank).faithful
    assert check_vectors(library.load("paper_pair")).faithful


def test_mermin_square_gives_peres_24_rays():
    """Its six bases are 24 rays, all their orthogonal bases 24: the Peres set (1991)."""
    square = library.load("mermin_square")
    assert (len(square.vertices), len(square.contexts)) == (24, 6)
    assert square.graph.number_of_edges() == library.load("peres_24_24").graph.number_of_edges()
    assert len(from_graph(square.graph, 4).contexts) == 24
    assert count_states(square) == 0
