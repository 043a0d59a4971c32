"""Statistics against outside facts: scipy's own tests, published examples, exact counts, laws of symmetry and scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from experiments.stats.statistics import (
    hedges,
    holm,
    least_p,
    paired,
    practical,
    seeds_needed,
    sign_flip,
    t_interval,
)

# Student (1908), after Cushny and Peebles: hours of sleep gained by ten patients with two drugs (R's `sleep`).
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

# Heights of 15 pairs of maize plants, crossed minus self-fertilised, in eighths of an inch (Darwin 1876; Fisher 1935).
DARWIN = [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0]

numbers = st.integers(-50, 50).map(float)
few = st.lists(numbers, min_size=1, max_size=9)
whole = st.lists(numbers, min_size=3, max_size=9).filter(lambda d: len(set(d)) > 1)


def test_sleep_data_of_student():
    """R prints t = -4.0621, df = 9, p-value = 0.002833, 95 percent confidence interval -2.4598858 -0.7001142."""
    pair = paired(DRUG_1, DRUG_2)
    assert pair.p_t == pytest.approx(0.002833, abs=5e-7)
    assert pair.difference.low == pytest.approx(-2.4598858, abs=5e-8)
    assert pair.difference.high == pytest.approx(-0.7001142, abs=5e-8)
    assert pair.difference.mean == pytest.approx(-1.58, abs=1e-12)


def test_darwins_maize_as_fisher_counted_it():
    """Fisher (Design of Experiments, section 21): 863 of the 32,768 sign patterns sum to at least 314."""
    p, exact = sign_flip(DARWIN)
    assert exact
    assert p == 2 * 863 / 2**15


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_agrees_with_scipy(n):
    random = np.random.default_rng(n)
    a, b = random.normal(size=n), random.normal(size=n) + 0.4
    ours = paired(a.tolist(), b.tolist(), 0.9)
    theirs = stats.ttest_rel(a, b)
    assert ours.p_t == pytest.approx(theirs.pvalue, rel=1e-10)
    interval = theirs.confidence_interval(0.9)
    assert (ours.difference.low, ours.difference.high) == pytest.approx((interval.low, interval.high), rel=1e-10)
    flips = stats.permutation_test(
        (a - b,), lambda d, axis: d.sum(axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert ours.p == pytest.approx(flips.pvalue, rel=1e-12)


@pytest.mark.parametrize("n", range(1, 13))
def test_least_p_is_two_patterns_of_all(n):
    assert sign_flip([0.1 * (i + 1) for i in range(n)])[0] == 2 / 2**n == least_p(n)


def test_what_three_five_and_six_seeds_can_reach():
    assert (least_p(3), least_p(5), least_p(6)) == (0.25, 0.0625, 0.03125)


def test_seeds_needed_is_the_fewest():
    for comparisons in (1, 2, 3, 10, 45):
        n = seeds_needed(comparisons)
        assert least_p(n) * comparisons <= 0.05
        assert n == 6 or least_p(n - 1) * comparisons > 0.05


@given(few)
def test_sign_flip_is_symmetric_in_sign_and_order(d):
    p, _ = sign_flip(d)
    assert sign_flip([-x for x in d])[0] == p
    assert sign_flip(d[::-1])[0] == pytest.approx(p, abs=1e-15)
    assert 2 / 2 ** len(d) <= p <= 1


@given(few, st.floats(1e-6, 1e6))
def test_sign_flip_knows_no_unit(d, scale):
    assert sign_flip([scale * x for x in d])[0] == pytest.approx(sign_flip(d)[0], abs=1e-15)


@given(whole, st.floats(1e-3, 1e3))
def test_effect_and_t_know_no_unit_and_the_interval_scales(d, scale):
    zero = [0.0] * len(d)
    small, large = paired(d, zero), paired([scale * x for x in d], zero)
    assert large.effect == pytest.approx(small.effect, rel=1e-6, abs=1e-12)
    assert large.p_t == pytest.approx(small.p_t, rel=1e-6)
    assert large.difference.high == pytest.approx(scale * small.difference.high, rel=1e-6, abs=1e-9 * scale)


@given(whole)
def test_swapping_the_models_mirrors_everything(d):
    zero = [0.0] * len(d)
    one, other = paired(d, zero), paired(zero, d)
    assert (other.difference.mean, other.difference.low, other.difference.high) == pytest.approx(
        (-one.difference.mean, -one.difference.high, -one.difference.low)
    )
    assert (other.p, other.p_t, other.effect) == pytest.approx((one.p, one.p_t, -one.effect))
    assert (other.lower, other.higher) == (one.higher, one.lower)


def test_sampled_beyond_twenty_seeds_and_never_zero():
    """All 25 differences agree: the exact p is 2^-24, so more than two hits have a probability below 1e-7."""
    p, exact = sign_flip([1.0] * 25, samples=100_000, seed=3)
    assert not exact
    assert 1 / 100_001 <= p <= 3 / 100_001
    assert sign_flip([1.0] * 25, samples=1000, seed=3) == sign_flip([1.0] * 25, samples=1000, seed=3)


def test_sampling_agrees_with_the_exact_count():
    """21 signs ±1 with 15 positive: P(|S| ≥ 9) is binomial. Five standard errors: false alarm below 1e-6."""
    p, _ = sign_flip([1.0] * 15 + [-1.0] * 6, samples=100_000)
    truth = 2 * stats.binom.sf(14, 21, 0.5)
    assert abs(p - truth) < 5 * math.sqrt(truth * (1 - truth) / 100_000)


def test_holm_of_four():
    """0.005 × 4, 0.01 × 3, 0.03 × 2, and 0.04 × 1 raised to the step before it (worked out by Holm's rule)."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_rejects_three_of_benjamini_and_hochbergs_fifteen():
    """Benjamini and Hochberg (1995), section 4.1: Bonferroni and Hochberg's step-up both reject exactly three at 0.05.
    Holm lies between the two, so it rejects the same three."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert sum(value <= 0.05 for value in holm(p)) == 3


def test_holm_skips_what_was_not_tested():
    assert holm([0.01, None, 0.04]) == pytest.approx([0.02, None, 0.04])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_lies_between_raw_and_bonferroni(p):
    for raw, adjusted in zip(p, holm(p), strict=True):
        assert raw <= adjusted <= min(1.0, len(p) * raw) + 1e-15


def test_hedges_factor():
    """Γ has closed forms at half-integers; and Hedges (1981) approximates J(ν) by 1 − 3/(4ν − 1)."""
    root = math.sqrt(math.pi)
    assert hedges(2) == pytest.approx(1 / root, rel=1e-12)
    assert hedges(3) == pytest.approx(root / 2 / math.sqrt(1.5), rel=1e-12)
    assert hedges(5) == pytest.approx(3 * root / 4 / math.sqrt(2.5), rel=1e-12)
    assert hedges(60) == pytest.approx(1 - 3 / (4 * 60 - 1), abs=1e-4)


def test_the_effect_is_unbiased():
    """The mean of g_z over 20,000 samples of six at δ = 1 is 1 (d_z would say 1.19). Standard error 0.0047 (sd of
    g_z about 0.66): five of them, a false alarm below 1e-6."""
    samples = np.random.default_rng(2).normal(1.0, 1.0, size=(20_000, 6))
    g = samples.mean(axis=1) / samples.std(axis=1, ddof=1) * hedges(5)
    assert abs(g.mean() - 1) < 5 * g.std() / math.sqrt(20_000)


def test_an_interval_needs_two_values():
    assert t_interval([]).mean is None
    one = t_interval([1.5])
    assert (one.mean, one.low, one.high, one.n) == (1.5, None, None, 1)
    same = t_interval([0.1, 0.1, 0.1])
    assert (same.mean, same.low, same.high) == (pytest.approx(0.1), None, None)  # no spread is no certainty
    assert paired([0.1, 0.2, 0.3], [0.0, 0.1, 0.2]).effect is None  # differences equal but for rounding


def test_coverage_of_the_interval():
    """5,000 normal samples of six: 95 % cover 0; four standard errors are 1.2 points, a false alarm of 6e-5."""
    samples = np.random.default_rng(0).normal(size=(5000, 6))
    covered = sum((i := t_interval(row.tolist())).low <= 0 <= i.high for row in samples)
    assert abs(covered / 5000 - 0.95) < 0.0124


def test_region_of_practical_equivalence():
    tight, far, wide = t_interval([0.001, -0.001, 0.0]), t_interval([1.0, 1.01, 1.02]), t_interval([-1.0, 1.0, 0.3])
    assert [practical(x, 0.01) for x in (tight, far, wide)] == ["equal", "different", "open"]
    assert practical(t_interval([1.0]), 0.01) is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: t_interval([1.0, math.nan]), "finite"),
        (lambda: t_interval([1.0], 95.0), "between 0 and 1"),
        (lambda: paired([1.0], [1.0, 2.0]), "equal numbers, got 1 and 2"),
        (lambda: sign_flip([]), "at least one"),
        (lambda: holm([1.2]), "got 1.2"),
        (lambda: hedges(1), "at least 2"),
        (lambda: practical(t_interval([1.0, 2.0]), -1.0), "at least 0"),
    ],
)
def test_bad_input_gets_one_sentence(call, says):
    with pytest.raises(ValueError, match=says):
        call()
