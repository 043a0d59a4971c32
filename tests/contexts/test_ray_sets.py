"""The constructed Kochen–Specker sets have their published numbers."""

from __future__ import annotations

import pytest

from contexts import notebook
from contexts.hypergraphs import library, ray_sets
from contexts.hypergraphs.rays import check_vectors
from contexts.logic import parity, satisfiability


@pytest.fixture(scope="module")
def built():
    """All but E8, whose 2025 bases take seconds: its test shares them with nobody."""
    return {name: library.load(name) for name in ray_sets.SETS if name != "e8_120_2025"}


def test_sizes_and_no_state(built):
    for name, h in built.items():
        made = ray_sets.SETS[name]
        assert (len(h.vertices), len(h.contexts), h.dimension) == (made.atoms, made.contexts, made.dimension)
        assert {len(c) for c in h.contexts} == {made.dimension}
        assert satisfiability.find_state(h) is None, name
        assert h.exact is None or not check_vectors(h.replace(exact=None)).not_orthogonal


def test_kochen_specker_and_lisonek_are_critical(built):
    """Pavičić et al. count 192 atoms and 118 contexts; Lisoněk's set has two contexts per ray, 7 of them: parity."""
    assert satisfiability.is_critical(built["kochen_specker_192_118"])
    assert satisfiability.is_critical(built["lisonek_21_7"])
    assert set(built["lisonek_21_7"].multiplicity.values()) == {2}
    assert parity.parity_proof(built["lisonek_21_7"]).sizes == {7: 1}


def test_parity_proofs(built):
    """Waegell & Aravind: the pentagram's 2¹⁰ proofs, of 11, 13 and 15 contexts; the 600-cell's 2³³."""
    assert parity.parity_proof(built["kernaghan_peres_40_25"]).sizes == {11: 320, 13: 640, 15: 64}
    assert len(parity._solve(built["six_hundred_cell_60_75"])[1]) == 33


def test_symmetry_of_the_cell_and_the_square(built):
    """H₄ modulo −1 and the exchange of √5 with −√5: 2 · 14400 / 2; Lisoněk's set: all permutations of 7 contexts."""
    pytest.importorskip("pynauty")
    assert notebook.symmetry(built["six_hundred_cell_60_75"])["order"] == 14400
    assert notebook.symmetry(built["lisonek_21_7"])["order"] == 5040


def test_rational_rays_need_three_colours_only():
    """Godsil & Zaks 1988."""
    h = library.load("rational_7")
    assert len(h.vertices) == 75
    assert satisfiability.strong_chromatic_number(h) == 3
    with pytest.raises(ValueError, match="from 1 to 20"):
        library.load("rational_0")
