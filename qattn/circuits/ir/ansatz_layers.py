"""The layers of the ansätze in ``ansatz``: pairs of wires, and the gates of one layer or of what stands around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from qattn.circuits.ir.circuit import Operation, ParameterRef, gate

Take = Callable[[], ParameterRef]
"""Hands out the next trainable parameter."""


def ring(n: int, step: int = 1) -> list[tuple[int, int]]:
    """Pairs (i, i + step) around a ring."""
    return [(i, (i + step) % n) for i in range(n)]


def bricks(n: int, parity: int) -> list[tuple[int, int]]:
    """Neighbouring pairs that begin at even (parity 0) or odd (1) wires."""
    return [(i, i + 1) for i in range(parity, n - 1, 2)]


def strongly_entangling(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Rot on every wire, CNOTs around a ring whose step grows from layer to layer."""
    for w in range(n):
        yield gate("Rot", w, take(), take(), take())
    if n > 1:
        for c, t in ring(n, index % (n - 1) + 1):
            yield gate("CNOT", c, t)


def basic_entangler(n: int, index: int, take: Take) -> Iterator[Operation]:
    """RX on every wire, CNOTs around a ring."""
    for w in range(n):
        yield gate("RX", w, take())
    for c, t in ring(n) if n > 2 else bricks(n, 0):
        yield gate("CNOT", c, t)


def ry_each(n: int, take: Take) -> Iterator[Operation]:
    """RY on every wire."""
    for w in range(n):
        yield gate("RY", w, take())


def simplified_two_design(n: int, index: int, take: Take) -> Iterator[Operation]:
    """CZ and two RY on the even pairs, then on the odd ones."""
    for a, b in bricks(n, 0) + bricks(n, 1):
        yield gate("CZ", a, b)
        yield gate("RY", a, take())
        yield gate("RY", b, take())


def qaoa_features(n: int, take: Take | None = None) -> Iterator[Operation]:
    """Input k as an RX on wire k."""
    for w in range(n):
        yield gate("RX", w, ParameterRef(w, "inputs"))


def qaoa_embedding(n: int, index: int, take: Take) -> Iterator[Operation]:
    """The features, ZZ rotations around a ring, RY on every wire."""
    yield from qaoa_features(n)
    for a, b in ring(n) if n > 2 else bricks(n, 0):
        yield Operation("MultiRZ", (a, b), (take(),))
    yield from ry_each(n, take)


def qaoa(n: int, index: int, take: Take) -> Iterator[Operation]:
    """The cost of MaxCut on a ring, then the transverse field; one angle each."""
    cost, mixer = take(), take()
    for a, b in ring(n) if n > 2 else bricks(n, 0):
        yield gate("IsingZZ", a, b, cost)
    for w in range(n):
        yield gate("RX", w, mixer)


def hadamards(n: int, take: Take) -> Iterator[Operation]:
    """A Hadamard on every wire."""
    for w in range(n):
        yield gate("Hadamard", w)


def rotations(n: int, take: Take) -> Iterator[Operation]:
    """RY and RZ on every wire."""
    for w in range(n):
        yield gate("RY", w, take())
        yield gate("RZ", w, take())


def hardware_efficient(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Rotations on every wire, CZ along the line."""
    yield from rotations(n, take)
    for a, b in bricks(n, 0) + bricks(n, 1):
        yield gate("CZ", a, b)


def brickwork(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Rot on every wire, CNOTs on even pairs and odd pairs in turn."""
    for w in range(n):
        yield gate("Rot", w, take(), take(), take())
    for a, b in bricks(n, index % 2):
        yield gate("CNOT", a, b)


def pyramid_pairs(n: int) -> list[tuple[int, int]]:
    """Nearest-neighbour pairs of the Givens pyramid, n(n−1)/2 of them (Reck 1994; Clements 2016 for the depth)."""
    return [(i, i + 1) for last in range(n - 1, 0, -1) for i in range(last)]


def givens_pyramid(n: int, index: int, take: Take) -> Iterator[Operation]:
    """RBS gates in the order of ``pyramid_pairs``."""
    for a, b in pyramid_pairs(n):
        yield gate("SingleExcitation", a, b, take())


def butterfly_pairs(n: int) -> list[tuple[int, int]]:
    """Pairs (i, i + s) for strides s = n/2, n/4, …, 1: n/2 log₂ n of them for a power of two."""
    strides = [2**k for k in reversed(range((n - 1).bit_length()))]
    return [(i, i + s) for s in strides for i in range(n - s) if not i // s % 2]


def butterfly(n: int, index: int, take: Take) -> Iterator[Operation]:
    """RBS gates in the order of ``butterfly_pairs``."""
    for a, b in butterfly_pairs(n):
        yield gate("SingleExcitation", a, b, take())


def unary_start(n: int, take: Take) -> Iterator[Operation]:
    """The one excitation, on wire 0."""
    yield gate("PauliX", 0)


def permutation(n: int, index: int, take: Take) -> Iterator[Operation]:
    """A fixed shuffle of basis states: X, CNOT and Toffoli on wires drawn from a generator seeded by the layer's
    number."""
    rng = np.random.default_rng(index)
    for name, size in (("PauliX", 1), ("CNOT", 2), ("Toffoli", 3)):
        if size <= n:
            yield gate(name, *(int(w) for w in rng.choice(n, size, replace=False)))


def ring_pairs(n: int) -> list[tuple[int, int]]:
    """Neighbours on a ring: the even pairs, the odd ones, then the pair that closes it."""
    return bricks(n, 0) + bricks(n, 1) + ([(0, n - 1)] if n > 2 else [])


def heisenberg(n: int, index: int, take: Take) -> Iterator[Operation]:
    """One Trotter step of a Heisenberg ring, every field and every coupling free; at zero it is the identity."""
    for w in range(n):
        for name in ("RX", "RY", "RZ"):
            yield gate(name, w, take())
    for a, b in ring_pairs(n):
        for name in ("IsingXX", "IsingYY", "IsingZZ"):
            yield gate(name, a, b, take())


def pairs(n: int) -> int:
    """n(n−1)/2."""
    return n * (n - 1) // 2
