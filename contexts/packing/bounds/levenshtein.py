"""Levenshtein's bound of every order on the number of lines at coherence ε, with a certificate anyone can re-check.

Levenshtein, "Universal bounds for codes and designs" (Handbook of Coding Theory, 1998), Sec. 5-6, by the linear
programme of Delsarte, Goethals & Seidel (1977). With t = |⟨u,v⟩|², x = 2t − 1, the zonal functions of lines are the
Jacobi polynomials P^{(a,b)}(x), a = (d−3)/2, b = −1/2 real, a = d−2, b = 0 complex. Real arithmetic has 40 digits
(mpmath) because p_i(1) leaves the range of float64 at d of a few hundred; a certificate is checked in exact rationals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq

from contexts.packing.bounds.check_certificate import multiply, zonal_coefficients
from contexts.packing.bounds.rounding import DIGITS, log_up, root_down, up, widened
from contexts.packing.validation import Number, check_epsilon, check_field, check_size, gerzon

MAX_ORDER = 4000


def log_levenshtein(d: int, eps: Number, field: str) -> float | None:
    """ln of Levenshtein's upper bound on the number of lines of R^d or C^d with coherence at most ε.

    The order is the one whose interval holds ε. None for d = 1, for ε = 1 and when the order would pass 4000 (ε close
    to 1): the bound does not apply there. Rounded up, for every number that rounds to ε; relative error below 1e-12.
    """
    check_size("d", d)
    check_epsilon(eps)
    check_field(field)
    if d == 1 or eps == 1:
        return None
    eps = widened(eps)
    found = _order(d, 2 * eps * eps - 1, field)
    if found is None:
        return None
    k, even = found
    a, b = _exponents(d, field)
    with mpmath.workdps(DIGITS):
        s, one = 2 * mpmath.mpf(eps) ** 2 - 1, mpmath.mpf(1)
        shift = 1 if even else 0
        at_s, at_one = _orthonormal(a, b + shift, k, s), _orthonormal(a, b + shift, k, one)
        inner_s, inner_one = _orthonormal(a + 1, b + shift, k - 1, s), _orthonormal(a + 1, b + shift, k - 1, one)
        ratio = (inner_s[k - 1] / inner_one[k - 1]) / (at_s[k] / at_one[k])
        scale = d if even else 1  # 2/(1 + E x) = 1/E t = d
        return up(mpmath.log(scale * (1 - ratio) * sum(p * p for p in at_one[:k])))


def levenshtein(d: int, n: Number, field: str) -> float | None:
    """Levenshtein's bound of every order, inverted: the least coherence it allows n lines of R^d or C^d.

    Applies for n > d ≥ 2. Found by Brent's method on ln N(ε) and then lowered until the bound at the number returned is
    below ln n, so that it holds; within 1e-11 of the root.
    """
    check_size("d", d)
    check_size("n", n)
    check_field(field)
    if d == 1 or n <= d:
        return None
    n = int(n)
    target = log_up(Fraction(n))

    def excess(eps: Number) -> float:
        value = log_levenshtein(d, eps, field)
        return (1e3 if value is None else value) - target

    # a bracket by halving 1 − ε²: the order needed at its upper end stays as small as n allows
    low, high = 1e-9, 1 / np.sqrt(d)
    while excess(high) < 0:
        low, high = high, float(np.sqrt(1 - (1 - high * high) / 2))
    if n <= gerzon(d, field):  # the bound of order 1 in closed form (Welch): exact where roots lose digits
        first = root_down(Fraction(n - d, d * (n - 1)))
        if abs(excess(first)) < 1e-12:
            return first
    root = float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))
    margin = 1e-13
    while excess(root * (1 - margin)) >= -2 * math.ulp(target):  # ln n itself was rounded up
        margin *= 4
    return root * (1 - margin)


@dataclass(frozen=True)
class Certificate:
    """A polynomial f that proves N ≤ f(1)/f_0 for lines of coherence at most ε.

    f(t) = (t − ε²) T(t)² [× t if ``even``] is at most 0 for 0 ≤ t ≤ ε² whatever T is; if every zonal coefficient of f
    is at least 0, summing f(|⟨u,v⟩|²) over all pairs gives N² f_0 ≤ N f(1). All numbers are exact rationals.
    """

    d: int
    field: str
    eps: Fraction
    kernel: tuple[Fraction, ...]  # coefficients of T, lowest power first
    even: bool


def certificate(d: int, eps: Number, field: str) -> Certificate | None:
    """Levenshtein's polynomial at (d, ε): T is the Christoffel-Darboux kernel at ε² for the measure (1−t)dμ [× t]."""
    check_size("d", d)
    check_epsilon(eps)
    check_field(field)
    found = None if d == 1 or eps == 1 else _order(d, 2 * eps * eps - 1, field)
    if found is None:
        return None
    k, even = found
    a, b = _exponents(d, field)
    with mpmath.workdps(DIGITS + 4 * k):
        shift = 1 if even else 0
        s = 2 * mpmath.mpf(eps) ** 2 - 1
        weights = _orthonormal(a + 1, b + shift, k - 1, s)
        x = [mpmath.mpf(-1), mpmath.mpf(2)]  # x = 2t − 1 as a polynomial in t
        polynomials = _orthonormal(a + 1, b + shift, k - 1, x)
        kernel = [
            mpmath.fsum(w * p[i] for w, p in zip(weights, polynomials, strict=True) if i < len(p)) for i in range(k)
        ]
        top = max(abs(c) for c in kernel)
        scale = 10 ** (DIGITS + 2 * k)
        rational = tuple(Fraction(int(mpmath.nint(c / top * scale)), scale) for c in kernel)
    return Certificate(d, field, Fraction(eps), rational, even)


def verify(proof: Certificate) -> tuple[Fraction, Fraction]:
    """Recompute a certificate in exact rationals: the bound f(1)/f_0 and the least zonal coefficient over f_0.

    The bound is proved if the second number is at least 0. Costs O(degree³) operations on long rationals. Raises
    ValueError where f_0 ≤ 0: such a polynomial proves nothing.
    """
    f = multiply(multiply(proof.kernel, proof.kernel), (-(proof.eps**2), Fraction(1)))
    if proof.even:
        f = multiply(f, (Fraction(0), Fraction(1)))
    coefficients = zonal_coefficients(f, proof.d, proof.field)
    f0 = coefficients[0]
    if f0 <= 0:
        raise ValueError(f"the polynomial proves nothing: its mean f_0 = {float(f0):.3g} is not positive")
    return sum(f) / f0, min(coefficients) / f0


def _exponents(d: int, field: str) -> tuple[float, float]:
    return ((d - 3) / 2, -0.5) if field == "real" else (d - 2.0, 0.0)


@lru_cache(maxsize=20_000)
def _largest_zero(a: float, b: float, k: int) -> float:
    """The largest zero of the Jacobi polynomial of degree k, an eigenvalue of its Jacobi matrix; −1 for k = 0."""
    if k == 0:
        return -1.0
    steps = [_step(a, b, i) for i in range(k)]
    diagonal = np.array([float(alpha) for alpha, _ in steps])
    below = np.sqrt([float(beta) for _, beta in steps[1:]])
    if k == 1:
        return float(diagonal[0])
    return float(eigh_tridiagonal(diagonal, below, eigvals_only=True, select="i", select_range=(k - 1, k - 1))[0])


def _order(d: int, s: float, field: str) -> tuple[int, bool] | None:
    """(k, even) of the interval that holds s: order 2k−1 up to the zero t_k^{1,0}, then 2k up to t_k^{1,1}."""
    a, b = _exponents(d, field)
    high = 1
    while _largest_zero(a + 1, b + 1, high) < s:
        high *= 2
        if high > MAX_ORDER:
            return None
    low = high // 2  # t_low^{1,1} < s ≤ t_high^{1,1}
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _largest_zero(a + 1, b + 1, middle) < s else (low, middle)
    return high, bool(s > _largest_zero(a + 1, b, high))


def _step(a, b, i: int):
    """(α_i, β_i) of the monic recurrence q_{i+1} = (x − α_i) q_i − β_i q_{i−1}; Gautschi 2004, Table 1.1."""
    total = 2 * i + a + b
    if i == 0:
        return (b - a) / (a + b + 2), 0 * a
    alpha = (b * b - a * a) / (total * (total + 2))
    if i == 1:  # the factor (1 + a + b) cancels; written out, because it vanishes for Chebyshev's weight
        return alpha, 4 * (1 + a) * (1 + b) / (total**2 * (total + 1))
    return alpha, 4 * i * (i + a) * (i + b) * (i + a + b) / (total**2 * (total + 1) * (total - 1))


def _orthonormal(a, b, degree: int, x):
    """p_0 … p_degree, orthonormal for the probability measure ∝ (1−x)^a (1+x)^b, at a number x or at a polynomial x."""
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    polynomial = isinstance(x, list)
    before, here = ([mpmath.mpf(0)], [mpmath.mpf(1)]) if polynomial else (mpmath.mpf(0), mpmath.mpf(1))
    values, below = [here], mpmath.mpf(0)
    for i in range(degree):
        alpha, _ = _step(a, b, i)
        above = mpmath.sqrt(_step(a, b, i + 1)[1])
        if polynomial:
            after = [mpmath.mpf(0)] * (len(here) + 1)
            for j, c in enumerate(here):
                after[j] += (x[0] - alpha) * c / above
                after[j + 1] += x[1] * c / above
            for j, c in enumerate(before):
                after[j] -= below * c / above
        else:
            after = ((x - alpha) * here - below * before) / above
        before, here, below = here, after, above
        values.append(here)
    return values
