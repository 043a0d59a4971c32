"""The fast engine: a batch of state vectors swept by the steps of a plan, with an adjoint (uncompute) backward pass.

States are stored as ``(2**n, batch)`` with the batch last, so that a dense step is one matrix product and a gather
moves whole rows.
The backward pass keeps only the final states: going backwards it undoes each unitary on the state and on its
cotangent, and reads the gradient of the step's matrix off both (Jones and Gacon, arXiv:2009.02823). Both passes work
on slices of the batch that stay in cache.
Differentiable once; for higher derivatives use ``naive.state_vector``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from qattn.circuits.bind import Bases, batched_flags, check_values
from qattn.circuits.circuit import Circuit, check_memory, row_of
from qattn.circuits.gates import complex_of
from qattn.circuits.naive import start, state_vector, widen
from qattn.circuits.plan import Plan, Step, plan

SLICE_BYTES = 2 << 20  # states of a slice of the batch: a few of these fit the cache together
KEEP_BYTES = 256 << 20  # below this the backward pass reads kept states instead of uncomputing them
LEAST_COLUMNS = 32  # below this matrix products on the last window get slow


@dataclass(frozen=True)
class Final:
    """Final amplitudes ``(2**n, batch)``; row i holds basis state ``sigma[i]`` (None: natural order)."""

    psi: Tensor
    sigma: Tensor | None
    qubits: int
    batched: bool

    def amplitudes(self) -> Tensor:
        """States ``(batch, 2**n)``, wire 0 the most significant bit; without the batch axis if there was none."""
        psi = self.natural(self.psi).mT
        return psi if self.batched else psi[0]

    def probabilities(self) -> Tensor:
        """Born probabilities ``(batch, 2**n)`` in the real precision of the states."""
        p = self.natural(self.density()).mT
        return p if self.batched else p[0]

    def density(self) -> Tensor:
        return Born.apply(self.psi)

    def natural(self, rows: Tensor) -> Tensor:
        if self.sigma is None:
            return rows
        return rows.index_select(0, torch.argsort(self.sigma))

    def diagonal_expectations(self, values: Tensor) -> Tensor:
        """Means of diagonal observables given by their eigenvalues ``(k, 2**n)``: ``(batch, k)``."""
        values = values.to(torch.float32 if self.psi.dtype == torch.complex64 else torch.float64)
        if self.sigma is not None:
            values = values.index_select(-1, self.sigma)
        means = (values @ self.density()).mT
        return means if self.batched else means[0]


def run(circuit: Circuit, parameters: Tensor, inputs: Tensor | None = None, states: Tensor | None = None) -> Final:
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
    check_memory(circuit.qubits, max(width, 1), dtype.itemsize)
    if width == 0:
        return Final(state_vector(circuit, parameters, inputs, states).mT, None, circuit.qubits, True)
    flags = batched_flags(circuit, parameters, inputs)
    product = given is None and circuit.initial is None
    script = plan(circuit, flags, product)
    bases = Bases(circuit, parameters, inputs, flags)
    if product:
        left, right = product_state(circuit, script, bases, width, dtype)
    else:
        left, right = start(circuit, parameters, inputs, states, width).mT.contiguous(), None
    psi = Sweep.apply(script, circuit.qubits, left, right, *step_tensors(circuit, script, bases))
    return Final(psi, script.sigma, circuit.qubits, batch is not None)


def product_state(
    circuit: Circuit, script: Plan, bases: Bases, batch: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """The state after the prefix as two factors ``(2**h, batch)`` and ``(2**(n-h), batch)`` of a tensor product."""
    n = circuit.qubits
    wires = torch.zeros(n, 2, 1, dtype=dtype, device=bases.device)
    wires[:, 0] = 1
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


def level_factor(circuit: Circuit, place: int | None, bases: Bases, dtype: torch.dtype) -> Tensor:
    """One wire's matrix at one level of the prefix, ``(batch or 1, 2, 2)``; the identity where nothing acts."""
    if place is None:
        return torch.eye(2, dtype=dtype, device=bases.device).unsqueeze(0)
    base = widen(bases[place], row_of(circuit.operations[place]).kind == "diagonal", 2).to(dtype)
    return base if base.dim() == 3 else base.unsqueeze(0)


def kron_columns(columns: Tensor, batch: int) -> Tensor:
    """Tensor products of one-wire states ``(m, k, 2, batch or 1)``: ``(m, 2**k, batch)``, pair by pair."""
    parts = list(columns.unbind(1))
    if not parts:
        return columns.new_ones(columns.shape[0], 1, batch)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [(a.unsqueeze(2) * b.unsqueeze(1)).flatten(1, 2) for a, b in pairs]
        parts = joined + parts[len(parts) // 2 * 2 :]
    return parts[0].expand(-1, -1, batch).contiguous()


def step_tensors(circuit: Circuit, script: Plan, bases: Bases) -> list[Tensor]:
    """The numbers every step but the gathers needs. Windows of the same make (one gate a wire) are built together."""
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


def kron_windows(factors: Tensor) -> Tensor:
    """Kronecker products of ``(m, k, 2, 2)`` one-wire matrices: ``(m, 2**k, 2**k)``, all neighbouring pairs at once."""
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


def tensor_of(circuit: Circuit, step: Step, bases: Bases) -> Tensor | None:
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


def kron(a: Tensor, b: Tensor) -> Tensor:
    dtype = torch.promote_types(a.dtype, b.dtype)
    product = a.to(dtype)[:, None, :, None] * b.to(dtype)[None, :, None, :]
    return product.reshape(a.shape[0] * b.shape[0], -1)


def cluster_matrix(circuit: Circuit, wires: tuple[int, ...], members: tuple[int, ...], bases: Bases) -> Tensor:
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


def phases(circuit: Circuit, step: Step, bases: Bases) -> Tensor:
    """All diagonal gates of a step as one vector ``(2**n,)`` in the physical order of the state."""
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


def differentiated_once() -> None:
    """Refuse ``create_graph=True``: half of a second derivative would come out, without a word."""
    if torch.is_grad_enabled():
        raise RuntimeError("the fast engine is differentiable once; take naive.state_vector for higher derivatives")


class Sweep(torch.autograd.Function):
    """All steps of a plan on all samples, slice by slice; backward by uncomputing."""

    @staticmethod
    def forward(ctx, script: Plan, n: int, left: Tensor, right: Tensor | None, *tensors: Tensor) -> Tensor:
        batch = left.shape[1]
        parts = slices(n, batch, left.dtype)
        keep = len(script.steps) * 2**n * batch * left.dtype.itemsize <= KEEP_BYTES
        kept: list[list[Tensor]] = []
        out = left.new_empty(2**n, batch if len(parts) > 1 else 0)
        for columns in parts:
            psi = outer(left[:, columns], right[:, columns]) if right is not None else left[:, columns].contiguous()
            numbers = iter(tensors)
            if keep:
                kept.append([])
            for step in script.steps:
                if keep and step.kind != "gather":
                    kept[-1].append(psi)
                psi = forward_step(step, psi, n, None if step.kind == "gather" else next(numbers), columns)
            if len(parts) > 1:
                out[:, columns] = psi
            else:
                out = psi
        ctx.script, ctx.n, ctx.kept = script, n, kept
        ctx.save_for_backward(out, left, right, *tensors)
        return out

    @staticmethod
    def backward(ctx, cotangent: Tensor):
        differentiated_once()
        out, left, right, *tensors = ctx.saved_tensors
        script, n = ctx.script, ctx.n
        wants = ctx.needs_input_grad[4:]
        grads: list[Tensor | None] = [None] * len(tensors)
        lefts: list[Tensor] = []
        rights: list[Tensor] = []
        wants_left, wants_right = ctx.needs_input_grad[2], right is not None and ctx.needs_input_grad[3]
        first = next((i for i, w in enumerate(wants) if w), len(tensors))
        for part, columns in enumerate(slices(n, left.shape[1], left.dtype)):
            psi, lam = out[:, columns].contiguous(), cotangent[:, columns].contiguous()
            number = len(tensors)
            for step in reversed(script.steps):
                if step.kind == "gather":
                    assert step.inverse is not None
                    lam = lam.index_select(0, step.inverse)
                    if not ctx.kept:
                        psi = psi.index_select(0, step.inverse)
                    continue
                number -= 1
                if number < first and not wants_left and not wants_right:
                    break
                before = ctx.kept[part][number] if ctx.kept else None
                psi, lam, grad = backward_step(step, psi, before, lam, n, tensors[number], wants[number], columns)
                if grad is not None:
                    grads[number] = join(grads[number], grad, step)
            if right is None:
                lefts.append(lam)
            elif wants_left or wants_right:
                a, c = left[:, columns], right[:, columns]
                lam = lam.view(a.shape[0], c.shape[0], -1)
                if wants_left:
                    lefts.append((lam * c.conj()).sum(1))
                if wants_right:
                    rights.append((lam * a.conj().unsqueeze(1)).sum(0))
        grad_left = torch.cat(lefts, 1) if wants_left else None
        grad_right = torch.cat(rights, 1) if wants_right else None
        return None, None, grad_left, grad_right, *grads


def join(total: Tensor | None, part: Tensor, step: Step) -> Tensor:
    """Gradients from slices of the batch: added for shared numbers, put side by side for numbers of single samples."""
    if total is None:
        return part
    return torch.cat([total, part], -1) if step.kind == "single" else total.add_(part)


class Born(torch.autograd.Function):
    """|psi|^2 elementwise, without the temporaries autograd would keep."""

    @staticmethod
    def forward(ctx, psi: Tensor) -> Tensor:
        ctx.save_for_backward(psi)
        parts = torch.view_as_real(psi)
        return (parts[..., 0] * parts[..., 0]).addcmul_(parts[..., 1], parts[..., 1])

    @staticmethod
    def backward(ctx, cotangent: Tensor) -> Tensor:
        differentiated_once()
        (psi,) = ctx.saved_tensors
        return psi * (2 * cotangent)


def slices(n: int, batch: int, dtype: torch.dtype) -> list[slice]:
    width = max(LEAST_COLUMNS, SLICE_BYTES // (2**n * dtype.itemsize))
    return [slice(low, min(low + width, batch)) for low in range(0, batch, width)]


def outer(a: Tensor, c: Tensor) -> Tensor:
    return (a.unsqueeze(1) * c.unsqueeze(0)).flatten(0, 1)


def multiply(matrix: Tensor, psi: Tensor, n: int, offset: int, width: int) -> Tensor:
    """A ``matrix`` on ``width`` adjacent wires from ``offset``; a real matrix acts on real and imaginary parts as
    real numbers."""
    batch = psi.shape[1]
    if not matrix.is_complex():
        parts = multiply_raw(matrix, torch.view_as_real(psi).view(2**n, -1), n, offset, width)
        return torch.view_as_complex(parts.view(2**n, batch, 2))
    return multiply_raw(matrix, psi, n, offset, width)


def multiply_raw(matrix: Tensor, psi: Tensor, n: int, offset: int, width: int) -> Tensor:
    before, size = 2**offset, 2**width
    inner = psi.numel() // (before * size)
    if before == 1:
        return torch.mm(matrix, psi.view(size, inner)).view(psi.shape)
    if inner == 1:
        return torch.mm(psi.view(before, size), matrix.mT).view(psi.shape)
    return torch.bmm(matrix.resolve_conj().expand(before, size, size), psi.view(before, size, inner)).view(psi.shape)


def outer_sum(lam: Tensor, psi: Tensor, offset: int, width: int, real: bool) -> Tensor:
    """Sum over everything else of lam psi^dagger on the window: the cotangent of its matrix."""
    before, size = 2**offset, 2**width
    if real:
        lam, psi = torch.view_as_real(lam), torch.view_as_real(psi)
    lam, psi = lam.view(before, size, -1), psi.view(before, size, -1)
    if before == 1:
        return torch.mm(lam[0], psi[0].mH)
    if lam.shape[-1] == 1:
        return torch.mm(lam[..., 0].mT, psi[..., 0].conj())
    return torch.bmm(lam, psi.mH).sum(0)


def forward_step(step: Step, psi: Tensor, n: int, tensor: Tensor | None, columns: slice) -> Tensor:
    if step.kind == "gather":
        assert step.index is not None
        return psi.index_select(0, step.index)
    assert tensor is not None
    if step.kind == "dense":
        assert step.window is not None
        return multiply(tensor, psi, n, step.window.offset, step.window.width)
    if step.kind == "diagonal":
        return psi * tensor.unsqueeze(1)
    return single(step, psi, n, tensor[..., columns])


def backward_step(
    step: Step, psi: Tensor, before: Tensor | None, lam: Tensor, n: int, tensor: Tensor, wanted: bool, columns: slice
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Undo a step on the state (unless the state ``before`` it was kept) and on its cotangent; with the cotangent of
    its numbers."""
    grad: Tensor | None = None
    if step.kind == "dense":
        assert step.window is not None
        offset, width = step.window.offset, step.window.width
        inverse = tensor.mH
        if before is None:
            before = multiply(inverse, psi, n, offset, width)
        if wanted:
            grad = outer_sum(lam, before, offset, width, not tensor.is_complex())
        return before, multiply(inverse, lam, n, offset, width), grad
    if step.kind == "diagonal":
        inverse = tensor.conj().resolve_conj().unsqueeze(1)
        if before is None:
            before = psi * inverse
        if wanted:
            grad = (lam * before.conj()).sum(1)
            grad = grad if tensor.is_complex() else grad.real
        return before, lam * inverse, grad
    return single_backward(step, psi, before, lam, n, tensor[..., columns], wanted)


def rows_of(step: Step, psi: Tensor, n: int) -> list[Tensor]:
    """Views of the amplitudes a gate mixes: one for each basis state of its targets, with all its controls at 1."""
    cube = psi.view(*(2,) * n, psi.shape[1])
    place: list[slice | int] = [slice(None)] * n
    for axis in step.axes[: step.controls]:
        place[axis] = 1
    targets = step.axes[step.controls :]
    rows = []
    for i in range(2 ** len(targets)):
        for k, axis in enumerate(targets):
            place[axis] = (i >> (len(targets) - 1 - k)) & 1
        rows.append(cube[tuple(place)])
    return rows


def single(step: Step, psi: Tensor, n: int, tensor: Tensor) -> Tensor:
    """One gate whose matrix ``(K, K, batch)`` or diagonal ``(K, batch)`` differs from sample to sample."""
    out = psi.clone()
    old, new = rows_of(step, psi, n), rows_of(step, out, n)
    for i, row in enumerate(new):
        if tensor.dim() == 2:
            row.mul_(tensor[i])
        else:
            torch.mul(old[0], tensor[i, 0], out=row)
            for j in range(1, len(old)):
                row.addcmul_(old[j], tensor[i, j].to(row.dtype))
    return out


def single_backward(
    step: Step, psi: Tensor, before: Tensor | None, lam: Tensor, n: int, tensor: Tensor, wanted: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    inverse = (tensor if tensor.dim() == 2 else tensor.transpose(0, 1)).conj().resolve_conj()
    if before is None:
        before = single(step, psi, n, inverse)
    grad = torch.zeros_like(tensor) if wanted else None
    if grad is not None:
        left, right = rows_of(step, lam, n), rows_of(step, before, n)
        for i, row in enumerate(left):
            for j, other in enumerate(right):
                if tensor.dim() == 2 and i != j:
                    continue
                overlap = (row * other.conj()).reshape(-1, tensor.shape[-1]).sum(0)
                target = grad[i] if tensor.dim() == 2 else grad[i, j]
                target += overlap if grad.is_complex() else overlap.real
    return before, single(step, lam, n, inverse), grad
