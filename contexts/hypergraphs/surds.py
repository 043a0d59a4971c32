"""Numbers a₁√k₁ + a₂√k₂ + … with rational aᵢ and squarefree kᵢ, exactly: the components of most published rays.

Square roots of different squarefree numbers are linearly independent over the rationals (Besicovitch 1940), so that a
sum is zero exactly if every coefficient is. This is the field of √2 (Peres' 33 rays), the golden ratio (the 600-cell)
and, with a real and an imaginary part, of the roots of unity of order 3, 4, 6, 8 and 12.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import gcd, isqrt

import numpy as np
from jaxtyping import Complex, Float

from contexts.hypergraphs.parsing import shown

ROOTS = (1, 2, 3, 5, 6, 7, 10, 13, 15)
"""Squarefree numbers whose square roots are looked for in floats."""

HEIGHT, DENOMINATOR = 24, 24
"""Largest numerator of √k and largest denominator looked for."""

RECOGNISED = 4e-14
"""How near a float must be to count as the surd; what it then proves is checked in exact arithmetic."""


@dataclass(frozen=True)
class Surd:
    """Σ aₖ√k: ``terms`` maps squarefree k to a rational that is not zero."""

    terms: dict[int, Fraction] = field(default_factory=dict)

    def __add__(self, other: Surd) -> Surd:
        total = defaultdict(Fraction, self.terms)
        for k, a in other.terms.items():
            total[k] += a
        return Surd({k: a for k, a in total.items() if a})

    def __neg__(self) -> Surd:
        return Surd({k: -a for k, a in self.terms.items()})

    def __sub__(self, other: Surd) -> Surd:
        return self + -other

    def __mul__(self, other: Surd) -> Surd:
        total: dict[int, Fraction] = defaultdict(Fraction)
        for k, a in self.terms.items():
            for m, b in other.terms.items():
                common = gcd(k, m)  # √k √m = common √(k m / common²)
                total[k // common * (m // common)] += a * b * common
        return Surd({k: a for k, a in total.items() if a})

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __float__(self) -> float:
        return float(sum(float(a) * k**0.5 for k, a in self.terms.items()))


Number = tuple[Surd, Surd]
"""A complex number: its real and imaginary part."""


def rational(value: Fraction | int) -> Surd:
    """A rational number as a surd."""
    return Surd({1: Fraction(value)} if value else {})


def square_root(value: int) -> Surd:
    """√value of a whole number that is not negative; ValueError otherwise."""
    if value < 0:
        raise ValueError(f"the square root of {value} is not real")
    outside, inside = 1, value
    for p in range(2, isqrt(value) + 1):
        while inside % (p * p) == 0:
            inside //= p * p
            outside *= p
    return Surd({inside: Fraction(outside)} if value else {})


def parse(text: str) -> Number:
    """An exact number from text: whole numbers and decimals, ``sqrt(2)``, ``i``, ``+ - * /``, brackets, as in
    ``(1+sqrt(5))/2`` or ``-1/2 + sqrt(3)/2*i``.

    Divisors must be rational. Nothing is executed: the text is read as a formula. Raises ValueError for anything else.
    """
    if len(text) > 200:
        raise ValueError(f"{shown(text)} is too long for a number")
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, RecursionError, KeyError, MemoryError):
        raise ValueError(f"{shown(text)} is no number such as -1, 0.5, sqrt(2), (1+sqrt(5))/2 or i") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return rational(Fraction(str(value))), Surd()
        case ast.Name(id="i"):
            return Surd(), rational(1)
        case ast.Call(func=ast.Name(id="sqrt"), args=[ast.Constant(value=int() as value)], keywords=[]):
            if value > 10**6:
                raise ValueError(f"the square root of {value} is not taken; at most of {10**6}")
            return square_root(value), Surd()
        case ast.UnaryOp(op=ast.USub(), operand=inside):
            real, imaginary = _value(inside)
            return -real, -imaginary
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            (a, b), (c, d) = _value(left), _value(right)
            return a + c, b + d
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            (a, b), (c, d) = _value(left), _value(right)
            return a - c, b - d
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            (a, b), (c, d) = _value(left), _value(right)
            return a * c - b * d, a * d + b * c
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            (a, b), (c, d) = _value(left), _value(right)
            if d or set(c.terms) - {1}:
                raise ValueError("a number is divided by one that is not rational: multiply both by a root instead")
            factor = rational(1 / c.terms[1])
            return a * factor, b * factor
    raise SyntaxError


def inner(first: list[Number], second: list[Number]) -> Number:
    """⟨first|second⟩ = Σ first* second, exactly."""
    real, imaginary = Surd(), Surd()
    for (a, b), (c, d) in zip(first, second, strict=True):
        real += a * c + b * d
        imaginary += a * d - b * c
    return real, imaginary


def recognise_ray(ray: Float[np.ndarray, " d"] | Complex[np.ndarray, " d"]) -> list[Number] | None:
    """The ray with simple surds as components, its first largest one being 1; None where a component is no such number.

    Only a guess, good to about 1e-13: orthogonalities of the result are then proved by :func:`inner`.
    """
    size = np.abs(ray)
    scaled = ray / ray[int(np.argmax(size >= size.max() * (1 - 1e-12)))]
    numbers = []
    for x in scaled.tolist():
        x = complex(x)
        parts = [recognise(x.real), recognise(x.imag)]
        if parts[0] is None or parts[1] is None:
            return None
        numbers.append((parts[0], parts[1]))
    return numbers


def recognise(value: float) -> Surd | None:
    """(a + b√k) / c of small height within ``RECOGNISED`` of a float of size at most 1, the simplest first, or None."""
    for root, top, bottom in _candidates():
        rest = (value - top * root**0.5 / bottom) * bottom
        near = np.abs(rest - np.round(rest)) <= RECOGNISED * bottom
        if near.any():
            at = int(np.argmax(near))
            c, b = int(bottom[at]), int(top[at])
            whole = {1: Fraction(round(float(rest[at])), c)}
            surd = Surd({k: a for k, a in whole.items() if a})
            return surd + Surd({root: Fraction(b, c)} if b else {}) if root > 1 else surd
    return None


@cache
def _candidates() -> list[tuple[int, np.ndarray, np.ndarray]]:
    """For each root the numerators of √k and the denominators to try, small ones first; for the rationals no √k."""
    found = []
    for root in ROOTS:
        tops = range(1) if root == 1 else range(-HEIGHT, HEIGHT + 1)
        pairs = sorted(((b, c) for c in range(1, DENOMINATOR + 1) for b in tops), key=lambda p: (abs(p[0]) + p[1], p))
        top, bottom = np.array(pairs).T
        found.append((root, top, bottom))
    return found
