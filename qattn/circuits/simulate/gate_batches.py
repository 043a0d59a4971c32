"""From numbers to gate matrices: every gate of one kind is evaluated in one vectorised call, shared and per-sample
angles apart."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from qattn.circuits.ir.circuit import Angle, Circuit, ParameterRef, expect_shape, row_of
from qattn.circuits.ir.gates import Gate

REAL, COMPLEX = (torch.float32, torch.float64), (torch.complex64, torch.complex128)


@dataclass(frozen=True)
class Group:
    """Gates that share a table row: which operations, and where in the pool of values (constants, parameters,
    inputs) their angles lie."""

    row: Gate
    members: tuple[int, ...]
    index: Tensor
    scale: Tensor | None
    shift: Tensor | None
    batched: bool
    part: int | None  # all from the constants (0), the parameters (1) or the inputs (2), counted from that part's start
    run: tuple[int, int] | None  # the places when they are consecutive: a slice is cheaper than a gather

    def pick(self, values: Float[Tensor, "... values"]) -> Float[Tensor, "... picked"]:
        """This group's angles in a row, from its part or from the whole pool."""
        if self.run == (0, values.shape[-1]):
            return values
        if self.run is not None:
            return values[..., self.run[0] : self.run[1]]
        return values.index_select(-1, self.index.flatten().to(values.device))


def batched_flags(
    circuit: Circuit, parameters: Float[Tensor, "... parameters"], inputs: Shaped[Tensor, "... inputs"] | None
) -> tuple[bool, ...]:
    """For every operation: do its angles differ from sample to sample?"""
    sources = {"parameters": parameters.dim() == 2, "inputs": inputs is not None and inputs.dim() == 2}
    key = ("flags", *sources.values())
    return circuit.derived(
        key,
        lambda: tuple(
            any(isinstance(a, ParameterRef) and sources[a.source] for a in op.angles) for op in circuit.operations
        ),
    )


def check_values(
    circuit: Circuit, parameters: Shaped[Tensor, "... parameters"], inputs: Shaped[Tensor, "... inputs"] | None
) -> int | None:
    """The batch size, or None without a batch axis. Raises ``ValueError`` for wrong shapes, types or unequal batch
    sizes, and for amplitudes whose norm is not 1 (within 1e-6, in float32 1e-4)."""
    sizes: set[int] = set()
    for name, value, width in (("parameters", parameters, circuit.n_parameters), ("inputs", inputs, circuit.n_inputs)):
        if value is None:
            if width:
                raise ValueError(f"{name} need shape {(width,)} (with or without a leading batch axis), got none")
            continue
        amplitudes = name == "inputs" and circuit.amplitude_inputs
        if value.dtype not in (REAL + COMPLEX if amplitudes else REAL):  # half precision loses what unitarity is about
            raise ValueError(f"{name} must be real, of float32 or float64, got {value.dtype}")
        expect_shape(name, tuple(value.shape[-1:]), (width,))
        if value.dim() > 2:
            raise ValueError(
                f"{name} take at most one batch axis: {(width,)} or (batch, {width}), got {tuple(value.shape)}"
            )
        if value.dim() == 2:
            sizes.add(value.shape[0])
        if name == "inputs" and circuit.amplitude_inputs and value.numel():
            norms = torch.linalg.vector_norm(value.detach(), dim=-1).flatten()
            worst = norms[(norms - 1).abs().argmax()].item()
            if not abs(worst - 1) <= (1e-6 if norms.dtype == torch.float64 else 1e-4):
                raise ValueError(f"inputs as amplitudes need norm 1, got {worst:.6g}")
    if len(sizes) > 1:
        raise ValueError(f"parameters and inputs must have the same batch size, got {sorted(sizes)}")
    return sizes.pop() if sizes else None


@dataclass(frozen=True)
class Groups:
    """A circuit's operations in groups, ``place[operation]`` = (group, row in it), and all angles that are numbers."""

    groups: list[Group]
    place: dict[int, tuple[int, int]]
    constants: Tensor


def grouped(circuit: Circuit, flags: tuple[bool, ...]) -> Groups:
    """Sort the circuit's operations into groups."""
    constants = [float(a) for op in circuit.operations for a in op.angles if not isinstance(a, ParameterRef)]
    offset = {"parameters": len(constants), "inputs": len(constants) + circuit.n_parameters}
    counter = iter(range(len(constants)))

    def place_of(angle: Angle) -> tuple[int, float, float]:
        """Position in the pool (constants, then parameters, then inputs), scale and shift."""
        if isinstance(angle, ParameterRef):
            return offset[angle.source] + angle.index, angle.scale, angle.shift
        return next(counter), 1.0, 0.0

    where = [[place_of(angle) for angle in op.angles] for op in circuit.operations]
    starts = (0, offset["parameters"], offset["inputs"])
    sorted_out: dict[tuple[int, bool, int | None], tuple[Gate, list[int]]] = {}
    for place, op in enumerate(circuit.operations):
        row = row_of(op)
        parts = {sum(i >= start for start in starts[1:]) for i, _, _ in where[place]}
        part = parts.pop() if len(parts) == 1 else None
        sorted_out.setdefault((id(row), flags[place], part), (row, []))[1].append(place)
    result = []
    for (_, batched, part), (gate_row, members) in sorted_out.items():
        table = [where[m] for m in members]
        first = starts[part] if part is not None else 0
        index = torch.tensor([[i - first for i, _, _ in row] for row in table], dtype=torch.long)
        index = index.reshape(len(members), -1)
        scale = torch.tensor([[s for _, s, _ in row] for row in table], dtype=torch.float64)
        shift = torch.tensor([[b for _, _, b in row] for row in table], dtype=torch.float64)
        result.append(
            Group(
                gate_row,
                tuple(members),
                index,
                None if bool((scale == 1).all()) else scale,
                None if bool((shift == 0).all()) else shift,
                batched,
                part,
                consecutive(index.flatten().tolist()),
            )
        )
    home = {m: (g, row) for g, group in enumerate(result) for row, m in enumerate(group.members)}
    return Groups(result, home, torch.tensor(constants, dtype=torch.float64))


def consecutive(places: list[int]) -> tuple[int, int] | None:
    """First and one past the last of places that follow each other, or None."""
    if places and places == list(range(places[0], places[0] + len(places))):
        return places[0], places[0] + len(places)
    return None


class GateMatrices:
    """The base matrices (or diagonals) of all gates, kept in stacks, one stack per group: ``(m, K, K)`` or per sample
    ``(m, batch, K, K)``."""

    def __init__(self, circuit: Circuit, parameters: Tensor, inputs: Tensor | None, flags: tuple[bool, ...]) -> None:
        made = circuit.derived(("groups", flags), lambda: grouped(circuit, flags))
        self.groups, self.place = made.groups, made.place
        constants = made.constants.to(parameters)
        data = inputs if inputs is not None and not circuit.amplitude_inputs else parameters.new_zeros(0)
        parts = (constants, parameters, data.to(parameters.dtype))
        batch = next((v.shape[0] for v in parts if v.dim() == 2), 1)
        pools: dict[bool, Tensor] = {}

        def source(group: Group) -> Tensor:
            """One part, or all parts in a row; in the shared row what differs from sample to sample is blank."""
            if group.part is not None or group.index.numel() == 0:
                return parts[group.part or 0]
            if group.batched not in pools:
                row = [p.expand(batch, p.shape[-1]) if group.batched else p for p in parts]
                blank = [p if group.batched or p.dim() == 1 else parameters.new_zeros(p.shape[-1]) for p in row]
                pools[group.batched] = torch.cat(blank, -1)
            return pools[group.batched]

        self.stacks = [self.evaluate(group, source(group)) for group in self.groups]
        self.device = parameters.device
        self.rows: dict[int, tuple[Tensor, ...]] = {}

    @staticmethod
    def evaluate(group: Group, values: Float[Tensor, "... values"]) -> Shaped[Tensor, "members ..."]:
        """The stack of one group from its values."""
        if group.index.numel() == 0:
            return group.row.matrix(values.new_zeros(len(group.members), 0))
        angles = group.pick(values).unflatten(-1, group.index.shape)
        if group.scale is not None:
            angles = angles * group.scale.to(angles)
        if group.shift is not None:
            angles = angles + group.shift.to(angles)
        return group.row.matrix(angles.movedim(-2, 0))

    def __getitem__(self, operation: int) -> Tensor:
        """One gate's base matrix ``(K, K)`` or diagonal ``(K,)``, per-sample ones with the batch as a leading axis."""
        group, row = self.place[operation]
        if group not in self.rows:
            self.rows[group] = self.stacks[group].unbind(0)
        return self.rows[group][row]

    def stack(self, operations: tuple[int, ...]) -> Shaped[Tensor, "members ..."] | None:
        """The base matrices of several gates of one group as one tensor, or None when they are of several groups."""
        homes = {self.place[o][0] for o in operations}
        if len(homes) != 1:
            return None
        home = self.stacks[homes.pop()]
        rows = [self.place[o][1] for o in operations]
        if rows == list(range(rows[0], rows[0] + len(rows))):
            return home[rows[0] : rows[0] + len(rows)]
        return home.index_select(0, torch.tensor(rows, device=home.device))
