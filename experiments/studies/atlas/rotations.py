"""Trained models with a basis rotated: of the residual stream, of the neurons, of the register."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from classical.norms import RMSNorm
from qattn.core.states import rotate


def random_rotation(dim: int, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Shaped[Tensor, "d d"]:
    """A random orthogonal (of a complex type: unitary) matrix, uniform by Haar's measure but for signs (phases)."""
    return torch.linalg.qr(torch.randn(dim, dim, generator=generator, dtype=dtype)).Q


@torch.no_grad()
def rotated_stream(model: Any, rotation: Float[Tensor, "d d"]) -> Any:
    """A copy of a transformer in double precision whose residual stream is X·rotation: all that reads or writes it
    takes the rotation in, so the function is the same. RMSNorm commutes with rotations once its gain is in the weights.

    Raises ValueError for a model with other norms, post-norm blocks or a tied head.
    """
    model = deepcopy(model).double()
    norms = [norm for block in model.blocks for norm in (block.attention_norm, block.feedforward_norm)] + [model.norm]
    if model.config.norm_position == "post" or model.head is None or not all(isinstance(n, RMSNorm) for n in norms):
        raise ValueError("a stream can be rotated unseen where pre-norm RMSNorm alone reads it and the head is untied")
    readers = [reader for block in model.blocks for reader in (block.attention.qkv, block.feedforward.up)] + [
        model.head
    ]
    for norm, reader in zip(norms, readers, strict=True):
        reader.weight.copy_(reader.weight * norm.weight @ rotation)
        norm.weight.fill_(1.0)
    for table in (model.embedding.weight, *([] if model.front is None else model.front.parameters())):
        table.copy_(table @ rotation)
    for block in model.blocks:
        for writer in (block.attention.out, block.feedforward.down):
            writer.weight.copy_(rotation.T @ writer.weight)
    return model


@torch.no_grad()
def rotated_neurons(model: Any, rotation: Float[Tensor, "h h"]) -> Any:
    """A copy in double precision whose neurons' inputs are rotated and whose outputs are rotated back."""
    model = deepcopy(model).double()
    for block in model.blocks:
        block.feedforward.up.weight.copy_(rotation.T @ block.feedforward.up.weight)
        block.feedforward.down.weight.copy_(block.feedforward.down.weight @ rotation)
    return model


@torch.no_grad()
def rotated_phases(
    model: Any, tokens: Int[Tensor, "batch time"], rotation: Shaped[Tensor, "d d"]
) -> Float[Tensor, "batch time vocab"]:
    """Log-probabilities of a unitary model whose phases act along the axes of another basis: V†e^{iΘ}V for e^{iΘ}."""
    state = model.prepare().expand(*tokens.shape, -1)
    for theta, mixer in zip(model.angles(tokens), model.mixers(), strict=True):
        state = rotate(state @ rotation.mT, theta) @ rotation.conj() @ mixer.mT
    out: Tensor = model.read(state)
    return out


def excess_kurtosis(rows: Float[Tensor, "rows dim"]) -> float:
    """Fourth moment over the squared variance, minus the 3 of a normal distribution: the mean over coordinates."""
    centred = rows - rows.mean(0)
    variance = centred.square().mean(0)
    return (centred.pow(4).mean(0) / variance.square() - 3).mean().item()
