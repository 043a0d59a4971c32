"""Check a certificate of the linear programme with whole numbers alone: ``python check_certificate.py FILE``.

A polynomial f proves that at most f(1)/f_0 lines of R^d or C^d have pairwise |⟨u,v⟩|² ≤ e (Delsarte, Goethals & Seidel
1977) if f ≤ 0 on [0, e], f_0 > 0 and its other coefficients in the zonal polynomials are not negative: summed over all
pairs, N² f_0 ≤ Σ f(|⟨u,v⟩|²) ≤ N f(1). The zonal polynomials are orthogonal for the law of |⟨u,v⟩|² of random vectors,
whose moments are rational. This file needs nothing but Python.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from fractions import Fraction
from typing import Any

Polynomial = tuple[Fraction, ...]  # coefficients, lowest power first
DEEPEST = 60  # halvings of [0, e] before the sign of f is called undecided


def zonal_polynomials(d: int, field: str, degree: int) -> tuple[list[Polynomial], list[Fraction], list[Fraction]]:
    """The monic orthogonal polynomials of degree 0 … ``degree`` in t = |⟨u,v⟩|², their norms, and the moments E t^m."""
    start, total = (Fraction(1, 2), Fraction(d, 2)) if field == "real" else (Fraction(1), Fraction(d))
    moments = [Fraction(1)]
    for j in range(2 * degree + 1):
        moments.append(moments[-1] * (start + j) / (total + j))
    found: list[Polynomial] = [(Fraction(1),)]
    norms = [Fraction(1)]
    for i in range(degree):
        here = found[i]
        alpha = mean(multiply((Fraction(0), Fraction(1)), multiply(here, here)), moments) / norms[i]
        after = list(multiply(here, (-alpha, Fraction(1))))
        if i:
            for k, c in enumerate(found[i - 1]):
                after[k] -= norms[i] / norms[i - 1] * c
        found.append(tuple(after))
        norms.append(mean(multiply(found[-1], found[-1]), moments))
    return found, norms, moments


def zonal_coefficients(f: Polynomial, d: int, field: str) -> list[Fraction]:
    """f = Σ f_k Q_k with Q_k(1) = 1: the coefficients f_k."""
    found, norms, moments = zonal_polynomials(d, field, len(f) - 1)
    return [mean(multiply(f, q), moments) / norm * sum(q) for q, norm in zip(found, norms, strict=True)]


def is_nonpositive(f: Polynomial, top: Fraction) -> bool:
    """Is f ≤ 0 on [0, top]? Yes only with a proof: all its Bernstein coefficients on a subdivision are at most 0."""
    n = len(f) - 1
    scaled = [c * top**k for k, c in enumerate(f)]
    bernstein = [
        sum((Fraction(math.comb(j, i), math.comb(n, i)) * scaled[i] for i in range(j + 1)), Fraction(0))
        for j in range(n + 1)
    ]
    denominator = math.lcm(*(b.denominator for b in bernstein))
    pieces = [([int(b * denominator) for b in bernstein], 0)]
    while pieces:
        row, depth = pieces.pop()
        if max(row) <= 0:
            continue
        if depth == DEEPEST or row[0] > 0 or row[-1] > 0:  # f itself is positive at an end
            return False
        left, right = [row[0] << n], [row[-1] << n]
        for k in range(1, n + 1):  # de Casteljau's halving, by sums of neighbours
            row = [a + b for a, b in itertools.pairwise(row)]
            left.append(row[0] << (n - k))
            right.append(row[-1] << (n - k))
        pieces += [(left, depth + 1), (right[::-1], depth + 1)]
    return True


def proved_bound(certificate: dict[str, Any]) -> Fraction:
    """The number of lines that a certificate proves to be the most; raises ValueError where it proves nothing."""
    d, field = certificate["d"], certificate["field"]
    if not isinstance(d, int) or d < 2 or field not in ("real", "complex"):
        raise ValueError(f"expected d ≥ 2 and a field 'real' or 'complex', got {d!r} and {field!r}")
    f = tuple(Fraction(c) for c in certificate["polynomial"])
    coefficients = zonal_coefficients(f, d, field)
    if coefficients[0] <= 0 or min(coefficients) < 0:
        raise ValueError("the polynomial proves nothing: a zonal coefficient is negative, or the first not positive")
    if not is_nonpositive(f, Fraction(certificate["epsilon_squared"])):
        raise ValueError("the polynomial proves nothing: it is not shown to be at most 0 on [0, epsilon squared]")
    return sum(f) / coefficients[0]


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    out = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return tuple(out)


def mean(p: Polynomial, moments: list[Fraction]) -> Fraction:
    """E p(t) by the moments of t."""
    return sum((c * m for c, m in zip(p, moments, strict=False)), Fraction(0))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        given = json.load(file)
    most = proved_bound(given)
    print(f"proved: at most {math.floor(most)} lines ({float(most):.9f}) of {given['field']} dimension {given['d']}")
