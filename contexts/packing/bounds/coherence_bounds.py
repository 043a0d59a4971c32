"""Lower bounds on the coherence μ of n lines in R^d or C^d.

Every bound is a function of (d, n, field) that returns a number, or ``None`` where it does not apply; it never returns
a number outside its range. Each is turned into an upper bound on the capacity N_ε(d) by :func:`largest_n`; the bounds
that are functions of ε from the start stand in :mod:`~contexts.packing.bounds.levenshtein` and
:mod:`~contexts.packing.bounds.capacity`. float64; relative error below 1e-12 unless a docstring says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from contexts.packing.bounds.levenshtein import levenshtein
from contexts.packing.validation import HALF_DIMENSION, Number, check_epsilon, check_field, check_size, gerzon

MAX_ORDER = 400


def log_moment(d: int, order: int, field: str) -> float:
    """ln E|⟨u,v⟩|^{2k} for v uniform on the sphere: −ln C(d+k−1, k) complex, Σ_j ln((2j+1)/(d+2j)) real."""
    if field == "complex":
        return math.lgamma(order + 1) + math.lgamma(d) - math.lgamma(d + order)
    return (
        math.lgamma(order + 0.5) - math.lgamma(0.5) + math.lgamma(d / 2) - math.lgamma(d / 2 + order)
    )  # Π (1/2+j)/(d/2+j)


def welch(d: int, n: Number, field: str, order: int | None = None) -> float | None:
    """Welch's bound of order k: μ^{2k} ≥ (n c_k − 1)/(n − 1), c_k = E|⟨u,v⟩|^{2k}; the best order if none is given.

    Applies where n c_k > 1. Sources: Welch 1974 (complex, c_k = 1/C(d+k−1,k)); Sidelnikov 1974 (real, the larger c_k).
    """
    _check(d, n, field)
    if order is not None:
        check_size("order", order)
    best = None
    for k in [order] if order is not None else range(1, MAX_ORDER + 1):
        excess = n * math.exp(log_moment(d, k, field)) - 1
        if n < 2 or excess <= 1e-13:  # the moments fall with k: no higher order applies
            break
        best = max(best or 0.0, min(1.0, excess / (n - 1)) ** (0.5 / k))
    return best


def rankin(d: int, n: Number, field: str) -> float | None:
    """Rankin's (orthoplex) bound: μ ≥ 1/√d once n exceeds Gerzon's number (Rankin 1955)."""
    _check(d, n, field)
    return 1 / math.sqrt(d) if n > gerzon(d, field) else None


def levenshtein_second(d: int, n: Number, field: str) -> float | None:
    """Levenshtein's second bound, μ² ≥ (n(m+1) − d(md+1)) / ((n−d)(md+1)), m = 1/2 real, 1 complex.

    Applies where n exceeds Gerzon's number. Source: Levenshtein 1982; in this form Haas, Hammen & Mixon 2017.
    """
    _check(d, n, field)
    if n <= gerzon(d, field):
        return None
    m = HALF_DIMENSION[field]
    return math.sqrt((n * (m + 1) - d * (m * d + 1)) / ((n - d) * (m * d + 1)))


def bukh_cox(d: int, n: Number, field: str) -> float | None:
    """Bukh and Cox's bound for a few vectors more than dimensions, k = n − d ≥ 1: μ ≥ M / (n(1 + m(k−1)√(1/m+k)) − M).

    M = k(1 + m(k−1)). Bukh & Cox, "Nearly orthogonal vectors and small antipodal spherical codes", arXiv:1803.02949.
    """
    _check(d, n, field)
    if n <= d:
        return None
    m, k = HALF_DIMENSION[field], n - d
    size = k * (1 + m * (k - 1))
    return size / (n * (1 + m * (k - 1) * math.sqrt(1 / m + k)) - size)


def plane(d: int, n: Number, field: str) -> float | None:
    """d = 2. Real: μ ≥ cos(π/n), met by n equally spaced lines. Complex: Fejes Tóth's bound on the Bloch sphere.

    Fejes Tóth 1943: n points on S² have two within angle δ, cos δ = (cot²ω − 1)/2, ω = πn/(6(n−2)); lines of C² are
    points of S² with |⟨u,v⟩|² = (1 + cos δ)/2. Applies for n ≥ 2 (real), n ≥ 3 (complex).
    """
    _check(d, n, field)
    if d != 2 or n < (2 if field == "real" else 3):
        return None
    if field == "real":
        return max(0.0, math.cos(math.pi / n)) if n > 2 else 0.0
    omega = math.pi * n / (6 * (n - 2))
    return math.sqrt(max(0.0, (1 + (1 / math.tan(omega) ** 2 - 1) / 2) / 2))


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
    return bound is not None and bound > eps * (1 + 1e-12)


def _check(d: int, n: Number, field: str) -> None:
    check_size("d", d)
    check_size("n", n)
    check_field(field)
