"""Fractions of empirical tables against published values; contextuality by default against its two special cases."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

from contexts.hypergraphs import library
from contexts.hypergraphs.rays import unit_matrix
from contexts.logic import contextuality as con

FACTS = next(e for e in library.catalogue()["entries"] if e["name"] == "contextual_fractions")["recomputed"]


def bell(tables) -> con.EmpiricalTable:
    contexts = [("A", "B"), ("A", "b"), ("a", "B"), ("a", "b")]
    return con.table_from_dict(
        {"contexts": [{"measurements": list(c), "probabilities": t} for c, t in zip(contexts, tables, strict=True)]}
    )


def correlated(e: float) -> list[list[float]]:
    return [[(1 + e) / 4, (1 - e) / 4], [(1 - e) / 4, (1 + e) / 4]]


PR = bell([correlated(1), correlated(1), correlated(1), correlated(-1)])
TSIRELSON = bell([correlated(2**-0.5)] * 3 + [correlated(-(2**-0.5))])
THREE_EIGHTHS = [[3 / 8, 1 / 8], [1 / 8, 3 / 8]]
BELL = bell([[[0.5, 0], [0, 0.5]], THREE_EIGHTHS, THREE_EIGHTHS, [[1 / 8, 3 / 8], [3 / 8, 1 / 8]]])


@pytest.mark.parametrize(
    ("table", "key"),
    [(PR, "PR box"), (TSIRELSON, "CHSH Tsirelson"), (BELL, "Bell table 1/2,3/8,3/8,1/8 (Abramsky-Brandenburger)")],
)
def test_published_fractions(table, key):
    assert con.contextual_fraction(table) == pytest.approx(FACTS[key], abs=1e-8)
    assert con.signalling_fraction(table) == pytest.approx(0, abs=1e-9)


def test_peres_mermin_square_is_fully_contextual():
    """Quantum probabilities of the six contexts: uniform on outcomes of the right product. Fraction 1."""
    entry = next(e for e in library.catalogue()["entries"] if e["name"] == "peres_mermin_square")
    rows = entry["operators"]
    lines = [*rows, *map(list, zip(*rows, strict=True))]
    signs = [*entry["recomputed"]["row_products"], *entry["recomputed"]["column_products"]]
    contexts = []
    for words, sign in zip(lines, signs, strict=True):
        allowed = [o for o in product((0, 1), repeat=3) if (-1) ** sum(o) == sign]
        contexts.append({"measurements": words, "probabilities": {",".join(map(str, o)): 0.25 for o in allowed}})
    assert con.contextual_fraction(con.table_from_dict({"contexts": contexts})) == pytest.approx(
        FACTS["Peres-Mermin square"]
    )
    best = max(
        sum(np.prod([(-1) ** values[w] for w in line]) == s for line, s in zip(lines, signs, strict=True))
        for bits in product((0, 1), repeat=9)
        for values in [dict(zip([w for r in rows for w in r], bits, strict=True))]
    )
    assert best == entry["recomputed"]["max_satisfiable_of_6_contexts"]


def test_pentagon_in_the_kcbs_state():
    """Σ over the five intertwining atoms is √5 against 2: 1 − λ ≥ (√5 − 2)/(5/2 − 2), the bound is met (0.4721)."""
    h = library.load("pentagon_house_pentagram")
    p = dict(zip(h.vertices, (float(x) for x in np.abs(unit_matrix(h) @ [0, 0, 1]) ** 2), strict=True))
    assert con.contextual_fraction_of(h, p) == pytest.approx((5**0.5 - 2) / 0.5, abs=1e-7)


def test_hypergraph_without_states_is_fully_contextual_and_mixtures_are_not():
    h = library.load("cabello_18_9")
    assert con.contextual_fraction_of(h, dict.fromkeys(h.vertices, 0.25)) == 1.0
    bug = library.load("specker_bug")
    third = dict.fromkeys(bug.vertices, 1 / 3)
    assert con.contextual_fraction_of(bug, third) == pytest.approx(0, abs=1e-9)


def test_signalling_is_measured_and_named():
    """B is 0 with certainty beside A, 1 beside a: nothing of those contexts is no-signalling."""
    table = con.table_from_dict(
        {
            "contexts": [
                {"measurements": ["A", "B"], "probabilities": {"0,0": 1}},
                {"measurements": ["a", "B"], "probabilities": {"0,1": 1}},
            ]
        }
    )
    assert con.signalling_fraction(table) == pytest.approx(1)
    half = con.table_from_dict(
        {
            "contexts": [
                {"measurements": ["A", "B"], "probabilities": {"0,0": 0.75, "0,1": 0.25}},
                {"measurements": ["a", "B"], "probabilities": {"0,0": 0.5, "0,1": 0.5}},
            ]
        }
    )
    assert con.signalling_fraction(half) == pytest.approx(0.25)


def test_by_default_is_chsh_when_nothing_signals():
    """s_odd − 2 for rank 4: 2 for the PR box, 2√2 − 2 for Tsirelson's table."""
    assert con.by_default(PR).excess == pytest.approx(2)
    found = con.by_default(TSIRELSON)
    assert (found.rank, found.inconsistency) == (4, pytest.approx(0))
    assert found.excess == pytest.approx(2 * 2**0.5 - 2)
    assert found.contextual


def test_by_default_subtracts_direct_influences():
    """Correlations of a PR box with marginals that differ by 1 in two measurements: excess 2 − 2 = 0, not
    contextual."""
    deterministic = bell([[[1, 0], [0, 0]], [[1, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 1], [0, 0]]])
    found = con.by_default(deterministic)
    assert found.s_odd == pytest.approx(4)
    assert found.inconsistency == pytest.approx(2)
    assert not found.contextual


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "needs a list 'contexts'"),
        ({"contexts": [{"measurements": ["A"]}]}, "needs 'measurements' and either 'probabilities' or 'counts'"),
        ({"contexts": [{"measurements": ["A", "A"], "probabilities": {}}]}, "different measurements"),
        ({"contexts": [{"measurements": ["A"], "probabilities": {"0": 0.5}}]}, r"sum to 0\.5, not 1"),
        ({"contexts": [{"measurements": ["A"], "probabilities": {"0": 1.5, "1": -0.5}}]}, "negative"),
        ({"contexts": [{"measurements": ["A"], "probabilities": [0.5, 0.25, 0.25]}]}, "needs 2 probabilities"),
        ({"contexts": [{"measurements": ["A", "B"], "probabilities": {"0": 1}}]}, "must name 2 outcomes"),
    ],
)
def test_bad_tables(data, words):
    with pytest.raises(ValueError, match=words):
        con.read_table(json.dumps(data))


def test_bad_probabilities_of_atoms():
    h = library.load("firefly_L12")
    with pytest.raises(ValueError, match=r"sum to 1\.5"):
        con.contextual_fraction_of(h, dict.fromkeys(h.vertices, 0.5))
    with pytest.raises(ValueError, match="no probability is given for atom 'a5'"):
        con.contextual_fraction_of(h, dict.fromkeys(h.vertices[:4], 0.5))


def test_only_cyclic_systems_by_default():
    with pytest.raises(ValueError, match="cyclic systems"):
        con.by_default(con.table_from_dict({"contexts": [{"measurements": ["A"], "probabilities": {"0": 1}}]}))
