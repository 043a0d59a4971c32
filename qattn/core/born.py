"""|ψ|², the one formula by which amplitudes become probabilities (Svozil, Eq. 6)."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor


def squared_modulus(psi: Shaped[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """|ψ|² entry by entry, differentiable once: a complex ``psi`` without the copies of ``.real`` and ``.imag``."""
    if not psi.is_complex():
        return psi.square()
    out: Tensor = _SquaredModulus.apply(psi)
    return out


def differentiated_once() -> None:
    """Refuse ``create_graph=True`` in a backward pass: half of a second derivative would come out, without a word."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "this fast path is differentiable once; circuits have naive.state_vector for higher derivatives"
        )


class _SquaredModulus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, psi: Tensor) -> Tensor:
        ctx.save_for_backward(psi)
        parts = torch.view_as_real(psi)
        return (parts[..., 0] * parts[..., 0]).addcmul_(parts[..., 1], parts[..., 1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        differentiated_once()
        (psi,) = ctx.saved_tensors
        out: Tensor = psi * (2 * gradient)
        return out
