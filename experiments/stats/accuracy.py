"""How sure an accuracy is: it varies over the seeds of training *and* over the examples of a finite test set.

Seeds and test examples are crossed random effects, so the variance of a mean accuracy is that over seeds plus that over
examples (their interaction is counted twice, which errs on the careful side: Owen, 2007, "The pigeonhole bootstrap").
No interval here has width zero or leaves the range of what it estimates. Everything is float64 and pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Int
from scipy.special import ndtri, stdtr, stdtrit
from scipy.stats import binom

from experiments.stats.statistics import Interval, Paired, paired, t_interval


def wilson(share: float, examples: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval (1927) of a proportion: ``share`` of ``examples`` independent trials; within [0, 1].

    ``examples`` may be an effective number, which need not be whole. Raises ValueError for a share outside [0, 1] or no
    examples.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"an accuracy lies between 0 and 1, got {share}")
    if not examples > 0:
        raise ValueError(f"an accuracy needs at least one test example, got {examples}")
    if share > 0.5:  # by symmetry, so that all right is exactly 1 at the upper end
        low, high = wilson(1 - share, examples, level)
        return 1 - high, 1 - low
    z2 = float(ndtri((1 + level) / 2)) ** 2 / examples
    half = math.sqrt(z2 * share * (1 - share) + z2 * z2 / 4)
    return max(0.0, (share + z2 / 2 - half) / (1 + z2)), min(1.0, (share + z2 / 2 + half) / (1 + z2))


def accuracy_interval(values: Sequence[float], examples: int | None, level: float = 0.95) -> Interval:
    """Mean accuracy over seeds with an interval for new seeds and new test examples; ``values`` has one per seed.

    Wilson's interval at the effective number of examples n = p(1−p)/se² · (z/t)² (Korn and Graubard, 1998), where se² =
    s²/S + p(1−p)/N adds the spread s over S seeds and the binomial variance of N test examples, and t has Welch and
    Satterthwaite's degrees of freedom; n is never above N. Without ``examples`` (a record that does not say how many
    there were) it is Student's interval over seeds cut to [0, 1], and none where all seeds agree. One value gives no
    interval, as everywhere; for a model without randomness see :func:`wilson`. Raises ValueError for a value outside
    [0, 1].
    """
    if not all(0 <= value <= 1 for value in values):
        raise ValueError(f"an accuracy lies between 0 and 1, got {list(values)}")
    plain = t_interval(values, level)
    if plain.n < 2 or plain.mean is None or plain.sd is None:
        return plain
    if examples is None:
        if plain.low is None or plain.high is None:
            return plain
        return replace(plain, low=max(0.0, plain.low), high=min(1.0, plain.high))
    binomial = plain.mean * (1 - plain.mean)
    seeds, tests = plain.sd**2 / plain.n, binomial / examples
    effective = float(examples)
    if seeds + tests > 0:
        freedom = _freedom((seeds, plain.n), (tests, math.inf))  # the binomial variance is known with p
        z, t = ndtri((1 + level) / 2), stdtrit(freedom, (1 + level) / 2)
        effective = min(effective, binomial / (seeds + tests) * float(z / t) ** 2)
    low, high = wilson(plain.mean, effective, level)
    return replace(plain, low=low, high=high)


def effective_examples(right: Int[np.ndarray, " clusters"], asked: Int[np.ndarray, " clusters"]) -> int:
    """How many independent examples a share is worth whose answers come in clusters (the positions of one sequence).

    p(1−p) over the variance of the ratio estimate Σ right / Σ asked (Kish, 1965, the design effect), at most the
    number of answers. Where all are right or all wrong nothing shows how alike a cluster's answers are: then it is the
    number of clusters. Raises ValueError where nothing is asked.
    """
    right, asked = right[asked > 0].astype(np.float64), asked[asked > 0].astype(np.float64)
    n, total = len(asked), float(asked.sum())
    if n == 0:
        raise ValueError("an accuracy needs at least one answer, got none")
    share = float(right.sum()) / total
    variance = float(((right - share * asked) ** 2).sum()) / total**2 * n / max(n - 1, 1)
    return n if variance == 0 else max(1, min(int(total), round(share * (1 - share) / variance)))


def paired_answers(
    a: Bool[np.ndarray, "#seeds examples"], b: Bool[np.ndarray, "#seeds examples"], level: float = 0.95
) -> Paired:
    """Compare two models by which test examples each seed answered right: paired over seeds and over examples.

    A model without randomness has one row, which stands for every seed. ``p`` is the larger of two exact sign-flip
    pseudo-examples, one won by each model, so it is never zero. Raises ValueError where the examples differ in number.
    small one speaks for new seeds and for new examples alike. The interval and ``p_t`` use the sum of both variances
    with Welch and Satterthwaite's degrees of freedom; that over examples has Agresti and Min's (2005) two
    pseudo-examples, one won by each model, so it is never zero. Raises ValueError where the numbers of examples differ.
    """
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"paired answers are to the same examples, got {a.shape[1]} and {b.shape[1]}")
    gaps = np.asarray(a, dtype=np.int64) - np.asarray(b, dtype=np.int64)
    seeds, examples = gaps.shape
    over_seeds = paired(gaps.mean(axis=1).tolist(), [0.0] * seeds, level)
    counts = gaps.sum(axis=0)
    size = examples + 2
    center = float(counts.sum()) / seeds / size
    spread = (float((counts**2).sum()) / seeds**2 + 2) / size - center**2
    p_examples = sign_flip_counts(counts)
    return _joined(over_seeds, center, (spread / size, size), p_examples, level)


def paired_accuracies(a: Sequence[float], b: Sequence[float], examples: int | None, level: float = 0.95) -> Paired:
    """Compare accuracies seed by seed where it is not known which examples were answered right.

    The test set's variance is then that of two independent samples of ``examples`` (with Agresti and Caffo's, 2000, one
    success and one failure more in each): careful where both models tend to be right on the same examples. ``p`` speaks
    for new seeds alone. Without ``examples`` nothing is known of the test set, and this is the plain paired comparison.
    """
    over_seeds = paired(a, b, level)
    if examples is None or over_seeds.difference.mean is None:
        return over_seeds
    shares = [(float(np.mean(x)) * examples + 1) / (examples + 2) for x in (a, b)]
    variance = sum(share * (1 - share) / (examples + 2) for share in shares)
    return _joined(over_seeds, shares[0] - shares[1], (variance, 2 * examples + 2), None, level)


def sign_flip_counts(differences: Int[np.ndarray, " examples"]) -> float:
    """Two-sided sign-flip test of whole differences, exact at any number of them: p = P(|Σ ±d_i| ≥ |Σ d_i|).

    Differences of equal size m add m (2 Binomial(n_m, ½) − n_m), and the sizes' distributions are convolved.
    Differences of zero say nothing; where all are zero, p = 1. For |d_i| ≤ 1 it is the sign test (McNemar's).
    """
    sizes, numbers = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    law = np.ones(1)
    for size, number in zip(sizes.tolist(), numbers.tolist(), strict=True):
        step = np.zeros(2 * size * number + 1)
        step[:: 2 * size] = binom.pmf(np.arange(number + 1), number, 0.5)
        law = np.convolve(law, step)
    sums = np.arange(len(law)) - len(law) // 2
    return min(1.0, float(law[np.abs(sums) >= abs(int(differences.sum()))].sum()))


def _joined(over_seeds: Paired, center: float, tests: tuple[float, int], p_tests: float | None, level: float) -> Paired:
    """A comparison over seeds with the test set's variance ``tests[0]`` (of ``tests[1]`` values) added to it."""
    d = over_seeds.difference
    p = over_seeds.p if p_tests is None else max(p_tests, over_seeds.p or 0.0)
    if d.n < 2 or d.sd is None:
        return replace(over_seeds, p=p, p_examples=p_tests)
    seeds = d.sd**2 / d.n
    error = math.sqrt(seeds + tests[0])
    freedom = _freedom((seeds, d.n), tests)
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    interval = Interval(d.n, d.mean, d.sd, max(-1.0, center - half), min(1.0, center + half))
    p_t = float(2 * stdtr(freedom, -abs(center) / error))
    return replace(over_seeds, difference=interval, p=p, p_t=p_t, p_examples=p_tests)


def _freedom(*parts: tuple[float, float]) -> float:
    """Welch and Satterthwaite's degrees of freedom of a sum of variances, each with the number of values it is from."""
    total = sum(variance for variance, _ in parts)
    shares = sum(variance**2 / max(number - 1, 1) for variance, number in parts)
    return total**2 / shares if shares else math.inf
