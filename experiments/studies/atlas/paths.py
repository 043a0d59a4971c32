"""Two paths to a prediction: through the register of a unitary model, and through an attention layer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from jaxtyping import Int, Shaped
from torch import Tensor

from classical.attention import KVCache, attention_weights
from qattn.core.evolution import evolve


def before_last_mixer(
    model: Any, tokens: Int[Tensor, "batch time"]
) -> tuple[Shaped[Tensor, "batch time dim"], Shaped[Tensor, "dim dim"]]:
    """The register after its last phases, and the mixer that follows them."""
    angles, mixers = model.angles(tokens), model.mixers()
    start = model.prepare().expand(tokens.numel(), -1)
    return evolve(start, angles.flatten(1, -2), mixers[:-1]).unflatten(0, tokens.shape), mixers[-1]


def mixture_defect(model: Any, tokens: Int[Tensor, "batch time"]) -> float:
    """How far the first layer's attention to all tokens is from the mixture of that to every other one and that to the
    rest, by their weights: the largest difference over the largest output.
    """
    layer, x = model.blocks[0].attention, model.blocks[0].attention_norm(model.embed(tokens))
    asking = deepcopy(layer)  # queries are made like keys, by other rows of the matrix
    asking.qkv.weight[x.shape[-1] : 2 * x.shape[-1]] = layer.qkv.weight[: x.shape[-1]]
    answers, questions = KVCache(), KVCache()
    layer(x, model.rotation_for(x), answers)
    asking(x, model.rotation_for(x), questions)
    assert answers.keys is not None
    assert answers.values is not None
    assert questions.keys is not None
    weights = attention_weights(questions.keys, answers.keys)[..., 1:, :]
    whole = weights @ answers.values
    mixed = whole.new_zeros(whole.shape)
    for start in (0, 1):
        some = weights.log()[..., start::2].softmax(-1) @ answers.values[..., start::2, :]  # the others are not there
        mixed = mixed + weights[..., start::2].sum(-1, keepdim=True) * some
    return ((whole - mixed).abs().max() / whole.abs().max()).item()
