"""Exact moments, and the last step of every bound: to float64, outwards.

A bound that is printed must hold: lower bounds are rounded down and upper bounds up, from exact rationals or from 40
digits (mpmath), whose own error of some 1e-38 lies far below the last place of float64. A tolerance ε in float64 stands
for every real number that rounds to it (:func:`widened`): 1/√(d+1) of a SIC may be a little more than its float64.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
from jaxtyping import Float

DIGITS = 40
MAX_ORDER = 400  # of the moments in use: E|⟨u,v⟩|^{2k}, k ≤ 400


def down(value: mpmath.mpf) -> float:
    """The largest float64 that is not above ``value``."""
    return mpmath.libmp.to_float(value._mpf_, rnd="f")


def up(value: mpmath.mpf) -> float:
    """The smallest float64 that is not below ``value``."""
    return mpmath.libmp.to_float(value._mpf_, rnd="c")


def widened(eps: float) -> float:
    """The next float64 above ε, at most 1: at least every number that rounds to ε."""
    return min(1.0, math.nextafter(eps, 2.0))


def root_down(value: Fraction, degree: int = 2) -> float:
    """A float64 at most value^(1/degree), and within two units in its last place of it; value ≥ 0."""
    if value <= 0:
        return 0.0
    with mpmath.workdps(DIGITS):
        root = down(mpmath.root(mpmath.mpf(value.numerator) / value.denominator, degree))
    while Fraction(root) ** degree > value:
        root = math.nextafter(root, 0.0)
    return root


def log_up(value: Fraction) -> float:
    """A float64 at least ln ``value``, for a positive rational of any size."""
    with mpmath.workdps(DIGITS):
        return up(mpmath.log(mpmath.mpf(value.numerator) / value.denominator))


def moment(d: int, order: int, field: str) -> Fraction:
    """c_k = E|⟨u,v⟩|^{2k}, v uniform on the sphere: 1/C(d+k−1, k) in C^d, Π_{j<k} (2j+1)/(d+2j) in R^d."""
    if field == "complex":
        return Fraction(1, math.comb(d + order - 1, order))
    return Fraction(math.prod(range(1, 2 * order, 2)), math.prod(range(d, d + 2 * order, 2)))


@lru_cache(maxsize=256)
def log_moments(d: int, field: str) -> Float[np.ndarray, " orders"]:
    """ln c_k for k = 1 … 400 in float64, relative error below 1e-13: to choose an order, not to state a bound."""
    j = np.arange(MAX_ORDER, dtype=float)
    terms = np.log((1 + j) / (d + j)) if field == "complex" else np.log((1 + 2 * j) / (d + 2 * j))
    return np.cumsum(terms)
