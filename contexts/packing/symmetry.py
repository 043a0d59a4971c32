"""Packings that are orbits under a group of unitaries: far fewer unknowns, and where the structured records lie.

A symmetric packing of n lines is given by representatives: ``free`` ones, whose orbit has as many lines as the group
has elements, and ``fixed`` ones, each confined to an eigenspace common to the group. Any packing with a symmetry has
one of prime order, so random cyclic groups reach them all; the Weyl-Heisenberg group (n a multiple of d²) reaches SICs
and mutually unbiased bases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Symmetry:
    """A group of unitaries (order, d, d), the identity first; how many free orbits; projectors of the fixed lines."""

    name: str
    elements: np.ndarray
    free: int
    fixed: np.ndarray  # (number of fixed lines, d, d)

    @property
    def representatives(self) -> int:
        return self.free + len(self.fixed)

    @property
    def lines(self) -> int:
        return self.free * len(self.elements) + len(self.fixed)

    @property
    def weights(self) -> np.ndarray:
        """The orbit length of each representative."""
        return np.array([len(self.elements)] * self.free + [1] * len(self.fixed), float)

    def spread(self, x: np.ndarray) -> np.ndarray:
        """All lines (…, n, d) from unit representatives (…, r, d); the representatives come first."""
        images = [x[..., : self.free, :] @ u.T for u in self.elements[1:]]
        return np.concatenate([x, *images], axis=-2) if images else x


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


def random_cyclic(d: int, n: int, field: str, rng: np.random.Generator) -> Symmetry | None:
    """A cyclic group of random order 2 ≤ m ≤ n with random eigenvalues, and n mod m lines fixed. None if a draw fails.

    Real groups are rotations of random planes with signs on the rest; a generator with U^m = −1 is as good, for lines.
    """
    m = _random_order(n, rng)
    free = n // m
    if n % m == 0 and m <= d and free > 1 and rng.random() < 0.2:
        free -= 1  # an orbit's worth of lines may be fixed instead
    fixed = n - free * m
    if fixed > 2 * d:
        return None
    phases, generator = _generator(d, m, field, rng)
    spaces = _eigenspaces(phases, d, field)
    if fixed and not spaces:
        return None
    projectors: list[np.ndarray] = []
    taken = dict.fromkeys(range(len(spaces)), 0)
    for _ in range(fixed):
        # one line at most in an eigenspace of dimension 1
        open_spaces = [k for k, p in enumerate(spaces) if np.trace(p).real > 1.5 or not taken[k]]
        if not open_spaces:
            return None
        k = int(rng.choice(open_spaces))
        taken[k] += 1
        projectors.append(spaces[k])
    elements = np.array([np.linalg.matrix_power(generator, k) for k in range(m)])
    empty = np.empty((0, d, d), generator.dtype)
    return Symmetry(f"cyclic of order {m}", elements, free, np.array(projectors) if projectors else empty)


def _random_order(n: int, rng: np.random.Generator) -> int:
    """Small primes most often; any order up to n now and then; divisors of n more often than others."""
    kind = rng.random()
    if kind < 0.5:
        return int(rng.choice([p for p in (2, 3, 5, 7, 11, 13) if p <= n] or [1]))
    if kind < 0.8:
        return int(rng.choice([m for m in range(2, n + 1) if n % m == 0 or n % m == 1] or [1]))
    return int(rng.integers(2, n + 1))


def _generator(d: int, m: int, field: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Eigenphases in units of 1/m of a turn (with multiplicity) and the matrix."""
    if field == "complex":
        phases = rng.integers(0, m, d)
        return phases, np.diag(np.exp(2j * np.pi * phases / m))
    half = 0.5 if m % 2 == 0 and d % 2 == 0 and rng.random() < 0.3 else 0.0  # U^m = −1, which odd d does not allow
    matrix, angles, k = np.eye(d), np.zeros(d), 0
    while k < d:
        turn = int(rng.integers(0, m)) + half
        if k == d - 1 or (2 * turn) % m == 0 or (half == 0 and rng.random() < 0.1):
            turn = 0.0 if half == 0 and (m % 2 or rng.random() < 0.5) else m / 2
            matrix[k, k], angles[k] = (1.0 if turn == 0 else -1.0), turn
            k += 1
        else:
            c, s = np.cos(2 * np.pi * turn / m), np.sin(2 * np.pi * turn / m)
            matrix[k : k + 2, k : k + 2] = [[c, -s], [s, c]]
            angles[k : k + 2] = turn, -turn
            k += 2
    return angles, matrix


def _eigenspaces(phases: np.ndarray, d: int, field: str) -> list[np.ndarray]:
    """Projectors on the eigenspaces that hold lines of the field (real: eigenvalues ±1)."""
    spaces = []
    for value in np.unique(phases):
        members = phases == value
        if field == "complex":
            spaces.append(np.diag(members.astype(complex)))
        elif value == 0 or _is_minus_one(value, phases):
            spaces.append(np.diag(members.astype(float)))
    return spaces


def _is_minus_one(value: float, phases: np.ndarray) -> bool:
    # a phase of ±1/2 turn stands alone: rotations come as ±pairs
    return bool(value > 0 and not np.any(phases == -value))
