"""N-grams, the floor under every language model, by counting: add-k smoothing here, Kneser–Ney in `kneser_ney`.

Memory grows with the distinct contexts of the text, not with V to the n: contexts of m tokens are ranked level by level
(a trie in sorted arrays), so any vocabulary and any order fit.
"""

import math
from copy import copy
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Real
from torch import Tensor


class NGram:
    """P(w | last n−1 tokens) = (count(context, w) + k) / (count(context) + kV): Lidstone's add-k smoothing.

    At the first positions of a text fewer than n−1 tokens precede: after m of them the (m+1)-gram is used, so the very
    first token gets the unigram. A context never seen in training gives the uniform distribution.

    Raises ValueError for an order or a vocabulary below 1, and for a k that is not a positive number.
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
        self._levels: list[Level] = []

    def fit(self, tokens: Any) -> "NGram":
        """Counts ``tokens`` (one sequence of integers 0…vocab−1) in place of earlier counts; returns itself.

        Raises ValueError for an empty text and for tokens outside the vocabulary.
        """
        x = self._checked(tokens)
        if not len(x):
            raise ValueError("the training text is empty")
        levels = []
        context = np.zeros(len(x), np.int64)
        for m in range(self.order):
            keys, ranks, counts = np.unique(context * self.vocab + x[m:], return_inverse=True, return_counts=True)
            levels.append((keys, counts))
            context = ranks[:-1]  # windows of m + 1 tokens that have a successor
        return self.adopt(levels)

    def levels(self) -> list[tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]]:
        """The sorted keys and the counts of every level: all that a fitted n-gram is."""
        return [(level.keys, level.counts) for level in self._fitted()]

    def adopt(self, levels: list[tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]]) -> "NGram":
        """Takes over what `levels` gave; returns itself. Raises ValueError for too few or too many levels."""
        if len(levels) != self.order:
            raise ValueError(f"an n-gram of order {self.order} has as many levels, got {len(levels)}")
        self._levels = [Level(keys, counts, self.vocab) for keys, counts in levels]
        return self

    def shorter(self, order: int) -> "NGram":
        """The same counts read at a lower order, without a copy. Raises ValueError for one never counted."""
        if not 1 <= order <= self.order:
            raise ValueError(f"the order must lie in 1…{self.order}, got {order}")
        other = copy(self)
        other.order, other._levels = order, self._levels[:order]
        return other

    def nats(self, tokens: Any) -> float:
        """Mean −log P over all ``tokens`` as one running text, nats per token; the first n−1 as the class says.

        Raises ValueError for an empty text.
        """
        x = self._checked(tokens)
        if not len(x):
            raise ValueError("the text is empty")
        return float(-self._log_probabilities(x[None]).mean())

    def window_nats(self, inputs: Int[Tensor, "batch time"], targets: Int[Tensor, "batch time"]) -> float:
        """Mean −log P of the next tokens ``targets``, each from its own row of ``inputs`` alone, nats per token.

        The same as from :meth:`forward`, without a row of V numbers per position.
        """
        rows = torch.cat((inputs[:, :1], targets), dim=1)
        x = self._checked(rows.reshape(-1)).reshape(tuple(rows.shape))
        return float(-self._log_probabilities(x)[:, 1:].mean())

    def _log_probabilities(self, x: np.ndarray) -> np.ndarray:
        """log P of every token from those before it in its row."""
        contexts, probs = self._contexts(x[:, :-1]), np.empty(x.shape)
        for m, places in self._places(x.shape[1]):
            known = [context[:, places - j] for j, context in enumerate(contexts[: m + 1])]
            probs[:, places] = self._probability(known, x[:, places])
        return np.log(probs)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """log P(next | tokens so far) at every position, float64."""
        x = self._checked(tokens.reshape(-1)).reshape(tuple(tokens.shape))
        contexts, probs = self._contexts(x), np.empty((*x.shape, self.vocab))
        for m, places in self._places(x.shape[1] + 1):
            places = places[places > 0]  # what follows nothing is not asked
            probs[:, places - 1] = self._row([context[:, places - j] for j, context in enumerate(contexts[: m + 1])])
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

    def _probability(self, contexts: list[np.ndarray], token: np.ndarray) -> np.ndarray:
        """P(token | context), elementwise; ``contexts[m]`` ranks the last m tokens before each."""
        level, context = self._levels[len(contexts) - 1], contexts[-1]
        return (level.count(context, token) + self.k) / (level.total(context) + self.k * self.vocab)

    def _row(self, contexts: list[np.ndarray]) -> np.ndarray:
        """P(· | context): the shape of the contexts with one more axis of length V."""
        level, context = self._levels[len(contexts) - 1], contexts[-1].reshape(-1)
        counts = np.zeros((len(context), self.vocab))
        rows, places = level.successors(context)
        counts[rows, level.tokens[places]] = level.counts[places]
        probs = (counts + self.k) / (level.total(context) + self.k * self.vocab)[:, None]
        return probs.reshape(*contexts[-1].shape, self.vocab)

    def _contexts(self, x: np.ndarray) -> list[np.ndarray]:
        """For m = 0 … n−1 the ranks of all stretches of m tokens of ``x`` (last axis), −1 where unseen in training."""
        found = [np.zeros((*x.shape[:-1], x.shape[-1] + 1), np.int64)]
        for m, level in enumerate(self._fitted()[:-1][: x.shape[-1]], start=1):
            found.append(level.rank(found[-1][..., :-1], x[..., m - 1 :]))
        return found

    def _places(self, length: int) -> list[tuple[int, np.ndarray]]:
        """The positions 0 … length−1 by how many tokens before them are used: m = min(n−1, position)."""
        short = [(m, np.array([m])) for m in range(min(self.order - 1, length))]
        return [*short, (self.order - 1, np.arange(self.order - 1, length))] if length >= self.order else short

    def _fitted(self) -> "list[Level]":
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


class Level:
    """What follows the contexts of m tokens: sorted keys (rank of the context)·V + (next token), and their counts.

    Key j is also the window of m + 1 tokens of rank j, a context of the level above.
    """

    def __init__(self, keys: np.ndarray, counts: np.ndarray, vocab: int):
        self.keys, self.counts, self.vocab = keys, counts, vocab
        self.context, self.tokens = keys // vocab, keys % vocab
        self.totals = np.bincount(self.context, weights=counts).astype(np.int64)

    def rank(
        self, context: Int[np.ndarray, "*places"], token: Int[np.ndarray, "*places"]
    ) -> Int[np.ndarray, "*places"]:
        """The rank of (context, token) among the windows of m + 1 tokens, −1 where unseen."""
        if not len(self.keys):
            return np.full(context.shape, -1)
        key = context * self.vocab + token
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where((context >= 0) & (self.keys[place] == key), place, -1)

    def count(
        self, context: Int[np.ndarray, "*places"], token: Int[np.ndarray, "*places"]
    ) -> Int[np.ndarray, "*places"]:
        """How often ``token`` followed, elementwise."""
        return np.append(self.counts, 0)[self.rank(context, token)]

    def total(self, context: Int[np.ndarray, "*places"]) -> Int[np.ndarray, "*places"]:
        """How often anything followed, elementwise."""
        return padded(self.totals, context)

    def successors(
        self, context: Int[np.ndarray, " contexts"]
    ) -> tuple[Int[np.ndarray, " found"], Int[np.ndarray, " found"]]:
        """All keys of some contexts (one axis): the index into ``context``, and the place among the keys, of each."""
        seen = np.flatnonzero((context >= 0) & (context < len(self.totals)))
        first, last = (np.searchsorted(self.keys, (context[seen] + offset) * self.vocab) for offset in (0, 1))
        lengths = last - first
        return np.repeat(seen, lengths), np.arange(lengths.sum()) + np.repeat(
            first - lengths.cumsum() + lengths, lengths
        )


def padded(values: Real[np.ndarray, " n"], index: Int[np.ndarray, "*places"]) -> Real[np.ndarray, "*places"]:
    """``values[index]``, and 0 at index −1 (never seen) and anything beyond the last."""
    return np.append(values, 0)[np.minimum(index, len(values))]
