"""The object: what shapes are allowed, completed, stripped; which are refused, and in which words."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from contexts.hypergraphs import library
from contexts.hypergraphs.hypergraph import Hypergraph, bits, from_graph
from contexts.hypergraphs.rays import check_vectors, complete, expand_pairs, from_vectors, require_orthonormal
from contexts.logic.state_counting import count_states


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], []), "at least one atom"),
        ((["a", "a"], []), "listed twice"),
        ((["a", "b"], [["a"]]), "at least two atoms"),
        ((["a", "b"], [["a", "b", "a"]]), "'a' twice"),
        ((["a", "b"], [["a", "c"]]), "not among the vertices"),
        ((["a", "b", "c"], [["a", "b"], ["b", "a"]]), "repeats context 1"),
        ((["a", "b", "c", "d"], [["a", "b", "c", "d"]], [], 3), "at most 3 rays"),
        ((["a", "b"], [], [["a", "a"]]), "two different atoms"),
        ((["a", "b"], [], [["a", "z"]]), "not among the vertices"),
        ((["a", "b"], [["a", "b"]], [], 0), "positive whole number"),
    ],
)
def test_impossible_shapes_are_refused_in_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        Hypergraph(*arguments)


def test_contexts_of_different_sizes_and_free_atoms_have_defined_states():
    """One 1 in every context whatever its size; an atom in no context is free, so it doubles the count."""
    mixed = Hypergraph("abcdef", ["abc", "cd"], [], 3)
    # By hand: c true → a, b, d false; c false → d true and one of a, b.  e and f are free.
    assert count_states(mixed) == 3 * 4
    assert mixed.multiplicity == {"a": 1, "b": 1, "c": 2, "d": 1, "e": 0, "f": 0}
    assert mixed.intertwining == ("c",)


@pytest.mark.parametrize(
    ("name", "atoms", "contexts"),
    [("peres_33", 57, 40), ("conway_kochen_31", 51, 37), ("yu_oh_13_rays", 25, 16), ("kcbs_pentagram", 10, 5)],
)
def test_completion_gives_the_published_sizes(name, atoms, contexts):
    """57-40 (Pavičić, Entropy 21, 1107), 51-37 (Conway–Kochen), 25-16 (Yu–Oh): all by cross products."""
    whole = complete(library.load(name))
    assert (len(whole.vertices), len(whole.contexts)) == (atoms, contexts)
    assert not whole.exclusive_pairs
    assert check_vectors(whole).injective


def test_completed_peres_33_is_the_57_40_hypergraph():
    done, known = complete(library.load("peres_33")), library.load("peres_57_40")
    assert nx.faster_could_be_isomorphic(done.graph, known.graph)
    degrees = [sorted(h.multiplicity.values()) for h in (done, known)]
    assert degrees[0] == degrees[1]


def test_completion_without_vectors_adds_fresh_atoms_and_needs_a_dimension():
    partial = Hypergraph("abc", [], ["ab", "bc"], 3)
    done = complete(partial)
    assert [len(c) for c in done.contexts] == [3, 3]
    assert len(done.vertices) == 5
    with pytest.raises(ValueError, match="dimension must be known"):
        complete(Hypergraph("ab", [], ["ab"]))


def test_stripping_the_pentagon_leaves_kcbs_with_as_many_states():
    stripped = library.load("pentagon").strip_leaves()
    assert nx.is_isomorphic(stripped.graph, nx.cycle_graph(5))
    assert count_states(stripped) == count_states(library.load("pentagon")) == 11  # one leaf a context: a bijection


def test_deleting_a_context_drops_its_private_atoms_only():
    h = library.load("firefly_L12")
    assert h.without_context(0) == Hypergraph(["a3", "a4", "a5"], [["a3", "a4", "a5"]])


def test_equality_is_of_sets_and_relabelling_keeps_the_vectors():
    h = library.load("specker_bug")
    shuffled = Hypergraph(h.vertices[::-1], [c[::-1] for c in h.contexts[::-1]])
    assert h == shuffled
    assert hash(h) == hash(shuffled)
    renamed = h.relabel([v.upper() for v in h.vertices])
    assert renamed != h
    assert np.array_equal(renamed.vectors["A1"], h.vectors["a1"])


def test_graph_cliques_become_contexts():
    h = from_graph(library.load("peres_24_24").graph, 4)
    assert h == library.load("peres_24_24")
    with pytest.raises(ValueError, match="5 mutually adjacent"):
        from_graph(nx.complete_graph(5), 4)


def test_cabello_vectors_are_orthogonal_in_nine_unlisted_pairs():
    """Trap: its usual vectors are no faithful representation in the iff sense."""
    h = library.load("cabello_18_9")
    check = check_vectors(h)
    assert len(check.extra_orthogonal) == 9
    assert (check.proper, check.injective, check.faithful) == (True, True, False)
    assert check_vectors(expand_pairs(h)).faithful


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([0, 0, 0], "'e3' is zero"),
        ([0, 0, float("nan")], "not a finite number"),
        ([0, 1], "must be 3 numbers"),
        (["x", 0, 0], "must be a list of numbers"),
    ],
)
def test_bad_vectors_are_named(vector, words):
    good = {v: x.tolist() for v, x in library.load("paper_pair").vectors.items()}
    with pytest.raises(ValueError, match=words):
        library.load("paper_pair").replace(vectors=good | {"e3": vector})


def test_missing_and_unknown_vectors_are_named():
    h = library.load("paper_pair")
    with pytest.raises(ValueError, match="no vector is given for atom 'e3'"):
        h.replace(vectors={v: x for v, x in h.vectors.items() if v != "e3"})
    with pytest.raises(ValueError, match="'q', which is not among"):
        h.replace(vectors=dict(h.vectors) | {"q": [1, 0, 0]})


def test_lengths_do_not_matter_but_angles_do():
    h = library.load("paper_pair")
    assert check_vectors(h.replace(vectors={v: 7 * x for v, x in h.vectors.items()})).faithful
    tilted = h.replace(vectors=dict(h.vectors) | {"f1": [1, -1, 1e-4]})
    with pytest.raises(ValueError, match=r"'e3' and 'f1'.*7\.07e-05"):
        require_orthonormal(tilted)
    assert check_vectors(tilted, tolerance=1e-3).proper


def test_nearly_parallel_rays_are_one_ray():
    with pytest.raises(ValueError, match="same ray"):
        from_vectors({"a": [1, 0, 0], "b": [1, 1e-12, 0], "c": [0, 1, 0]})
    apart = from_vectors({"a": [1, 0, 0], "b": [1, 1e-6, 0], "c": [0, 0, 1]})
    assert len(apart.exclusive_pairs) == 2


def test_hypergraph_from_rays_finds_bases_and_pairs():
    """Peres' 33 rays: 16 triads and 24 further orthogonal pairs, 72 in all (Peres 1991)."""
    h = from_vectors(library.load("peres_33").vectors)
    assert (len(h.contexts), len(h.pair_masks), h.graph.number_of_edges()) == (16, 24, 72)


def test_bits():
    assert bits(0b101001) == [0, 3, 5]
