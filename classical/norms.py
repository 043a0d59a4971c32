"""LayerNorm and RMSNorm: the equations as functions, and the modules that the blocks use.

The functions are the plain reference; the modules are PyTorch's fused kernels, compared with them in the tests.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

LAYER_EPS = 1e-5
RMS_EPS = 1e-6


def layer_norm(
    x: Float[Tensor, "*rows dim"],
    gain: Float[Tensor, " dim"],
    shift: Float[Tensor, " dim"] | None = None,
    eps: float | int = LAYER_EPS,
) -> Float[Tensor, "*rows dim"]:
    """LN(x) = γ ⊙ (x − μ)/√(s² + ε) + β, row by row (The Shape of the Probable, part 3, "The complete block").

    s² is the biased variance (1/d). Ba, Kiros and Hinton 2016.
    """
    centred = x - x.mean(-1, keepdim=True)
    y = gain * centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + eps)
    return y if shift is None else y + shift


def rms_norm(
    x: Float[Tensor, "*rows dim"], gain: Float[Tensor, " dim"] | None = None, eps: float | int = RMS_EPS
) -> Float[Tensor, "*rows dim"]:
    """γ ⊙ x/√(mean(x²) + ε), row by row (lecture notes "Large Language Models", section 3.4; Zhang, Sennrich 2019).

    Rescales only: it does not move the mean, so in two dimensions the rows may lie anywhere on a circle.
    """
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return y if gain is None else gain * y


class LayerNorm(nn.LayerNorm):
    """`layer_norm` with learned γ (and β where ``bias``)."""

    def __init__(self, dim: int, bias: bool = False):
        super().__init__(dim, eps=LAYER_EPS, bias=bias)


class RMSNorm(nn.Module):
    """`rms_norm` with learned γ."""

    def __init__(self, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """:func:`rms_norm` of each row, with the learned gain."""
        return F.rms_norm(x, self.weight.shape, self.weight, RMS_EPS)


def make_norm(kind: str, dim: int, bias: bool = False) -> nn.Module:
    """A fresh norm of the kind "layer" or "rms" (RMSNorm has no bias). Raises ValueError for another kind."""
    if kind == "layer":
        return LayerNorm(dim, bias)
    if kind == "rms":
        return RMSNorm(dim)
    raise ValueError(f"norm must be one of layer, rms, got {kind!r}")
