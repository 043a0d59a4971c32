"""Circuits as whole unitary matrices, one for each row of parameters, all rows at once.

The engine sweeps many states through one circuit. Here a few states' worth of columns go through many circuits of the
same make (the mixers of a model's layers), so that the number of torch operations does not grow with their number:
gates on the same two wires are multiplied first, neighbouring products become one window of up to four wires.
Plain differentiable torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, row_of
from qattn.circuits.ir.gates import complex_of
from qattn.circuits.ir.memory import check_memory
from qattn.circuits.simulate.gate_batches import GateMatrices, batched_flags, check_values
from qattn.circuits.simulate.naive import widen

WINDOW = 4  # wires


@dataclass(frozen=True)
class Block:
    """Gates in a row on the same few wires."""

    wires: tuple[int, ...]
    members: tuple[int, ...]


def blocks(circuit: Circuit) -> list[Block]:
    """The circuit as products on one or two wires (more where a gate has more), in an order that can be played."""
    found: list[Block | None] = []
    last: dict[int, int] = {}
    for place, op in enumerate(circuit.operations):
        before = {last[w] for w in op.wires if w in last}
        if len(before) == 1 and set(op.wires) <= set(found[min(before)].wires):  # type: ignore[union-attr]
            at = min(before)
            old = found[at]
            assert old is not None
            found[at] = Block(old.wires, (*old.members, place))
            continue
        members: tuple[int, ...] = ()
        for at in sorted(before):
            single = found[at]
            if single is not None and len(single.wires) == 1:
                members += single.members
                found[at] = None
        last |= dict.fromkeys(op.wires, len(found))
        found.append(Block(tuple(sorted(op.wires)), (*members, place)))
    return [block for block in found if block is not None]


def windows(circuit: Circuit) -> list[tuple[tuple[int, ...], list[Block]]]:
    """Blocks that stand beside each other and touch, joined up to four wires, made once per
    circuit."""
    level = [0] * circuit.qubits
    levels: dict[int, list[Block]] = {}
    for block in blocks(circuit):
        depth = 1 + max(level[w] for w in block.wires)
        levels.setdefault(depth, []).append(block)
        for w in block.wires:
            level[w] = depth
    joined: list[tuple[tuple[int, ...], list[Block]]] = []
    for depth in sorted(levels):
        row: list[tuple[tuple[int, ...], list[Block]]] = []
        for block in sorted(levels[depth], key=lambda b: b.wires):
            wires = (*row[-1][0], *block.wires) if row else block.wires
            touching = wires == tuple(range(wires[0], wires[0] + len(wires)))
            if row and touching and len(wires) <= WINDOW:
                row[-1] = (wires, [*row[-1][1], block])
            else:
                row.append((block.wires, [block]))
        joined += row
    return joined


def unitaries(circuit: Circuit, parameters: Float[Tensor, "count parameters"]) -> Shaped[Tensor, "count dim dim"]:
    """The matrix of the circuit for each row of parameters; complex64 for float32, complex128 for float64.

    Raises ``ValueError`` for wrong shapes, circuits that read data or prepare a state, noise channels, and more qubits
    than memory.
    """
    if circuit.n_inputs or circuit.initial is not None:
        raise ValueError("a circuit that reads data or prepares a state is not one matrix")
    check_values(circuit, parameters, None)
    count, n, dtype = len(parameters), circuit.qubits, complex_of(parameters)
    check_memory(n, count * 2**n, dtype.itemsize)
    whole = torch.eye(2**n, dtype=dtype, device=parameters.device).expand(count, -1, -1)
    built = block_matrices(circuit, parameters)
    for wires, members in circuit.derived("windows", lambda: windows(circuit)):
        matrix = built[members[0]]
        for block in members[1:]:
            matrix = kron(matrix, built[block])
        whole = act(matrix, wires, whole, n)
    return whole


def block_matrices(
    circuit: Circuit, parameters: Float[Tensor, "count parameters"]
) -> dict[Block, Shaped[Tensor, "count size size"]]:
    """The product ``(count, K, K)`` of every block's gates; blocks of the same make are multiplied out together."""
    bases = GateMatrices(circuit, parameters, None, batched_flags(circuit, parameters, None))
    alike: dict[tuple[tuple[str, tuple[int, ...]], ...], list[Block]] = {}
    for _, members in circuit.derived("windows", lambda: windows(circuit)):
        for block in members:
            ops = [circuit.operations[place] for place in block.members]
            make = tuple((op.name, tuple(block.wires.index(w) for w in op.wires)) for op in ops)
            alike.setdefault(make, []).append(block)
    built: dict[Block, Tensor] = {}
    dtype = complex_of(parameters)
    for make, group in alike.items():
        k = len(group[0].wires)
        out = torch.eye(2**k, dtype=dtype, device=parameters.device).expand(len(group) * len(parameters), -1, -1)
        for step, (_, wires) in enumerate(make):
            places = tuple(block.members[step] for block in group)
            diagonal = row_of(circuit.operations[places[0]]).kind == "diagonal"
            base = widen(stacked(bases, places, 1 if diagonal else 2), diagonal, 2 ** len(wires)).to(dtype)
            base = base.expand(-1, len(parameters), -1, -1).flatten(0, 1)
            out = act(base, wires, out, k)
        built |= zip(group, out.unflatten(0, (len(group), -1)).unbind(0), strict=True)
    return built


def stacked(bases: GateMatrices, places: tuple[int, ...], axes: int) -> Shaped[Tensor, "gates count *matrix"]:
    """The base matrices (two ``axes``) or diagonals (one) of several gates: ``(gates, count or 1, ...)``."""
    stack = bases.stack(places)
    if stack is None:
        each = [bases[place] for place in places]
        stack = torch.stack([base if base.dim() > axes else base.unsqueeze(0) for base in each])
    return stack if stack.dim() > 1 + axes else stack.unsqueeze(1)


def act(
    matrix: Shaped[Tensor, "count k k"],
    wires: tuple[int, ...],
    states: Shaped[Tensor, "count dim columns"],
    qubits: int,
) -> Shaped[Tensor, "count dim columns"]:
    """A matrix on some wires of the columns of ``states``; wires side by side need no copy."""
    count, dim, columns = states.shape
    size = 2 ** len(wires)
    if wires == tuple(range(wires[0], wires[0] + len(wires))):
        inner = states.reshape(count, 2 ** wires[0], size, -1)
        return (matrix[:, None] @ inner).reshape(count, dim, columns)
    rest = [w for w in range(qubits) if w not in wires]
    order = [0, *(1 + w for w in wires), *(1 + w for w in rest), qubits + 1]
    inner = states.reshape(count, *(2,) * qubits, columns).permute(order).reshape(count, size, -1)
    back = [order.index(axis) for axis in range(qubits + 2)]
    return (matrix @ inner).reshape(count, *(2,) * qubits, columns).permute(back).reshape(count, dim, columns)


def kron(a: Shaped[Tensor, "count k k"], b: Shaped[Tensor, "count m m"]) -> Shaped[Tensor, "count km km"]:
    """The Kronecker product, pair by pair."""
    return (a[:, :, None, :, None] * b[:, None, :, None, :]).flatten(3, 4).flatten(1, 2)
