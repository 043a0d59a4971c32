"""One pass over the states, forward and backward: what the fast engine does with a plan's steps.

States are stored as ``(2ⁿ, batch)`` with the batch last, so that a dense step is one matrix product and a gather
moves whole rows. The backward pass reads states kept from the forward pass while they are few; otherwise it keeps only
the final ones and, going backwards, undoes each unitary on the state and on its cotangent, reading the gradient of the
step's matrix off both (the adjoint method of Jones and Gacon, arXiv:2009.02823). Both passes work on slices of the
batch that stay in cache. Differentiable once.

The cotangent λ is carried as its complex conjugate μ: a matrix takes it back by Uᵀ, and Σ λψ† is the conjugate of
Σ μψᵀ, so that no state has to be copied to conjugate it.
"""

from __future__ import annotations

import torch
from jaxtyping import Complex, Shaped
from torch import Tensor

from qattn.circuits.simulate.fusion import Plan, Step
from qattn.core.evolution import differentiated_once

SLICE_BYTES = 2 << 20  # states of a slice of the batch: a few of these fit the cache together
KEEP_BYTES = 256 << 20  # below this the backward pass reads kept states instead of uncomputing them
LEAST_COLUMNS = 32  # below this matrix products on the last window get slow


class Sweep(torch.autograd.Function):
    """All steps of a plan on all samples, slice by slice; backward by uncomputing."""

    @staticmethod
    def forward(
        ctx,
        script: Plan,
        n: int,
        left: Complex[Tensor, "left batch"],
        right: Complex[Tensor, "right batch"] | None,
        *tensors: Shaped[Tensor, "*_numbers"],
    ) -> Complex[Tensor, "dim batch"]:
        """The final states ``(2ⁿ, batch)``; slices of the batch go through all steps one after the other."""
        batch = left.shape[1]
        parts = slices(n, batch, left.dtype)
        keep = any(ctx.needs_input_grad) and len(script.steps) * 2**n * batch * left.dtype.itemsize <= KEEP_BYTES
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
                if step.kind == "gather":
                    assert step.index is not None
                    psi = psi.index_select(0, step.index)
                    continue
                tensor = next(numbers)
                psi = applied(step, psi, n, tensor[..., columns] if step.kind == "single" else tensor)
            if len(parts) > 1:
                out[:, columns] = psi
            else:
                out = psi
        ctx.script, ctx.n, ctx.kept = script, n, kept
        ctx.save_for_backward(out, left, right, *tensors)
        return out

    @staticmethod
    def backward(ctx, cotangent: Complex[Tensor, "dim batch"]) -> tuple[Shaped[Tensor, "*_numbers"] | None, ...]:
        """Gradients of the start and of the tensors of all steps."""
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
            psi = None if ctx.kept else out[:, columns].contiguous()
            mu = cotangent.new_empty(2**n, columns.stop - columns.start).copy_(cotangent[:, columns].conj())
            number = len(tensors)
            for step in reversed(script.steps):
                if step.kind == "gather":
                    assert step.inverse is not None
                    mu = mu.index_select(0, step.inverse)
                    psi = None if psi is None else psi.index_select(0, step.inverse)
                    continue
                number -= 1
                if number < first and not wants_left and not wants_right:
                    break
                tensor = tensors[number][..., columns] if step.kind == "single" else tensors[number]
                before = ctx.kept[part][number] if psi is None else applied(step, psi, n, dagger(step, tensor))
                psi = None if psi is None else before
                if wants[number]:
                    grads[number] = join(grads[number], step_gradient(step, mu, before, n, tensor), step)
                mu = applied(step, mu, n, transposed(step, tensor))
            if right is None:
                lefts.append(mu.conj())
            elif wants_left or wants_right:
                a, c = left[:, columns], right[:, columns]
                mu = mu.view(a.shape[0], c.shape[0], -1)
                if wants_left:
                    lefts.append((mu * c).sum(1).conj())
                if wants_right:
                    rights.append((mu * a.unsqueeze(1)).sum(0).conj())
        grad_left = torch.cat(lefts, 1) if wants_left else None
        grad_right = torch.cat(rights, 1) if wants_right else None
        return None, None, grad_left, grad_right, *grads


def join(
    total: Shaped[Tensor, "*rows before"] | None, part: Shaped[Tensor, "*rows new"], step: Step
) -> Shaped[Tensor, "*rows joined"]:
    """Gradients from slices of the batch: added for shared numbers, put side by side for numbers of single samples."""
    if total is None:
        return part
    return torch.cat([total, part], -1) if step.kind == "single" else total.add_(part)


def slices(n: int, batch: int, dtype: torch.dtype) -> list[slice]:
    """The batch in pieces whose states stay in the cache."""
    width = max(LEAST_COLUMNS, SLICE_BYTES // (2**n * dtype.itemsize))
    return [slice(low, min(low + width, batch)) for low in range(0, batch, width)]


def outer(a: Complex[Tensor, "left batch"], c: Complex[Tensor, "right batch"]) -> Complex[Tensor, "dim batch"]:
    """Column-wise tensor product of ``(a, batch)`` and ``(c, batch)``: ``(a c, batch)``."""
    return (a.unsqueeze(1) * c.unsqueeze(0)).flatten(0, 1)


def multiply(
    matrix: Shaped[Tensor, "size size"], psi: Complex[Tensor, "dim batch"], n: int, offset: int, width: int
) -> Complex[Tensor, "dim batch"]:
    """A ``matrix`` on ``width`` adjacent wires from ``offset``; a real matrix acts on real and imaginary parts as
    real numbers."""
    batch = psi.shape[1]
    if not matrix.is_complex():
        parts = multiply_raw(matrix, torch.view_as_real(psi).view(2**n, -1), n, offset, width)
        return torch.view_as_complex(parts.view(2**n, batch, 2))
    return multiply_raw(matrix, psi, n, offset, width)


def multiply_raw(
    matrix: Shaped[Tensor, "size size"], psi: Shaped[Tensor, "dim columns"], n: int, offset: int, width: int
) -> Shaped[Tensor, "dim columns"]:
    """``multiply`` for a matrix of the states' own dtype."""
    before, size = 2**offset, 2**width
    inner = psi.numel() // (before * size)
    if before == 1:
        return torch.mm(matrix, psi.view(size, inner)).view(psi.shape)
    if inner == 1:
        return torch.mm(psi.view(before, size), matrix.mT).view(psi.shape)
    return torch.bmm(matrix.resolve_conj().expand(before, size, size), psi.view(before, size, inner)).view(psi.shape)


def transposed(step: Step, tensor: Shaped[Tensor, "*numbers"]) -> Shaped[Tensor, "*numbers"]:
    """A step's numbers with its matrices transposed."""
    if step.kind == "dense":
        return tensor.mT
    return tensor.transpose(0, 1) if tensor.dim() == 3 else tensor


def dagger(step: Step, tensor: Shaped[Tensor, "*numbers"]) -> Shaped[Tensor, "*numbers"]:
    """The numbers of the inverse of a unitary step."""
    return transposed(step, tensor).conj().resolve_conj()


def applied(
    step: Step, psi: Complex[Tensor, "dim batch"], n: int, tensor: Shaped[Tensor, "*numbers"]
) -> Complex[Tensor, "dim batch"]:
    """One step that is not a gather, with its numbers, on a slice of the batch."""
    if step.kind == "dense":
        assert step.window is not None
        return multiply(tensor, psi, n, step.window.offset, step.window.width)
    return psi * tensor.unsqueeze(1) if step.kind == "diagonal" else single(step, psi, n, tensor)


def step_gradient(
    step: Step,
    mu: Complex[Tensor, "dim batch"],
    psi: Complex[Tensor, "dim batch"],
    n: int,
    tensor: Shaped[Tensor, "*numbers"],
) -> Shaped[Tensor, "*numbers"]:
    """The gradient of a step's numbers: from the state before the step and the conjugate cotangent after it."""
    if step.kind == "dense":
        assert step.window is not None
        return window_gradient(mu, psi, step.window.offset, step.window.width, not tensor.is_complex())
    if step.kind == "diagonal":
        found = (mu * psi).sum(1)
        return found.conj().resolve_conj() if tensor.is_complex() else found.real
    return single_gradient(step, mu, psi, n, tensor)


def window_gradient(
    mu: Complex[Tensor, "dim batch"], psi: Complex[Tensor, "dim batch"], offset: int, width: int, real: bool
) -> Shaped[Tensor, "size size"]:
    """Σ λψ† over everything outside the window, of which a ``real`` matrix takes the real part."""
    before, size = 2**offset, 2**width
    if real:
        mu, psi = torch.view_as_real(mu), torch.view_as_real(psi.conj().resolve_conj())
    mu, psi = mu.view(before, size, -1), psi.view(before, size, -1)
    if before == 1:
        found = torch.mm(mu[0], psi[0].mT)
    elif mu.shape[-1] == 1:
        found = torch.mm(mu[..., 0].mT, psi[..., 0])
    else:
        found = torch.bmm(mu, psi.mT).sum(0)
    return found if real else found.conj().resolve_conj()


def rows_of(step: Step, psi: Complex[Tensor, "dim batch"], n: int) -> list[Complex[Tensor, "*others batch"]]:
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


def single(
    step: Step, psi: Complex[Tensor, "dim batch"], n: int, tensor: Shaped[Tensor, "*matrix batch"]
) -> Complex[Tensor, "dim batch"]:
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


def single_gradient(
    step: Step,
    mu: Complex[Tensor, "dim batch"],
    psi: Complex[Tensor, "dim batch"],
    n: int,
    tensor: Shaped[Tensor, "*matrix batch"],
) -> Shaped[Tensor, "*matrix batch"]:
    """The gradient of the matrix or diagonal of one gate on wires anywhere, sample by sample."""
    grad = torch.zeros_like(tensor)
    left, right = rows_of(step, mu, n), rows_of(step, psi, n)
    for i, row in enumerate(left):
        for j, other in enumerate(right):
            if tensor.dim() == 2 and i != j:
                continue
            overlap = (row * other).reshape(-1, tensor.shape[-1]).sum(0)
            target = grad[i] if tensor.dim() == 2 else grad[i, j]
            target += overlap.conj() if grad.is_complex() else overlap.real
    return grad
