"""A GRU as a language model: the six members of the contract (`experiments.lm.contract.LanguageModel`)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class GRU(nn.Module):
    """Tokens (batch, time) → log-probabilities (batch, time, vocab), drawn from ``generator`` alone."""

    context_limit = None

    def __init__(self, vocab: int, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        with torch.random.fork_rng():  # the layers draw from the global generator; what they drew is replaced below
            self.embedding = nn.Embedding(vocab, dim)
            self.recurrent = nn.GRU(dim, dim, batch_first=True)
            self.head = nn.Linear(dim, vocab)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_((2 * torch.rand(parameter.shape, generator=generator) - 1) / dim**0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden, _ = self.recurrent(self.embedding(tokens))
        return self.head(hidden).log_softmax(-1)

    def start(self, batch: int) -> Tensor:
        """Hidden vectors of zeros, (1, batch, dim)."""
        return self.head.weight.new_zeros(1, batch, self.recurrent.hidden_size)

    def step(self, token: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One token further."""
        hidden, state = self.recurrent(self.embedding(token[:, None]), state)
        return self.head(hidden[:, 0]).log_softmax(-1), state

    def parameter_groups(self) -> dict[str, list[str]]:
        """Embedding, recurrent layer, head."""
        groups: dict[str, list[str]] = {"embedding": [], "recurrent": [], "head": []}
        for name, _ in self.named_parameters():
            groups[name.split(".")[0]].append(name)
        return groups

    def flops_per_token(self, length: int) -> int:
        """Three gates of 2·dim × dim, and the head; a multiply-add is 2."""
        dim, vocab = self.recurrent.hidden_size, self.head.out_features
        return 2 * (6 * dim * dim + dim * vocab)
