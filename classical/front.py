"""The n-gram front end: the tokens before the newest one join its vector, each by a table of its own place."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from classical.linear import fill_normal


class NgramFront(nn.Module):
    """Σ_{i=1}^{n−1} E_i[x_{t−i}], added to the newest token's vector E_0[x_t]: a model's first layer reads ``ngram``
    tokens at once, as the control of the unitary models and the neural n-gram of Bengio et al. (2003) do.

    Tokens before the start of the text add nothing. ValueError for ``ngram`` below 2.
    """

    def __init__(
        self, ngram: int, vocab: int, dim: int, *, std: float | int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        if ngram < 2:
            raise ValueError(f"an n-gram front end reads at least 2 tokens, got {ngram}")
        self.ngram, self.vocab = ngram, vocab
        self.weight = nn.Parameter(torch.empty(ngram - 1, vocab, dim))
        fill_normal(self.weight, std, generator)

    def start(self, batch: int) -> Int[Tensor, "batch earlier"]:
        """The tokens before a text: none, which ``vocab`` stands for."""
        return torch.full((batch, self.ngram - 1), self.vocab, device=self.weight.device)

    def forward(
        self, tokens: Int[Tensor, "batch time"], recent: Int[Tensor, "batch earlier"]
    ) -> Float[Tensor, "batch time dim"]:
        """What the earlier tokens add at every position, ``recent`` standing before the first."""
        padded, time = torch.cat([recent, tokens], 1), tokens.shape[1]
        tables = F.pad(self.weight, (0, 0, 0, 1))  # the row of no token
        places = range(self.ngram - 2, -1, -1)  # where the windows of the tokens 1, 2, … back begin
        added = [F.embedding(padded[:, at : at + time], table) for at, table in zip(places, tables, strict=True)]
        return torch.stack(added).sum(0)

    def after(
        self, tokens: Int[Tensor, "batch time"], recent: Int[Tensor, "batch earlier"]
    ) -> Int[Tensor, "batch earlier"]:
        """The newest ``ngram`` − 1 tokens once ``tokens`` are read."""
        return torch.cat([recent, tokens], 1)[:, -(self.ngram - 1) :]
