"""Hadamard and conference matrices by Paley's constructions: the square matrices that frames and codes are made of."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from contexts.packing.constructions.galois import galois_field, prime_power


def hadamard(order: int) -> Float64[np.ndarray, "n n"] | None:
    """A Hadamard matrix of order 1, 2, 4k by doubling and Paley's two constructions; None if they give none."""
    if order in (1, 2):
        return np.array([[1.0, 1.0], [1.0, -1.0]])[:order, :order]
    if order % 4:
        return None
    skew = conference(order - 1) if order % 4 == 0 else None
    if skew is not None and np.array_equal(skew, -skew.T):
        return skew + np.eye(order)
    if order % 8 == 4:
        symmetric = conference(order // 2 - 1)
        if symmetric is not None and np.array_equal(symmetric, symmetric.T):
            one = np.array([[1, 1], [1, -1]])
            return np.kron(symmetric, one) + np.kron(np.eye(order // 2), np.array([[1, -1], [-1, -1]]))
    half = hadamard(order // 2)
    return None if half is None else np.kron(half, [[1, 1], [1, -1]])


def has_hadamard(order: int) -> bool:
    """Does :func:`hadamard` make a matrix of this order? Nothing is built."""
    if order in (1, 2):
        return True
    if order % 4:
        return False
    if prime_power(order - 1) or (order % 8 == 4 and (order // 2 - 1) % 4 == 1 and prime_power(order // 2 - 1)):
        return True
    return has_hadamard(order // 2)


def conference(q: int) -> Float64[np.ndarray, "n n"] | None:
    """Paley's conference matrix of order q + 1, C Cᵀ = q I: symmetric for q ≡ 1 mod 4, skew for q ≡ 3, else None."""
    if q % 2 == 0 or prime_power(q) is None:
        return None
    field, everything = galois_field(q), np.arange(q)
    minus = _negative(field)
    difference = field.sum(everything[:, None], minus[None, :])
    character = np.where(difference == 0, 0, 1 - 2 * (field.log[difference] % 2))
    border = np.ones(q)
    sign = 1 if q % 4 == 1 else -1
    return np.block([[np.zeros((1, 1)), border[None, :]], [sign * border[:, None], character]])


def _negative(field) -> np.ndarray:
    everything = np.arange(field.q)
    out = np.zeros(field.q, int)
    for i in range(field.k):
        place = field.p**i
        out += -(everything // place) % field.p * place
    return out
