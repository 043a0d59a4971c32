"""One transformer block: attention and feed-forward, each with a residual sum and a norm, before it or after it."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from classical.attention import KVCache, MultiHeadAttention
from classical.config import TransformerConfig
from classical.feedforward import FeedForward
from classical.norms import make_norm


class Block(nn.Module):
    """Pre-norm (The Shape of the Probable, part 3, "The complete block") or post-norm (Svozil, Eqs. 47-48).

    pre:   X' = X + MultiHead(N(X)),   X'' = X' + FFN(N(X'))
    post:  Z' = N(Z + MultiHead(Z)),   Output = N(Z' + FFN(Z'))
    """

    def __init__(self, config: TransformerConfig, generator: torch.Generator | None = None):
        super().__init__()
        self.post = config.norm_position == "post"
        self.attention_norm = make_norm(config.norm, config.dim, config.bias)
        self.attention = MultiHeadAttention(config, generator)
        self.feedforward_norm = make_norm(config.norm, config.dim, config.bias)
        self.feedforward = FeedForward(config, generator)

    def forward(
        self,
        x: Float[Tensor, "batch time dim"],
        rotation: Float[Tensor, "2 time head_dim"] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch time dim"]:
        """Same shape out as in; ``cache`` (if given) supplies the past and is extended."""
        if self.post:
            x = self.attention_norm(x + self.attention(x, rotation, cache))
            return self.feedforward_norm(x + self.feedforward(x))
        x = x + self.attention(self.attention_norm(x), rotation, cache)
        return x + self.feedforward(self.feedforward_norm(x))
