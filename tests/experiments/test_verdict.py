"""The words keep the rule: no "better" below six seeds, where the interval reaches 0, or where no test carries it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.stats.statistics import paired
from experiments.stats.verdict import settled, verdict


def say(differences, comparisons=1, **options):
    pair = paired(list(differences), [0.0] * len(differences))
    p_holm = None if pair.p is None else min(1.0, comparisons * pair.p)
    p_t_holm = None if pair.p_t is None else min(1.0, comparisons * pair.p_t)
    return verdict("ours", "theirs", pair, p_holm=p_holm, p_t_holm=p_t_holm, comparisons=comparisons, **options)


def test_six_clear_seeds_are_enough():
    text = say([-0.10, -0.11, -0.12, -0.10, -0.11, -0.12])
    assert text.startswith("ours is better than theirs by 0.110 nats")
    assert "lower in 6 of 6 seeds" in text
    assert "p = 0.031, the least that 6 seeds can give" in text


@pytest.mark.parametrize(("n", "least"), [(2, "0.5"), (3, "0.25"), (4, "0.125"), (5, "0.0625")])
def test_few_seeds_never_settle(n, least):
    text = say([-1.0 - 0.001 * i for i in range(n)])
    assert "better" not in text
    assert f"{n} seeds can never reach p < {least}:" in text


def test_one_and_no_seed():
    assert "better" not in say([-1.0])
    assert "share no finished seed" in say([])


def test_interval_over_zero():
    text = say([0.1, -0.1, 0.2, -0.2, 0.1, -0.05], margin=0.02)
    assert text.startswith("No difference between ours and theirs is shown")
    assert "equality is not shown either" in text


def test_equal_for_practical_purposes():
    text = say([0.001, -0.001, 0.002, -0.002, 0.001, -0.001], margin=0.02)
    assert "equal for practical purposes" in text
    assert "±0.02" in text


def test_a_difference_too_small_to_matter_says_so():
    assert "less than the ±0.02 that would matter" in say(
        [-0.001, -0.0011, -0.0012, -0.001, -0.0011, -0.0012], margin=0.02
    )


def test_many_comparisons_need_the_t_test_or_more_seeds():
    weak = [-0.1, -0.3, -0.02, -0.4, -0.05, -0.2]
    assert "is better" in say(weak)
    text = say(weak, comparisons=10)
    assert "better" not in text
    assert "6 seeds cannot reach 0.05 over 10 comparisons, 9 can" in text


def test_higher_accuracy_wins():
    text = say([0.1, 0.11, 0.12, 0.1, 0.11, 0.12], unit="of accuracy", lower_is_better=False)
    assert text.startswith("ours is better than theirs by 0.110 of accuracy")
    assert "higher in 6 of 6" in text


@given(st.lists(st.floats(-1, 1, width=32), max_size=12), st.integers(1, 60), st.sampled_from([0.0, 0.01, 0.5]))
def test_better_keeps_its_rule(differences, comparisons, margin):
    pair = paired(differences, [0.0] * len(differences))
    text = say(differences, comparisons, margin=margin)
    low, high = pair.difference.low, pair.difference.high
    if "better" in text:
        assert pair.difference.n >= 6
        assert low > 0 or high < 0
        assert pair.p <= 0.05
        assert text.startswith("ours" if pair.difference.mean < 0 else "theirs")
    assert text.count(".") >= 1
    assert "nan" not in text
    assert "None" not in text


def test_false_alarms_stay_at_five_percent():
    """2,000 comparisons of equal models with six seeds. "Settled" wants the sign-flip test (size 2/64) and the t test
    at once, so its rate is at most 0.03125; four standard errors above that is 0.047, a false alarm below 1e-4."""
    random = np.random.default_rng(1)
    alarms = 0
    for _ in range(2000):
        pair = paired(random.normal(size=6).tolist(), [0.0] * 6)
        alarms += settled(pair, pair.p, pair.p_t)
    assert alarms / 2000 < 0.047
