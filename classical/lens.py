"""The logit lens: what the model would predict if it stopped after each layer, and how much each layer moves a token.

Lecture notes "Large Language Models", section 3.4; nostalgebraist 2020. The residual stream is read through the model's
own final norm and unembedding, so the last row is the model's own prediction.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from classical.blocks import Block
from classical.transformer import Transformer


def residual_stream(model: Transformer, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "depth batch time dim"]:
    """X⁽⁰⁾, X⁽¹⁾, …, X⁽ᴸ⁾: the embeddings before the first block and after each (depth = layers + 1).

    Dropout follows the mode that the model is in.
    """
    x = model.embed(tokens)
    states = [x]
    for block in model.blocks:
        x = block(x, model.rotation_for(x))
        states.append(x)
    return torch.stack(states)


def logit_lens(model: Transformer, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "depth batch time vocab"]:
    """log-probabilities read off after each layer; the last equals ``model(tokens)``."""
    return torch.stack([model.read(x) for x in residual_stream(model, tokens)])


def relative_steps(stream: Float[Tensor, "depth batch time dim"]) -> Float[Tensor, "layers batch time"]:
    """|ΔE⁽ˡ⁾| / |E⁽ˡ⁻¹⁾|: how far each block moves each embedding. The notes expect it to be small."""
    return (stream[1:] - stream[:-1]).norm(dim=-1) / stream[:-1].norm(dim=-1)


def half_steps(model: Transformer, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "halves batch time"]:
    """|ΔE|/|E| of every half block, attention and feed-forward in turn: what it adds beside what it is added to.

    Of blocks whose norm stands before their halves (post-norm blocks replace the vector by its norm: ValueError).
    """
    x = model.embed(tokens)
    steps = []
    for block in model.blocks:
        assert isinstance(block, Block)
        if block.post:
            raise ValueError("half steps are those of pre-norm blocks; a post-norm block normalises what it adds to")
        attended = block.attention(block.attention_norm(x), model.rotation_for(x))
        middle = x + attended
        fed = block.feedforward(block.feedforward_norm(middle))
        steps += [attended.norm(dim=-1) / x.norm(dim=-1), fed.norm(dim=-1) / middle.norm(dim=-1)]
        x = middle + fed
    return torch.stack(steps)
