"""Interpolated Kneser–Ney: the strongest of the classical n-gram smoothings, so the floor worth the name.

Kneser and Ney 1995, "Improved backing-off for m-gram language modeling"; Chen and Goodman 1999, "An empirical study of
smoothing techniques for language modeling", whose modified form has three discounts per level.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from classical.ngram import Level, NGram, padded


class KneserNey(NGram):
    """P_m(w | c) = max(N(c, w) − D, 0) / N(c, ·) + D · N₁₊(c, ·) / N(c, ·) · P_{m−1}(w | c without its first token).

    N counts occurrences at the longest context in use and, below it, the different tokens that came before (c, w): a
    word that follows one word alone is unlikely after any other. N₁₊(c, ·) is the number of different successors. Below
    the unigram stands the uniform distribution. An unseen context leaves the next shorter one. Everything sums to one.

    ``discount`` None is modified Kneser–Ney: D₁, D₂ and D₃₊ for what was seen once, twice and more often, estimated per
    level from its counts of counts. Raises ValueError for a discount outside (0, 1].
    """

    def __init__(self, order: int, vocab: int, discount: float | int | None = None):
        super().__init__(order, vocab)
        if discount is not None and not 0 < discount <= 1:
            raise ValueError(f"discount must lie in (0, 1], got {discount!r}")
        self.discount = discount
        self._occurrences: list[_Discounted] = []
        self._continuations: list[_Discounted] = []

    def adopt(self, levels: list[tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]]) -> "KneserNey":
        """Takes over what `levels` gave; returns itself. Raises ValueError for too few or too many levels."""
        super().adopt(levels)
        self._occurrences = [_Discounted(level, level.counts, self.discount) for level in self._levels]
        self._continuations = [
            _Discounted(level, np.bincount(ends, minlength=len(level.keys)), self.discount)
            for level, ends in zip(self._levels[:-1], self._suffixes(), strict=True)
        ]
        return self

    def _suffixes(self) -> list[np.ndarray]:
        """By level m < n−1, for each key of level m + 1 the rank in level m of the window without its first token."""
        found: list[np.ndarray] = []
        for level, above in pairwise(self._levels):
            context = found[-1][above.context] if found else np.zeros(len(above.keys), np.int64)
            found.append(level.rank(context, above.tokens))
        return found

    def _used(self, contexts: list[np.ndarray]) -> Any:
        """(table, level, context) from the unigram up to the longest context, which alone counts occurrences."""
        top = len(contexts) - 1
        tables = [*self._continuations[:top], self._occurrences[top]]
        return zip(tables, self._levels[: top + 1], contexts, strict=True)

    def _probability(self, contexts: list[np.ndarray], token: np.ndarray) -> np.ndarray:
        probs = np.full(contexts[-1].shape, 1 / self.vocab)
        for table, level, context in self._used(contexts):
            kept = np.append(table.kept, 0.0)[level.rank(context, token)]
            probs = kept + table.left_over(context) * probs
        return probs

    def _row(self, contexts: list[np.ndarray]) -> np.ndarray:
        probs = np.full((contexts[-1].size, self.vocab), 1 / self.vocab)
        for table, level, context in self._used([each.reshape(-1) for each in contexts]):
            probs *= table.left_over(context)[:, None]
            rows, places = level.successors(context)
            probs[rows, level.tokens[places]] += table.kept[places]
        return probs.reshape(*contexts[-1].shape, self.vocab)


class _Discounted:
    """One level's counts, discounted: what each key keeps of its context's probability, and what a context leaves."""

    def __init__(self, level: Level, counts: np.ndarray, discount: float | int | None):
        discounts = discounts_of(counts, discount)
        taken = discounts[np.minimum(counts, len(discounts) - 1)]
        totals = np.bincount(level.context, weights=counts)
        whole = np.where(totals > 0, totals, 1)
        self.kept = (counts - taken) / whole[level.context]
        self._rest = np.where(totals > 0, np.bincount(level.context, weights=taken) / whole - 1, 0)

    def left_over(self, context: np.ndarray) -> np.ndarray:
        """The share of the shorter context: 1 where this one was never seen."""
        return 1 + padded(self._rest, context)


def discounts_of(counts: Int[np.ndarray, " keys"], discount: float | int | None) -> Float[np.ndarray, "4"]:
    """What is taken from counts of 0, 1, 2 and at least 3: ``discount`` itself, or Chen and Goodman's three estimates.

    With n_r the number of keys of count r and Y = n₁/(n₁ + 2n₂): D_r = r − (r + 1)·Y·n_{r+1}/n_r. Where too little text
    leaves one of them undefined or outside (0, r], 0.75 stands for all three.
    """
    if discount is None:
        seen = [int((counts == r).sum()) for r in range(5)]
        if all(seen[1:4]):
            y = seen[1] / (seen[1] + 2 * seen[2])
            found = [r - (r + 1) * y * seen[r + 1] / seen[r] for r in (1, 2, 3)]
            if all(0 < d <= r and math.isfinite(d) for r, d in enumerate(found, start=1)):
                return np.array([0.0, *found])
        discount = 0.75
    return np.array([0.0, discount, discount, discount])
