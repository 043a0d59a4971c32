"""The token autoencoder: how two dimensions can tell ten tokens apart (lecture notes "Large Language Models", 3.4).

token → W_embed → embedding → W_embedᵀ → logits → softmax → the same token. With the Frobenius norm of W_embed held
fixed, the token vectors settle on a circle as a regular polygon, or, if the start was unlucky, some stay at the origin.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class AutoencoderRun:
    """Where the token vectors were, and the loss in nats, at every recorded step (the first is the random start)."""

    steps: list[int]
    vectors: Float[Tensor, "record *starts vocab dim"]
    nats: Float[Tensor, "record *starts"]


def autoencoder_logits(vectors: Float[Tensor, "*any vocab dim"]) -> Float[Tensor, "*any vocab vocab"]:
    """W W ᵀ: row k holds the logits when token k was read (tied embedding and unembedding)."""
    return vectors @ vectors.transpose(-2, -1)


def autoencoder_nats(vectors: Float[Tensor, "*starts vocab dim"]) -> Float[Tensor, "*starts"]:
    """Mean −log P(k | k) over all tokens k, in nats."""
    return -autoencoder_logits(vectors).log_softmax(-1).diagonal(dim1=-2, dim2=-1).mean(-1)


def train_autoencoder(
    generator: torch.Generator,
    vocab: int = 10,
    dim: int = 2,
    radius: float | int = 3.0,
    steps: int = 140,
    rate: float | int = 0.05,
    every: int = 20,
) -> AutoencoderRun:
    """Adam from a random Gaussian cloud, float64; after each step W is rescaled to ‖W‖_F = radius·√vocab.

    Without the rescaling the loss could always be lowered by growing W, and nothing would converge. Raises ValueError
    for a count below 1.
    """
    run = train_autoencoders(generator, 1, vocab, dim, radius, steps, rate, every)
    return AutoencoderRun(run.steps, run.vectors[:, 0], run.nats[:, 0])


def train_autoencoders(
    generator: torch.Generator,
    starts: int,
    vocab: int = 10,
    dim: int = 2,
    radius: float | int = 3.0,
    steps: int = 140,
    rate: float | int = 0.05,
    every: int = 20,
) -> AutoencoderRun:
    """:func:`train_autoencoder` from many starts at once, which do not see each other (Adam acts entry by entry).

    Raises ValueError for a count below 1.
    """
    for name, value in (("starts", starts), ("vocab", vocab), ("dim", dim), ("every", every)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    norm = radius * math.sqrt(vocab)
    w = torch.randn(starts, vocab, dim, generator=generator, dtype=torch.float64)
    w = (w * (norm / w.norm(dim=(-2, -1), keepdim=True))).requires_grad_()
    optimizer = torch.optim.Adam([w], lr=rate)
    recorded, vectors, nats = [], [], []
    for step in range(steps + 1):
        loss = autoencoder_nats(w)
        if step % every == 0 or step == steps:
            recorded.append(step)
            vectors.append(w.detach().clone())
            nats.append(loss.detach())
        if step < steps:
            optimizer.zero_grad()
            loss.sum().backward()
            optimizer.step()
            with torch.no_grad():
                w.mul_(norm / w.norm(dim=(-2, -1), keepdim=True))
    return AutoencoderRun(recorded, torch.stack(vectors), torch.stack(nats))


def polygon(vocab: int, radius: float | int = 3.0) -> Float[Tensor, "vocab 2"]:
    """The regular polygon with ``vocab`` corners on a circle: the best arrangement in two dimensions."""
    angles = 2 * math.pi * torch.arange(vocab, dtype=torch.float64) / vocab
    return radius * torch.stack((angles.cos(), angles.sin()), dim=-1)
