"""ρ ← Σ_r K_r ρ K_r† / p along a text: a naive loop as the reference, and the same with its backward pass by hand.

Kraus operators are kept with axes (a, r, b): read as (a·r, b) they multiply ρ from the left, read as (a, r·b) they
close the sum over r and b, and nothing has to be transposed. The cotangent of a density matrix is Hermitian, so both
places of K in K ρ K† give the same gradient and one product does for two.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from qattn.core.density_matrix import dephase


def kraus_recursion_naive(
    rho: Shaped[Tensor, "batch dim dim"],
    kraus: Shaped[Tensor, "vocab dim rank dim"],
    tokens: Int[Tensor, "batch time"],
    gamma: float = 0.0,
) -> Shaped[Tensor, "batch time dim dim"]:
    """The states after each token, operator by operator; ``gamma`` dephases every one of them."""
    states = []
    for column in tokens.unbind(1):
        chosen = kraus[column]
        after = torch.einsum("barx,bxy,bcry->bac", chosen, rho, chosen.conj())
        rho = dephase(after / _trace(after)[:, None, None], gamma)
        states.append(rho)
    return torch.stack(states, 1)


def kraus_recursion(
    rho: Shaped[Tensor, "batch dim dim"],
    kraus: Shaped[Tensor, "vocab dim rank dim"],
    tokens: Int[Tensor, "batch time"],
    gamma: float = 0.0,
) -> Shaped[Tensor, "batch time dim dim"]:
    """:func:`kraus_recursion_naive`, faster; ``rho`` must be Hermitian. An impossible token leaves the zero matrix."""
    return _KrausRecursion.apply(rho, kraus, tokens, gamma)


def _trace(matrix: Tensor) -> Tensor:
    real = matrix.diagonal(dim1=-2, dim2=-1).sum(-1).real
    return real.clamp_min(torch.finfo(real.dtype).tiny)


class _KrausRecursion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rho: Tensor, kraus: Tensor, tokens: Tensor, gamma: float) -> Tensor:
        batch, dim, rank = len(rho), kraus.shape[1], kraus.shape[2]
        flat = kraus.flatten(1)
        conjugate = flat.conj().resolve_conj()  # once, not a copy a step
        states = rho.new_empty(tokens.shape[1] + 1, *rho.shape)
        chances = rho.real.new_empty(tokens.shape[1], batch)
        states[0] = rho
        for time, column in enumerate(tokens.unbind(1)):
            chosen = flat[column]
            half = chosen.view(batch, dim * rank, dim) @ states[time]
            after = half.view(batch, dim, rank * dim) @ conjugate[column].view(batch, dim, rank * dim).mT
            chances[time] = _trace(after)
            states[time + 1] = dephase(after / chances[time][:, None, None], gamma)
        ctx.save_for_backward(states, chances, kraus, tokens)
        ctx.gamma = gamma
        return states[1:].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        states, chances, kraus, tokens = ctx.saved_tensors
        batch, dim, rank = len(states[0]), kraus.shape[1], kraus.shape[2]
        flat = kraus.flatten(1)
        conjugate, gradient = flat.conj().resolve_conj(), torch.zeros_like(flat)
        arriving = grad.transpose(0, 1)
        arriving = (arriving + arriving.mH) / 2
        cotangent = torch.zeros_like(states[0])
        for time in range(tokens.shape[1] - 1, -1, -1):
            column = tokens[:, time]
            pull = cotangent + arriving[time]
            along = (pull.conj() * states[time + 1]).real.sum((-2, -1))
            pull = dephase(pull, ctx.gamma)
            pull.diagonal(dim1=-2, dim2=-1).sub_(along[:, None])
            pull = pull / chances[time][:, None, None]
            pulled = pull @ flat[column].view(batch, dim, rank * dim)  # G K, axes (a, r, b)
            tall = pulled.view(batch, dim * rank, dim)
            _add(gradient, column, 2 * (tall @ states[time]).flatten(1))
            cotangent = conjugate[column].view(batch, dim * rank, dim).mT @ tall
        return cotangent, gradient.view_as(kraus), None, None


def _add(total: Tensor, rows: Tensor, values: Tensor) -> None:
    """``total[rows] += values``, complex numbers as pairs of real ones (for which it is several times faster)."""
    if total.is_complex():
        torch.view_as_real(total).flatten(1).index_add_(0, rows, torch.view_as_real(values).flatten(1))
    else:
        total.index_add_(0, rows, values)
