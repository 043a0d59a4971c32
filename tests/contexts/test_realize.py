"""Vectors found are checked by their inner products; impossibility by its certificate; flex by known geometry."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from contexts import notebook
from contexts.hypergraphs import library
from contexts.hypergraphs.hypergraph import Hypergraph, from_graph
from contexts.hypergraphs.rays import check_vectors, from_vectors
from contexts.logic import ray_pools
from contexts.logic import realization as rel
from contexts.logic.rigidity import edges_of, flex, jacobian


@pytest.mark.parametrize(
    "name",
    ["bank", "cycle_5", "hexagon", "specker_bug", "kcbs_pentagram", "peres_24_24", "peres_33", "conway_kochen_31"],
)
def test_faithful_vectors_are_found_from_the_incidence_alone(name):
    h = library.load(name).replace(vectors=None)
    found = rel.realize(h, "faithful", restarts=5)
    assert found.levels == {"proper": True, "injective": True, "faithful": True}
    assert check_vectors(h.replace(vectors=found.vectors)).faithful


@pytest.mark.parametrize("name", ["triangle", "square"])
def test_triangle_and_square_have_no_injective_representation(name):
    """Trap; known, and the certificate is a 4-cycle of orthogonality: u, v ⟂ p, q in dimension 3."""
    h = library.load(name)
    found = rel.realize(h)
    assert found.levels == {"proper": True, "injective": False, "faithful": False}
    u, v = found.certificate["atoms"]
    assert all(h.graph.has_edge(x, p) for x in (u, v) for p in found.certificate["common"])
    assert check_vectors(h.replace(vectors=found.vectors)).level == "proper"


def test_theta_below_the_number_of_contexts_forbids_every_representation():
    """Three disjoint pairs crossing three others, all exclusive: θ_w by the SDP's dual alone shows m bases
    impossible."""
    h = Hypergraph("abcdef", ["ab", "cd", "ef", "ac", "bd"], [], 2)
    level, certificate = rel.impossible_level(h)
    assert level is None or level == "injective"  # a 4-cycle in dimension 2 is realised by one basis twice
    odd = Hypergraph("abcde", [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "a"]], [], 2)
    level, certificate = rel.impossible_level(odd)
    assert level == "proper"
    # θ_w of the pentagon with weight 2 everywhere is 2√5 < 5 contexts
    assert certificate["theta_dual"] == pytest.approx(2 * 5**0.5, abs=1e-5)
    assert np.linalg.eigvalsh(np.array(certificate["dual_matrix"]))[-1] < 5
    assert rel.realize(odd, "proper").levels["proper"] is False


def test_a_clique_larger_than_the_dimension():
    found = rel.realize(from_graph(nx.complete_graph(4)).replace(dimension=3), "proper")
    assert found.levels["proper"] is False
    assert "4 mutually exclusive atoms in dimension 3" in found.certificate["rule"]


def test_given_vectors_are_judged_first():
    found = rel.realize(library.load("cabello_18_9"))
    assert (found.how, found.level, found.flex) == ("the vectors given", "injective", 0)


def test_least_squares_reaches_orthogonality_in_float64():
    """Without any pool: heptagon from random starts, and complex rays too."""
    h = library.cycle(7)
    rng = np.random.default_rng(3)
    for complex_rays in (False, True):
        runs = [rel.descend(h, complex_rays, rng) for _ in range(4)]
        good = [v for v in runs if v is not None]
        assert good
        check = check_vectors(h.replace(vectors=good[0]), tolerance=1e-11)
        assert check.proper


def test_nothing_found_is_not_called_impossible(monkeypatch):
    monkeypatch.setattr(ray_pools, "REAL", ())
    found = rel.realize(library.load("peres_57_40").replace(vectors=None), restarts=0)
    assert found.levels["injective"] is None
    assert found.certificate is None


def test_interruption_returns_the_best_so_far(monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(rel, "descend", interrupt)
    found = rel.realize(library.load("specker_bug_TITS_extension"), "faithful", restarts=3, fresh=True)
    assert found.levels["proper"] is True


def test_arguments():
    with pytest.raises(ValueError, match="level must be one of"):
        rel.realize(library.load("bank"), "perfect")
    with pytest.raises(ValueError, match="dimension must be known"):
        rel.realize(Hypergraph("ab", ["ab"]))


@pytest.mark.parametrize(
    ("name", "real", "complex_"),
    [("paper_pair", 1, 1), ("bank", 2, 3), ("kcbs_pentagram", 2, 2), ("cabello_18_9", 0, 0), ("peres_33", 0, 1)],
)
def test_flex(name, real, complex_):
    """Counted by hand for stars and KCBS (10 − 5 − 3); Peres' rays bend only in C³, where they are one of a family
    with Penrose's (Gould & Aravind 2010)."""
    h = library.load(name)
    assert flex(h) == real
    assert flex(h.replace(vectors={v: x.astype(complex) for v, x in h.vectors.items()})) == complex_


@pytest.mark.parametrize("field", ["real", "complex"])
def test_jacobian_against_differences(field):
    rng = np.random.default_rng(0)
    h = library.load("specker_bug")
    unit = rng.normal(size=(13, 3)) + (1j * rng.normal(size=(13, 3)) if field == "complex" else 0)
    edges = edges_of(h)

    def inner(x):
        z = np.sum(x[edges[:, 0]].conj() * x[edges[:, 1]], axis=1)
        return np.concatenate([z.real, z.imag]) if field == "complex" else z

    table = jacobian(unit, edges).reshape(-1, 13, 2 if field == "complex" else 1, 3)
    step = 1e-6
    for atom, part, axis in ((0, 0, 1), (4, 0, 2), (9, 1, 0)):
        if part and field == "real":
            continue
        move = np.zeros_like(unit)
        move[atom, axis] = step * (1j if part else 1)
        slope = (inner(unit + move) - inner(unit - move)) / (2 * step)
        assert np.allclose(slope, table[:, atom, part, axis], atol=1e-8)


@pytest.mark.parametrize(
    ("name", "d", "rays"), [("ones", 3, 13), ("sqrt2", 3, 49), ("twos", 3, 49), ("ones", 4, 40), ("cube", 3, 21)]
)
def test_pools_have_the_right_size(name, d, rays):
    """{0, ±1}: (3^d − 1)/2. {0, ±1, ±√2} and {0, ±1, ±2} in R³: 49. Cube roots of unity in C³: 3 + 9 + 9."""
    pool = ray_pools.pool(name, d)
    assert len(pool) == rays
    overlap = np.abs(pool.conj() @ pool.T) - np.eye(rays)
    assert overlap.max() < 1 - 1e-6


def test_complex_rays_are_found_in_their_pool():
    """All 21 rays of {0, 1, ω, ω²} in C³ and their orthogonalities, found again from the incidence alone."""
    rays = ray_pools.pool("cube", 3)
    h = from_vectors({f"r{k}": ray for k, ray in enumerate(rays)})
    vectors = rel.search_pool(h.replace(vectors=None), rays, "faithful", np.random.default_rng(0))
    assert check_vectors(h.replace(vectors=vectors)).faithful
    assert any(np.iscomplexobj(x) and np.abs(x.imag).max() > 0.1 for x in vectors.values())


def test_complex_asked_of_real_vectors_is_answered_for_complex_rays():
    """Peres' 33 rays are rigid in R³ and bend in C³: --complex is not ignored."""
    real, bent = notebook.realize("peres_33"), notebook.realize("peres_33", complex_rays=True)
    assert (real["flex_of"], real["flex"]) == ("real rays", 0)
    assert bent["flex_of"] == "complex rays"
    assert bent["flex"] > 0
    assert (real["how"], bent["how"]) == ("the vectors given", "the vectors given")
