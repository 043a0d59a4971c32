"""h_t = U(x_t) h_{t−1}: a naive loop as the reference, and the same with a backward pass by inversion.

The naive loops keep every intermediate state and one graph node an operation. The fast ones keep the states that are
returned anyway. Backwards they run the same unitaries inverted: U† takes the state *and* its cotangent one step back
at once, and the parameters' gradients follow in one batched product at the end.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor


def reflect(
    psi: Shaped[Tensor, "*batch dim"], k: Shaped[Tensor, "*batch dim"], beta: Shaped[Tensor, "*batch"]
) -> Shaped[Tensor, "*batch dim"]:
    """(1 − β k k†)ψ for unit vectors k. With β = 1 − e^{iφ} a unitary that turns the axis k by φ; β = 2 a reflection.

    The inverse is ``reflect(psi, k, beta.conj())``.
    """
    return psi - (beta * torch.linalg.vecdot(k, psi)).unsqueeze(-1) * k


def reflections_naive(
    psi: Shaped[Tensor, "batch dim"],
    k: Shaped[Tensor, "batch time factors dim"],
    beta: Shaped[Tensor, "batch time factors"],
) -> Shaped[Tensor, "batch time dim"]:
    """All states h_1..h_T of h_t = R_r ⋯ R_1 h_{t−1}, one reflection after another."""
    states = []
    for time in range(k.shape[1]):
        for factor in range(k.shape[2]):
            psi = reflect(psi, k[:, time, factor], beta[:, time, factor])
        states.append(psi)
    return torch.stack(states, 1)


def apply_unitaries_naive(
    psi: Shaped[Tensor, "batch dim"], unitaries: Shaped[Tensor, "vocab dim dim"], tokens: Int[Tensor, "batch time"]
) -> Shaped[Tensor, "batch time dim"]:
    """All states of h_t = U[x_t] h_{t−1}."""
    states = []
    for time in range(tokens.shape[1]):
        psi = (unitaries[tokens[:, time]] @ psi[..., None])[..., 0]
        states.append(psi)
    return torch.stack(states, 1)


def reflections(
    psi: Shaped[Tensor, "batch dim"],
    k: Shaped[Tensor, "batch time factors dim"],
    beta: Shaped[Tensor, "batch time factors"],
) -> Shaped[Tensor, "batch time dim"]:
    """:func:`reflections_naive` with a backward pass by inversion; |1 − β| must be 1."""
    return _Reflections.apply(psi, k, beta)


def apply_unitaries(
    psi: Shaped[Tensor, "batch dim"], unitaries: Shaped[Tensor, "vocab dim dim"], tokens: Int[Tensor, "batch time"]
) -> Shaped[Tensor, "batch time dim"]:
    """:func:`apply_unitaries_naive` with one pass back through U† and one product per token for the gradient."""
    return _ApplyUnitaries.apply(psi, unitaries, tokens)


class _Reflections(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, psi: Tensor, k: Tensor, beta: Tensor) -> Tensor:
        k_by_time, beta_by_time = k.permute(1, 2, 0, 3).contiguous(), beta.permute(1, 2, 0).contiguous()
        states = psi.new_empty(len(k_by_time), *psi.shape)
        for time, (ks, betas) in enumerate(zip(k_by_time.unbind(), beta_by_time.unbind(), strict=True)):
            for vector, factor in zip(ks.unbind(), betas.unbind(), strict=True):
                psi = reflect(psi, vector, factor)
            states[time] = psi
        ctx.save_for_backward(states, k_by_time, beta_by_time)
        return states.transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        states, k, beta = ctx.saved_tensors
        inverse = beta.conj().resolve_conj()
        before, after = torch.empty_like(k), torch.empty_like(k)  # the state before, the cotangent after a reflection
        arriving = grad.transpose(0, 1)
        cotangent = torch.zeros_like(states[0])
        for time in range(len(k) - 1, -1, -1):
            pair = torch.stack([states[time], cotangent + arriving[time]])
            for factor in range(k.shape[1] - 1, -1, -1):
                after[time, factor] = pair[1]
                pair = reflect(pair, k[time, factor].expand_as(pair), inverse[time, factor].expand(2, -1))
                before[time, factor] = pair[0]
            cotangent = pair[1]
        along, pull = torch.linalg.vecdot(k, before), torch.linalg.vecdot(k, after)
        grad_beta = -along.conj() * pull
        grad_k = -(beta * along).conj()[..., None] * after - (beta * pull.conj())[..., None] * before
        return cotangent, grad_k.permute(2, 0, 1, 3), grad_beta.permute(2, 0, 1)


class _ApplyUnitaries(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, psi: Tensor, unitaries: Tensor, tokens: Tensor) -> Tensor:
        states = psi.new_empty(tokens.shape[1] + 1, *psi.shape)
        states[0] = psi
        for time, column in enumerate(tokens.unbind(1)):
            torch.bmm(unitaries[column], states[time][..., None], out=states[time + 1][..., None])
        ctx.save_for_backward(states, unitaries, tokens)
        return states[1:].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        states, unitaries, tokens = ctx.saved_tensors
        arriving = grad.transpose(0, 1)
        cotangents = torch.empty_like(states[1:])
        cotangent = torch.zeros_like(states[0])
        for time in range(tokens.shape[1] - 1, -1, -1):
            cotangents[time] = cotangent + arriving[time]
            rows = unitaries[tokens[:, time]]
            cotangent = torch.bmm(cotangents[time].conj()[:, None], rows)[:, 0].conj().resolve_conj()  # U†g = (g†U)†
        by_time = tokens.T.flatten()
        order = by_time.argsort()
        counts = torch.bincount(by_time, minlength=len(unitaries)).tolist()
        after = cotangents.flatten(0, 1)[order].split(counts)
        before = states[:-1].flatten(0, 1)[order].split(counts)
        grad_unitaries = torch.stack([g.mT @ h.conj() for g, h in zip(after, before, strict=True)])
        return cotangent, grad_unitaries, None
