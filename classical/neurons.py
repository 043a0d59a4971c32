"""The neuron, the layer, and the network with one hidden layer that approximates any continuous function.

The Shape of the Probable, part 3, "The neuron and the layer".
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

Activation = Callable[[Tensor], Tensor]


def neuron(
    x: Float[Tensor, "*batch m"], w: Float[Tensor, " m"], b: float | int, phi: Activation = torch.sigmoid
) -> Float[Tensor, "*batch"]:
    """y = φ(wᵀx + b)."""
    return phi(x @ w + b)


def layer(
    x: Float[Tensor, "*batch m"], W: Float[Tensor, "k m"], b: Float[Tensor, " k"], phi: Activation = torch.sigmoid
) -> Float[Tensor, "*batch k"]:
    """y = φ(Wx + b): k neurons that share an input."""
    return phi(x @ W.T + b)


def merge_affine(
    W2: Float[Tensor, "l k"], b2: Float[Tensor, " l"], W1: Float[Tensor, "k m"], b1: Float[Tensor, " k"]
) -> tuple[Float[Tensor, "l m"], Float[Tensor, " l"]]:
    """W', b' with W₂(W₁x + b₁) + b₂ = W'x + b': without φ a thousand layers amount to one."""
    return W2 @ W1, W2 @ b1 + b2


def one_hidden_layer(
    x: Float[Tensor, "*batch m"],
    alpha: Float[Tensor, " n"],
    W: Float[Tensor, "n m"],
    b: Float[Tensor, " n"],
    phi: Activation = torch.sigmoid,
) -> Float[Tensor, "*batch"]:
    """Σ_j α_j σ(w_jᵀx + b_j): dense in the continuous functions on a compact set (Cybenko 1989).

    That such α, W, b exist says neither how many neurons they take nor how to find them.
    """
    return layer(x, W, b, phi) @ alpha
