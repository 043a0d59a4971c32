"""Rays given exactly: their bases against published sizes, and rays that floats cannot tell apart."""

from __future__ import annotations

import json

import pytest

from contexts import notebook
from contexts.hypergraphs import exact_rays, formats, library, surds
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.rays import check_vectors
from contexts.logic import satisfiability


@pytest.mark.parametrize(
    ("components", "dimension", "size"),
    [  # the master sets of Pavičić & Megill, Entropy 20, 928 (2018), and Pavičić et al., Phys. Rev. A 99 (2019)
        ("0,1,-1", 4, (40, 32)),
        ("0,1,-1,sqrt2,-sqrt2", 3, (33, 16)),
    ],
)
def test_bases_of_all_rays_with_few_components(components, dimension, size):
    h = notebook.from_rays(components, dimension, bases=True)
    assert (len(h.vertices), len(h.contexts)) == size


def test_peres_rays_come_out_of_their_components():
    """The 33 rays in 16 triads among {0, ±1, ±√2}³ are, with all orthogonal pairs, the set of Peres."""
    h = notebook.from_rays("0,1,-1,sqrt2,-sqrt2", 3, bases=True)
    h = exact_rays.spanned(h.exact)
    peres = library.load("peres_33")
    assert (len(h.pair_masks), sorted(map(len, h.contexts))) == (
        len(peres.pair_masks),
        sorted(map(len, peres.contexts)),
    )
    assert satisfiability.find_state(h) is None


def test_exact_rays_tell_apart_what_floats_do_not():
    """(3√2 − 4)·10⁻⁶ … the inner products are 0 and 2·10⁻¹⁰, one of them orthogonal; decimals are only near."""
    tiny = "(99-70*sqrt2)*(99-70*sqrt2)*(99-70*sqrt2)*(99-70*sqrt2)"  # (99 − 70√2)⁴ ≈ 6.5e-10
    data = {"contexts": [["a", "b"]], "vectors": {"a": [1, 0], "b": [tiny, 1]}}
    assert notebook.check(formats.from_dict(data))["ok"] is False
    data["vectors"]["a"] = [1, f"-({tiny})"]
    result = notebook.check(formats.from_dict(data))
    assert result["ok"] is True
    assert result["vectors"]["proof"]["how"].startswith("exact arithmetic")
    rounded = {"contexts": [["a", "b"]], "vectors": {"a": [0.6, 0.8], "b": [0.8, -0.6]}}
    assert formats.from_dict(rounded).exact is None


def test_all_inner_products_at_once():
    """The table of orthogonality agrees with the products one by one, also for coefficients past float64."""
    for scale in ("1", "10^12"):
        texts = ["1", "sqrt2-i", "0", f"{scale}*w3"]
        rays = [[surds.parse(a), surds.parse(b)] for a in texts for b in texts if (a, b) != ("0", "0")]
        table = surds.orthogonality(rays)
        one_by_one = [[not any(surds.inner(u, v)) for v in rays] for u in rays]
        assert table.tolist() == one_by_one
        assert table.any()


def test_exact_vectors_survive_files_and_operations(tmp_path):
    h = notebook.from_rays("0,1,-1,w3,-w3,w3^2,-w3^2", 2)
    formats.write(h, tmp_path / "h.json")
    back = formats.read(tmp_path / "h.json")
    assert back.exact == h.exact
    part = back.relabel([f"v{k}" for k in range(len(h.vertices))]).without_context(0)
    assert [part.exact[v] for v in part.vertices] == [h.exact[h.vertices[int(v[1:])]] for v in part.vertices]
    assert back.replace(vectors=h.vectors).exact is None
    assert check_vectors(back).faithful


def test_one_ray_is_one_ray_however_it_is_written():
    """(1, √2) and (√2, 2), (1, i) and (−i, 1): parallel, exactly."""
    a, b = [surds.parse("1"), surds.parse("sqrt2")], [surds.parse("sqrt2"), surds.parse("2")]
    assert surds.scaled(a) == surds.scaled(b)
    with pytest.raises(ValueError, match="the same ray"):
        exact_rays.spanned({"a": a, "b": b})
    assert len(exact_rays.of_components(["0", "1", "i", "-1", "-i"], 2)) == 6
    assert check_vectors(Hypergraph("ab", exact={"a": a, "b": b})).parallel


def test_from_rays_verb(qattn, tmp_path):
    code, out, err = qattn(
        "contexts", "from-rays", "0,1,-1", "--dimension", "3", "--json", "--out", tmp_path / "h.yaml"
    )
    assert code == 0, err
    result = json.loads(out)
    assert (result["atoms"], result["contexts"], result["vectors"]["exact"]) == (13, 4, True)
    code, out, _ = qattn("contexts", "states", tmp_path / "h.yaml", "--json")
    assert json.loads(out)["strong_chromatic_number"] == 4  # Yu and Oh's 13 rays
    rays = tmp_path / "rays.txt"
    rays.write_text("up: 1, 0\ndown: 0, 1\n1,phi\n")
    code, out, _ = qattn("contexts", "from-rays", rays)
    assert (code, "3 atoms, 1 contexts" in out) == (0, True)
    for words, message in (
        (["0,1"], "need the dimension"),
        (["0,x", "--dimension", "2"], "is no number"),
        (["0", "--dimension", "2"], "zero"),
        (["0,1,-1", "--dimension", "90"], "more than 300000"),
    ):
        code, out, err = qattn("contexts", "from-rays", *words)
        assert (code, out) == (2, "")
        assert message in err
