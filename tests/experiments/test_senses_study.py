"""The study of word senses: who is compared with whom, what is said of it, and that nothing finished is lost."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from contexts.hypergraphs import library
from contexts.learning import datasets
from contexts.learning.classifier import SenseClassifier
from contexts.learning.shared_bases import Bases
from experiments.errors import UserError
from experiments.studies import senses


def truth(task):
    return np.array([e.sense for e in task.test])


def test_study_reports_intervals_and_says_who_loses():
    task = datasets.bank(per_sense=10)
    others = {"oracle": lambda task, seed: truth(task), "nothing": lambda task, seed: truth(task) + 1}
    result = senses.study(task, range(6), others, steps=1, window=1)
    json.dumps(result, allow_nan=False)
    ours = result["models"]["contexts"]
    assert 0 <= ours["low"] <= ours["mean"] <= ours["high"] <= 1
    assert [np.mean([int(x) for x in right]) for right in ours["right"]] == pytest.approx(ours["values"])
    assert ours["examples"] == result["test"] == 30
    assert result["verdicts"]["oracle"].startswith("oracle is better than contexts by")
    assert result["verdicts"]["nothing"].startswith("contexts is better than nothing by")
    assert result["models"]["most_frequent_sense"]["seeds"] == []


def test_no_interval_claims_certainty_or_leaves_the_range():
    """All right six times on 60 examples: Wilson's interval begins at 60/(60 + z²), whatever the seeds say."""
    task = datasets.bank(per_sense=20)
    runs = {"contexts": {seed: truth(task) >= 0 for seed in range(6)}, "fixed": {senses.NO_SEED: truth(task) < 0}}
    result = senses.compared(runs)
    assert result["models"]["contexts"]["low"] == pytest.approx(60 / (60 + 1.959964**2), abs=1e-6)
    assert result["models"]["contexts"]["high"] == 1
    assert result["models"]["fixed"]["low"] == 0 < result["models"]["fixed"]["high"]
    (test,) = result["tests"]
    assert test["difference"]["low"] < 1 == test["difference"]["high"]


def test_few_seeds_make_no_claim_and_interruption_keeps_the_finished():
    def stop(task, seed):
        if seed == 1:
            raise KeyboardInterrupt
        return truth(task)

    result = senses.study(datasets.bank(per_sense=4), range(3), {"stop": stop}, steps=2)
    assert result["interrupted"]
    assert result["models"]["stop"]["seeds"] == [0]
    assert result["models"]["contexts"]["seeds"] == [0, 1]
    assert "2 seeds can never reach" in result["verdicts"]["bag_of_words"]
    assert "one seed says nothing about others" in result["verdicts"]["stop"]  # its one seed stands for no other


def test_a_control_without_room_is_named_before_training_and_the_others_run():
    """Four senses in four dimensions: one shared vector and four own ones need five in a single basis."""
    words = ["sea", "hand", "ship", "whale"]
    hints = ["wave", "palm", "sail", "fin"]
    text = " ".join(f"{w} near the {hint} ." for _ in range(40) for w, hint in zip(words, hints, strict=True))
    task = datasets.pseudo_words(text, words, window=3)
    said: list[str] = []
    result = senses.study(task, range(1), progress=said.append, dimension=4, own=1, steps=2)
    assert "takes dimension 5" in result["left_out"]["one_basis"]
    assert said[1].startswith("sea+hand+ship+whale: one_basis is left out")
    assert {"contexts", "frozen_contexts", "shuffled_senses", "bag_of_words"} <= result["models"].keys()
    assert "one_basis" not in result["models"]


def test_settings_without_room_are_refused_before_training():
    with pytest.raises(ValueError, match="got own = 5"):
        senses.study(datasets.bank(per_sense=4), range(1), dimension=3, own=5)


def test_flex_is_reported_before_any_training(monkeypatch):
    said: list[str] = []
    result = senses.study(datasets.bank(per_sense=4), range(1), progress=said.append, steps=2)
    assert said[0].startswith("bank: flex: none to compute (no cycles")
    assert (result["flex"], result["flex_says"]) == (None, said[0].removeprefix("bank: "))
    monkeypatch.setattr(senses.SenseClassifier, "build", _pentagon)
    assert senses.flex_of(datasets.bank(per_sense=4), {})["flex_says"] == "flex of the cyclic contexts: 2"


def _pentagon(self: SenseClassifier, *_: object) -> None:
    """Five bases of R³ in a ring in place of the task's star."""
    h = library.load("pentagon")
    contexts = [[h.index[v] for v in c] for c in h.contexts]
    self.model = SimpleNamespace(bases=Bases(contexts, 3, torch.Generator().manual_seed(0)))


def test_a_killed_study_ends_as_if_it_had_not_been_and_trains_nothing_twice(tmp_path):
    """Killed in the second seed's second model; the rest is trained, the interval and every answer are the same."""
    task, settings = datasets.bank(per_sense=4), {"steps": 2}
    trained = []

    def model(task, seed):
        trained.append(seed)
        if len(trained) == 2:
            raise MemoryError
        return truth(task) * (seed % 2)

    whole = senses.study(task, range(3), {"other": lambda task, seed: truth(task) * (seed % 2)}, **settings)
    with pytest.raises(MemoryError), senses.kept_in(tmp_path / "o", task, settings) as parts:
        senses.study(task, range(3), {"other": model}, parts=parts, **settings)
    with senses.kept_in(tmp_path / "o", task, settings) as parts:
        again = senses.study(task, range(3), {"other": model}, parts=parts, **settings)
    assert again == whole
    assert trained == [0, 1, 1, 2]
    with senses.kept_in(tmp_path / "o", task, settings) as parts:  # one seed more: it alone is trained
        more = senses.study(task, range(4), {"other": model}, parts=parts, **settings)
    assert trained == [0, 1, 1, 2, 3]
    assert more["models"]["contexts"]["right"][:3] == whole["models"]["contexts"]["right"]


def test_runs_side_by_side_give_the_same_study(tmp_path, backwards):
    """In any order, of which one part was made before; the parts go to another process as bytes."""
    task, settings = datasets.bank(per_sense=4), {"steps": 2}
    whole = senses.study(task, range(2), **settings)
    with senses.kept_in(tmp_path / "o", task, settings) as parts:
        parts.get("contexts, seed 1", lambda: torch.tensor([x == "1" for x in whole["models"]["contexts"]["right"][1]]))
        assert senses.study(task, range(2), parts=parts, workers=2, **settings) == whole
    assert backwards == [2 * (len(whole["models"]) - 2) - 1]
    with pytest.raises(UserError, match="--workers 2: expected --out too"):
        senses.study(task, range(2), workers=2, **settings)


def test_a_folder_belongs_to_one_task_and_its_settings(tmp_path):
    task, other = datasets.bank(per_sense=4), datasets.bank(per_sense=5)
    with senses.kept_in(tmp_path / "o", task, {"steps": 2}) as parts:
        parts.get("a", lambda: torch.ones(1))
        with (
            pytest.raises(UserError, match="another qattn is running a study of word senses there"),
            senses.kept_in(tmp_path / "o", task, {"steps": 2}),
        ):
            pass
    with (
        pytest.raises(UserError, match=r"other settings \(steps was 2, now 3\); choose another --out, or --fresh"),
        senses.kept_in(tmp_path / "o", task, {"steps": 3}),
    ):
        pass
    with pytest.raises(UserError, match=r"\(examples was"), senses.kept_in(tmp_path / "o", other, {"steps": 2}):
        pass
    with senses.kept_in(tmp_path / "o", task, {"steps": 3}, fresh=True) as parts:
        assert parts.get("a", lambda: torch.zeros(1)).item() == 0
