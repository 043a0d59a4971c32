"""Symmetry, isomorphism, parity proofs, critical subsets and copies, against published numbers and brute force."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from math import factorial

import numpy as np
import pytest

from contexts import notebook
from contexts.hypergraphs import library
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.logic import critical_sets, embedding, parity, satisfiability, valuations


def random_hypergraph(rng: np.random.Generator, atoms: int, contexts: int, size: int = 3) -> Hypergraph:
    chosen = {tuple(sorted(rng.choice(atoms, size, replace=False).tolist())) for _ in range(contexts)}
    return Hypergraph(range(atoms), sorted(chosen), (), None)


def part(h: Hypergraph, positions) -> Hypergraph:
    return h.replace(contexts=[h.contexts[i] for i in positions])


def test_parity_proofs_of_peres_24():
    """The 24 rays have 2⁹ parity proofs (Waegell & Aravind, Found. Phys. 41, 1786 (2011)), 16 of them the 18-9."""
    found = notebook.parity("peres_24")
    assert (found["number"], found["sizes"]) == (512, {"9": 16, "11": 240, "13": 240, "15": 16})
    assert found["smallest"] is True
    assert len(found["proof"]) == 9
    assert notebook.parity("peres_57")["exists"] is False  # in dimension 3: each context has 3 atoms, and it is odd


def test_parity_proofs_by_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(15):
        h = random_hypergraph(rng, 6, 7, int(rng.integers(2, 5)))
        proofs = [
            subset
            for size in range(1, len(h.contexts) + 1)
            for subset in combinations(range(len(h.contexts)), size)
            if parity.is_parity_proof(h, list(subset))
        ]
        found = parity.parity_proof(h)
        assert found.number == len(proofs)
        if proofs:
            assert len(found.proof) == len(proofs[0])
            assert parity.is_parity_proof(h, found.proof)
            assert satisfiability.find_state(h) is None
            assert parity._shorter(h, sum(1 << i for i in proofs[-1]), 5.0)[0].bit_count() == len(proofs[0])
        else:
            assert all(len({h.vertices[h.index[v]] for v in c} & set(found.odd_set)) % 2 for c in h.contexts)


def test_critical_subsets_by_brute_force():
    """All of them, in the order of their sizes."""
    rng = np.random.default_rng(1)
    tried = 0
    for _ in range(20):
        h = random_hypergraph(rng, 5, 7)
        found = critical_sets.critical_sets(h, most=10_000)
        if found is None:
            assert satisfiability.find_state(h) is not None
            continue
        tried += 1
        without = [
            set(subset)
            for size in range(1, len(h.contexts) + 1)
            for subset in combinations(range(len(h.contexts)), size)
            if satisfiability.find_state(part(h, subset)) is None
        ]
        minimal = [s for s in without if not any(other < s for other in without)]
        assert found.complete
        assert list(map(len, found.found)) == sorted(map(len, found.found))
        assert sorted(map(sorted, minimal)) == sorted(found.found)
    assert tried > 3


def test_smallest_critical_subsets_of_peres_24():
    """The sixteen 18-9 sets and no smaller one (Pavičić, Megill & Merlet 2010); then there are larger ones."""
    found = notebook.critical("peres_24", most=17)
    assert (found["smallest"], found["sizes"], found["complete"]) == (9, {"9": 16, "11": 1}, False)
    assert notebook.critical("pentagon")["exists"] is False


def test_automorphism_groups():
    """Dihedral for a ring; (k!)ⁿ n! for n contexts through one atom, exactly at any size; the catalogue's orders."""
    pytest.importorskip("pynauty")
    assert notebook.symmetry("cycle_7")["order"] == 14
    assert notebook.symmetry("firefly_20")["order"] == 2**20 * factorial(20)
    ring = notebook.symmetry("cycle_7")
    assert sorted(map(len, ring["orbits"])) == [7, 7]
    assert len(ring["context_orbits"]) == 1
    h = library.load("peres_24")
    for generator in notebook.symmetry(h)["generators"]:
        assert h.relabel({v: generator.get(v, v) for v in h.vertices}) == h
    pairs = Hypergraph("abcd", (), [("a", "b"), ("c", "d")])
    assert notebook.symmetry(pairs)["order"] == 8


def test_isomorphism():
    pytest.importorskip("pynauty")
    h = library.load("cabello")
    other = h.relabel([f"x{k}" for k in np.random.default_rng(0).permutation(18)])
    found = notebook.isomorphic(h, other)
    assert h.relabel(found["map"]) == other
    hexagon, triangles = ([["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"], ["f", "a"]],
                          [["a", "b"], ["b", "c"], ["c", "a"], ["d", "e"], ["e", "f"], ["f", "d"]])  # fmt: skip
    assert notebook.isomorphic(Hypergraph("abcdef", hexagon), Hypergraph("abcdef", triangles))["isomorphic"] is False
    paired = Hypergraph("abc", [["a", "b"]], [("b", "c")])
    assert notebook.isomorphic(paired, Hypergraph("abc", [["a", "b"], ["b", "c"]]))["isomorphic"] is False


def test_copies():
    """Peres' 24 rays hold the sixteen 18-9 sets; a ring of three in a ring of four: none; brute force for the rest."""
    cabello, peres = library.load("cabello"), library.load("peres_24")
    found = next(iter(embedding.copies(cabello, peres)))
    images = {frozenset(found[v] for v in c) for c in cabello.contexts}
    assert images <= set(map(frozenset, peres.contexts))
    assert len(set(found.values())) == 18
    assert notebook.contains("cycle_4", "cycle_3")["contains"] is False
    assert len(notebook.contains("cycle_5", Hypergraph("abc", ["abc"]), most=9)["copies"]) == 5
    path = Hypergraph("abcde", ["abc", "cde"])
    assert len(notebook.contains("cycle_5", path, most=9)["copies"]) == 5
    assert len(notebook.contains("pentagon", Hypergraph("ab", (), [("a", "b")]), most=99)["copies"]) == 30
    assert notebook.contains("cycle_5", "cabello")["contains"] is False


def test_negations_and_conjunctions():
    """b = ¬a = d by two-atom contexts; u = w ∨ x and v = w ∨ y by complements, so u ∧ v = w."""
    chain = Hypergraph("abcd", ["ab", "bc", "cd"])
    assert notebook.states(chain, listed=True)["negations"] == [["a", "d"]]
    h = Hypergraph("wxyzuv", ["wxyz", "uyz", "vxz"])
    assert ["u", "v", "w"] in notebook.states(h, listed=True)["conjunctions"]
    rng = np.random.default_rng(2)
    for _ in range(20):
        h = random_hypergraph(rng, 7, 3)
        found = list(valuations.states(h))
        table = valuations.as_table(h, found) if found else np.zeros((0, 7), bool)
        _, conjunctions = valuations.compound_relations(h, found)
        for a, b, c in conjunctions:
            u, v, w = (table[:, h.index[x]] for x in (a, b, c))
            assert np.array_equal(u & v, w)


def test_verbs(qattn, tmp_path):
    pytest.importorskip("pynauty")
    for words, code, message in (
        (["symmetry", "pentagon"], 0, "automorphism group of order 10"),
        (["isomorphic", "cycle_5", "pentagon"], 0, "isomorphic: yes"),
        (["isomorphic", "cycle_5", "cycle_6"], 1, "isomorphic: no"),
        (["parity", "cabello"], 0, "a smallest one has 9 contexts"),
        (["parity", "pentagon"], 1, "every context has an odd number of these atoms"),
        (["critical", "cabello"], 0, "a smallest critical subset has 9 contexts"),
        (["critical", "witting", "--seconds", "0.1"], 0, "a smallest critical subset has"),
        (["contains", "tits", "bug"], 0, "1 copies"),
        (["states", "pentagon", "--table", tmp_path / "states.csv"], 0, "11 two-valued states"),
    ):
        found, out, err = qattn("contexts", *words)
        assert found == code, err
        assert message in out
    rows = list(csv.DictReader((tmp_path / "states.csv").read_text().splitlines()))
    assert len(rows) == 11
    for context in library.load("pentagon").contexts:
        assert all(sum(int(row[v]) for v in context) == 1 for row in rows)
    code, out, _ = qattn("contexts", "critical", "peres_24", "--json")
    assert json.loads(out)["sizes"] == {"9": 1}
