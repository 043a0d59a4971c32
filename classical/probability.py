"""Scores and probabilities: logit, sigmoid and softmax as the seed paper writes them (Svozil, A.1 and A.2).

The reference formulas. Models use PyTorch's own `log_softmax`; temperature for sampling is `sampling.temper`.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def logit(p: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """log(p / (1 − p)) for p in (0, 1) (Svozil, Eq. 9); the inverse of `sigmoid` (Eq. 11)."""
    return torch.log(p) - torch.log1p(-p)


def sigmoid(z: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """σ(z) = 1/(1 + e^(−z)) (Svozil, Eq. 10), stable for any z."""
    return torch.sigmoid(z)


def sigmoid_derivative(z: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """σ'(z) = σ(z)(1 − σ(z)) (Svozil, Eq. 12)."""
    y = sigmoid(z)
    return y * (1 - y)


def softmax(z: Float[Tensor, "*batch classes"], temperature: float | int = 1.0) -> Float[Tensor, "*batch classes"]:
    """exp(z_i/T) / Σ_j exp(z_j/T) (Svozil, Eqs. 13 and 15; with T, Eqs. 7 and 16): a point of the simplex (Eq. 14).

    The largest score is subtracted first: softmax does not see a shift, and nothing overflows. T must be positive. This
    is the thermal distribution of energies −z_i (lecture notes "Large Language Models", section 3.3). Raises ValueError
    unless the temperature is positive.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature!r}; its limit 0 is the argmax")
    u = torch.exp((z - z.amax(-1, keepdim=True)) / temperature)
    return u / u.sum(-1, keepdim=True)
