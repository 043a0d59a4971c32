"""Proofs of existence and of impossibility, against Uijlen & Westerbaan's classification of small graphs in R³.

The graph6 lines are of their published lists (arXiv:1412.8544; github.com/bwesterb/ks): minimal unembeddable graphs and
embeddable ones, decided there by quantifier elimination and by integer coordinates.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
import sympy

from contexts import notebook
from contexts.hypergraphs import library, surds
from contexts.hypergraphs.formats import read_graph6
from contexts.logic import existence, realization
from contexts.logic.cross_products import refute
from contexts.logic.least_squares import descend

UNEMBEDDABLE = ["IpD?GUbV?", "It?IQGiDO", "J@`KACXHf_?", "JsOH?`JH_i_", "K_GTAQOP@KbK", "LWMQ?D?_?e`E@X"]
EMBEDDABLE = [
    "MHaM?__O?R_S@DCP_",
    "MwCQcO_@?O_c?X?e_",
    "Mh_OGO??Ha`eo_?w_",
    "Mc?l?OOO?w_UWO?X_",
    "MpEA?@BDPC@c?UAB_",
]


def the_claim_by_sympy(graph, found: dict, fixed: dict) -> None:
    """A certificate checked by another computer algebra: the chain, the closing equation, and each factor's reason."""
    t = {}

    def parameter(name: str):
        return fixed.get(name, t.setdefault(name, sympy.Symbol(name, real=True)))

    first = found["chain"][0]["parents"]
    ray = {first[0]: sympy.Matrix([1, 0, 0]), first[1]: sympy.Matrix([0, 1, 0])}
    for step in found["chain"]:
        atom, (p, q) = step["atom"], step["parents"]
        assert graph.has_edge(atom, p)
        ray[atom] = ray[p].cross(ray[q])
        if "parameter" in step:
            assert graph.has_edge(p, q)
            ray[atom] = ray[atom] + parameter(step["parameter"]) * ray[q]
        else:
            assert graph.has_edge(atom, q)
        common = sympy.gcd_list(list(ray[atom]))
        ray[atom] = ray[atom].applyfunc(lambda x, c=common: sympy.cancel(x / c))
    u, v = found["closing"]
    assert graph.has_edge(u, v)
    equation = sympy.expand(ray[u].dot(ray[v]))
    left = equation
    for why in found["why"]:
        factor = sympy.sympify(why["factor"].replace("^", "**"), locals=t)
        while True:
            quotient, rest = sympy.div(left, factor, *t.values())
            if rest != 0:
                break
            left = quotient
        if "one_ray" in why:
            a, b = why["one_ray"]
            assert all(sympy.rem(x, factor, *t.values()) == 0 for x in ray[a].cross(ray[b]).applyfunc(sympy.expand))
        elif why["real_zeros"] == "none":
            points = np.random.default_rng(0).normal(size=(len(t), 20_000)) * 3
            values = sympy.lambdify(list(t.values()), factor, "numpy")(*points) * np.ones(20_000)
            assert values.min() > 0 or values.max() < 0
        else:
            for case in why["real_zeros"]:
                assert case["fixed"]
    assert left.is_number
    assert left != 0


@pytest.mark.parametrize("line", UNEMBEDDABLE)
def test_proved_unembeddable_graphs_are_refused_with_a_certificate(line):
    graph = read_graph6(line, 3).graph
    found = refute(graph)
    json.dumps(found)
    the_claim_by_sympy(graph, found, {})


@pytest.mark.parametrize("line", EMBEDDABLE)
def test_embeddable_graphs_are_proved_and_never_refuted(line):
    h = read_graph6(line, 3)
    assert refute(h.graph) is None
    found = realization.realize(h, restarts=12)
    assert found.levels["injective"] is True
    assert found.proof.sine > 0
    unit = np.stack([found.vectors[v] for v in h.vertices])
    overlap = np.abs(unit @ unit.T)
    assert max(overlap[h.index[a], h.index[b]] for a, b in h.graph.edges) <= 2 * found.proof.radius + 1e-14


def test_collapsed_rays_are_not_called_different():
    """Float vectors of a graph proved unembeddable: orthogonal to 1e-12 and all different, but not to be believed."""
    h = read_graph6("LWMQ?D?_?e`E@X", 3)
    rng = np.random.default_rng(0)
    runs = [descend(h, False, rng, spread=False) for _ in range(8)]
    proofs = [existence.prove(h.replace(vectors=vectors)) for vectors in runs if vectors is not None]
    assert len(proofs) >= 4
    assert all(proof is None or proof.level == "proper" for proof in proofs)


def test_check_asks_for_the_same_proof(qattn, tmp_path):
    """Two rays 1e-7 apart, both orthogonal to the same two rays: within every tolerance, and impossible."""
    near = [0.0, 1e-7, 1.0]
    vectors = {"p": [1, 0, 0], "q": [1e-5, 1, -1e-7], "u": [0, 0, 1], "v": near}
    pairs = [["p", "u"], ["p", "v"], ["q", "u"], ["q", "v"]]
    data = {"dimension": 3, "exclusive_pairs": pairs, "vectors": vectors}
    (tmp_path / "near.json").write_text(json.dumps(data))
    code, out, _ = qattn("contexts", "check", tmp_path / "near.json", "--tolerance", "1e-6", "--json")
    result = json.loads(out)
    assert (code, result["ok"]) == (0, None)
    assert result["vectors"]["level_within_tolerance"] in ("injective", "faithful")
    assert result["vectors"]["level"] != "injective"
    assert (
        "no exact different rays were proved"
        in qattn("contexts", "check", tmp_path / "near.json", "--tolerance", "1e-6")[1]
    )


def test_rays_typed_to_three_digits_have_exact_ones_beside_them():
    """The pentagon's published-style table: polished, proved, and the distance stated."""
    h = library.load("pentagon")
    typed = {v: np.round(x / np.linalg.norm(x), 3) for v, x in h.vectors.items()}
    result = notebook.check(h.replace(vectors=typed), 5e-3)
    assert result["ok"] is True
    assert 1e-5 < result["vectors"]["proof"]["radius"] < 5e-3


@pytest.mark.parametrize("name", ["peres_33", "cabello_18_9", "witting", "mermin", "conway_kochen"])
def test_overdetermined_sets_are_proved_in_exact_arithmetic(name):
    """More orthogonalities than freedom, so no fixed point theorem applies; a ray moved by 1e-6 is no longer proved."""
    h = library.load(name)
    proof = existence.prove(h)
    assert "exact arithmetic" in proof.how
    assert proof.level in ("injective", "faithful")
    first = h.vertices[0]
    moved = dict(h.vectors) | {first: h.vectors[first] / np.linalg.norm(h.vectors[first]) + 1e-6}
    bent = existence.prove(h.replace(vectors=moved))
    assert bent is None or bent.radius > 1e-7


def test_square_roots_are_exact():
    """(1 + √5)/2 squared is itself plus 1; √6 √10 = 2√15; and sympy's value of a longer expression."""
    golden = surds.Surd({1: Fraction(1, 2), 5: Fraction(1, 2)})
    assert not golden * golden - golden - surds.rational(1)
    assert (surds.square_root(6) * surds.square_root(10)).terms == {15: Fraction(2)}
    assert surds.square_root(72).terms == {2: Fraction(6)}
    x = (surds.square_root(2) + surds.square_root(3) - golden) * (surds.square_root(5) + surds.rational(2))
    exact = (sympy.sqrt(2) + sympy.sqrt(3) - sympy.GoldenRatio) * (sympy.sqrt(5) + 2)
    assert float(x) == pytest.approx(float(exact), rel=1e-14)
    with pytest.raises(ValueError, match="not real"):
        surds.square_root(-2)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 2**-0.5, -(3**0.5) / 2, (5**0.5 - 1) / 2, 1 / 3, 0.1])
def test_simple_surds_are_recognised(value):
    assert float(surds.recognise(value)) == pytest.approx(value, abs=1e-15)
    assert surds.recognise(value + 1e-9) is None


def test_time_limit_and_progress(qattn, tmp_path):
    """The best found by then, and what was tried, with the limit named."""
    lines: list[str] = []
    result = notebook.realize("specker_bug", "faithful", fresh=True, seconds=1e-9, progress=lines.append)
    assert result["realizable"] is None
    assert "stopped at the time limit of 1e-09 s" in result["reason"]
    assert result["interrupted"] is False
    assert lines
    code, out, _ = qattn("contexts", "realize", "specker_bug", "--fresh", "--seconds", "60")
    assert code == 0
    assert "proof: an exact solution" in out
