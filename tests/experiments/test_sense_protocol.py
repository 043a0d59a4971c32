"""The protocol for learned contexts: pairs by rule, no part of the text in two splits, one test evaluation, resume."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from contexts.learning import datasets
from contexts.learning.baselines import most_frequent, word_at_place
from contexts.learning.classifier import Example, SenseTask
from contexts.learning.log_linear import LogLinearClassifier, LogLinearModel
from experiments.errors import UserError
from experiments.studies import sense_protocol
from experiments.studies.sense_protocol import Method, compare, judge
from experiments.tasks.polysemy import sense_task, text_of


def test_pairs_follow_the_rule():
    """Neighbours by falling frequency in Moby Dick; neither sense of a pair can then be rare."""
    pairs = datasets.pseudo_word_pairs(text_of(None), 20)
    words = [word for pair in pairs for word in pair]
    assert len(set(words)) == 40
    assert pairs[0] == ("pequod", "something")
    counts = [text_of(None).lower().count(word) for word in words]
    assert all(len(word) >= 4 for word in words)
    assert min(counts) > 30
    with pytest.raises(ValueError, match="words for pairs, 20000 are needed"):
        datasets.pseudo_word_pairs(text_of(None), 10000)


def test_the_three_parts_share_no_text():
    """Every token of the text is marked with its place: no mark stands in two parts."""
    text = " ".join(f"{('whale', 'ship')[i % 2]} w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(600))
    task = datasets.pseudo_words(text, ("whale", "ship"), window=2, dev_share=0.2, test_share=0.2)
    marks = [{t for e in part for t in e.tokens if "+" not in t} for part in (task.train, task.dev, task.test)]
    assert min(len(part) for part in (task.train, task.dev, task.test)) >= 100
    assert not marks[0] & marks[1]
    assert not marks[1] & marks[2]
    assert not marks[0] & marks[2]


def test_mc_has_its_dev_part():
    """lambeq ships 70 training, 30 dev and 30 test sentences of MC, and no dev file of RP."""
    assert len(sense_task("MC").dev) == 30
    assert sense_task("RP").dev == ()


def ordered(n=40):
    """Senses told apart by which neighbour is left and which is right, not by the words."""
    rows = [Example(("a", "?", "b"), 1, 0), Example(("b", "?", "a"), 1, 1)] * n
    return SenseTask("order", ("0", "1"), tuple(rows), tuple(rows[:20]), dev=tuple(rows[:20]))


def test_logistic_regression_sees_places_only_when_asked():
    task = ordered()
    truth = np.array([e.sense for e in task.test])
    assert (word_at_place(task, places=1) == truth).all()
    assert (word_at_place(task, places=0) == truth).mean() == 0.5


def test_the_log_linear_twin_learns_order_and_has_the_stated_rank():
    task = ordered()
    model = LogLinearClassifier(dimension=2, own=1, places=1, steps=60).fit(task.train, task.senses)
    assert model.score(task.test) == 1
    table = LogLinearModel(50, 3, 8, torch.Generator().manual_seed(0)).evidence()[0]
    assert torch.linalg.matrix_rank(table) == 3
    vocabulary, dimension, places, senses = 4, 2, 3, 2  # "<unknown>", "?", a, b
    assert model.parameters == vocabulary * dimension + places * dimension**2 + dimension * senses + senses


def test_settings_are_chosen_on_dev_and_the_test_part_is_answered_once_per_seed():
    asked: list[tuple[bool, int, int]] = []
    task = ordered()

    def answer(task_, seed, good):
        asked.append((task_.test is task.dev, seed, good))
        right = np.array([e.sense for e in task_.test])
        return right if good == 2 else 1 - right

    found = judge(task, {"m": Method(answer, ({"good": 1}, {"good": 2}, {"good": 3}))}, seeds=2)
    assert found["methods"]["m"] == {"settings": {"good": 2}, "dev": 1.0, "test": [1.0, 1.0]}
    assert asked == [(True, 1000, 1), (True, 1000, 2), (True, 1000, 3), (False, 0, 2), (False, 1, 2)]
    with pytest.raises(ValueError, match="no dev part"):
        judge(datasets.bank(per_sense=4), {}, 1)


def small(monkeypatch, calls):
    def counted(task, seed):
        calls.append(task.name)
        return most_frequent(task)

    monkeypatch.setattr(
        sense_protocol, "methods", lambda *_: {"contexts": Method(counted), "most": Method(counted, random=False)}
    )


def test_a_repeated_command_does_only_the_rest(monkeypatch, tmp_path):
    calls: list[str] = []
    small(monkeypatch, calls)
    text = text_of(None)[:900_000]
    first = compare(text, pairs=3, seeds=1, out=tmp_path / "c")
    done = len(calls)
    (tmp_path / "c" / f"{first['pairs'][1]['task']}.json").unlink()
    again = compare(text, pairs=3, seeds=1, out=tmp_path / "c")
    assert set(calls[done:]) == {first["pairs"][1]["task"]}
    assert again == first
    json.dumps(again, allow_nan=False)
    assert (
        again["tests"][0]["verdict"]
        == "contexts and most came out equal in 3 shared word pairs, too few to settle anything."
    )
    with pytest.raises(UserError, match="holds a comparison with other seeds"):
        compare(text, pairs=3, seeds=2, out=tmp_path / "c")


def test_the_shipped_methods_run_and_have_equal_tries():
    made = sense_protocol.methods(4, 1, 3)
    assert {len(method.tries) for name, method in made.items() if name != "most_frequent_sense"} == {4}
    task = ordered(10)
    for name, method in made.items():
        if name != "transformer":
            assert set(method.answer(task, 0, **method.tries[-1])) <= {0, 1}, name
