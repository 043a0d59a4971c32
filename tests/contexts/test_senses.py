"""Sense tasks read from their formats, and the classifier on them. Training here is small."""

from __future__ import annotations

import numpy as np
import pytest

from contexts import notebook
from contexts.learning import datasets
from contexts.learning.classifier import Example, SenseClassifier, SenseTask, near, telling_words
from experiments.tasks.polysemy import sense_task, transformer_answers


def test_bank_is_told_apart_and_its_senses_are_the_papers():
    task = datasets.bank(per_sense=20)
    model = SenseClassifier(steps=60).fit(task.train, task.senses)
    assert task.senses == tuple(model.members) == ("economy", "river", "seat")
    assert {e.tokens for e in task.train}.isdisjoint(e.tokens for e in task.test)
    assert model.score(task.test) > 0.9  # chance is 1/3; every test sentence has words that name its sense
    assert model.model.bases.sharing_error() == 0.0


def test_classifier_is_reproducible_and_its_probabilities_are():
    task = datasets.bank(per_sense=8)
    first, second = (SenseClassifier(steps=10, seed=3).fit(task.train, task.senses) for _ in range(2))
    log_p = first.predict_log_proba(task.test)
    assert np.array_equal(log_p, second.predict_log_proba(task.test))
    assert np.allclose(np.exp(log_p).sum(axis=1), 1)


def test_unknown_words_leave_the_prior():
    task = datasets.bank(per_sense=8)
    model = SenseClassifier(steps=10).fit(task.train, task.senses)
    silent = model.predict_log_proba([Example(("bank",), 0, 0), Example(("zyx", "bank"), 1, 0)])
    assert np.allclose(silent[0], silent[1])


def test_shuffled_labels_teach_nothing():
    """Chance is 1/3 on 60 test sentences; above 0.7 by luck has probability below 1e-8."""
    task = datasets.bank(per_sense=20)
    assert SenseClassifier(steps=30, control="shuffled_senses").fit(task.train, task.senses).score(task.test) < 0.7


@pytest.mark.parametrize("control", ["one_basis", "frozen_contexts"])
def test_controls_train(control):
    task = datasets.bank(per_sense=10)
    model = SenseClassifier(steps=30, control=control).fit(task.train, task.senses)
    assert model.score(task.train) > 0.8


@pytest.mark.slow
def test_mc_reaches_the_published_accuracy():
    """Published: 0.967 (exact circuit), 0.98–1.00 (tensor network). 30 test sentences: at least 29 right."""
    task = sense_task("MC")
    assert (len(task.train), len(task.test)) == (70, 30)
    assert SenseClassifier().fit(task.train, task.senses).score(task.test) >= 29 / 30


def test_order_matters_in_rp_and_is_read_from_places():
    """Subject and object clauses with the same words: without places both texts get the same answer."""
    a = Example(("device", "that", "planet", "detect"), 1, 1)
    b = Example(("device", "that", "detect", "planet"), 1, 0)
    train = [
        a,
        b,
        *(
            Example((n, "that", *x), 1, s)
            for n in ("man", "dog")
            for s, x in ((1, ("cat", "see")), (0, ("see", "cat")))
        ),
    ]
    plain = SenseClassifier(steps=40).fit(train, "01").predict_log_proba([a, b])
    placed = SenseClassifier(steps=60, places=2).fit(train, "01").predict([a, b])
    assert np.allclose(plain[0], plain[1])
    assert placed.tolist() == [1, 0]


def test_shipped_sentences():
    """Published sizes: MC 70/30, RP 74/31; the last lines of RP's files have no newline."""
    rp = sense_task("RP")
    assert (len(rp.train), len(rp.test)) == (74, 31)
    assert rp.test[-1].tokens[rp.test[-1].position] == "that"
    assert {e.sense for e in rp.train} == {0, 1}
    with pytest.raises(ValueError, match="x train, line 1: expected 0 or 1"):
        datasets.sentences("2  man cooks .", "1 man cooks .", "x")


TEXT = "the white whale swam in the deep sea . the old ship sailed with a torn sail . " * 40


def test_pseudo_words_have_perfect_labels_and_no_leak():
    task = datasets.pseudo_words(TEXT, ("whale", "ship"), window=3)
    for e in (*task.train, *task.test):
        assert e.tokens[e.position] == "whale+ship"
        assert "whale" not in e.tokens
        assert "ship" not in e.tokens
    assert all(e.tokens[e.position - 1] == ("white", "old")[e.sense] for e in task.train)
    assert SenseClassifier(steps=20, window=1).fit(task.train, task.senses).score(task.test) == 1.0
    with pytest.raises(ValueError, match="'squid' occurs 0 times in the training part"):
        datasets.pseudo_words(TEXT, ("whale", "squid"))
    with pytest.raises(ValueError, match="two or more different words"):
        datasets.pseudo_words(TEXT, ("whale", "whale"))


def coarse_folder(path):
    path.mkdir()
    (path / "classes_map.txt").write_text('{"0": "bank_(finance)", "1": "bank_(river)"}')
    for part in ("train", "test"):
        (path / f"{part}.data.txt").write_text("2\tmoney in bank now\n0\tbank of the stream\n")
        (path / f"{part}.gold.txt").write_text("0\n1\n")
    return path


def test_coarse_wsd_layout(tmp_path):
    folder = coarse_folder(tmp_path / "bank")
    task = sense_task(str(folder))
    assert task.senses == ("bank_(finance)", "bank_(river)")
    assert task.train[0] == Example(("money", "in", "bank", "now"), 2, 0)
    (folder / "test.gold.txt").write_text("0\n")
    with pytest.raises(ValueError, match=r"2 lines but test\.gold\.txt has 1 labels"):
        datasets.coarse_wsd(folder)
    (folder / "test.gold.txt").write_text("0\n7\n")
    with pytest.raises(ValueError, match=r"test\.data\.txt, line 2"):
        datasets.coarse_wsd(folder)
    (folder / "classes_map.txt").write_text("0 bank")
    with pytest.raises(ValueError, match="expected JSON"):
        datasets.coarse_wsd(folder)
    (folder / "classes_map.txt").unlink()
    with pytest.raises(ValueError, match=r"no classes_map\.txt"):
        datasets.coarse_wsd(folder)


def test_wordnet_layout_and_its_absence(tmp_path):
    """A two-sense extract in the format of WordNet 3.0's data.noun and index.noun (wndb(5WN))."""
    lines = [
        "08420278 14 n 01 bank 0 000 | a financial institution;"
        ' "he cashed a check at the bank"; "that bank holds the loan"',
        "09213565 17 n 01 bank 0 000 | sloping land beside water;"
        ' "they pulled the canoe up on the bank"; "he sat on the bank of the river"',
    ]
    (tmp_path / "data.noun").write_text("  1 header\n" + "\n".join(lines) + "\n")
    (tmp_path / "index.noun").write_text("bank n 2 1 @ 2 2 08420278 09213565  \nbanker n 1 0 1 0 08420278  \n")
    task = datasets.wordnet("bank", tmp_path)
    assert task.senses == ("a financial institution", "sloping land beside water")
    assert (len(task.train), len(task.test)) == (2, 2)
    assert all(e.tokens[e.position] == "bank" for e in task.train)
    with pytest.raises(ValueError, match="wordnet-base"):
        datasets.wordnet("bank", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no noun 'bonk'"):
        datasets.wordnet("bonk", tmp_path)
    with pytest.raises(ValueError, match="fewer than two senses"):
        datasets.wordnet("banker", tmp_path)


def test_telling_words_and_windows():
    examples = [Example(("cash", "bank", "x"), 1, 0)] * 3 + [Example(("mud", "bank", "x"), 1, 1)] * 3
    assert telling_words(examples, ("a", "b")) == ["cash", "mud"]
    assert telling_words(examples, ("x", "b")) == ["x", "mud"]  # a sense's own name comes first
    assert near(Example(tuple("abcde"), 2, 0), 1) == [("b", -1), ("c", 0), ("d", 1)]


def test_transformer_baseline_learns():
    task = datasets.bank(per_sense=10)
    assert np.mean(transformer_answers(task, 0, dim=16, layers=1, steps=40) == [e.sense for e in task.test]) > 0.6


def test_bad_settings():
    with pytest.raises(ValueError, match="control must be one of"):
        SenseClassifier(control="magic")
    with pytest.raises(ValueError, match="1 to 2 own vectors beside the shared one; got own = 5"):
        SenseClassifier(dimension=3, own=5)
    four = [Example(("a", w, "b"), 0, k) for k, w in enumerate("wxyz")]
    with pytest.raises(ValueError, match="no room for 4 senses beside the shared vector; it takes dimension 5"):
        SenseClassifier(dimension=4, own=1, control="one_basis").build(four, "wxyz")
    with pytest.raises(ValueError, match="sense 1 has no training example"):
        SenseClassifier().fit([Example(("a", "b"), 0, 0)], ("x", "y"))
    with pytest.raises(ValueError, match="no test examples"):
        SenseTask("t", ("a",), (Example(("a",), 0, 0),), ())
    with pytest.raises(ValueError, match="expected bank, MC, RP"):
        sense_task("nosuch")


def test_the_notebook_trains_one_model():
    result = notebook.train(datasets.bank(per_sense=8), steps=40)
    assert result["accuracy"] > 0.6
    assert set(result["answers"]) <= set(result["senses"])
    assert len(result["answers"]) == 24
