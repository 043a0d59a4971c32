"""How sure a comparison of seeds is: t intervals, an exact paired test, Holm's correction, an effect size.

Everything is float64 and pure. Runs are paired by seed (the same seed gives every model the same stream of tokens),
so a comparison looks at the differences within a seed. Does not bootstrap: from six values its intervals come out too
narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

ENOUGH = 6
"""The fewest seeds whose exact two-sided test can fall below 0.05: 2 / 2^6 = 0.03125 (five stop at 0.0625)."""


@dataclass(frozen=True)
class Interval:
    """A mean and its two-sided interval; ``low`` and ``high`` are None where there is none: one value, or all equal."""

    n: int
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Paired:
    """Differences a − b over shared seeds. ``p`` is the sign-flip test's, ``p_t`` the paired t test's, both two-sided.

    ``effect`` is Hedges' g_z: the mean difference over the standard deviation of the differences, d_z, times the factor
    that removes its upward bias in small samples (0.84 for six seeds). ``lower`` counts the seeds with a below b.
    For accuracies on a finite test set (:mod:`experiments.stats.accuracy`) ``p_examples`` is the sign-flip test over
    its examples, and ``p`` is the larger of that and the test over seeds.
    """

    difference: Interval
    p: float | None
    exact: bool
    p_t: float | None
    d_z: float | None
    effect: float | None
    lower: int
    higher: int
    p_examples: float | None = None


def t_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Student's interval of the mean, ``mean ± t_{n−1} s/√n``. Assumes nearly normal means, nothing about the spread.

    Values that all agree to rounding show no spread and give no interval: one of width zero would claim certainty.
    Raises ValueError for a level outside (0, 1) and for values that are not finite.
    """
    x = _finite(values)
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval lies between 0 and 1, got {level}")
    n = len(x)
    if n == 0:
        return Interval(0, None, None, None, None)
    mean = float(x.mean())
    if n == 1:
        return Interval(1, mean, None, None, None)
    sd = _spread(x)
    if sd == 0:
        return Interval(n, mean, 0.0, None, None)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * sd / math.sqrt(n)
    return Interval(n, mean, sd, mean - half, mean + half)


def paired(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Paired:
    """Compare ``a`` and ``b`` value by value (position i of both belongs to the same seed).

    Raises ValueError where their lengths differ. With fewer than two pairs there is no interval, no t test, no effect.
    """
    if len(a) != len(b):
        raise ValueError(f"paired values come in equal numbers, got {len(a)} and {len(b)}")
    d = _finite(a) - _finite(b)
    difference = t_interval(d.tolist(), level)
    n, sd = difference.n, difference.sd
    p, exact = sign_flip(d.tolist()) if n else (None, True)
    p_t = d_z = effect = None
    if n >= 2 and sd and difference.mean is not None:
        d_z = difference.mean / sd
        p_t = float(2 * stdtr(n - 1, -abs(d_z) * math.sqrt(n)))
        effect = d_z * hedges(n - 1) if n >= 3 else None
    return Paired(difference, p, exact, p_t, d_z, effect, int((d < 0).sum()), int((d > 0).sum()))


def sign_flip(differences: Sequence[float], samples: int = 100_000, seed: int = 0) -> tuple[float, bool]:
    """Two-sided randomisation test of "each difference is as likely positive as negative" (Fisher, 1935).

    p is the share of the 2^n sign patterns whose |sum| reaches the observed one, so it is at least 2/2^n. All patterns
    are visited up to n = 20; beyond, ``samples`` patterns are drawn with ``seed`` and p = (k+1)/(N+1), which is valid
    and never 0 (Phipson and Smyth, 2010). Sums within 1e-12 of Σ|d| count as equal. Returns p and whether it is exact.
    Raises ValueError without a difference.
    """
    d = np.abs(_finite(differences))
    if len(d) == 0:
        raise ValueError("the sign-flip test wants at least one difference, got none")
    observed = abs(float(np.sum(np.asarray(differences, dtype=np.float64)))) - 1e-12 * float(d.sum())
    if len(d) <= 20:
        sums = d[:1]  # the mirror image of a pattern has the same |sum|: half of them suffice
        for value in d[1:]:
            sums = np.concatenate([sums + value, sums - value])
        return float(np.mean(np.abs(sums) >= observed)), True
    random = np.random.default_rng(seed)
    hits = 0
    for start in range(0, samples, 10_000):
        signs = random.choice(np.array([-1.0, 1.0]), size=(min(10_000, samples - start), len(d)))
        hits += int((np.abs(signs @ d) >= observed).sum())
    return (hits + 1) / (samples + 1), False


def least_p(n: int) -> float:
    """The smallest two-sided p that ``n`` pairs can give in the exact sign-flip test, 2/2^n."""
    return min(1.0, 2.0 / 2.0**n)


def seeds_needed(comparisons: int, alpha: float = 0.05) -> int:
    """The fewest seeds whose exact p can stay at or below ``alpha`` after Holm's correction over ``comparisons``."""
    return max(ENOUGH, math.ceil(math.log2(2 * max(comparisons, 1) / alpha)))


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Adjusted p values of Holm's step-down procedure (1979), in the order given; None stays None and is not counted.

    An adjusted value at or below α is a rejection, with the chance of any false one among all kept below α. Raises
    ValueError for a p value outside [0, 1].
    """
    known = sorted((value, place) for place, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    running = 0.0
    for rank, (value, place) in enumerate(known):
        if not 0 <= value <= 1:
            raise ValueError(f"a p value lies between 0 and 1, got {value}")
        running = max(running, min(1.0, (len(known) - rank) * value))
        adjusted[place] = running
    return adjusted


def hedges(freedom: int) -> float:
    """Hedges' exact small-sample factor J(ν) = Γ(ν/2) / (√(ν/2) Γ((ν−1)/2)) (Hedges 1981), for ν = n − 1 ≥ 2.

    Raises ValueError for fewer degrees of freedom.
    """
    if freedom < 2:
        raise ValueError(f"Hedges' factor needs at least 2 degrees of freedom, got {freedom}")
    return math.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / math.sqrt(freedom / 2)


def practical(difference: Interval, margin: float) -> str | None:
    """Region of practical equivalence ±``margin``: "equal" if the interval lies inside, "different" outside, or "open".

    None where there is no interval. At a 95 % interval "equal" is a two one-sided test at 2.5 %, on the careful side.
    Raises ValueError for a negative margin.
    """
    if margin < 0:
        raise ValueError(f"the margin of practical equivalence is at least 0, got {margin}")
    if difference.low is None or difference.high is None:
        return None
    if -margin <= difference.low and difference.high <= margin:
        return "equal"
    return "different" if difference.low > margin or difference.high < -margin else "open"


def _finite(values: Sequence[float]) -> np.ndarray:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(f"statistics want a plain list of finite numbers, got {values!r}")
    return x


def _spread(x: np.ndarray) -> float:
    """Sample standard deviation; 0 where all values agree to rounding (else 0.1, 0.1, 0.1 has an effect of 1e16)."""
    sd = float(x.std(ddof=1))
    return 0.0 if sd <= 1e-13 * float(np.abs(x).max()) else sd
