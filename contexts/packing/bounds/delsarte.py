"""Delsarte's linear programme for lines at coherence ε, with an exact certificate.

Minimise f(1) over f = 1 + Σ_{k≤K} f_k Q_k, f_k ≥ 0, f ≤ 0 on [0, ε²], Q_k the zonal polynomials in t = |⟨u,v⟩|² with
Q_k(1) = 1 (Delsarte, Goethals & Seidel 1977). Levenshtein's polynomials are feasible points of it, so its optimum is at
least as good. Solved in float64 on points that are added where f is positive, rounded to rationals, and lowered by a
constant until :mod:`~contexts.packing.bounds.check_certificate` proves it: what is returned is the proved number.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.optimize import linprog
from scipy.special import eval_jacobi

from contexts.packing.bounds.check_certificate import is_nonpositive, zonal_polynomials
from contexts.packing.bounds.coherence_bounds import best_bound
from contexts.packing.bounds.rounding import log_up, widened
from contexts.packing.validation import Number, check_epsilon, check_field, check_size, gerzon

LARGEST_D = 64  # float64 and rationals of some hundred digits are enough up to here
DEGREE = 20
BITS = 44  # of the rational coefficients
FINE = 2001  # points at which f is looked at between the points of the programme


def delsarte(d: int, eps: Number, field: str, degree: int = DEGREE) -> dict[str, Any] | None:
    """A certificate that at most ``bound`` lines of R^d or C^d have coherence ε, as a dictionary for JSON.

    Keys: ``d``, ``field``, ``epsilon``, ``epsilon_squared``, ``polynomial`` (coefficients of t^k) and ``bound``, the
    last three as fractions in text. For every number that rounds to ε. None for d = 1, d > 64 and where no polynomial
    of this degree proves anything (ε close to 1).
    """
    check_size("d", d)
    check_epsilon(eps)
    check_field(field)
    if not 2 <= d <= LARGEST_D or eps == 1:
        return None
    square = Fraction(widened(eps)) ** 2
    values = _programme(d, float(square), field, degree)
    if values is None:
        return None
    weights = [Fraction(max(0, round(v * 2**BITS)), 2**BITS) for v in values]
    zonal, _, _ = zonal_polynomials(d, field, degree)
    f = [Fraction(0)] * (degree + 1)
    for weight, q in zip([Fraction(1), *weights], zonal, strict=True):
        scale = weight / sum(q)
        for k, c in enumerate(q):
            f[k] += scale * c
    lowered = Fraction(1, 2**40)
    while lowered < 1:
        g = (f[0] - lowered, *f[1:])
        if is_nonpositive(g, square):
            bound = sum(g) / (1 - lowered)
            return {
                "d": d, "field": field, "epsilon": float(eps), "epsilon_squared": str(square),
                "polynomial": [str(c) for c in g], "bound": str(bound),
            }  # fmt: skip
        lowered *= 4
    return None


def log_delsarte(d: int, eps: Number, field: str) -> float | None:
    """ln of the number that :func:`delsarte` proves, rounded up; None where it proves nothing."""
    proof = delsarte(d, eps, field)
    return None if proof is None else log_up(Fraction(proof["bound"]))


def delsarte_coherence(
    d: int, n: int, field: str, low: float, high: float, steps: int = 24
) -> tuple[float, dict[str, Any]] | None:
    """A coherence between ``low`` and ``high`` that n lines must exceed, as large as bisection finds, and its proof.

    None where the programme does not prove that n lines exceed ``low``. ``high`` is a coherence that n lines have.
    """
    check_size("n", n)

    def refuted(eps: float) -> dict[str, Any] | None:
        proof = delsarte(d, eps, field)
        return proof if proof is not None and Fraction(proof["bound"]) < n else None

    best = refuted(low) if low > 0 else None
    if best is None:
        return None
    for _ in range(steps):
        middle = (low + high) / 2
        proof = refuted(middle)
        if proof is None:
            high = middle
        else:
            low, best = middle, proof
    return low, best


def best_proved_bound(
    d: int, n: int, field: str, known: float, steps: int = 24
) -> tuple[float, str, dict[str, Any] | None]:
    """The largest lower bound on the coherence of n lines, its name, and the linear programme's proof where it is that.

    ``known`` is a coherence that n lines have; the programme is tried where n is above Gerzon's number, d ≤ 64 and the
    closed formulas of :func:`~contexts.packing.bounds.coherence_bounds.best_bound` lie below ``known``.
    """
    bound, name = best_bound(d, n, field)
    if n > gerzon(d, field) and d <= LARGEST_D and bound < known * (1 - 1e-9):
        better = delsarte_coherence(d, n, field, bound, known, steps)
        if better is not None and better[0] > bound * (1 + 1e-12):
            return better[0], "delsarte", better[1]
    return bound, name, None


def _programme(d: int, square: float, field: str, degree: int) -> Float64[np.ndarray, " degree"] | None:
    """The coefficients f_1 … f_K: cutting planes, points added where the last f is positive."""
    grid = square * (1 - np.cos(np.linspace(0, np.pi, FINE))) / 2  # dense at both ends
    table = _zonal(d, field, degree, grid)
    points = np.unique(np.linspace(0, FINE - 1, 6 * degree).astype(int))
    found = None
    for _ in range(12):
        # HiGHS works to 1e-9: rows are f(t) ≤ 0
        solved = linprog(np.ones(degree), A_ub=table[points], b_ub=-np.ones(len(points)), method="highs")
        if solved.status != 0:
            return None
        found = solved.x
        f = 1 + table @ found
        worst = np.flatnonzero((f > 1e-10) & (f >= np.roll(f, 1)) & (f >= np.roll(f, -1)))
        if not len(worst) or not len(np.setdiff1d(worst, points)):
            break
        points = np.union1d(points, worst)
    return found


def _zonal(d: int, field: str, degree: int, t: Float64[np.ndarray, " points"]) -> Float64[np.ndarray, "points degree"]:
    """Q_1 … Q_K at the points: Jacobi polynomials of x = 2t − 1, 1 at t = 1."""
    a, b = ((d - 3) / 2, -0.5) if field == "real" else (d - 2.0, 0.0)
    return np.column_stack([eval_jacobi(k, a, b, 2 * t - 1) / eval_jacobi(k, a, b, 1.0) for k in range(1, degree + 1)])
