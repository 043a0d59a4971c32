"""The fast engine: a batch of state vectors swept by the steps of a plan (see ``fusion`` and ``adjoint``).

Differentiable once, by an adjoint backward pass; for higher derivatives use ``naive.state_vector``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float, Shaped
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, row_of
from qattn.circuits.ir.gates import complex_of
from qattn.circuits.ir.memory import check_memory
from qattn.circuits.simulate.adjoint import Sweep
from qattn.circuits.simulate.fusion import Plan, Step, plan
from qattn.circuits.simulate.gate_batches import GateMatrices, batched_flags, check_values
from qattn.circuits.simulate.naive import start, state_vector, widen
from qattn.core.measurement import squared_modulus

# Peak memory in state vectors, index maps and observables included, measured at 20 to 22 qubits: 6 forward; with the
# gradient of one mean per wire 13 to 15 in double precision, 29 in single, where integers weigh twice as much.
FORWARD_STATES, GRADIENT_STATES = 8, 33


@dataclass(frozen=True)
class FinalState:
    """Final amplitudes ``(2ⁿ, batch)``; row i holds basis state ``sigma[i]`` (None: natural order)."""

    psi: Tensor
    sigma: Tensor | None
    qubits: int
    batched: bool

    def amplitudes(self) -> Complex[Tensor, "... dim"]:
        """States ``(batch, 2ⁿ)``, wire 0 the most significant bit; without the batch axis if there was none."""
        psi = self.natural(self.psi).mT
        return psi if self.batched else psi[0]

    def probabilities(self) -> Float[Tensor, "... dim"]:
        """Born probabilities ``(batch, 2ⁿ)`` in the real precision of the states."""
        p = self.natural(self.density()).mT
        return p if self.batched else p[0]

    def density(self) -> Float[Tensor, "dim batch"]:
        """Squared moduli ``(2ⁿ, batch)``, rows as in ``psi``."""
        return squared_modulus(self.psi)

    def natural(self, rows: Shaped[Tensor, "dim batch"]) -> Shaped[Tensor, "dim batch"]:
        """Rows put in the order of basis states."""
        if self.sigma is None:
            return rows
        inverse = torch.empty_like(self.sigma)
        inverse[self.sigma] = torch.arange(len(self.sigma), dtype=self.sigma.dtype, device=self.sigma.device)
        return rows.index_select(0, inverse)

    def diagonal_expectations(self, values: Float[Tensor, "words dim"]) -> Float[Tensor, "... words"]:
        """Means of diagonal observables given by their eigenvalues ``(k, 2ⁿ)``: ``(batch, k)``."""
        values = values.to(torch.float32 if self.psi.dtype == torch.complex64 else torch.float64)
        density = self.density()
        if self.sigma is not None and density.shape[1] <= len(values):
            density = self.natural(density)
        elif self.sigma is not None:
            values = values.index_select(-1, self.sigma)
        means = (values @ density).mT
        return means if self.batched else means[0]


def run(
    circuit: Circuit,
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None = None,
    states: Shaped[Tensor, "... dim"] | None = None,
) -> FinalState:
    """Run the circuit on every sample. Parameters, inputs and start states may each carry a leading batch axis.

    float32 parameters give complex64 states, float64 complex128. Raises ``ValueError`` for wrong shapes, noise
    channels, or more qubits than memory.
    """
    batch = check_values(circuit, parameters, inputs)
    given = states if states is not None else inputs if circuit.amplitude_inputs else None
    if batch is None and given is not None and given.dim() == 2:
        batch = given.shape[0]
    width = 1 if batch is None else batch
    dtype = complex_of(parameters)
    values = (parameters, inputs, states)
    derived = torch.is_grad_enabled() and any(v is not None and v.requires_grad for v in values)
    check_memory(circuit.qubits, max(width, 1), dtype.itemsize, GRADIENT_STATES if derived else FORWARD_STATES)
    if width == 0:
        return FinalState(state_vector(circuit, parameters, inputs, states).mT, None, circuit.qubits, True)
    flags = batched_flags(circuit, parameters, inputs)
    product = given is None and circuit.initial is None
    script = plan(circuit, flags, product)
    bases = GateMatrices(circuit, parameters, inputs, flags)
    if product:
        left, right = product_state(circuit, script, bases, width, dtype)
    else:
        left, right = start(circuit, parameters, inputs, states, width).mT.contiguous(), None
    psi = Sweep.apply(script, circuit.qubits, left, right, *step_tensors(circuit, script, bases))
    return FinalState(psi, script.sigma, circuit.qubits, batch is not None)


def product_state(
    circuit: Circuit, script: Plan, bases: GateMatrices, batch: int, dtype: torch.dtype
) -> tuple[Complex[Tensor, "left batch"], Complex[Tensor, "right batch"]]:
    """The state after the prefix as two factors ``(2ʰ, batch)`` and ``(2ⁿ⁻ʰ, batch)`` of a tensor product."""
    n = circuit.qubits
    wires = torch.tensor([1, 0], dtype=dtype, device=bases.device).expand(n, 2).unsqueeze(-1)
    for depth, level in enumerate(script.prefix):
        places = tuple(p for p in level if p is not None)
        stack = bases.stack(places) if len(places) == n else None
        if stack is None:
            factors = [level_factor(circuit, place, bases, dtype) for place in level]
            width = max(f.shape[0] for f in factors)
            stack = torch.stack([f.expand(width, 2, 2) for f in factors])
            stack = stack.squeeze(1) if width == 1 else stack
        elif row_of(circuit.operations[places[0]]).kind == "diagonal":
            stack = torch.diag_embed(stack)
        stack = stack.to(dtype)
        if stack.dim() == 3:
            wires = stack[:, :, :1] if depth == 0 else stack @ wires
        else:
            matrix = stack.movedim(1, -1)  # (n, 2, 2, batch)
            wires = matrix[:, :, 0] if depth == 0 else matrix[:, :, 0] * wires[:, :1] + matrix[:, :, 1] * wires[:, 1:]
    half = n // 2
    if n % 2 == 0:
        left, right = kron_columns(wires.unflatten(0, (2, half)), batch).unbind(0)
        return left, right
    return kron_columns(wires[None, :half], batch)[0], kron_columns(wires[None, half:], batch)[0]


def level_factor(
    circuit: Circuit, place: int | None, bases: GateMatrices, dtype: torch.dtype
) -> Complex[Tensor, "batch 2 2"]:
    """One wire's matrix at one level of the prefix, ``(batch or 1, 2, 2)``; the identity where nothing acts."""
    if place is None:
        return torch.eye(2, dtype=dtype, device=bases.device).unsqueeze(0)
    base = widen(bases[place], row_of(circuit.operations[place]).kind == "diagonal", 2).to(dtype)
    return base if base.dim() == 3 else base.unsqueeze(0)


def kron_columns(columns: Complex[Tensor, "m k 2 some"], batch: int) -> Complex[Tensor, "m dim batch"]:
    """Tensor products of one-wire states ``(m, k, 2, batch or 1)``: ``(m, 2ᵏ, batch)``, pair by pair."""
    parts = list(columns.unbind(1))
    if not parts:
        return columns.new_ones(columns.shape[0], 1, batch)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [(a.unsqueeze(2) * b.unsqueeze(1)).flatten(1, 2) for a, b in pairs]
        parts = joined + parts[len(parts) // 2 * 2 :]
    return parts[0].expand(-1, -1, batch).contiguous()


def step_tensors(circuit: Circuit, script: Plan, bases: GateMatrices) -> list[Shaped[Tensor, "*_numbers"]]:
    """The numbers every step but the gathers needs. Windows of the same make (one gate per wire) are built together."""
    built: dict[int, Tensor] = {}
    for width, steps, members in script.alike:
        stack = bases.stack(members)
        if stack is None:
            continue
        if row_of(circuit.operations[members[0]]).kind == "diagonal":
            stack = torch.diag_embed(stack)
        built.update(zip(steps, kron_windows(stack.unflatten(0, (len(steps), width))).unbind(0), strict=True))
    tensors = [built[i] if i in built else tensor_of(circuit, step, bases) for i, step in enumerate(script.steps)]
    return [t for t in tensors if t is not None]


def kron_windows(factors: Shaped[Tensor, "m k rows rows"]) -> Shaped[Tensor, "m dim dim"]:
    """Kronecker products of ``(m, k, 2, 2)`` one-wire matrices: ``(m, 2ᵏ, 2ᵏ)``, all neighbouring pairs at once."""
    while factors.shape[1] > 1:
        pairs = factors.shape[1] // 2
        a, b = factors[:, : 2 * pairs].unflatten(1, (pairs, 2)).unbind(2)
        size = a.shape[-1] ** 2
        joined = (a[..., :, None, :, None] * b[..., None, :, None, :]).reshape(a.shape[0], pairs, size, size)
        if factors.shape[1] % 2:
            last = factors[:, -1]
            whole = kron_windows(joined)
            return (whole[:, :, None, :, None] * last[:, None, :, None, :]).reshape(a.shape[0], 2 * whole.shape[-1], -1)
        factors = joined
    return factors[:, 0]


def tensor_of(circuit: Circuit, step: Step, bases: GateMatrices) -> Shaped[Tensor, "*numbers"] | None:
    """The numbers a step needs: a window's matrix, a phase vector, or one gate's matrices."""
    if step.kind == "dense":
        assert step.window is not None
        out = None
        for wires, members in step.window.clusters:
            factor = cluster_matrix(circuit, wires, members, bases)
            out = factor if out is None else kron(out, factor)
        return out
    if step.kind == "diagonal":
        return phases(circuit, step, bases)
    if step.kind == "single":
        base = bases[step.members[0]]
        return base.movedim(0, -1).contiguous()
    return None


def kron(a: Shaped[Tensor, "k k"], b: Shaped[Tensor, "m m"]) -> Shaped[Tensor, "km km"]:
    """The Kronecker product of two windows' matrices."""
    dtype = torch.promote_types(a.dtype, b.dtype)
    product = a.to(dtype)[:, None, :, None] * b.to(dtype)[None, :, None, :]
    return product.reshape(a.shape[0] * b.shape[0], -1)


def cluster_matrix(
    circuit: Circuit, wires: tuple[int, ...], members: tuple[int, ...], bases: GateMatrices
) -> Shaped[Tensor, "size size"]:
    """The product of a cluster's gates as one matrix on its wires."""
    out: Tensor | None = None
    k = len(wires)
    for place in members:
        op = circuit.operations[place]
        base = widen(bases[place], row_of(op).kind == "diagonal", 2 ** len(op.wires))
        if out is None and op.wires == wires:
            out = base
            continue
        if out is None:
            out = torch.eye(2**k, dtype=base.dtype, device=base.device)
        dtype = torch.promote_types(out.dtype, base.dtype)
        axes = [wires.index(w) for w in op.wires]
        rest = [a for a in range(k + 1) if a not in axes]
        back = [(axes + rest).index(a) for a in range(k + 1)]
        tensor = out.to(dtype).reshape(*(2,) * k, -1).permute(*axes, *rest).reshape(2 ** len(axes), -1)
        tensor = (base.to(dtype) @ tensor).reshape(*(2,) * k, -1).permute(back)
        out = tensor.reshape(2**k, -1)
    assert out is not None
    return out


def phases(circuit: Circuit, step: Step, bases: GateMatrices) -> Shaped[Tensor, " dim"]:
    """All diagonal gates of a step as one vector ``(2ⁿ,)`` in the physical order of the state."""
    n = circuit.qubits
    total: Tensor | None = None
    for place in step.members:
        op = circuit.operations[place]
        base = bases[place]
        size = 2 ** len(op.wires)
        if base.shape[-1] < size:
            base = torch.cat([base.new_ones(size - base.shape[-1]), base])
        order = sorted(range(len(op.wires)), key=lambda i: op.wires[i])
        shape = [2 if w in op.wires else 1 for w in range(n)]
        factor = base.reshape((2,) * len(op.wires)).permute(order).reshape(shape)
        total = factor if total is None else total * factor
    assert total is not None
    total = total.expand((2,) * n).reshape(-1)
    return total if step.index is None else total.index_select(0, step.index)
