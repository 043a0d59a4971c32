"""Numbers a₁√k₁ + a₂√k₂ + … with rational aᵢ and squarefree kᵢ, exactly: the components of most published rays.

Square roots of different squarefree numbers are linearly independent over the rationals (Besicovitch 1940), so that a
sum is zero exactly if every coefficient is. This is the field of √2 (Peres' 33 rays), the golden ratio (the 600-cell)
and, with a real and an imaginary part, of the roots of unity whose order divides 24.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import gcd, isqrt, lcm

import numpy as np
from jaxtyping import Bool, Complex, Float

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
        if not self.terms or not other.terms:  # most components of published rays are 0
            return self if self.terms else other
        total = defaultdict(Fraction, self.terms)
        for k, a in other.terms.items():
            total[k] += a
        return Surd({k: a for k, a in total.items() if a})

    def __neg__(self) -> Surd:
        return Surd({k: -a for k, a in self.terms.items()})

    def __sub__(self, other: Surd) -> Surd:
        return self + -other

    def __mul__(self, other: Surd) -> Surd:
        if not self.terms or not other.terms:
            return Surd()
        total: dict[int, Fraction] = defaultdict(Fraction)
        for k, a in self.terms.items():
            for m, b in other.terms.items():
                common = gcd(k, m)  # √k √m = common √(k m / common²)
                total[k // common * (m // common)] += a * b * common
        return Surd({k: a for k, a in total.items() if a})

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __str__(self) -> str:
        """What :func:`parse` reads back, such as ``1/2-3*sqrt(5)``."""
        parts = []
        for k, a in sorted(self.terms.items()):
            size = "" if k > 1 and abs(a) == 1 else f"{abs(a)}" + "*" * (k > 1)
            parts.append(("-" if a < 0 else "+") + size + (f"sqrt({k})" if k > 1 else ""))
        return "".join(parts).removeprefix("+") or "0"

    def inverse(self) -> Surd:
        """1 / self; ZeroDivisionError for 0. Flipping the sign of one √p at a time leaves a rational norm."""
        prime = next((p for k in self.terms for p in range(2, k + 1) if k % p == 0), None)
        if prime is None:
            return rational(1 / self.terms.get(1, Fraction()))
        flipped = Surd({k: -a if k % prime == 0 else a for k, a in self.terms.items()})
        return flipped * (self * flipped).inverse()

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
    """An exact number from text: whole numbers and decimals, ``sqrt(2)`` or ``sqrt2``, ``i``, the golden ratio ``phi``,
    the root of unity ``w3`` = exp(2πi/3) and others whose order divides 24, ``+ - * /``, powers with ``^``, brackets,
    as in ``(1+sqrt(5))/2`` or ``-w3^2``.

    Nothing is executed: the text is read as a formula. Raises ValueError for anything else.
    """
    if len(text) > 200:
        raise ValueError(f"{shown(text)} is too long for a number")
    try:
        return _value(ast.parse(text.strip().replace("^", "**"), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, RecursionError, MemoryError):
        raise ValueError(f"{shown(text)} is no number such as -1, 0.5, sqrt(2), (1+sqrt(5))/2, w3 or i") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return rational(Fraction(str(value))), Surd()
        case ast.Name(id=name):
            return _named(name)
        case ast.Call(func=ast.Name(id="sqrt"), args=[ast.Constant(value=int() as value)], keywords=[]):
            return _named(f"sqrt{value}")
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
            return product(_value(left), _value(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return product(_value(left), reciprocal(_value(right)))
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if power <= 24:
            result, factor = (rational(1), Surd()), _value(left)
            for _ in range(power):
                result = product(result, factor)
            return result
    raise SyntaxError


def _named(name: str) -> Number:
    """``i``, ``phi``, ``sqrt2`` or ``w3``; SyntaxError for another name."""
    known: dict[str, Number] = {
        "i": (Surd(), rational(1)),
        "phi": (Surd({1: Fraction(1, 2), 5: Fraction(1, 2)}), Surd()),
    }
    if name in known:
        return known[name]
    word, digits = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
    if word not in ("sqrt", "w") or not digits:
        raise SyntaxError
    if word == "w":
        return root_of_unity(int(digits))
    if int(digits) > 10**6:
        raise ValueError(f"the square root of {shown(int(digits))} is not taken; at most of {10**6}")
    return square_root(int(digits)), Surd()


def root_of_unity(order: int) -> Number:
    """exp(2πi/order); ValueError unless the order divides 24, where cosine and sine are sums of square roots."""
    if order < 1 or 24 % order:
        raise ValueError(f"the root of unity of order {order} is no sum of square roots; the order must divide 24")
    cos15 = Surd({6: Fraction(1, 4), 2: Fraction(1, 4)})
    sin15 = Surd({6: Fraction(1, 4), 2: Fraction(-1, 4)})
    result: Number = (rational(1), Surd())
    for _ in range(24 // order):
        result = product(result, (cos15, sin15))
    return result


def product(first: Number, second: Number) -> Number:
    """The product of two complex numbers, exactly."""
    (a, b), (c, d) = first, second
    return a * c - b * d, a * d + b * c


def reciprocal(number: Number) -> Number:
    """1 / number, exactly; ZeroDivisionError for 0."""
    a, b = number
    size = (a * a + b * b).inverse()
    return a * size, -b * size


def as_text(number: Number) -> str:
    """A complex number as :func:`parse` reads it back, such as ``1/2+sqrt(3)/2*i``."""
    real, imaginary = number
    if not imaginary:
        return str(real)
    side = str(imaginary)
    part = {"1": "i", "-1": "-i"}.get(side, f"{side}*i" if len(imaginary.terms) == 1 else f"({side})*i")
    return part if not real else f"{real}{'' if part.startswith('-') else '+'}{part}"


def orthogonality(rays: Sequence[Sequence[Number]]) -> Bool[np.ndarray, "n n"]:
    """Which ⟨u|v⟩ are exactly 0, for n rays of one length at once.

    Scaled to whole coefficients, the rays are integer matrices, one for each √k of their real and imaginary parts, and
    so are their products; a sum of products vanishes exactly if, for each √k, its coefficients do.
    """
    n, d = len(rays), len(rays[0]) if rays else 0
    whole: dict[tuple[int, int], np.ndarray] = defaultdict(lambda: np.zeros((n, d), dtype=object))
    for row, ray in enumerate(rays):
        factor = lcm(*(a.denominator for x in ray for part in x for a in part.terms.values()))
        for column, x in enumerate(ray):
            for side, part in enumerate(x):
                for k, a in part.terms.items():
                    whole[side, k][row, column] = int(a * factor)
    largest = max((int(np.abs(table).max(initial=0)) for table in whole.values()), default=0)
    small = largest**2 * max(d, 1) * max((k for _, k in whole), default=1) * len(whole) ** 2 < 2**52
    tables = {key: table.astype(np.float64) if small else table for key, table in whole.items()}  # exact below 2⁵³
    sums: dict[tuple[int, int], np.ndarray] = defaultdict(lambda: np.zeros((n, n)))
    for (first, k), u in tables.items():
        for (second, m), v in tables.items():
            common = gcd(k, m)
            key = ((first + second) % 2, k // common * (m // common))
            sign = -1 if (first, second) == (1, 0) else 1  # ⟨u|v⟩ is conjugate linear in u
            sums[key] = sums[key] + sign * common * (u @ v.T)
    zero = np.ones((n, n), dtype=bool)
    for table in sums.values():
        zero &= table == 0
    return zero


def as_floats(ray: Sequence[Number]) -> Float[np.ndarray, " d"] | Complex[np.ndarray, " d"]:
    """The components as float64, or complex128 where one has an imaginary part."""
    if any(imaginary for _, imaginary in ray):
        return np.array([complex(float(a), float(b)) for a, b in ray])
    return np.array([float(a) for a, _ in ray])


def scaled(ray: Sequence[Number]) -> tuple[Number, ...]:
    """The ray scaled so that its first component that is not zero is 1: equal exactly for vectors of one ray.

    Raises ZeroDivisionError for the zero vector.
    """
    first = next((x for x in ray if any(x)), (Surd(), Surd()))
    factor = reciprocal(first)
    return tuple(product(x, factor) for x in ray)


def inner(first: Sequence[Number], second: Sequence[Number]) -> Number:
    """⟨first|second⟩ = Σ first* second, exactly."""
    real, imaginary = Surd(), Surd()
    for (a, b), (c, d) in zip(first, second, strict=True):
        if not (a or b) or not (c or d):
            continue
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
