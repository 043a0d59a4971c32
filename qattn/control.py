"""The classical control: what the token registers tell the angles.

Any function of basis states may control a rotation, so this part is ordinary classical computing; its parameters and
operations are declared apart from the register's (`parameter_groups`, `flops_per_token`).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

KINDS = ("linear", "ngram", "mlp")


class Control(nn.Module):
    """Token contexts as real vectors: ``linear`` the embedding of the token; ``ngram`` the embeddings of the last
    ``ngram`` tokens side by side; ``mlp`` the same plus one hidden layer: c + W₂ GELU(W₁ c).

    Tokens before the start of the text count as zero vectors.
    """

    def __init__(
        self, kind: str, vocab: int, embedding: int, ngram: int = 4, hidden: int = 512, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"control must be one of {', '.join(KINDS)}, got {kind!r}")
        self.kind = kind
        self.ngram = 1 if kind == "linear" else ngram
        self.width = embedding * self.ngram
        self.embedding = nn.Parameter(torch.randn(vocab, embedding, generator=generator))
        if kind == "mlp":
            scale = self.width**-0.5
            self.up = nn.Parameter(scale * (2 * torch.rand(self.width, hidden, generator=generator) - 1))
            self.up_bias = nn.Parameter(torch.zeros(hidden))
            self.down = nn.Parameter(hidden**-0.5 * (2 * torch.rand(hidden, self.width, generator=generator) - 1))
            self.down_bias = nn.Parameter(torch.zeros(self.width))

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time width"]:
        embedded = F.embedding(tokens, self.embedding)
        time = tokens.shape[1]
        shifted = [F.pad(embedded, (0, 0, back, 0))[:, :time] for back in range(self.ngram)]
        return self.refine(torch.cat(shifted, -1))

    def refine(self, context: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """The hidden layer on an n-gram of embeddings (nothing for ``linear`` and ``ngram``)."""
        if self.kind != "mlp":
            return context
        hidden = F.gelu(context @ self.up + self.up_bias)
        return context + hidden @ self.down + self.down_bias

    def start(self, batch: int) -> Float[Tensor, "batch width"]:
        """The n-gram before any token."""
        return self.embedding.new_zeros(batch, self.width)

    def step(
        self, token: Int[Tensor, " batch"], recent: Float[Tensor, "batch width"]
    ) -> tuple[Float[Tensor, "batch width"], Float[Tensor, "batch width"]]:
        """One token further: the control vector and the new n-gram of embeddings (newest first)."""
        embedded = F.embedding(token, self.embedding)
        recent = torch.cat([embedded, recent[:, : self.width - embedded.shape[1]]], -1)
        return self.refine(recent), recent

    def flops_per_token(self) -> int:
        """Multiplications and additions of the hidden layer for one token."""
        return 4 * self.width * self.up.shape[1] if self.kind == "mlp" else 0
