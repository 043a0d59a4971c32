"""Finite fields GF(p^k) and the trace table of the Galois ring GR(4, m), as tables of whole numbers.

Elements of GF(q) are the numbers 0 … q−1, whose digits in base p are the coefficients of a polynomial in a primitive
element. Meant for q up to some 10^5: the tables are built by stepping through the powers of that element.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from jaxtyping import Int64


def prime_power(q: int) -> tuple[int, int] | None:
    """(p, k) with q = p^k, or None."""
    if q < 2:
        return None
    p = next((p for p in range(2, int(q**0.5) + 1) if q % p == 0), q)
    k = 0
    while q % p == 0:
        q //= p
        k += 1
    return (p, k) if q == 1 else None


@lru_cache(maxsize=50_000)
def prime_powers_of(n: int) -> tuple[int, ...]:
    """The powers of distinct primes whose product n is, smallest first; none for n = 1."""
    found, p = [], 2
    while p * p <= n:
        power = 1
        while n % p == 0:
            n, power = n // p, power * p
        if power > 1:
            found.append(power)
        p += 1
    return tuple(sorted([*found, n] if n > 1 else found))


class GF:
    """GF(p^k): ``exp`` (powers of a primitive element), ``log`` (−1 at 0), sums, products and the trace to GF(p)."""

    def __init__(self, q: int):
        found = prime_power(q)
        if found is None:
            raise ValueError(f"a finite field has p^k elements with p prime, got {q}")
        self.p, self.k = found
        self.q = q
        self.exp = _primitive_powers(self.p, self.k)
        self.log = np.full(q, -1)
        self.log[self.exp] = np.arange(q - 1)

    def power(self, a: Int64[np.ndarray, "*shape"], n: int) -> Int64[np.ndarray, "*shape"]:
        """a^n entrywise, n ≥ 1."""
        return np.where(a == 0, 0, self.exp[self.log[a] * n % (self.q - 1)])

    def product(self, a: Int64[np.ndarray, "*#shape"], b: Int64[np.ndarray, "*#shape"]) -> Int64[np.ndarray, "*#shape"]:
        """a·b, element by element, by logarithms."""
        return np.where((a == 0) | (b == 0), 0, self.exp[(self.log[a] + self.log[b]) % (self.q - 1)])

    def sum(self, a: Int64[np.ndarray, "*#shape"], b: Int64[np.ndarray, "*#shape"]) -> Int64[np.ndarray, "*#shape"]:
        """a + b, element by element: digit by digit in base p."""
        total = np.zeros(np.broadcast(a, b).shape, int)
        for i in range(self.k):
            place = self.p**i
            total += (a // place + b // place) % self.p * place
        return total

    def trace(self, a: Int64[np.ndarray, "*shape"], subfield: int | None = None) -> Int64[np.ndarray, "*shape"]:
        """Σ a^{s^i} over i < log_s q: the trace to GF(s) (default: GF(p), whose elements are the numbers 0 … p−1)."""
        s = self.p if subfield is None else subfield
        total, term, size = np.zeros_like(a), a, 1
        while size < self.q:
            total, term, size = self.sum(total, term), self.power(term, s), size * s
        return total


@lru_cache(maxsize=32)
def galois_field(q: int) -> GF:
    """GF(q), kept between calls."""
    return GF(q)


def _primitive_powers(p: int, k: int) -> np.ndarray:
    """The powers 1, x, x², … of a root of the first primitive polynomial of degree k over GF(p)."""
    order = p**k - 1
    for tail in itertools.product(range(p), repeat=k):  # x^k = tail, lowest power first
        if tail[0] == 0:
            continue
        powers = _powers(p, k, tail, order)
        if powers is not None:
            return powers
    raise AssertionError("every finite field has a primitive element")


def _powers(p: int, k: int, tail: tuple[int, ...], order: int) -> np.ndarray | None:
    powers = [1]
    if k == 1:
        root = tail[0]
        while powers[-1] * root % p != 1:
            powers.append(powers[-1] * root % p)
        return np.array(powers) if len(powers) == order else None
    place = [p**i for i in range(k)]
    here = [1] + [0] * (k - 1)
    powers = []
    for step in range(order):
        if step and here == [1] + [0] * (k - 1):
            return None  # the root's order divides a smaller number
        powers.append(sum(c * w for c, w in zip(here, place, strict=True)))
        carry = here[-1]
        here = [(c + carry * t) % p for c, t in zip([0, *here[:-1]], tail, strict=True)]
    return np.array(powers) if here == [1] + [0] * (k - 1) else None


@lru_cache(maxsize=16)
def quaternary_trace(m: int) -> Int64[np.ndarray, " order"]:
    """Tr(ξ^j) in Z_4 for j < 2^m − 1, ξ of order 2^m − 1 in the Galois ring GR(4, m) (Hammons et al. 1994, Sec. III).

    ξ is a root of the lift to Z_4 of a primitive binary polynomial by Graeffe's method. The Teichmüller set is
    {0, 1, ξ, …, ξ^{2^m − 2}}; 2 Tr(·) mod 4 is twice the binary trace.
    """
    order = 2**m - 1
    binary = galois_field(2**m)
    top = int(binary.exp[m]) if m > 1 else 1  # x^m as a number: the tail of the primitive polynomial
    h = [top >> i & 1 for i in range(m)] + [1]
    even = [c if i % 2 == 0 else 0 for i, c in enumerate(h)]
    odd = [c if i % 2 else 0 for i, c in enumerate(h)]
    square = np.convolve(even, even) - np.convolve(odd, odd)
    lifted = square[::2] * (-1) ** m % 4  # h_2(x²) = ±(e² − o²)
    powers = np.zeros((order, m), int)
    here = np.eye(m, dtype=int)[0]
    for j in range(order):
        powers[j] = here
        here = (np.concatenate([[0], here[:-1]]) - here[-1] * lifted[:m]) % 4
    index = np.arange(order)[:, None] * 2 ** np.arange(m) % order
    traces = powers[index].sum(axis=1) % 4
    if traces[:, 1:].any():
        raise AssertionError("a trace left Z_4")
    return traces[:, 0]
