"""Accuracies on a finite test set against outside facts: Newcombe's table, McNemar's test, coverage, false claims."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.stats.accuracy import (
    accuracy_interval,
    effective_examples,
    paired_accuracies,
    paired_answers,
    sign_flip_counts,
    wilson,
)
from experiments.stats.comparisons import conclude
from experiments.stats.statistics import paired, sign_flip, t_interval


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0000, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_newcombe_tabulates_it(right, n, low, high):
    """Newcombe (1998), Statistics in Medicine 17, 857, table I, method 3."""
    assert wilson(right / n, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 40), st.integers(1, 40), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_agrees_with_scipy_and_is_never_certain(right, n, level):
    right = min(right, n)
    theirs = stats.binomtest(right, n).proportion_ci(level, method="wilson")
    low, high = wilson(right / n, n, level)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= low < high <= 1


@given(st.lists(st.sampled_from([0.0, 0.5, 0.9, 1.0]), min_size=2, max_size=8), st.integers(1, 500))
def test_an_accuracy_interval_stays_within_its_range_and_has_a_width(values, examples):
    found = accuracy_interval(values, examples)
    assert 0 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1
    assert found.high > found.low
    assert found.high - found.low >= 0.99 * np.diff(wilson(found.mean, examples))[0]  # no better than one fixed model's


def test_a_large_test_set_leaves_the_spread_over_seeds():
    """With so many examples that their error vanishes, it is Student's interval but for Wilson's curvature."""
    values = [0.51, 0.49, 0.50, 0.52, 0.48, 0.50]
    ours, students = accuracy_interval(values, 10**9), t_interval(values)
    assert (ours.low, ours.high) == pytest.approx((students.low, students.high), abs=2e-5)


def test_without_the_number_of_examples_nothing_is_certain_either():
    assert accuracy_interval([1.0] * 6, None).low is None
    cut = accuracy_interval([1.0, 0.9, 1.0], None)
    assert 0 <= cut.low < cut.high == 1


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
def test_counts_are_flipped_exactly(differences):
    expected = sign_flip([float(d) for d in differences])[0]
    assert sign_flip_counts(np.array(differences)) == pytest.approx(expected, abs=1e-12)


def test_one_seed_over_examples_is_mcnemars_test():
    """McNemar's exact test is the sign test of the discordant pairs; here 12 against 3, of 40."""
    a, b = np.ones((1, 40), dtype=bool), np.ones((1, 40), dtype=bool)
    b[0, :12], a[0, 12:15] = False, False
    assert paired_answers(a, b).p_examples == pytest.approx(stats.binomtest(12, 15).pvalue, rel=1e-12)
    assert paired_answers(a, b).difference.low is None  # one seed says nothing about others


def test_answers_that_agree_within_a_sequence_count_once():
    """Kish's design effect: 200 sequences of ten answers that are all alike are worth 200 examples, independent ones
    2,000. Relative standard error of a variance from 200 clusters: 10 %; the bounds are four away."""
    random = np.random.default_rng(0)
    asked = np.full(200, 10)
    alike = 10 * (random.random(200) < 0.7)
    assert effective_examples(alike, asked) == pytest.approx(200, rel=0.02)
    assert effective_examples(random.binomial(10, 0.7, 200), asked) == pytest.approx(2000, rel=0.4)
    assert effective_examples(asked, asked) == 200
    assert effective_examples(np.array([1, 0, 1, 1]), np.ones(4, dtype=int)) == 3  # n − 1: the variance is estimated


def crossed(random, seeds, examples, gap):
    """Answers of two models with the same hard examples, each with its own luck by seed and by example."""
    hard = random.normal(1.0, 1.0, examples)
    skill = [
        random.normal(0, 0.05, (seeds, 1)) + random.normal(0, 2.5, examples) + hard + shift for shift in (0.0, gap)
    ]
    return [random.random((seeds, examples)) < 1 / (1 + np.exp(-x)) for x in skill]


def test_no_difference_is_claimed_more_often_than_stated():
    """400 pairs of equal models, new seeds and new test sets each time; 5 % may be claimed, and 3.6 standard errors of
    it are 3.9 points. A comparison over seeds alone claims several times as many, for want of the test set's error."""
    random = np.random.default_rng(3)
    false, over_seeds = 0, 0
    for _ in range(400):
        a, b = crossed(random, 6, 60, 0.0)
        found, alone = paired_answers(a, b), paired(a.mean(1).tolist(), b.mean(1).tolist())
        false += not found.difference.low <= 0 <= found.difference.high
        over_seeds += alone.difference.low is not None and not alone.difference.low <= 0 <= alone.difference.high
    assert false / 400 < 0.089
    assert over_seeds / 400 > 0.2


def test_a_clear_difference_is_found():
    a, b = crossed(np.random.default_rng(0), 6, 300, 1.5)
    found = paired_answers(b, a)
    assert found.difference.low > 0
    assert found.p <= 0.05


def test_answers_say_more_than_accuracies():
    """Where both models are right on the same examples, pairing removes most of the test set's error."""
    a = np.arange(200) < np.array([[150], [151], [152], [150], [151], [152]])
    b = np.arange(200) < np.array([[140], [141], [142], [140], [143], [142]])
    with_answers = paired_answers(a, b).difference
    without = paired_accuracies(a.mean(1).tolist(), b.mean(1).tolist(), 200).difference
    assert with_answers.low > 0
    assert without.low < 0
    assert with_answers.mean == pytest.approx(without.mean)


def test_the_same_accuracy_six_times_is_no_proof():
    """0.667 against 0.333 on 120 examples, alike in all seeds: the interval has the width of the test set's error."""
    a, b = np.ones((6, 120), dtype=bool), np.zeros((1, 120), dtype=bool)
    a[:, :40], b[:, :40] = False, True
    found = paired_answers(a, b)
    assert found.difference.mean == pytest.approx(1 / 3)
    assert found.difference.low < 1 / 3 - 0.1
    assert found.difference.high > 1 / 3 + 0.1


def claims(values):
    """False claims of two rules where three models are compared with a first one, six seeds each: an uncorrected t
    interval that leaves out 0, and this product's rule."""
    ours, *others = values
    gaps = [ours - other for other in others]
    bare = any(abs(g.mean()) > stats.t.ppf(0.975, 5) * g.std(ddof=1) / 6**0.5 for g in gaps)
    tests = [
        {"a": "a", "b": str(i), "metric": "val_nats", "pair": paired(ours.tolist(), other.tolist())}
        for i, other in enumerate(others)
    ]
    conclude(tests)
    return bare, any(test["settled"] for test in tests)


def test_false_claims_of_null_draws():
    """An uncorrected t interval claims something false in 12.4 % of many null draws, statistics and verdict in
    3.9 % (3,000 draws of an independent review). Standard errors over these 1,000: 1 and 0.6 points."""
    random = np.random.default_rng(20261130)
    counted = np.array([claims(random.normal(size=(4, 6))) for _ in range(1000)]).mean(axis=0)
    assert 0.09 < counted[0] < 0.16
    assert counted[1] <= 0.05


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wilson(1.2, 10), "between 0 and 1, got 1.2"),
        (lambda: wilson(0.5, 0), "at least one test example"),
        (lambda: accuracy_interval([0.5, 1.5], 10), "between 0 and 1"),
        (lambda: paired_answers(np.ones((2, 3), bool), np.ones((2, 4), bool)), "same examples, got 3 and 4"),
    ],
)
def test_what_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
