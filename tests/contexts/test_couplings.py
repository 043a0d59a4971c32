"""CNT₁, CNT₂ and NCNT₂ against the theorem on cyclic systems and a system worked by hand; named tables; intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from contexts import notebook
from contexts.logic import contextuality as con
from contexts.logic import couplings, fraction_report, named_tables
from contexts.logic.question_order import qubit


def cyclic(rng: np.random.Generator, rank: int) -> con.EmpiricalTable:
    tables = rng.dirichlet([0.2] * 4, rank).reshape(rank, 2, 2)
    contexts = [
        {"measurements": [f"m{k}", f"m{(k + 1) % rank}"], "probabilities": p.tolist()} for k, p in enumerate(tables)
    ]
    return con.table_from_dict({"contexts": contexts})


def test_cyclic_systems():
    """CNT₁ = CNT₂ = excess / 4 where contextual; otherwise both are 0 and NCNT₂ is at most −excess / 4."""
    rng = np.random.default_rng(0)
    kinds = set()
    for rank in (4, *[3] * 7, 2):
        table = cyclic(rng, rank)
        excess, found = con.by_default(table).excess, couplings.measures(table)
        kinds.add(found.contextual)
        assert found.contextual == (excess > 1e-9)
        assert found.cnt1 == pytest.approx(max(excess, 0) / 4, abs=1e-8)
        assert found.cnt2 == pytest.approx(max(excess, 0) / 4, abs=1e-8)
        assert found.contextual or 0 <= found.ncnt2 <= -excess / 4 + 1e-8
    assert kinds == {True, False}


def test_systems_that_are_not_cyclic():
    """GHZ is contextual by default; one with a joint distribution, or one measurement in three contexts, is not."""
    assert notebook.fraction("ghz")["measures"]["contextual"] is True
    p = np.random.default_rng(1).dirichlet(np.ones(8)).reshape(2, 2, 2)
    pairs = [{"measurements": list("AB"), "probabilities": p.sum(2).tolist()},
             {"measurements": list("BC"), "probabilities": p.sum(0).tolist()},
             {"measurements": list("AC"), "probabilities": p.sum(1).tolist()},
             {"measurements": list("ABC"), "probabilities": p.tolist()}]  # fmt: skip
    found = couplings.measures(con.table_from_dict({"contexts": pairs}))
    assert (found.contextual, found.cnt1) == (False, pytest.approx(0, abs=1e-9))
    alone = [{"measurements": ["A"], "probabilities": [q, 1 - q]} for q in (0.1, 0.5, 0.9)]
    assert not couplings.measures(con.table_from_dict({"contexts": alone})).contextual
    three = {"contexts": [{"measurements": ["A"], "probabilities": [1, 0, 0]}], "outcomes": {"A": ["x", "y", "z"]}}
    with pytest.raises(ValueError, match="3 outcomes"):
        couplings.measures(con.table_from_dict(three))


@pytest.mark.parametrize(
    ("name", "value"),
    [("pr", 1), ("chsh", 2**0.5 - 1), ("bell", 0.25), ("kcbs", 2 * 5**0.5 - 4), ("ghz", 1), ("peres_mermin", 1),
     ("hardy", 5 * 5**0.5 - 11)],
)  # fmt: skip
def test_named_tables(name, value):
    found = notebook.fraction(name)
    assert found["contextual_fraction"] == pytest.approx(value, abs=1e-8)
    assert found["signalling_fraction"] == pytest.approx(0, abs=1e-8)


def test_the_survey_is_the_published_one():
    """The decimals of Wang & Busemeyer (2013) as quoted, and their q of the QQ equality: −0.003."""
    published = {
        "clinton_gore": ([0.4899, 0.0447, 0.1767, 0.2886], [0.5625, 0.1991, 0.0255, 0.2130], -0.003),
    }
    for name, (one, two, q) in published.items():
        table = con.table_from_dict(named_tables.load(name))
        assert np.round(table.tables[0].ravel(), 4).tolist() == one
        assert np.round(table.tables[1].ravel(), 4).tolist() == two
        differ = [t[0, 1] + t[1, 0] for t in table.tables]
        assert differ[0] - differ[1] == pytest.approx(q, abs=1.5e-3)
        assert notebook.fraction(name)["measures"]["contextual"] is False


def test_intervals_shrink_with_counts():
    """Like 1/√N; and resampling few counts adds signalling, so that the excess comes out low."""
    rows = {"AB": [[9, 1], [1, 9]], "Ab": [[9, 1], [1, 9]], "aB": [[9, 1], [1, 9]], "ab": [[1, 9], [9, 1]]}
    widths, means = [], []
    for factor in (1, 100):
        contexts = [{"measurements": list(m), "counts": (factor * np.array(n)).tolist()} for m, n in rows.items()]
        found = fraction_report.of_table(con.table_from_dict({"contexts": contexts}), bootstrap=30)
        ends = found["intervals"]["excess"]
        widths.append(ends["high"] - ends["low"])
        means.append(ends["mean"])
    assert 5 < widths[0] / widths[1] < 20
    assert means[0] < means[1] < found["by_default"]["excess"] == pytest.approx(1.2)


def test_fraction_verb(qattn):
    code, out, _ = qattn("contexts", "fraction", "clinton_gore", "--bootstrap", "5", "--json")
    result = json.loads(out)
    assert (code, result["intervals"]["excess"]["low"] <= result["intervals"]["excess"]["high"]) == (0, True)
    code, out, _ = qattn("contexts", "fraction", "yu_oh_25", "--state", "1,0,0", "--json")
    assert (code, 0 < json.loads(out)["contextual_fraction"] < 1) == (0, True)
    code, out, _ = qattn("contexts", "fraction", "cabello", "--state", "mixed", "--json")
    assert json.loads(out)["contextual_fraction"] == 1
    for words, message in (
        (["nosuch"], "known are pr, chsh"),
        (["chsh", "--bootstrap", "5"], "intervals are made of counts"),
        (["bank", "--state", "1,0"], "the state must be 3 numbers"),
        (["bank", "--state", "1,0,0", "--round"], "--state"),
    ):
        code, out, err = qattn("contexts", "fraction", *words)
        assert (code, out) == (2, "")
        assert message in err


def test_question_order(qattn, tmp_path):
    """Projections of any state obey the QQ equality; so does the survey of Clinton and Gore."""
    rng = np.random.default_rng(0)
    a, b = (np.linalg.qr(rng.standard_normal((5, 2)))[0] for _ in range(2))
    a, b = a @ a.T, b @ b.T
    state = rng.standard_normal(5)
    state /= np.linalg.norm(state)

    def asked(one: np.ndarray, two: np.ndarray) -> list[list[float]]:
        both = [[np.linalg.norm(y @ x @ state) ** 2 for y in (two, np.eye(5) - two)] for x in (one, np.eye(5) - one)]
        return np.array(both).tolist()

    contexts = [{"measurements": ["A", "B"], "probabilities": asked(a, b)},
                {"measurements": ["B", "A"], "probabilities": asked(b, a)}]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps({"contexts": contexts}))
    found = notebook.question_order(tmp_path / "t.json")
    assert abs(found["q"]) < 1e-12
    assert found["p"] is None
    losses = notebook.question_order("clinton_gore")["losses"]
    assert min(losses, key=losses.get) == "its own frequencies"
    code, out, _ = qattn("contexts", "question-order", "clinton_gore")
    assert (code, "q = -0.0031 (p = 0.913)" in out) == (0, True)
    code, _, err = qattn("contexts", "question-order", "chsh")
    assert (code, "two questions in two orders" in err) == (2, True)


def test_a_qubit_predicts_the_other_order():
    """Averaged over the phase of its state, by direct computation."""
    a, t = 0.7, 0.8
    theta = np.arccos(t**0.5)
    basis = np.array([[np.cos(theta), np.sin(theta)], [-np.sin(theta), np.cos(theta)]])  # rows: B yes, B no
    phases = np.exp(2j * np.pi * np.arange(8) / 8)
    first = np.array([[a * t, a * (1 - t)], [(1 - a) * (1 - t), (1 - a) * t]])
    states = [np.array([a**0.5, phase * (1 - a) ** 0.5]) for phase in phases]
    after = np.mean([[[abs(row @ s) ** 2 * row[k] ** 2 for row in basis] for k in range(2)] for s in states], axis=0)
    assert np.allclose(qubit(first), after)
