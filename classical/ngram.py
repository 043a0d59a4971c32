"""Add-k n-grams: the floor under every language model, by counting.

Memory grows with the distinct contexts of the text, not with V to the n: contexts of m tokens are ranked level by level
(a trie in sorted arrays), so any vocabulary and any order fit.
"""

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor


class NGram:
    """P(w | last n−1 tokens) = (count(context, w) + k) / (count(context) + kV): Lidstone's add-k smoothing.

    At the first positions of a text fewer than n−1 tokens precede: after m of them the (m+1)-gram is used, so the very
    first token gets the unigram. A context never seen in training gives the uniform distribution.
    """

    context_limit: int | None = None

    def __init__(self, order: int, vocab: int, k: float | int = 0.1):
        if order < 1:
            raise ValueError(f"order must be at least 1, got {order}")
        if vocab < 1:
            raise ValueError(f"vocab must be at least 1, got {vocab}")
        if not 0 < k < math.inf:
            raise ValueError(f"k must be a positive number, got {k!r}")
        self.order, self.vocab, self.k = order, vocab, k
        self._levels: list[_Level] = []

    def fit(self, tokens: Any) -> "NGram":
        """Counts ``tokens`` (one sequence of integers 0…vocab−1) in place of earlier counts; returns itself."""
        x = self._checked(tokens)
        if not len(x):
            raise ValueError("the training text is empty")
        self._levels = []
        context = np.zeros(len(x), np.int64)
        for m in range(self.order):
            keys, ranks, counts = np.unique(context * self.vocab + x[m:], return_inverse=True, return_counts=True)
            self._levels.append(_Level(keys, counts, self.vocab))
            context = ranks[:-1]  # windows of m + 1 tokens that have a successor
        return self

    def levels(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The sorted keys and the counts of every level: all that a fitted n-gram is."""
        return [(level.keys, level.counts) for level in self._fitted()]

    def adopt(self, levels: list[tuple[np.ndarray, np.ndarray]]) -> "NGram":
        """Takes over what `levels` gave; returns itself."""
        if len(levels) != self.order:
            raise ValueError(f"an n-gram of order {self.order} has as many levels, got {len(levels)}")
        self._levels = [_Level(keys, counts, self.vocab) for keys, counts in levels]
        return self

    def nats(self, tokens: Any) -> float:
        """Mean −log P over all ``tokens``, nats per token; the first n−1 as the class says."""
        x = self._checked(tokens)
        if not len(x):
            raise ValueError("the text is empty")
        levels = self._fitted()
        total, context = 0.0, np.zeros(len(x), np.int64)
        for m, level in enumerate(levels[: len(x)]):
            if m:
                context = levels[m - 1].rank(context[:-1], x[m - 1 : -1])
            scored = len(context) if m == self.order - 1 else 1
            total -= float(np.log(level.probability(context[:scored], x[m : m + scored], self.k)).sum())
        return total / len(x)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """log P(next | tokens so far) at every position, float64."""
        levels = self._fitted()
        x = self._checked(tokens.reshape(-1)).reshape(tuple(tokens.shape))
        probs = np.empty((*x.shape, self.vocab))
        context = np.zeros(x.shape, np.int64)
        for m, level in enumerate(levels[: x.shape[1] + 1]):
            if m:
                context = levels[m - 1].rank(context if m == 1 else context[:, :-1], x[:, m - 1 :])
            if m == self.order - 1:
                probs[:, max(m - 1, 0) :] = level.row(context, self.k)
            elif m:
                probs[:, m - 1] = level.row(context[:, 0], self.k)
        return torch.from_numpy(np.log(probs)).to(tokens.device)

    __call__ = forward

    def start(self, batch: int) -> Int[Tensor, "batch past"]:
        """The empty context: the state is simply the last n−1 tokens."""
        return torch.zeros((batch, 0), dtype=torch.int64)

    def step(
        self, token: Int[Tensor, " batch"], state: Int[Tensor, "batch past"]
    ) -> tuple[Float[Tensor, "batch vocab"], Int[Tensor, "batch longer"]]:
        """log P(next) after one token more, and the new state."""
        text = torch.cat((state.to(token), token[:, None]), dim=1)[:, -max(self.order - 1, 1) :]
        return self.forward(text)[:, -1], text if self.order > 1 else text[:, :0]

    def _fitted(self) -> "list[_Level]":
        if not self._levels:
            raise ValueError("the n-gram has seen no text yet: call fit first")
        return self._levels

    def _checked(self, tokens: Any) -> np.ndarray:
        x = tokens.cpu().numpy() if isinstance(tokens, Tensor) else np.asarray(tokens)
        if x.ndim != 1:
            raise ValueError(f"tokens must be one sequence, got shape {x.shape}")
        if len(x) and not np.issubdtype(x.dtype, np.integer):
            raise ValueError(f"tokens must be integers, got {x.dtype}")
        if len(x) and (x.min() < 0 or x.max() >= self.vocab):
            raise ValueError(f"tokens must lie in 0…{self.vocab - 1}, got {x.min()}…{x.max()}")
        return x.astype(np.int64)


class _Level:
    """What follows the contexts of m tokens: sorted keys (rank of the context)·V + (next token), and their counts."""

    def __init__(self, keys: np.ndarray, counts: np.ndarray, vocab: int):
        self.keys, self.counts, self.vocab = keys, counts, vocab
        self.totals = np.bincount(keys // vocab, weights=counts).astype(np.int64)

    def rank(self, context: np.ndarray, token: np.ndarray) -> np.ndarray:
        """The rank of (context, token) among the windows of m + 1 tokens, −1 where unseen."""
        key = context * self.vocab + token
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        if not len(self.keys):
            return np.full(key.shape, -1)
        return np.where((context >= 0) & (self.keys[place] == key), place, -1)

    def probability(self, context: np.ndarray, token: np.ndarray, k: float | int) -> np.ndarray:
        """P(token | context), elementwise."""
        place = self.rank(context, token)
        count = np.where(place >= 0, self.counts[place], 0) if len(self.counts) else np.zeros(place.shape)
        return (count + k) / (self._total(context) + k * self.vocab)

    def row(self, context: np.ndarray, k: float | int) -> np.ndarray:
        """P(· | context): the shape of ``context`` with one more axis of length V."""
        flat = context.reshape(-1)
        counts = np.zeros((len(flat), self.vocab))
        seen = (flat >= 0) & (flat < len(self.totals))
        first, last = (np.searchsorted(self.keys, (flat[seen] + offset) * self.vocab) for offset in (0, 1))
        lengths = last - first
        rows = np.repeat(np.flatnonzero(seen), lengths)
        places = np.arange(lengths.sum()) + np.repeat(first - lengths.cumsum() + lengths, lengths)
        counts[rows, self.keys[places] % self.vocab] = self.counts[places]
        probs = (counts + k) / (self._total(flat) + k * self.vocab)[:, None]
        return probs.reshape(*context.shape, self.vocab)

    def _total(self, context: np.ndarray) -> np.ndarray:
        padded = np.append(self.totals, 0)  # index −1 (never seen) and anything beyond: no count
        return padded[np.minimum(context, len(self.totals))]
