"""Lower bounds on the coherence μ of n lines in R^d or C^d.

Every bound is a function of (d, n, field) that returns a number, or ``None`` where it does not apply; it never returns
a number outside its range. Each is turned into an upper bound on the capacity N_ε(d) by :func:`largest_n`; the bounds
that are functions of ε from the start stand in :mod:`~contexts.packing.bounds.levenshtein` and
:mod:`~contexts.packing.bounds.capacity`. Rounded down to float64, so that what is printed holds; within 1e-12 of the
formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import mpmath
import numpy as np

from contexts.packing.bounds.levenshtein import levenshtein
from contexts.packing.bounds.rounding import DIGITS, down, log_moments, moment, root_down, widened
from contexts.packing.validation import HALF_DIMENSION, Number, check_epsilon, check_field, check_size, gerzon


def welch(d: int, n: Number, field: str, order: int | None = None) -> float | None:
    """Welch's bound of order k: μ^{2k} ≥ (n c_k − 1)/(n − 1), c_k = E|⟨u,v⟩|^{2k}; the best order if none is given.

    Applies where n c_k > 1. Sources: Welch 1974 (complex, c_k = 1/C(d+k−1,k)); Sidelnikov 1974 (real, the larger c_k).
    """
    _check(d, n, field)
    n = int(n)
    if order is not None:
        check_size("order", order)
    elif n > d:
        order = _best_order(d, n, field)
    if n < 2 or order is None:
        return None
    excess = n * moment(d, order, field) - 1
    return root_down(min(excess / (n - 1), Fraction(1)), 2 * order) if excess > 0 else None


def _best_order(d: int, n: int, field: str) -> int:
    """The order k of the largest Welch bound, by float64; the first one always applies for n > d."""
    log_n = float(mpmath.log(n))
    excess = log_n + log_moments(d, field)  # ln n c_k: the moments fall with k
    k = np.arange(1, max(1, int(np.count_nonzero(excess > 1e-12))) + 1)
    with np.errstate(over="ignore"):  # beyond float64: there ln(e^x − 1) is x
        logs = np.where(excess[: len(k)] > 700, excess[: len(k)], np.log(np.expm1(excess[: len(k)])))
    return int(k[np.argmax((logs - log_n) / k)])


def rankin(d: int, n: Number, field: str) -> float | None:
    """Rankin's (orthoplex) bound: μ ≥ 1/√d once n exceeds Gerzon's number (Rankin 1955)."""
    _check(d, n, field)
    return root_down(Fraction(1, d)) if n > gerzon(d, field) else None


def levenshtein_second(d: int, n: Number, field: str) -> float | None:
    """Levenshtein's second bound, μ² ≥ (n(m+1) − d(md+1)) / ((n−d)(md+1)), m = 1/2 real, 1 complex.

    Applies where n exceeds Gerzon's number. Source: Levenshtein 1982; in this form Haas, Hammen & Mixon 2017.
    """
    _check(d, n, field)
    if n <= gerzon(d, field):
        return None
    n = int(n)
    if field == "real":
        return root_down(Fraction(3 * n - d * (d + 2), (n - d) * (d + 2)))
    return root_down(Fraction(2 * n - d * (d + 1), (n - d) * (d + 1)))


def bukh_cox(d: int, n: Number, field: str) -> float | None:
    """Bukh and Cox's bound for a few vectors more than dimensions, k = n − d ≥ 1: μ ≥ M / (n(1 + m(k−1)√(1/m+k)) − M).

    M = k(1 + m(k−1)). Bukh & Cox, "Nearly orthogonal vectors and small antipodal spherical codes", arXiv:1803.02949.
    """
    _check(d, n, field)
    if n <= d:
        return None
    m, k = HALF_DIMENSION[field], int(n) - d
    less = m * (k - 1)
    ratio = (
        int(n) / k * ((1 + less * math.sqrt(1 / m + k)) / (1 + less))
    )  # n(…)/M: at least 1 + d/k, so nothing cancels
    return (1 - 1e-14) / (ratio - 1)  # seven roundings of 1.1e-16 each, downwards


def plane(d: int, n: Number, field: str) -> float | None:
    """d = 2. Real: μ ≥ cos(π/n), met by n equally spaced lines. Complex: Fejes Tóth's bound on the Bloch sphere.

    Fejes Tóth 1943: n points on S² have two within angle δ, cos δ = (cot²ω − 1)/2, ω = πn/(6(n−2)); lines of C² are
    points of S² with |⟨u,v⟩|² = (1 + cos δ)/2. Applies for n ≥ 2 (real), n ≥ 3 (complex).
    """
    _check(d, n, field)
    if d != 2 or n < (2 if field == "real" else 3):
        return None
    n = int(n)
    with mpmath.workdps(DIGITS):
        if field == "real":
            return down(mpmath.cospi(1 / mpmath.mpf(n))) if n > 2 else 0.0
        cosine = (mpmath.cot(mpmath.pi * n / (6 * (n - 2))) ** 2 - 1) / 2
        return down(mpmath.sqrt(max(mpmath.mpf(0), (1 + cosine) / 2)))


class CoherenceBound(NamedTuple):
    """A named lower bound on coherence, where it holds, and a sentence about its range for people."""

    function: Callable[[int, Number, str], float | None]
    applies: str


COHERENCE_BOUNDS: dict[str, CoherenceBound] = {
    "welch": CoherenceBound(welch, "n c_k > 1 for some order k, that is n > d"),
    "rankin": CoherenceBound(rankin, "n > d(d+1)/2 (real) or n > d^2 (complex)"),
    "levenshtein2": CoherenceBound(levenshtein_second, "n > d(d+1)/2 (real) or n > d^2 (complex)"),
    "levenshtein": CoherenceBound(levenshtein, "n > d >= 2"),
    "bukh-cox": CoherenceBound(bukh_cox, "n > d"),
    "plane": CoherenceBound(plane, "d = 2"),
}


def best_bound(d: int, n: Number, field: str) -> tuple[float, str]:
    """The largest of :data:`COHERENCE_BOUNDS` at (d, n) and its name; (0, "trivial") where none applies (n ≤ d)."""
    _check(d, n, field)
    found = [
        (min(1.0, value), name) for name, bound in COHERENCE_BOUNDS.items() if (value := bound.function(d, n, field))
    ]
    # of two that agree to rounding, the one named first (the simpler) is quoted
    top = max((value for value, _ in found), default=0.0)
    return next((pair for pair in found if pair[0] >= top * (1 - 1e-13)), (0.0, "trivial"))


def largest_n(bound: Callable[[int, Number, str], float | None], d: int, eps: Number, field: str) -> int | None:
    """Invert a coherence bound: the most vectors it allows at coherence ε, or None if it limits none up to 2^1000.

    If the bound at n exceeds ε, no n vectors reach ε, nor do more than n (a subset would). The first 200 n are tried in
    turn (Bukh and Cox's bound rises and falls there), then n is doubled until the bound bites and bisected. The
    result is rigorous whether or not the bound grows steadily with n, and exact if it does.
    """
    check_size("d", d)
    check_epsilon(eps)
    for n in range(d + 1, d + 201):
        if _exceeds(bound(d, n, field), eps):
            return n - 1
    allowed, refused = d + 200, d + 201
    while not _exceeds(bound(d, refused, field), eps):
        allowed, refused = refused, 2 * refused
        if refused > 2**1000:
            return None
    while refused - allowed > 1:
        middle = (allowed + refused) // 2
        if _exceeds(bound(d, middle, field), eps):
            refused = middle
        else:
            allowed = middle
    return allowed


def _exceeds(bound: Number | None, eps: Number) -> bool:
    # a bound met with equality must not be read as violated because of rounding
    return bound is not None and bound > widened(eps)


def _check(d: int, n: Number, field: str) -> None:
    check_size("d", d)
    check_size("n", n)
    check_field(field)
