"""Backpropagation by hand in the smallest network with an embedding (Svozil, Appendix B, Eqs. 17-36).

One token k in, one probability ŷ out: embedding, one hidden layer of sigmoid neurons, one sigmoid. The paper's shapes
and names are kept; nothing here uses autograd, and the tests compare with it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from classical.probability import sigmoid, sigmoid_derivative


@dataclass(frozen=True)
class Network:
    """The parameters; as the result of `backward`, the gradient of the loss by each of them."""

    E: Float[Tensor, "V d"]  # row k is the embedding of token k
    W1: Float[Tensor, "h d"]
    b1: Float[Tensor, " h"]
    W2: Float[Tensor, "1 h"]
    b2: Float[Tensor, ""]


@dataclass(frozen=True)
class Activations:
    """What the forward pass leaves behind, and the backward pass needs."""

    k: int
    v: Float[Tensor, " d"]
    z2: Float[Tensor, " h"]
    a2: Float[Tensor, " h"]
    z3: Float[Tensor, ""]
    y_hat: Float[Tensor, ""]


def random_network(vocab: int, dim: int, hidden: int, generator: torch.Generator) -> Network:
    """Parameters ~ N(0, 1) in float64."""
    shapes: tuple[tuple[int, ...], ...] = ((vocab, dim), (hidden, dim), (hidden,), (1, hidden), ())
    return Network(*(torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes))


def forward(net: Network, k: int) -> Activations:
    """The prediction for token k (Eqs. 17-21). Raises ValueError for a token outside the vocabulary."""
    if not 0 <= k < len(net.E):
        raise ValueError(f"token must lie in 0…{len(net.E) - 1}, got {k}")
    v = net.E[k]  # Eq. 17: Eᵀe_k
    z2 = net.W1 @ v + net.b1  # Eq. 18
    a2 = sigmoid(z2)  # Eq. 19
    z3 = net.W2[0] @ a2 + net.b2  # Eq. 20
    return Activations(k, v, z2, a2, z3, sigmoid(z3))  # Eq. 21


def loss(y_hat: Float[Tensor, ""], y: float | int) -> Float[Tensor, ""]:
    """L = ½(ŷ − y)² (Eq. 22)."""
    return (y_hat - y) ** 2 / 2


def backward(net: Network, seen: Activations, y: float | int) -> Network:
    """∂L/∂parameter for every parameter, from the error signals δ₃ and δ₂ (Eqs. 23-36)."""
    delta3 = (seen.y_hat - y) * seen.y_hat * (1 - seen.y_hat)  # Eqs. 23-26
    delta2 = (net.W2[0] * delta3) * sigmoid_derivative(seen.z2)  # Eqs. 29-31
    dE = torch.zeros_like(net.E)
    dE[seen.k] = net.W1.T @ delta2  # Eqs. 34-36: the row of the token that was read, and no other
    return Network(
        E=dE,
        W1=torch.outer(delta2, seen.v),  # Eq. 32
        b1=delta2,  # Eq. 33
        W2=delta3 * seen.a2[None, :],  # Eq. 27
        b2=delta3,  # Eq. 28
    )


def descend(net: Network, gradient: Network, rate: float | int) -> Network:
    """θ ← θ − η ∇L(θ) (The Shape of the Probable, part 3, "Training"): new parameters, the old ones unchanged."""
    return Network(*(getattr(net, name) - rate * getattr(gradient, name) for name in Network.__dataclass_fields__))
