"""Packings that are orbits under a group of unitaries: far fewer unknowns, and where the structured records lie.

A symmetric packing of n lines is given by representatives: ``free`` ones, whose orbit has as many lines as the group
has elements, and ``fixed`` ones, each confined to an eigenspace common to the group. Any packing with a symmetry has
one of prime order, so random cyclic groups reach them all, larger abelian ones fewer of them sooner; the
Weyl-Heisenberg group (n a multiple of d²) reaches SICs and mutually unbiased bases.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Inexact, Shaped


@dataclass(frozen=True)
class Symmetry:
    """A group of unitaries (order, d, d), the identity first; how many free orbits; projectors of the fixed lines."""

    name: str
    elements: np.ndarray
    free: int
    fixed: np.ndarray  # (number of fixed lines, d, d)

    @property
    def representatives(self) -> int:
        """Vectors that the search moves: one per free orbit, and the fixed ones."""
        return self.free + len(self.fixed)

    @property
    def lines(self) -> int:
        """Lines of the whole configuration: every orbit in full."""
        return self.free * len(self.elements) + len(self.fixed)

    @property
    def weights(self) -> Shaped[np.ndarray, " r"]:
        """The orbit length of each representative."""
        return np.array([len(self.elements)] * self.free + [1] * len(self.fixed), float)

    def spread(self, x: Inexact[np.ndarray, "*batch r d"]) -> Inexact[np.ndarray, "*batch n d"]:
        """All lines (…, n, d) from unit representatives (…, r, d); the representatives come first."""
        order, d, _ = self.elements.shape
        if order == 1:
            return x
        # all images by one matrix product: (…, free, order·d), the group's elements side by side
        side_by_side = self.elements[1:].transpose(2, 0, 1).reshape(d, -1)
        images = x[..., : self.free, :] @ side_by_side
        images = images.reshape(*images.shape[:-1], order - 1, d).swapaxes(-3, -2)
        return np.concatenate([x, images.reshape(*x.shape[:-2], -1, d)], axis=-2)


def trivial(d: int, n: int, field: str) -> Symmetry:
    """No symmetry: every line is its own orbit."""
    dtype = complex if field == "complex" else float
    return Symmetry("none", np.eye(d, dtype=dtype)[None], n, np.empty((0, d, d), dtype))


def weyl_heisenberg(d: int, n: int) -> Symmetry | None:
    """Orbits of length d² under clock and shift: Z_d × Z_d up to phases. None unless d² divides n."""
    if n % (d * d):
        return None
    clock = np.diag(np.exp(2j * np.pi * np.arange(d) / d))
    shift = np.roll(np.eye(d), 1, axis=0)
    elements = [np.linalg.matrix_power(shift, a) @ np.linalg.matrix_power(clock, b) for a in range(d) for b in range(d)]
    return Symmetry("Weyl-Heisenberg", np.array(elements, complex), n // (d * d), np.empty((0, d, d), complex))


def paulis(d: int, n: int) -> Symmetry | None:
    """Orbits of length 4^q under the Pauli group of q qubits, d = 2^q (Hoggar's lines of C^8). None unless 4^q | n."""
    q = d.bit_length() - 1
    if d != 2**q or n % (d * d):
        return None
    one = [np.eye(2), np.array([[0, 1], [1, 0]]), np.diag([1, -1]), np.array([[0, -1], [1, 0]])]
    elements = [np.eye(1)]
    for _ in range(q):
        elements = [np.kron(u, p) for u in elements for p in one]
    return Symmetry("Pauli", np.array(elements, complex), n // (d * d), np.empty((0, d, d), complex))


def random_abelian(d: int, n: int, field: str, rng: np.random.Generator) -> Symmetry | None:
    """An abelian group of random order 2 ≤ m ≤ n, most often cyclic, with random characters; n mod m lines are fixed.

    None where the draw fails: a group with scalars in it (its orbits would repeat lines) or whose orbits cannot span.
    """
    m = _random_order(n, rng)
    free = n // m
    if n % m == 0 and m <= d and free > 1 and rng.random() < 0.2:
        free -= 1  # an orbit's worth of lines may be fixed instead
    fixed = n - free * m
    orders = _random_factors(m, rng)
    characters = _characters(d, orders, field, rng)
    elements = _representation(characters, orders, field)
    scalar = np.abs(elements[1:] - elements[1:, :1, :1] * np.eye(d)).max(axis=(1, 2), initial=0)
    if fixed > 2 * d or (len(scalar) and scalar.min() < 1e-9):
        return None
    kinds, counts = np.unique(characters, axis=0, return_counts=True)
    # fixed lines lie in the eigenspace of one character, in R^d of a real one; no more than fit at right angles
    is_real = np.all(2 * kinds % orders == 0, axis=1) | (field == "complex")
    room = np.where(is_real, counts, 0)
    if room.sum() < fixed:
        return None
    chosen = rng.permutation(np.repeat(np.arange(len(kinds)), room))[:fixed]
    if (counts > free + np.bincount(chosen, minlength=len(kinds))).any():
        return None
    projectors = [_projector(elements, kinds[k], orders, field) for k in chosen]
    empty = np.empty((0, d, d), elements.dtype)
    name = "cyclic of order " if len(orders) == 1 else "abelian of orders "
    name += " x ".join(map(str, orders))
    return Symmetry(name, elements, free, np.array(projectors) if projectors else empty)


def _random_order(n: int, rng: np.random.Generator) -> int:
    """Small primes most often; any order up to n now and then; divisors of n more often than others."""
    kind = rng.random()
    if kind < 0.4:
        return int(rng.choice([p for p in (2, 3, 5, 7, 11, 13) if p <= n] or [1]))
    if kind < 0.9:
        return int(rng.choice([m for m in range(2, n + 1) if n % m == 0 or n % m == 1] or [1]))
    return int(rng.integers(2, n + 1))


def _random_factors(m: int, rng: np.random.Generator) -> np.ndarray:
    """Orders of cyclic groups whose product has m elements: (m,) or a random other abelian group."""
    orders = [m]
    while rng.random() < 0.4:
        split = [(k, f) for k, order in enumerate(orders) for f in range(2, order) if order % f == 0]
        if not split:
            break
        k, f = split[int(rng.integers(len(split)))]
        orders[k : k + 1] = [f, orders[k] // f]
    return np.array(sorted(orders, reverse=True))


def _characters(d: int, orders: np.ndarray, field: str, rng: np.random.Generator) -> np.ndarray:
    """d characters, rows of exponents (one for each cyclic factor); in R^d each with its inverse.

    Half the time those of signed permutations, where the structured packings lie: all characters of a subgroup's cosets
    once each, or all but one. Otherwise any.
    """
    everything = np.array(list(itertools.product(*(range(order) for order in orders))))
    if rng.random() < 0.5:
        pool = rng.permutation(everything)
        if rng.random() < 0.5:  # the trivial one last: things that sum to 0
            pool = np.vstack([pool[pool.any(axis=1)], np.zeros((1, len(orders)), int)])
        pool = np.vstack([pool] * (d // len(pool) + 1))
    else:
        pool = everything[rng.integers(0, len(everything), 2 * d)]
    if field == "complex":
        return pool[:d]
    taken: list[np.ndarray] = []
    while len(taken) < d:
        for row in pool:
            inverse = -row % orders
            pair = [row] if np.array_equal(row, inverse) else [row, inverse]
            waiting = len(pair) == 2 and tuple(row) > tuple(inverse)  # its inverse brings it in
            if not waiting and len(taken) + len(pair) <= d:
                taken += pair
        if not any(np.array_equal(row, -row % orders) for row in pool):
            pool = np.vstack([pool, np.zeros((1, len(orders)), int)])  # an odd dimension needs a real character
    return np.array(taken)


def _representation(characters: np.ndarray, orders: np.ndarray, field: str) -> np.ndarray:
    """The matrices (order, d, d) of all elements: diagonal in C^d, rotations of planes and signs in R^d."""
    d = len(characters)
    everything = np.array(list(itertools.product(*(range(order) for order in orders))))
    turns = everything @ (characters / orders).T  # (order, d), in units of a turn
    if field == "complex":
        return np.exp(2j * np.pi * turns)[:, :, None] * np.eye(d)
    elements = np.cos(2 * np.pi * turns)[:, :, None] * np.eye(d)
    k = 0
    while k < d:
        if (2 * characters[k] % orders).any():
            elements[:, k, k + 1] = -np.sin(2 * np.pi * turns[:, k])
            elements[:, k + 1, k] = np.sin(2 * np.pi * turns[:, k])
            k += 1
        k += 1
    return elements


def _projector(elements: np.ndarray, character: np.ndarray, orders: np.ndarray, field: str) -> np.ndarray:
    """On the eigenspace of a character: the mean of χ(g)* g over the group."""
    everything = np.array(list(itertools.product(*(range(order) for order in orders))))
    values = np.exp(-2j * np.pi * (everything @ (character / orders)))
    mean = np.einsum("g,gij->ij", values, elements) / len(elements)
    return mean if field == "complex" else mean.real
