"""Parity, modular arithmetic, copying memory, associative recall and Dyck-2, each with its published parameters."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Integer
from torch import Tensor

from experiments.tasks.groups import at_the_end, running_products
from experiments.tasks.sequences import IGNORED, SequenceTask, uniform

OPERATORS = "+-*"


def parity(
    name: str, lengths: tuple[int, int], test_lengths: tuple[int, int], supervise: str, seed: int, validation: int
) -> SequenceTask:
    """Is the number of ones so far odd? The word problem of Z2: trained on 3–40 bits, tested on 40–256."""

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        inputs = rng.integers(2, size=(len(rows), width))
        targets = running_products(inputs, "Z2")
        return inputs, at_the_end(targets, rows) if supervise == "last" else targets

    chance, guess = uniform(2)
    return SequenceTask(
        name, "parity", ["0", "1"], draw, lengths, {_span(test_lengths): test_lengths}, chance, 0.0, guess,
        seed=seed, validation=validation,
    )  # fmt: skip


def modular_arithmetic(
    name: str, modulus: int, lengths: tuple[int, int], test_lengths: tuple[int, int], seed: int, validation: int
) -> SequenceTask:
    """``3 + 4 * 2 =``: the value modulo ``modulus``, products before sums, no brackets; asked at the equals sign."""
    equals = modulus + len(OPERATORS)

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rows = rows - (rows + 1) % 2  # an expression has an odd number of tokens
        inputs = rng.integers(modulus, size=(len(rows), width))
        inputs[:, 1::2] = modulus + rng.integers(len(OPERATORS), size=inputs[:, 1::2].shape)
        targets = np.full(inputs.shape, IGNORED)
        everyone = np.arange(len(rows))
        inputs[everyone, rows] = equals
        targets[everyone, rows] = values(inputs, rows, modulus)
        return inputs, targets

    chance, guess = uniform(modulus)
    symbols = [*map(str, range(modulus)), *OPERATORS, "="]
    return SequenceTask(
        name, "modular_arithmetic", symbols, draw, lengths, {_span(test_lengths): test_lengths}, chance, 0.0, guess,
        seed=seed, validation=validation, extra=1,
        notes=["Zero is a little likelier than the other values, because a product with a zero vanishes."],
    )  # fmt: skip


def values(
    inputs: Integer[np.ndarray, "n time"], lengths: Integer[np.ndarray, " n"], modulus: int
) -> Integer[np.ndarray, " n"]:
    """The value of each row's first ``lengths`` tokens, an expression, modulo ``modulus``."""
    total, term = np.zeros(len(inputs), dtype=np.int64), inputs[:, 0].copy()
    for place in range(1, int(lengths.max()) - 1, 2):
        inside = place < lengths
        operator, digit = inputs[:, place] - modulus, inputs[:, place + 1]
        times = inside & (operator == OPERATORS.index("*"))
        sums = inside & ~times
        sign = np.where(operator == OPERATORS.index("-"), -1, 1)
        total = np.where(sums, total + term, total)
        term = np.where(times, term * digit, np.where(sums, sign * digit, term)) % modulus
    return (total + term) % modulus


def copying(name: str, symbols: int, keep: int, blanks: int, seed: int, validation: int) -> SequenceTask:
    """Copying memory (Hochreiter and Schmidhuber 1997; Arjovsky et al. 2016): ``keep`` symbols, ``blanks`` − 1 blanks,
    a marker, ``keep`` blanks; say blanks until the marker has passed, then the symbols. Loss on all steps, accuracy on
    the last ``keep``.
    """
    width, marker = blanks + 2 * keep, symbols + 1

    def draw(rows: np.ndarray, columns: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        inputs, targets = (np.zeros((len(rows), columns), dtype=np.int64) for _ in range(2))
        inputs[:, :keep] = rng.integers(1, symbols + 1, size=(len(rows), keep))
        inputs[:, keep + blanks - 1] = marker
        targets[:, -keep:] = inputs[:, :keep]
        return inputs, targets

    def recalled(targets: Tensor) -> Tensor:
        return torch.arange(targets.shape[1]) >= targets.shape[1] - keep

    memoryless = keep * math.log(symbols) / width
    return SequenceTask(
        name, "copying", ["_", *map(str, range(1, symbols + 1)), "|"], draw, (width, width), {},
        math.log(symbols + 2), 0.0, 1 / symbols, seed=seed, validation=validation, queries=recalled,
        notes=[
            f"Without memory: {memoryless:.5f} nats per step ({keep} ln {symbols} / {width}).",
            f"Without error a recurrent register needs {keep * math.log2(symbols):.0f} bits, so a dimension of "
            f"{symbols}^{keep} (the random-access bound); a register for each position does not.",
        ],
    )  # fmt: skip


def recall(
    name: str, vocab: int, length: int, pairs: int, power: float, train: int, seed: int, validation: int
) -> SequenceTask:
    """Multi-query associative recall (Arora et al. 2023): ``pairs`` of key and value, then every key once more at
    a place of a power-law distance, noise between; the target at a repeated key is its value.

    Keys are the lower half of the vocabulary, values the upper half.
    """
    half, room = vocab // 2, (length - 2 * pairs) // 2

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        count = len(rows)
        keys = distinct(count, half, pairs, rng)
        content = half + distinct(count, vocab - half, pairs, rng)
        inputs = rng.integers(vocab, size=(count, width))
        inputs[:, 0 : 2 * pairs : 2], inputs[:, 1 : 2 * pairs : 2] = keys, content
        weights = power * np.arange(1, room + 1) ** (power - 1)
        gaps = np.argpartition(rng.exponential(size=(count, room)) / weights, pairs - 1, axis=1)[:, :pairs]
        places = 2 * pairs + 2 * rng.permuted(gaps, axis=1)
        targets = np.full((count, width), IGNORED)
        np.put_along_axis(inputs, places, keys, axis=1)
        np.put_along_axis(targets, places, content, axis=1)
        return inputs, targets

    chance, guess = uniform(vocab - half)
    return SequenceTask(
        name, "mqar", list(map(str, range(vocab))), draw, (length, length), {}, chance, 0.0, guess,
        seed=seed, validation=validation, train_size=train,
        notes=[
            f"{pairs} pairs in {length} tokens; {train} training sequences.",
            f"Naming any value of the sequence: accuracy {1 / pairs:g}.",
        ],
    )  # fmt: skip


def distinct(count: int, size: int, chosen: int, rng: np.random.Generator) -> Integer[np.ndarray, "{count} {chosen}"]:
    """``count`` rows of ``chosen`` different numbers below ``size``, every choice equally likely (Floyd 1987)."""
    rows = np.full((count, chosen), -1)
    for place, top in enumerate(range(size - chosen, size)):
        drawn = rng.integers(top + 1, size=count)
        taken = (rows == drawn[:, None]).any(1)
        rows[:, place] = np.where(taken, top, drawn)
    return rng.permuted(rows, axis=1)


def dyck2(name: str, length: int, test_length: int, depth: int, seed: int, validation: int) -> SequenceTask:
    """Balanced round and square brackets, never deeper than ``depth``: which bracket would close now?

    Targets at every position: nothing open, ``)`` or ``]``. Opening and closing are equally likely where both may be.
    """

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        count = len(rows)
        inputs, targets = (np.empty((count, width), dtype=np.int64) for _ in range(2))
        stack, level, everyone = np.zeros((count, depth + 1), dtype=np.int64), np.zeros(count, int), np.arange(count)
        for place in range(width):
            opens = ((rng.random(count) < 0.5) | (level == 0)) & (level < depth)
            kind = rng.integers(2, size=count)
            top = stack[everyone, level]
            inputs[:, place] = np.where(opens, kind, 2 + top)
            level = np.where(opens, level + 1, level - 1)
            stack[everyone[opens], level[opens]] = kind[opens]
            targets[:, place] = np.where(level == 0, 4, 2 + stack[everyone, level])
        return inputs, targets

    chance, guess = uniform(3)
    return SequenceTask(
        name, "dyck2", ["(", "[", ")", "]", "."], draw, (length, length), {f"length {test_length}": (test_length,) * 2},
        chance, 0.0, guess, seed=seed, validation=validation,
        notes=[f"At most {depth} brackets open at once; the target '.' means that none is open."],
    )  # fmt: skip


def _span(lengths: tuple[int, int]) -> str:
    return f"lengths {lengths[0]} to {lengths[1]}"
