"""An ansatz and a hypergraph of one's own."""

from __future__ import annotations

from collections.abc import Iterator

from contexts.hypergraphs.hypergraph import Hypergraph
from qattn.circuits.ir.ansatz import Ansatz, Take
from qattn.circuits.ir.circuit import Operation, gate


def y_chain(n: int, index: int, take: Take) -> Iterator[Operation]:
    """RY on every wire, then CZ between neighbours: real amplitudes only."""
    for wire in range(n):
        yield gate("RY", wire, take())
    for wire in range(n - 1):
        yield gate("CZ", wire, wire + 1)


Y_CHAIN = Ansatz("YChain", y_chain, lambda qubits, layers: {"weights": (layers, qubits)}, "the plugin example")


def grid() -> Hypergraph:
    """Rows and columns of a 3 × 3 grid of atoms; its two-valued states are the 6 permutation matrices."""
    atoms = [[f"{row}{column}" for column in "123"] for row in "abc"]
    columns = [list(column) for column in zip(*atoms, strict=True)]
    return Hypergraph([atom for row in atoms for atom in row], [*atoms, *columns], (), 3, name="grid_3x3")
