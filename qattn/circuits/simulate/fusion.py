"""Gate fusion: turn a circuit into a short list of steps that each sweep the whole state once.

Permutation gates (X, CNOT, SWAP, Toffoli) are never executed one by one: they only change ``sigma``, the map from a
physical position to the basis state stored there, and are paid for by one gather before the next step that needs its
wires side by side. Dense gates are packed into windows of at most ``WINDOW`` wires (a Kronecker product of
independent clusters), diagonal gates into one phase vector. Gates whose angles differ from sample to sample cannot
be packed and run one by one. One-qubit gates before the first entangling gate of their wire act on a product state,
so they cost only the outer product that makes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, row_of

WINDOW = 4


@dataclass
class Stage:
    """A slice of the circuit of one kind: which operations, in order, and for dense ones the clusters of wires they
    join."""

    kind: str
    members: list[int] = field(default_factory=list)
    clusters: list[set[int]] = field(default_factory=list)


@dataclass(frozen=True)
class Window:
    """One dense step: a matrix on ``width`` adjacent wires of the layout, ``offset`` wires from the left."""

    offset: int
    width: int
    clusters: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # (wires in order, operations) of each factor


@dataclass(frozen=True)
class Step:
    """What the engine executes: ``gather``, ``dense``, ``diagonal`` or ``single`` (one gate with an angle per
    sample)."""

    kind: str
    index: Tensor | None = None
    inverse: Tensor | None = None
    window: Window | None = None
    members: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()  # of a single gate: where its wires stand in the layout, controls first
    controls: int = 0


@dataclass(frozen=True)
class Plan:
    """``prefix[level][wire]`` is the operation at that depth of the product state, or None. ``sigma`` is the final
    order (None: natural)."""

    prefix: tuple[tuple[int | None, ...], ...]
    steps: tuple[Step, ...]
    sigma: Tensor | None
    alike: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...] = ()  # (width, steps, one gate per wire)


def stages_of(circuit: Circuit, flags: tuple[bool, ...], skip: set[int], limit: int) -> list[Stage]:
    """Put each gate into the earliest stage that comes after everything on its wires and takes its kind."""
    stages: list[Stage] = []
    last = [-1] * circuit.qubits
    for place, op in enumerate(circuit.operations):
        if place in skip:
            continue
        kind = "single" if flags[place] else row_of(op).kind
        first = max(max(last[w] for w in op.wires), 0)
        chosen = next((s for s in range(first, len(stages)) if accepts(stages[s], kind, op.wires, limit)), None)
        if chosen is None:
            stages.append(Stage(kind))
            chosen = len(stages) - 1
        stage = stages[chosen]
        stage.members.append(place)
        if stage.kind == "dense":
            touching = [c for c in stage.clusters if c & set(op.wires)]
            stage.clusters = [c for c in stage.clusters if c not in touching] + [set(op.wires).union(*touching)]
        for w in op.wires:
            last[w] = chosen
    return stages


def accepts(stage: Stage, kind: str, wires: tuple[int, ...], limit: int) -> bool:
    """Whether an operation can join the window."""
    if stage.kind != "dense":
        return stage.kind == kind
    touching = [c for c in stage.clusters if c & set(wires)]
    if kind == "dense" or (kind == "diagonal" and len(wires) == 1):
        return not touching or len(set(wires).union(*touching)) <= limit
    return kind in ("diagonal", "permutation") and len(touching) == 1 and set(wires) <= touching[0]


def windows_of(circuit: Circuit, stage: Stage, limit: int) -> tuple[list[Window], list[int]]:
    """Pack the clusters into windows and choose the order of the wires that makes every window contiguous."""
    n = circuit.qubits
    clusters = sorted((sorted(c) for c in stage.clusters), key=lambda c: c[0])
    bins: list[list[list[int]]] = []
    for cluster in clusters:
        if bins and sum(map(len, bins[-1])) + len(cluster) <= limit:
            bins[-1].append(cluster)
        else:
            bins.append([cluster])
    touched = {w for c in clusters for w in c}
    flat = [[w for c in b for w in c] for b in bins]
    natural = all(b == list(range(b[0], b[0] + len(b))) for b in flat)
    layout = list(range(n)) if natural else [w for b in flat for w in b] + [w for w in range(n) if w not in touched]
    windows = []
    for packed, wires in zip(bins, flat, strict=True):
        factors = tuple(
            (tuple(c), tuple(m for m in stage.members if set(circuit.operations[m].wires) <= set(c))) for c in packed
        )
        windows.append(Window(layout.index(wires[0]), len(wires), factors))
    return windows, layout


def order_of(layout: list[int], n: int) -> Int[np.ndarray, " dim"]:
    """Basis state stored at each position when the wires are ordered as ``layout`` (most significant first)."""
    positions = np.arange(2**n)
    basis = np.zeros(2**n, dtype=np.int64)
    for place, wire in enumerate(layout):
        basis |= ((positions >> (n - 1 - place)) & 1) << (n - 1 - wire)
    return basis


def permuted(circuit: Circuit, place: int, basis: Int[np.ndarray, " dim"]) -> Int[np.ndarray, " dim"]:
    """Where a permutation gate sends each basis state of ``basis``."""
    op, n = circuit.operations[place], circuit.qubits
    row = row_of(op)
    bits = [n - 1 - w for w in op.wires]
    local = np.zeros_like(basis)
    for b in bits:
        local = (local << 1) | ((basis >> b) & 1)
    size, inner = 2 ** len(bits), 2 ** (len(bits) - row.controls)
    image = np.arange(size)
    base = row.matrix(torch.zeros(0, dtype=torch.float64)).numpy()
    image[size - inner :] = size - inner + base.argmax(axis=0)
    moved = image[local]
    out = basis.copy()
    for k, b in enumerate(bits):
        out = (out & ~(1 << b)) | (((moved >> (len(bits) - 1 - k)) & 1) << b)
    return out


def prefix_of(circuit: Circuit) -> tuple[tuple[tuple[int | None, ...], ...], set[int]]:
    """The one-qubit gates that act while their wire is still unentangled, level by level."""
    chains: list[list[int]] = [[] for _ in range(circuit.qubits)]
    touched: set[int] = set()
    for place, op in enumerate(circuit.operations):
        if len(op.wires) == 1 and op.wires[0] not in touched:
            chains[op.wires[0]].append(place)
        else:
            touched.update(op.wires)
    levels = max(map(len, chains))
    table = tuple(tuple(chain[level] if level < len(chain) else None for chain in chains) for level in range(levels))
    return table, {place for chain in chains for place in chain}


def plan(circuit: Circuit, flags: tuple[bool, ...], product: bool, limit: int = WINDOW) -> Plan:
    """The steps for a circuit; ``product`` says that it starts in |0…0⟩. Made once per circuit."""
    return circuit.derived(("plan", flags, product, limit), lambda: make_plan(circuit, flags, product, limit))


def make_plan(circuit: Circuit, flags: tuple[bool, ...], product: bool, limit: int) -> Plan:
    """The steps, made anew."""
    n = circuit.qubits
    prefix, skip = prefix_of(circuit) if product else ((), set())
    natural = np.arange(2**n)
    sigma, layout = natural, list(range(n))  # layout is None while sigma is no mere reordering of wires
    pending = False
    steps: list[Step] = []

    def arrange(wanted: list[int]) -> None:
        nonlocal sigma, layout, pending
        target = order_of(wanted, n)
        if not np.array_equal(target, sigma):
            inverse = np.empty_like(sigma)
            inverse[sigma] = natural
            index = inverse[target]
            back = np.empty_like(index)
            back[index] = natural
            steps.append(Step("gather", as_index(index), as_index(back)))
        sigma, layout, pending = target, wanted, False

    for stage in stages_of(circuit, flags, skip, limit):
        if stage.kind == "permutation":
            for place in stage.members:
                sigma = permuted(circuit, place, sigma)
            pending = True
        elif stage.kind == "diagonal":
            steps.append(
                Step(
                    "diagonal",
                    None if is_natural(sigma) else as_index(sigma),
                    members=tuple(stage.members),
                )
            )
        elif stage.kind == "single":
            if pending:
                arrange(list(range(n)))
            for place in stage.members:
                op = circuit.operations[place]
                axes = tuple(layout.index(w) for w in op.wires)
                steps.append(Step("single", members=(place,), axes=axes, controls=row_of(op).controls))
        else:
            windows, wanted = windows_of(circuit, stage, limit)
            arrange(wanted)
            steps += [Step("dense", window=window) for window in windows]
    return Plan(prefix, tuple(steps), None if is_natural(sigma) else as_index(sigma), alike_of(steps, circuit))


def alike_of(steps: list[Step], circuit: Circuit) -> tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]:
    """Dense steps that are a product of exactly one gate of the same name on every wire, sorted by width."""
    found: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
    for place, step in enumerate(steps):
        if step.window is None:
            continue
        members = [m for _, gates in step.window.clusters for m in gates]
        names = {circuit.operations[m].name for m in members}
        if len(members) == step.window.width == len(step.window.clusters) and len(names) == 1:
            places, gates = found.setdefault((step.window.width, names.pop()), ([], []))
            places.append(place)
            gates += members
    return tuple((width, tuple(places), tuple(gates)) for (width, _), (places, gates) in found.items())


def is_natural(sigma: Int[np.ndarray, " dim"]) -> bool:
    """Whether a permutation of basis states is the identity."""
    return np.array_equal(sigma, np.arange(len(sigma)))


def as_index(places: Int[np.ndarray, " dim"]) -> Int[Tensor, " dim"]:
    """A map of basis states for ``index_select``: 32 bits, a quarter of an amplitude in double precision."""
    return torch.from_numpy(places.astype(np.int32))
