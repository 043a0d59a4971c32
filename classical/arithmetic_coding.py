"""A language model as a compressor: arithmetic coding in whole numbers, so that what is read back is what was written.

A text costs −log₂ P(text) bits and at most a few more (Witten, Neal and Cleary 1987). The coder narrows an interval
[low, high] of 32-bit integers by each token's share of it and hands out the leading bits that both ends agree on.
Decoding repeats the encoder's divisions and, token by token, the model's own probabilities: `compress` and `decompress`
step through the same batch, because the same text in another batch may round differently.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

BITS = 32
HALF, QUARTER = 1 << (BITS - 1), 1 << (BITS - 2)
TOTAL = 1 << 24
"""What the counts of a distribution add up to, about: rounding to them costs less than V/TOTAL in probability."""


def shares(log_probs: Float[Tensor, "rows vocab"]) -> Int[np.ndarray, "rows bounds"]:
    """Cumulative whole-number counts of each row's distribution, from 0 (bounds = vocab + 1); no token has count 0."""
    probs = log_probs.double().exp().numpy()
    counts = 1 + np.floor(probs * (TOTAL - probs.shape[1])).astype(np.int64)
    return np.concatenate([np.zeros((len(counts), 1), np.int64), counts.cumsum(1)], 1)


class Encoder:
    """Takes shares of the interval one after another; ``bits`` are those decided so far."""

    def __init__(self) -> None:
        self.low, self.high, self.pending = 0, (1 << BITS) - 1, 0
        self.bits: list[int] = []

    def put(self, below: int, above: int, total: int) -> None:
        """Narrow to the share [below, above) of ``total``. Raises ValueError for an empty one."""
        if not 0 <= below < above <= total:
            raise ValueError(f"a token's share must be a nonempty part of 0…{total}, got {below}…{above}")
        self.low, self.high = _narrow(self.low, self.high, below, above, total)
        while (move := _move(self.low, self.high)) is not None:
            if move == QUARTER:
                self.pending += 1
            else:
                self._emit(int(move == HALF))
            self.low, self.high = 2 * (self.low - move), 2 * (self.high - move) + 1

    def finish(self) -> list[int]:
        """All bits, with those that end the text."""
        self.pending += 1
        self._emit(int(self.low >= QUARTER))
        return self.bits

    def _emit(self, bit: int) -> None:
        self.bits += [bit] + [1 - bit] * self.pending
        self.pending = 0


class Decoder:
    """Reads the shares back from the bits of an :class:`Encoder`."""

    def __init__(self, bits: list[int]) -> None:
        self.stream: Iterator[int] = iter(bits)
        self.low, self.high, self.value = 0, (1 << BITS) - 1, 0
        for _ in range(BITS):
            self._shift(0)

    def get(self, bounds: Int[np.ndarray, " bounds"]) -> int:
        """The token whose share of ``bounds`` comes next."""
        total = int(bounds[-1])
        place = ((self.value - self.low + 1) * total - 1) // (self.high - self.low + 1)
        token = int(np.searchsorted(bounds, place, side="right")) - 1
        self.low, self.high = _narrow(self.low, self.high, int(bounds[token]), int(bounds[token + 1]), total)
        while (move := _move(self.low, self.high)) is not None:
            self.low, self.high = 2 * (self.low - move), 2 * (self.high - move) + 1
            self._shift(move)
        return token

    def _shift(self, move: int) -> None:
        self.value = 2 * (self.value - move) + next(self.stream, 0)


def compress(model: Any, tokens: Int[Tensor, "batch time"], vocab: int) -> list[int]:
    """The bits of texts of equal length, side by side in one stream; each first token is coded as one of ``vocab``.

    The model is any with ``start`` and ``step``, on the CPU and in evaluation mode.
    """
    encoder = Encoder()

    def put(bounds: np.ndarray, at: int) -> Tensor:
        for row, token in zip(bounds, tokens[:, at].tolist(), strict=True):
            encoder.put(int(row[token]), int(row[token + 1]), int(row[-1]))
        return tokens[:, at]

    _walk(model, tokens.shape[0], tokens.shape[1], vocab, put)
    return encoder.finish()


def decompress(model: Any, bits: list[int], batch: int, time: int, vocab: int) -> Int[Tensor, "batch time"]:
    """The texts of :func:`compress`, by the same model."""
    decoder = Decoder(bits)
    columns: list[Tensor] = []

    def get(bounds: np.ndarray, at: int) -> Tensor:
        columns.append(torch.tensor([decoder.get(row) for row in bounds]))
        return columns[-1]

    _walk(model, batch, time, vocab, get)
    return torch.stack(columns, 1)


@torch.no_grad()
def _walk(model: Any, batch: int, time: int, vocab: int, code: Callable[[np.ndarray, int], Tensor]) -> None:
    """Code column after column by the distributions that the model gives after the columns before."""
    state = model.start(batch)
    bounds = np.arange(vocab + 1)[None].repeat(batch, 0)
    for at in range(time):
        token = code(bounds, at)
        if at + 1 < time:
            log_probs, state = model.step(token, state)
            bounds = shares(log_probs)


def _narrow(low: int, high: int, below: int, above: int, total: int) -> tuple[int, int]:
    width = high - low + 1
    return low + width * below // total, low + width * above // total - 1


def _move(low: int, high: int) -> int | None:
    """What to take off both ends before doubling them, or None while they still disagree on every leading bit."""
    if high < HALF:
        return 0
    if low >= HALF:
        return HALF
    return QUARTER if low >= QUARTER and high < 3 * QUARTER else None
