"""Two-valued states by three methods that share no code, against each other, brute force and published counts."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from contexts.hypergraphs import library
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.rays import complete
from contexts.logic import satisfiability as sat
from contexts.logic import valuations as val
from contexts.logic.state_counting import TooWide, count_states, count_with_marginals, sample_states


def brute_force(h: Hypergraph) -> set[int]:
    found = set()
    for state in range(1 << len(h.vertices)):
        exact = all((state & c).bit_count() == 1 for c in h.context_masks)
        if exact and all((state & p).bit_count() <= 1 for p in h.pair_masks):
            found.add(state)
    return found


groups = st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=4, unique=True), max_size=7, unique_by=frozenset)
couples = st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2, unique=True), max_size=5)


@settings(max_examples=60, deadline=None)
@given(groups, couples)
def test_listing_counting_and_sat_agree_with_brute_force(contexts, pairs):
    h = Hypergraph(range(10), contexts, pairs)
    truth = brute_force(h)
    assert set(val.list_states(h).states) == truth
    counts = count_with_marginals(h)
    assert counts.total == count_states(h) == len(truth)
    assert counts.marginals == {v: sum(s >> i & 1 for s in truth) for i, v in enumerate(h.vertices)}
    assert set(sat.enumerate_states(h)) == truth
    assert (sat.find_state(h) is not None) == bool(truth)


@settings(max_examples=60, deadline=None)
@given(groups, couples)
def test_relations_agree_with_their_definitions(contexts, pairs):
    h = Hypergraph(range(10), contexts, pairs)
    truth = brute_force(h)
    found = sat.relations(h)
    value = {v: [bool(s >> i & 1) for s in sorted(truth)] for i, v in enumerate(h.vertices)}
    apart = [(u, v) for u in h.vertices for v in h.vertices if u != v and not h.graph.has_edge(u, v)]
    possible = {v for v in h.vertices if any(value[v])}
    tits = {(u, v) for u, v in apart if u in possible and all(y for x, y in zip(value[u], value[v], strict=True) if x)}
    tifs = {
        frozenset((u, v))
        for u, v in apart
        if u in possible and not any(x and y for x, y in zip(value[u], value[v], strict=True))
    }
    assert found.unital == (bool(truth) and len(possible) == 10)
    assert found.separating == (bool(truth) and len({tuple(x) for x in value.values()}) == 10)
    assert set(found.true_implies_true) == tits
    assert {frozenset(p) for p in found.true_implies_false} == tifs
    assert len(found.true_implies_false) == len(tifs)


def test_peres_33_needs_its_pairs_or_completion():
    """Trap: the 16 triads alone leave 3,072 states; the 24 pairs, or 57-40, leave none."""
    h = library.load("peres_33")
    assert count_states(h.replace(exclusive_pairs=())) == 3072
    assert count_states(h) == 0
    assert count_states(complete(h)) == 0


def test_true_implies_true_is_found_in_both_directions():
    """Trap: whichever of the two atoms comes first among the vertices."""
    h = library.load("specker_bug_TITS_extension")
    expected = {("a1", "a15"), ("a7", "a16")}
    assert set(sat.relations(h).true_implies_true) == expected
    assert set(sat.relations(h.replace(vertices=h.vertices[::-1])).true_implies_true) == expected


def test_unital_and_separating_is_no_colouring():
    """Trap: Yu–Oh completed is both, and needs 4 colours in dimension 3."""
    h = library.load("yu_oh_completed_25_16")
    found = sat.relations(h)
    assert found.unital
    assert found.separating
    assert sat.colouring(h, 3) is None
    assert sat.strong_chromatic_number(h) == 4
    painted = sat.colouring(h, 4)
    assert all(painted[a] != painted[b] for a, b in h.graph.edges)


def test_colouring_gives_up_in_words():
    with pytest.raises(sat.Undecided, match="not decided within 1 conflicts"):
        sat.strong_chromatic_number(library.load("witting_penrose_40_40"), conflicts=1)


def test_twenty_four_cycle_is_listed_completely():
    """103,682 = L_24 states, all different."""
    listing = val.list_states(library.cycle(24))
    assert listing.complete
    assert len(set(listing.states)) == 103_682


def test_single_deletions_of_peres_57_40():
    """It is critical: every deletion leaves states. Counts against an independent enumeration for some of them."""
    h = library.load("peres_57_40")
    counts = [count_states(h.without_context(i)) for i in range(40)]
    assert min(counts) > 0
    for i in (0, 13, 39):
        assert counts[i] == sum(1 for _ in sat.enumerate_states(h.without_context(i)))


def test_chain_of_bugs_has_the_transfer_matrix_count():
    """A bug has 14 states, 3 with a1, 3 with a7, 8 with neither: (8 3; 3 0) has eigenvalues 9 and −1."""
    bug = library.load("specker_bug")
    rows = [[sum(1 for s in val.states(bug) if (s & 1, s >> 6 & 1) == (i, j)) for j in (0, 1)] for i in (0, 1)]
    assert rows == [[8, 3], [3, 0]]
    power = np.linalg.matrix_power(np.array(rows, dtype=object), 50)
    assert count_states(library.bug_chain(50)) == power.sum()


def test_marginals_sum_to_the_total_in_every_context():
    h = library.bug_chain(20)
    counts = count_with_marginals(h)
    assert all(sum(counts.marginals[v] for v in c) == counts.total for c in h.contexts)


def test_samples_are_uniform_over_the_states():
    """Pentagon, 11 states, 4,400 draws: a fair sampler fails with probability 1e-6."""
    h = library.load("pentagon")
    drawn = sample_states(h, 4400, np.random.default_rng(0))
    seen = [drawn.count(s) for s in val.states(h)]
    assert sum(seen) == 4400
    assert chisquare(seen).pvalue > 1e-6
    with pytest.raises(ValueError, match="no two-valued state"):
        sample_states(library.load("cabello"), 1, np.random.default_rng(0))


def test_limits_stop_with_a_count_so_far():
    h = library.cycle(24)
    listing = val.list_states(h, limit=1000)
    assert (len(listing.states), listing.complete) == (1000, False)
    assert "limit of 1000" in listing.reason
    with pytest.raises(TooWide, match="more than 2 frontier states"):
        count_states(h, width_limit=2)


def test_interrupted_listing_keeps_what_it_found(monkeypatch):
    def interrupted(h):
        yield from islice(original(h), 7)
        raise KeyboardInterrupt

    original = val.states
    monkeypatch.setattr(val, "states", interrupted)
    listing = val.list_states(library.cycle(24))
    assert (len(listing.states), listing.complete) == (7, False)
    assert "interrupted after 7" in listing.reason


def test_partition_logic_of_the_bug_is_isomorphic_to_it():
    """Every context is a partition of the states; different atoms are different sets."""
    h = library.load("specker_bug")
    logic = val.partition_logic(h)
    for context in h.contexts:
        assert sorted(n for v in context for n in logic[v]) == list(range(1, 15))
    assert len(set(logic.values())) == 13


def test_a_small_separating_set_is_enough_for_a_partition_logic():
    h = library.load("pentagon")
    few = val.separating_subset(h, val.list_states(h).states)
    assert len(few) < 11
    logic = val.partition_logic(h, few)
    assert all(sorted(n for v in c for n in logic[v]) == list(range(1, len(few) + 1)) for c in h.contexts)


def test_partition_logic_refuses_what_does_not_separate():
    twins = Hypergraph("abcd", ["ab", "cd"], ["bd"])
    with pytest.raises(ValueError, match="do not separate"):
        val.partition_logic(Hypergraph("abc", ["ab", "ac"]))
    with pytest.raises(ValueError, match="cannot be empty"):
        val.partition_logic(library.load("nonunital_36_26"))
    with pytest.raises(ValueError, match="is not a two-valued state"):
        val.partition_logic(twins, [0b1111])
    with pytest.raises(ValueError, match="do not separate"):
        val.separating_subset(Hypergraph("abc", ["ab", "ac"]), list(val.states(Hypergraph("abc", ["ab", "ac"]))))


def test_critical_subsets_have_no_state_and_all_their_deletions_have():
    """Peres' 24 rays contain criticals of 9, 11, 13 and 15 contexts only (six types)."""
    h = library.load("peres_24_24")
    chosen = sat.critical_contexts(h)
    assert len(chosen) in (9, 11, 13, 15)
    sub = h.subset({v for i in chosen for v in h.contexts[i]}).replace(
        contexts=[h.contexts[i] for i in chosen], exclusive_pairs=()
    )
    assert sat.is_critical(sub)
    assert sat.critical_contexts(library.load("specker_bug")) is None
    assert len(sat.critical_contexts(library.load("peres_57_40"))) == 40
    kept = sat.critical_contexts(library.load("peres_57_40"), keep_exclusivity=True)
    assert len(kept) < 40  # with the orthogonality of the vectors kept, fewer demands clash


def test_assumptions():
    h = library.load("specker_bug")
    assert sat.find_state(h, true=["a1", "a7"]) is None
    state = sat.find_state(h, true=["a1"], false=["a5"])
    assert val.is_state(h, state)
    assert "a1" in val.true_atoms(h, state)
