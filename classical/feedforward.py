"""The feed-forward network that follows attention: each token on its own, through one wide layer of neurons.

The Shape of the Probable, part 3, "The complete block"; lecture notes "Large Language Models", section 3.7.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from classical.config import TransformerConfig
from classical.linear import make_linear


def gelu(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """GELU(x) = x Φ(x) with the normal distribution function Φ (Hendrycks and Gimpel 2016), exact: no tanh fit."""
    return F.gelu(x)


def relu2(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """max(0, x)² (So et al. 2021, "Primer")."""
    y = F.relu(x)
    return y * y  # .square() goes through pow, whose backward is several times dearer on a CPU


def swiglu(x: Float[Tensor, "*any twice"]) -> Float[Tensor, "*any hidden"]:
    """silu(a) ⊙ b where x = (a, b): a gate and what it lets through (Shazeer 2020). Halves the last axis."""
    gate, value = x.chunk(2, dim=-1)
    return F.silu(gate) * value


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": gelu, "relu2": relu2, "swiglu": swiglu}


class FeedForward(nn.Module):
    """FFN(x) = W₂ φ(W₁x + b₁) + b₂ on every row (for swiglu W₁ holds the gate's rows, then the values')."""

    def __init__(self, config: TransformerConfig, generator: torch.Generator | None = None):
        super().__init__()
        hidden, std = config.ffn_hidden, config.init_std
        width = 2 * hidden if config.activation == "swiglu" else hidden
        out_std = 0.0 if config.zero_init else std / math.sqrt(2 * config.layers)
        self.up = make_linear(config.dim, width, bias=config.bias, std=std, generator=generator)
        self.down = make_linear(hidden, config.dim, bias=config.bias, std=out_std, generator=generator)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = config.dropout

    def forward(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        """W₂ φ(W₁ x) at every position, with dropout in training."""
        y = self.down(self.activation(self.up(x)))
        return F.dropout(y, self.dropout, self.training) if self.dropout else y
