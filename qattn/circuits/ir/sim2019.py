"""The nineteen four-qubit circuits of Sim, Johnson and Aspuru-Guzik (Adv. Quantum Technol. 2, 1900070, 2019;
arXiv:1905.10876), Fig. 2, drawn from their figure and continued to any number of qubits (the paper gives four)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources

from qattn.circuits.ir.ansatz_layers import Take
from qattn.circuits.ir.circuit import Operation, gate

Layer = Callable[[int, int, Take], Iterator[Operation]]


@cache
def published() -> dict:
    """The paper's numbers: ``published()["expressibility"]["layers_1"]["6"]`` and ``["meyer_wallach"]``."""
    return json.loads(
        resources.files("qattn.circuits.ir").joinpath("data/sim2019_circuits.json").read_text(encoding="utf-8")
    )


def each(names: str, wires: range | list[int], take: Take) -> Iterator[Operation]:
    """Named gates, one after the other, on every wire; all but Hadamards take a parameter."""
    for name in names.split():
        for w in wires:
            yield gate(name, w, *([take()] if name != "Hadamard" else []))


def entangle(name: str, pairs: list[tuple[int, int]], take: Take) -> Iterator[Operation]:
    """One gate on every pair (control, target); controlled rotations take a parameter."""
    for control, target in pairs:
        yield gate(name, control, target, *([take()] if name.startswith("CR") else []))


def ladder(n: int) -> list[tuple[int, int]]:
    """Control i, target i − 1, from the last wire up."""
    return [(i, i - 1) for i in range(n - 1, 0, -1)]


def upward(n: int) -> list[tuple[int, int]]:
    """The ring of circuits 13 to 15, 18 and 19: control i, target i + 1, from the last wire up."""
    return [(i, (i + 1) % n) for i in range(n - 1, -1, -1)]


def downward(n: int) -> list[tuple[int, int]]:
    """The second ring of circuits 13 to 15: control i, target i − 1, beginning with the last wire."""
    return [(i, (i - 1) % n) for i in [n - 1, *range(n - 1)]]


def all_pairs(n: int) -> list[tuple[int, int]]:
    """Every ordered pair, from the last control up."""
    return [(c, t) for c in reversed(range(n)) for t in reversed(range(n)) if c != t]


def even(n: int) -> list[tuple[int, int]]:
    """Control i + 1, target i, for even i."""
    return [(i + 1, i) for i in range(0, n - 1, 2)]


def odd(n: int) -> list[tuple[int, int]]:
    """Control i + 1, target i, for odd i."""
    return [(i + 1, i) for i in range(1, n - 1, 2)]


def rotated_then(
    name: str | None, pairs: Callable[[int], list[tuple[int, int]]] = ladder, again: str = "", more: bool = False
) -> Layer:
    """RX RZ on every wire, ``name`` on ``pairs``, then ``again`` on every wire and, with ``more``, ``name`` on the
    odd pairs."""

    def layer(n: int, index: int, take: Take) -> Iterator[Operation]:
        yield from each("RX RZ", range(n), take)
        if name:
            yield from entangle(name, pairs(n), take)
        yield from each(again, range(n), take)
        if more and name:
            yield from entangle(name, odd(n), take)

    return layer


def hadamard_cz(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Circuit 9: Hadamards, CZ on a ladder, RX."""
    yield from each("Hadamard", range(n), take)
    yield from entangle("CZ", ladder(n), take)
    yield from each("RX", range(n), take)


def cz_ring(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Circuit 10: CZ around a ring, RY."""
    yield from entangle("CZ", ladder(n) + ([(n - 1, 0)] if n > 2 else []), take)
    yield from each("RY", range(n), take)


def ry_each(n: int, take: Take) -> Iterator[Operation]:
    """RY on every wire."""
    yield from each("RY", range(n), take)


def inner_rotations(name: str) -> Layer:
    """Circuits 11 and 12: RY RZ, even pairs, RY RZ on the inner wires, odd pairs."""

    def layer(n: int, index: int, take: Take) -> Iterator[Operation]:
        yield from each("RY RZ", range(n), take)
        yield from entangle(name, even(n), take)
        yield from each("RY RZ", sorted({w for pair in odd(n) for w in pair}), take)
        yield from entangle(name, odd(n), take)

    return layer


def two_rings(name: str) -> Layer:
    """Circuits 13 to 15: RY and a ring, twice."""

    def layer(n: int, index: int, take: Take) -> Iterator[Operation]:
        yield from each("RY", range(n), take)
        yield from entangle(name, upward(n), take)
        yield from each("RY", range(n), take)
        yield from entangle(name, downward(n), take)

    return layer


SIM_LAYERS: dict[int, Layer] = {
    1: rotated_then(None),
    2: rotated_then("CNOT"),
    3: rotated_then("CRZ"),
    4: rotated_then("CRX"),
    5: rotated_then("CRZ", all_pairs, "RX RZ"),
    6: rotated_then("CRX", all_pairs, "RX RZ"),
    7: rotated_then("CRZ", even, "RX RZ", more=True),
    8: rotated_then("CRX", even, "RX RZ", more=True),
    9: hadamard_cz,
    10: cz_ring,
    11: inner_rotations("CNOT"),
    12: inner_rotations("CZ"),
    13: two_rings("CRZ"),
    14: two_rings("CRX"),
    15: two_rings("CNOT"),
    16: rotated_then("CRZ", lambda n: even(n) + odd(n)),
    17: rotated_then("CRX", lambda n: even(n) + odd(n)),
    18: rotated_then("CRZ", upward),
    19: rotated_then("CRX", upward),
}


def sim_before(number: int) -> Callable[[int, Take], Iterator[Operation]] | None:
    """What stands in front of the layers: RY on every wire for circuit 10, else nothing."""
    return ry_each if number == 10 else None


def sim_shape(number: int) -> Callable[[int, int], dict[str, tuple[int, ...]]]:
    """Parameters of a layer, from Table 1 of the paper's appendix (checked against the circuits built)."""
    per_layer: dict[int, Callable[[int], int]] = {
        **dict.fromkeys((1, 2, 15), lambda n: 2 * n),
        **dict.fromkeys((3, 4, 16, 17), lambda n: 3 * n - 1),
        **dict.fromkeys((5, 6), lambda n: n * n + 3 * n),
        **dict.fromkeys((7, 8), lambda n: 5 * n - 1),
        **dict.fromkeys((9, 10), lambda n: n),
        **dict.fromkeys((11, 12), lambda n: 2 * n + (2 * n - 4 + 2 * (n % 2) if n > 2 else 0)),
        **dict.fromkeys((13, 14), lambda n: 4 * n),
        **dict.fromkeys((18, 19), lambda n: 3 * n),
    }

    def shape(n: int, layers: int) -> dict[str, tuple[int, ...]]:
        first = {"initial": (n,)} if number == 10 else {}
        return {**first, "weights": (layers, per_layer[number](n))}

    return shape
