"""Equiangular tight frames from two-graphs and their complex kin: Gram matrices I ± S/θ with two eigenvalues."""

from __future__ import annotations

import itertools
import math

import numpy as np
from jaxtyping import Complex128, Float64, Inexact

from contexts.packing.constructions.galois import galois_field, prime_power
from contexts.packing.constructions.matrices import conference


def from_seidel(seidel: Inexact[np.ndarray, "n n"], d: int) -> Inexact[np.ndarray, "n d"]:
    """n lines of dimension d from a Hermitian S with zero diagonal, |S_ij| = 1 and two eigenvalues, one of them d-fold.

    Rows of an orthonormal basis of the eigenspace, scaled by √(n/d): an equiangular tight frame, at Welch's bound.
    """
    values, vectors = np.linalg.eigh(seidel)
    n = len(seidel)
    low = int(np.count_nonzero(values < values.mean()))  # the mean, 0, separates the two
    chosen = vectors[:, :d] if low == d else vectors[:, n - d :]
    return chosen * math.sqrt(n / d)


def conference_frame(q: int) -> Inexact[np.ndarray, "n d"]:
    """q + 1 = 2d equiangular lines at 1/√q: in R^d for q ≡ 1 mod 4, in C^d for q ≡ 3 (van Lint & Seidel 1966).

    Raises ``ValueError`` unless q is an odd prime power.
    """
    matrix = conference(q)
    if matrix is None:
        raise ValueError(f"Paley's conference matrices need an odd prime power, got {q}")
    return from_seidel(matrix if q % 4 == 1 else 1j * matrix, (q + 1) // 2)


def quadric(m: int, sign: int, d: int) -> Float64[np.ndarray, "n d"]:
    """2^{m−1}(2^m ± 1) equiangular lines: the zeros of a quadratic form of GF(2)^{2m} with S_ab = (−1)^{B(a,b)}.

    B is the form's symplectic form. S has the eigenvalues 2^m − 1 and −(2^{m−1} + 1) (+), or 2^{m−1} − 1 and
    −(2^m + 1) (−); d is the multiplicity of one of them. Seidel 1976, "A survey of two-graphs" (symplectic two-graphs).
    """
    points = np.array(list(itertools.product((0, 1), repeat=2 * m)))
    x, y = points[:, :m], points[:, m:]
    form = (x * y).sum(axis=1) + (x[:, 0] + y[:, 0] if sign < 0 else 0)
    x, y = x[form % 2 == 0], y[form % 2 == 0]
    seidel = 1 - 2 * ((x @ y.T + y @ x.T) % 2) - np.eye(len(x))
    return from_seidel(seidel, d)


def unitary(q: int, d: int) -> Float64[np.ndarray, "n d"] | Complex128[np.ndarray, "n d"]:
    """q³ + 1 equiangular lines of dimension q² − q + 1 at 1/q, or of its complement q³ − q² + q at 1/q².

    S_xy = χ(H(x,y)), x, y the isotropic points of a Hermitian form H over GF(q²), χ a character of order 2 for odd q
    (real lines: Taylor 1977, "Regular 2-graphs") and of order q + 1 for even q (Iverson & Mixon 2024).
    """
    field, bar = galois_field(q * q), _conjugates(q)
    p = _isotropic(q)
    form = field.sum(
        field.sum(field.product(p[:, None, 0], bar[p[None, :, 2]]), field.product(p[:, None, 1], bar[p[None, :, 1]])),
        field.product(p[:, None, 2], bar[p[None, :, 0]]),
    )
    order = 2 if q % 2 else q + 1
    powers = np.cos(np.pi * np.arange(2)).round() if q % 2 else np.exp(2j * np.pi * np.arange(order) / order)
    seidel = np.where(form == 0, 0, powers[field.log[form] % order])
    return from_seidel(seidel, d)


def _conjugates(q: int) -> np.ndarray:
    return galois_field(q * q).power(np.arange(q * q), q)


def _isotropic(q: int) -> np.ndarray:
    """Points of PG(2, q²), first non-zero coordinate 1, with x_0 x̄_2 + x_1 x̄_1 + x_2 x̄_0 = 0: q³ + 1 of them."""
    if prime_power(q) is None:
        raise ValueError(f"a unitary two-graph needs a prime power, got {q}")
    field, bar, e = galois_field(q * q), _conjugates(q), np.arange(q * q)
    # (0, 0, 1), and (1, b, c) with c + c̄ = −b b̄
    b, c = np.repeat(e, q * q), np.tile(e, q * q)
    zero = field.sum(field.sum(c, bar[c]), field.product(b, bar[b])) == 0
    rest = np.column_stack([np.ones(zero.sum(), int), b[zero], c[zero]])
    return np.vstack([[[0, 0, 1]], rest])
