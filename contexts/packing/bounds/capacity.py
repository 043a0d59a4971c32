"""How many unit vectors of R^d or C^d fit with pairwise |⟨u,v⟩| ≤ ε: rigorous bounds on N_ε(d) from both sides.

Svozil, Sec. VII, states exp(c ε² d) ≤ N_ε(d) ≤ exp(C ε² d) with universal constants. The left side holds
(:func:`greedy_explicit`); the right side does not, see ``docs/packing.md``: what is proved carries ln(1/ε), or holds
at fixed ε with a C that depends on ε. Numbers of vectors leave the range of float64, so every function returns the
natural logarithm ln N, or ``None`` where the bound does not apply. Upper bounds are rounded up and hold for every
number that rounds to the ε given (:mod:`~contexts.packing.bounds.rounding`); lower bounds are rounded down by 1e-9.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import betainc, betaln

from contexts.packing.bounds.coherence_bounds import bukh_cox, largest_n, plane
from contexts.packing.bounds.delsarte import log_delsarte
from contexts.packing.bounds.levenshtein import log_levenshtein
from contexts.packing.bounds.rounding import log_moments, log_up, moment, widened
from contexts.packing.validation import Number, check_epsilon, check_field, check_size, gerzon

QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)
SLACK = 1e-9  # the relative error of ln P: lower bounds are that much smaller


def log_tail(d: int, eps: Number, field: str) -> float:
    """ln P(|⟨u,v⟩| > ε) for independent uniform unit vectors, exactly.

    |⟨u,v⟩|² has the law Beta(1/2, (d−1)/2) in R^d and Beta(1, d−1) in C^d. Relative error of ln P below 1e-9, also
    where P underflows float64 (d = 4096, ε = 0.6: 1e-398.5) or is close to 1. P = 1 for d = 1.
    """
    check_size("d", d)
    check_epsilon(eps)
    check_field(field)
    if d == 1:
        return 0.0
    if eps == 1:
        return -math.inf
    if field == "complex":
        return (d - 1) * math.log1p(-eps * eps)
    a, b, x = (d - 1) / 2, 0.5, (1 - eps) * (1 + eps)
    direct = betainc(a, b, x)
    if direct > 0.5:  # from the other side: 1 − I_x(a,b) = I_{1−x}(b,a) keeps its digits
        return math.log1p(-betainc(b, a, eps * eps))
    if direct > 1e-280:
        return math.log(direct)
    # I_x(a,b) = x^a (1−x)^b / (a B(a,b)) · Σ_n Π_{j<n} (a+b+j)/(a+1+j) x^n: positive terms that fall at least like x^n
    term, total, j = 1.0, 1.0, 0
    while term > 1e-17 * total:
        term *= x * (a + b + j) / (a + 1 + j)
        total += term
        j += 1
    return a * math.log(x) + 2 * b * math.log(eps) - math.log(a) - float(betaln(a, b)) + math.log(total)


def tail_epsilon(d: int, log_probability: Number, field: str) -> float:
    """The ε with ln P(|⟨u,v⟩| > ε) equal to ``log_probability`` (≤ 0): :func:`log_tail` inverted by bisection."""
    if d == 1:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        if middle and log_tail(d, middle, field) > log_probability:
            low = middle
        else:
            high = middle
    return high


# ---- lower bounds: so many vectors exist ------------------------------------------------------------------------


def orthonormal_basis(d: int, eps: Number, field: str) -> float:
    """N ≥ d: an orthonormal basis has coherence 0."""
    _check(d, eps, field)
    return math.log(d)


def union_bound(d: int, eps: Number, field: str) -> float | None:
    """Independent random vectors: N exist if N(N−1)/2 · P(|⟨u,v⟩| > ε) < 1, with the exact Beta tail (first moment).

    N is about √(2/P), a square root below :func:`greedy`. None where not even two vectors follow.
    """
    _check(d, eps, field)
    return _log_pairs(log_tail(d, eps, field), below=-SLACK)


def greedy(d: int, eps: Number, field: str) -> float | None:
    """N ≥ ⌈1/P(|⟨u,v⟩| > ε)⌉: add vectors until the caps around them cover the sphere (Gilbert, Varshamov).

    Real: P = I_{1−ε²}((d−1)/2, 1/2). Complex: P = (1−ε²)^{d−1} exactly. None for ε = 1, where P = 0.
    """
    _check(d, eps, field)
    log_n = -log_tail(d, eps, field)
    if math.isinf(log_n):
        return None
    log_n -= SLACK * (1 + abs(log_n))
    return math.log(math.ceil(math.exp(log_n))) if log_n < 30 else log_n


def greedy_explicit(d: int, eps: Number, field: str) -> float:
    """N ≥ exp(ε²(d−1)/2) real, exp(ε²(d−1)) complex: :func:`greedy` with P ≤ (1−ε²)^{(d−1)/2}, (1−ε²)^{d−1}.

    The left side of Svozil, Sec. VII, with explicit constants; true for every 0 < ε ≤ 1 and d.
    """
    _check(d, eps, field)
    return eps * eps * (d - 1) / (2 if field == "real" else 1)


def johnson_lindenstrauss(d: int, eps: Number, field: str) -> float | None:
    """Project an orthonormal basis of R^N to R^d: N exist if d ≥ 4 ln(2N+1) / (δ²/2 − δ³/3), δ = ε/(1+ε).

    Dasgupta & Gupta 2003 keep the squared distances of the points 0, ±e_i within 1 ± δ. By polarisation
    |⟨f_i,f_j⟩| ≤ δ, and |f_i|² ≥ 1 − δ, hence |cos| ≤ δ/(1−δ) = ε. Svozil, Sec. VII, argues this way.
    Complex: R^d lies in C^d. None where fewer than two vectors follow.
    """
    _check(d, eps, field)
    delta = eps / (1 + eps)
    exponent = d * (delta**2 / 2 - delta**3 / 3) / 4
    if exponent < math.log(5):
        return None
    if exponent > 40:
        return exponent * (1 - SLACK) - math.log(2)
    return math.log(math.floor((math.exp(exponent) - 1) / 2))


# ---- upper bounds: more vectors cannot exist --------------------------------------------------------------------


def welch_capacity(d: int, eps: Number, field: str) -> float | None:
    """Welch's bound inverted: N ≤ (1 − ε^{2k})/(c_k − ε^{2k}) for every k with ε^{2k} < c_k; the least over k.

    k = 1 is the relative bound, N ≤ d(1−ε²)/(1−dε²) for ε < 1/√d. None where no order up to 400 applies.
    """
    _check(d, eps, field)
    return _least_over_orders(d, eps, field)


def rankin_capacity(d: int, eps: Number, field: str) -> float | None:
    """N ≤ d(d+1)/2 (real), d² (complex) for ε < 1/√d: Rankin's bound inverted."""
    _check(d, eps, field)
    return log_up(Fraction(gerzon(d, field))) if Fraction(widened(eps)) ** 2 * d < 1 else None


def bukh_cox_capacity(d: int, eps: Number, field: str) -> float | None:
    """Bukh and Cox's bound inverted by :func:`~contexts.packing.bounds.coherence_bounds.largest_n`."""
    _check(d, eps, field)
    return _log_largest(bukh_cox, d, eps, field)


def plane_capacity(d: int, eps: Number, field: str) -> float | None:
    """d = 2: exact in R², Fejes Tóth's bound in C² (``coherence_bounds.plane`` inverted)."""
    _check(d, eps, field)
    return _log_largest(plane, d, eps, field) if d == 2 and eps < 1 else None


def one_line(d: int, eps: Number, field: str) -> float | None:
    """d = 1 and ε < 1: a single line."""
    _check(d, eps, field)
    return 0.0 if d == 1 and eps < 1 else None


def alon(d: int, eps: Number, field: str) -> float | None:
    """Alon's rank argument: N(1 − D ε^{2k}) ≤ D(1 − ε^{2k}) with D = C(d+k−1, k) ≥ rank of the k-th entrywise power.

    Alon 2003, "Problems and results in extremal combinatorics I": uniformly in 1/√d ≤ ε < 1/2 it gives
    ln N ≤ C ε² ln(1/ε) d (Larsen & Nelson, arXiv:1609.02094, credit Welch and Levenshtein too). Here with explicit
    constants, least over k. Equal to Welch's bound in C^d, weaker in R^d.
    """
    _check(d, eps, field)
    return _least_over_orders(d, eps, "complex")


def kabatiansky_levenshtein_exponent(eps: Number, field: str) -> float:
    """lim sup (ln N)/d as d → ∞ at *fixed* ε is at most this: asymptotic, not a bound at any finite d.

    h = (1+κ)ln(1+κ) − κ ln κ, κ = (1−s)/(2s), s = √(1−ε²); twice h for C^d. Kabatiansky & Levenshtein 1978 (the
    complex factor from the largest zeros of the Jacobi polynomials). h = (ε²/4) ln(4e/ε²)(1 + o(1)) for small ε.
    """
    check_epsilon(eps)
    check_field(field)
    if eps == 1:
        return math.inf
    s = math.sqrt((1 - eps) * (1 + eps))
    kappa = eps * eps / (1 + s) / (2 * s)  # (1 − s)/(2s) without cancellation
    return ((1 + kappa) * math.log1p(kappa) - kappa * math.log(kappa)) * (1 if field == "real" else 2)


class CapacityBound(NamedTuple):
    """A bound on ln N_ε(d), with a sentence for people about where it applies."""

    function: Callable[[int, Number, str], float | None]
    applies: str


LOWER: dict[str, CapacityBound] = {
    "orthonormal basis": CapacityBound(orthonormal_basis, "always"),
    "greedy": CapacityBound(greedy, "epsilon < 1"),
    "greedy (explicit)": CapacityBound(greedy_explicit, "always"),
    "union bound": CapacityBound(union_bound, "large enough epsilon^2 d for two vectors"),
    "johnson-lindenstrauss": CapacityBound(johnson_lindenstrauss, "large enough epsilon^2 d for two vectors"),
}
UPPER: dict[str, CapacityBound] = {
    "welch": CapacityBound(welch_capacity, "epsilon^{2k} < c_k for some order k <= 400"),
    "rankin": CapacityBound(rankin_capacity, "epsilon < 1/sqrt(d)"),
    "levenshtein": CapacityBound(log_levenshtein, "d >= 2, epsilon < 1 (orders up to 4000)"),
    "delsarte": CapacityBound(log_delsarte, "2 <= d <= 64, epsilon not close to 1"),
    "bukh-cox": CapacityBound(bukh_cox_capacity, "epsilon below about 1/sqrt(d)"),
    "alon": CapacityBound(alon, "C(d+k-1,k) epsilon^{2k} < 1 for some order k <= 400"),
    "plane": CapacityBound(plane_capacity, "d = 2"),
    "d = 1": CapacityBound(one_line, "d = 1, epsilon < 1"),
}


def upper_capacity(d: int, eps: Number, field: str) -> tuple[float, str] | None:
    """The smallest of the upper bounds on ln N_ε(d), and its name; None where none applies (ε = 1: no limit)."""
    if d == 1 and eps < 1:
        return 0.0, "d = 1"  # several bounds agree here: the plainest is named
    found = [(value, name) for name, b in UPPER.items() if (value := b.function(d, eps, field)) is not None]
    return min(found) if found else None


def inverse(name: str, d: int, n: Number, field: str) -> float | None:
    """A bound of :data:`LOWER` or :data:`UPPER` solved for ε: at least so much is needed for n vectors, or suffices.

    Of a lower bound on N the least ε at which it promises n vectors; of an upper bound the least at which it allows
    them: a lower bound on coherence. By bisection to 1e-12; None where no ε below 1 does.
    """
    check_size("n", n)
    promises = name in LOWER
    bound = (LOWER if promises else UPPER)[name].function
    target = math.log(n) - 1e-12

    def reached(eps: float) -> bool:
        value = bound(d, eps, field)
        return not promises if value is None else value >= target

    low, high = 1e-9, 1 - 1e-9
    if not reached(high):
        return None
    if reached(low):
        return 0.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high if promises else low


def random_coherence(d: int, n: Number, field: str) -> float:
    """The median coherence of n independent random vectors: n(n−1)/2 · P(ε) = ln 2, pairs taken as independent."""
    check_size("n", n)
    if n < 2:
        return 0.0
    return tail_epsilon(d, math.log(math.log(2)) - math.log(n) - math.log((n - 1) / 2), field)


def mean_nearest(d: int, n: int, field: str) -> float:
    """The mean over random vectors of the largest |cos| with n − 1 others: ∫ 1 − (1 − P(|⟨u,v⟩| > x))^{n−1} dx.

    The n − 1 are independent given the vector itself, so this is exact; by quadrature to 1e-8. 0 for n = 1.
    """
    check_size("n", n)
    if n < 2 or d == 1:
        return 0.0 if n < 2 else 1.0

    def exceeds(x: float) -> float:
        tail = math.exp(log_tail(d, x, field))
        return 1.0 if tail >= 1 else -math.expm1((n - 1) * math.log1p(-tail))

    # the integrand falls from 1 to 0 within a few widths of the median: told to the quadrature
    steps = [tail_epsilon(d, min(0.0, math.log(c / (n - 1))), field) for c in (50.0, 5.0, 0.7, 0.05, 1e-4)]
    edges = [1e-300, *sorted({x for x in steps if 0 < x < 1}), 1.0]
    return float(sum(quad(exceeds, a, b, epsabs=1e-10, epsrel=1e-9)[0] for a, b in itertools.pairwise(edges)))


def null_model(n: int, d: int, field: str) -> dict[str, Any]:
    """What n independent uniform unit vectors of R^d or C^d would measure, from the Beta law alone.

    ``coherence``: median of the largest |cos|; ``mean_nearest``: mean of a vector's largest |cos| with n − 1 others;
    ``quantiles`` of |cos|; ``effective_dimension``: 1 / E|⟨u,v⟩|² of the sample's Gram matrix, nd/(n + d − 1).
    """
    return {
        "coherence": random_coherence(d, n, field),
        "mean_nearest": mean_nearest(d, n, field),
        "quantiles": {str(q): tail_epsilon(d, math.log(1 - q), field) for q in QUANTILES},
        "effective_dimension": n * d / (n + d - 1),
    }


def _check(d: int, eps: Number, field: str) -> None:
    check_size("d", d)
    check_epsilon(eps)
    check_field(field)


def _log_pairs(log_probability: Number, below: Number) -> float | None:
    """ln of the largest N ≥ 2 with ln(N(N−1)/2) + ln P < ``below``."""
    if math.isinf(log_probability):
        return None
    half = (math.log(2) - log_probability + below) / 2
    if half > 18:  # N(N−1) < N²: the floor changes nothing at this size
        return half
    n = math.floor((1 + math.sqrt(1 + 4 * math.exp(2 * half))) / 2)
    while n >= 2 and math.log(n * (n - 1) / 2) + log_probability >= below:
        n -= 1
    return math.log(n) if n >= 2 else None


def _least_over_orders(d: int, eps: Number, field: str) -> float | None:
    """ln of the least (1 − ε^{2k})/(c_k − ε^{2k}) over k, rounded up: k is chosen in float64, the rest is exact."""
    if eps == 1 or d == 1:
        return None
    k = np.arange(1, len(log_moments(d, field)) + 1)
    log_c, log_power = log_moments(d, field), 2 * k * math.log(widened(eps))
    applies = log_power < log_c - 1e-12
    if not applies.any():
        return None
    k, log_c, log_power = k[applies], log_c[applies], log_power[applies]
    best = int(k[np.argmin(np.log(-np.expm1(log_power)) - log_c - np.log(-np.expm1(log_power - log_c)))])
    power, c = Fraction(widened(eps)) ** (2 * best), moment(d, best, field)
    return log_up((1 - power) / (c - power)) if power < c else None


def _log_largest(bound: Callable[[int, Number, str], float | None], d: int, eps: Number, field: str) -> float | None:
    n = largest_n(bound, d, eps, field)
    return None if n is None else log_up(Fraction(n))
