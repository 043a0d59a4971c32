"""Sums whose order matters, because every addition of floating-point numbers rounds."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def order_matters(triples: int, dtype: torch.dtype, seed: int) -> float:
    """The share of random triples of normal numbers for which (a + b) + c is not a + (b + c)."""
    generator = torch.Generator().manual_seed(seed)
    a, b, c = torch.randn(3, triples, generator=generator, dtype=torch.float64).to(dtype)
    return ((a + b) + c != a + (b + c)).double().mean().item()


def split_sum(
    hidden: Float[Tensor, "rows dim"], weight: Float[Tensor, "vocab dim"], parts: int
) -> Float[Tensor, "rows vocab"]:
    """Logits as kernels compute them that cut the sum over dim: partial sums, each rounded, added one after another."""
    total = hidden.new_zeros(len(hidden), len(weight))
    for columns, rows in zip(hidden.chunk(parts, 1), weight.chunk(parts, 1), strict=True):
        total = total + columns @ rows.T
    return total
