"""Copies of a trained model with damaged weights: rounded to a few bits, or with noise added."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


def codes(weight: Float[Tensor, "*shape"], bits: int) -> tuple[Int[Tensor, "*shape"], Float[Tensor, "*scale"]]:
    """A tensor as whole numbers between ±(2^(bits−1) − 1), and the scale of each row that they are multiples of.

    The largest entry of each row (last axis) is exact; a row of zeros has scale 1.
    """
    largest = 2 ** (bits - 1) - 1
    scale = weight.abs().amax(-1, keepdim=True) if weight.ndim else weight.abs()
    scale = torch.where(scale > 0, scale / largest, torch.ones_like(scale))
    return (weight / scale).round().to(torch.int8), scale


@torch.no_grad()
def rounded(model: Any, bits: int) -> Any:
    """A copy whose parameters are all rounded to ``bits`` bits (at most 8), with one scale per row."""
    copy = deepcopy(model)
    for parameter in copy.parameters():
        whole, scale = codes(parameter, bits)
        parameter.copy_(whole * scale)
    return copy


@torch.no_grad()
def noisy(model: Any, share: float, generator: torch.Generator) -> Any:
    """A copy with Gaussian noise on every parameter, its standard deviation ``share`` of the tensor's RMS."""
    copy = deepcopy(model)
    for parameter in copy.parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        parameter.add_(noise, alpha=share * parameter.square().mean().sqrt().item())
    return copy
