"""Formal languages by the protocol of u-MPS (Miller, Rabusseau and Terilla 2021): learn from strings, then write some.

Tomita's languages 3 to 7 over {0, 1} and Motzkin words over {(, ), -}. The share of sampled strings of a given length
that are in the language is the accuracy. A string is read as marker, symbols; the targets are symbols, marker.

Sampled are strings *given their length*, as u-MPS draws them: P(s | n) ∝ P(s, then the marker). Any beginning can
still become a word of a group language (Tomita 5 and 6), so that symbols drawn one by one without regard to the end are
right by chance unless the model counts to the very length; this other way, in which u-MPS's LSTM was sampled, is
measured too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from experiments.lm.contract import Batch, StringModel
from experiments.tasks.sequences import IGNORED, SequenceTask
from experiments.tasks.tokenizers import SymbolTokenizer
from qattn.core.parametrization_cache import cached

Member = Callable[[np.ndarray], np.ndarray]
"""Strings of one length (n, length) → whether each is in the language (n,)."""


PROPOSALS = 8
"""Strings proposed for each one asked for."""

UNCONDITIONED = "end left out"
"""The name of the other way to sample: symbol by symbol without the marker, not asking whether the string may end."""


def _runs_before(strings: np.ndarray) -> np.ndarray:
    """Tomita 3: no odd run of ones directly followed by an odd run of zeros."""
    ones, zeros = (np.zeros(len(strings), dtype=int) for _ in range(2))
    after_odd, good = np.zeros(len(strings), dtype=bool), np.ones(len(strings), dtype=bool)
    for bit in strings.T:
        good &= ~((bit == 1) & (zeros % 2 == 1) & after_odd)  # the run of zeros has ended
        after_odd = np.where(bit == 1, False, np.where(zeros == 0, ones % 2 == 1, after_odd))
        ones = np.where(bit == 1, ones + 1, 0)
        zeros = np.where(bit == 0, zeros + 1, 0)
    return good & ~((zeros % 2 == 1) & after_odd)


def _no_three_zeros(strings: np.ndarray) -> np.ndarray:
    """Tomita 4: no 000."""
    zeros = np.zeros(len(strings), dtype=int)
    good = np.ones(len(strings), dtype=bool)
    for bit in strings.T:
        zeros = np.where(bit == 0, zeros + 1, 0)
        good &= zeros < 3
    return good


def _both_even(strings: np.ndarray) -> np.ndarray:
    """Tomita 5: evenly many zeros and evenly many ones (a group language: Z2 × Z2)."""
    ones = strings.sum(1)
    return (ones % 2 == 0) & ((strings.shape[1] - ones) % 2 == 0)


def _by_three(strings: np.ndarray) -> np.ndarray:
    """Tomita 6: #0 − #1 divisible by 3 (a group language: Z3)."""
    return (strings.shape[1] - 2 * strings.sum(1)) % 3 == 0


def _four_blocks(strings: np.ndarray) -> np.ndarray:
    """Tomita 7: 0*1*0*1*, at most the changes 0→1, 1→0, 0→1."""
    before = np.concatenate([np.zeros((len(strings), 1), dtype=strings.dtype), strings], 1)
    return (np.diff(before, axis=1) != 0).sum(1) <= 3


def motzkin_word(strings: Integer[np.ndarray, "n length"]) -> Bool[np.ndarray, " n"]:
    """Balanced brackets 0 and 1 with free symbols 2 between."""
    height = np.cumsum(np.where(strings == 0, 1, np.where(strings == 1, -1, 0)), axis=1)
    return (height >= 0).all(1) & (height[:, -1] == 0)


TOMITA: dict[int, Member] = {3: _runs_before, 4: _no_three_zeros, 5: _both_even, 6: _by_three, 7: _four_blocks}


@dataclass
class LanguageTask:
    """Strings of a language as texts, and a judge of what a model writes.

    ``train`` and ``held_out`` are strings (n, longest), −1 beyond their ends. The lowest achievable loss is that of the
    uniform distribution over all ``population`` strings that were drawn from.
    """

    name: str
    kind: str
    alphabet: list[str]
    member: Member
    train_strings: np.ndarray
    held_out: np.ndarray
    population: int
    mean_length: float | int
    sample_lengths: tuple[int, ...]
    samples: int
    seed: int
    notes: list[str] = field(default_factory=list)
    characters_per_token: float | None = None

    @cached_property
    def tokenizer(self) -> SymbolTokenizer:
        """The symbols of the language, and the marker."""
        return SymbolTokenizer([*self.alphabet, "#"])

    @property
    def marker(self) -> int:
        """The symbol before and after every string."""
        return len(self.alphabet)

    @property
    def vocab(self) -> int:
        """Symbols and the marker."""
        return len(self.alphabet) + 1

    @property
    def span(self) -> int:
        """Tokens of a training string with its marker."""
        return self.train_strings.shape[1] + 1

    @property
    def block(self) -> int:
        """Tokens of the longest string trained on or sampled."""
        return max(self.span, *self.sample_lengths)

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Random training strings; the only user of the training stream."""
        rows = torch.randint(len(self.train_strings), (size,), generator=generator)
        return self._as_text(self.train_strings[rows.numpy()])

    def windows(self) -> list[Batch]:
        """All strings held out for validation."""
        return [self._as_text(self.held_out)]

    def prompt(self, asked: str | None) -> str | None:
        """The marker: a string from its beginning."""
        return "#"

    def examine(self, model: Any) -> dict[str, Any]:
        """The share of sampled strings in the language, by length; ``accuracy`` is that of the first length."""
        splits: dict[str, float] = {}
        for length in self.sample_lengths:
            given, free = self.shares(model, length)
            splits |= {f"length {length}": given, f"length {length}, {UNCONDITIONED}": free}
        examples = dict.fromkeys([*splits, "accuracy"], self.samples)
        return {"accuracy": next(iter(splits.values())), "splits": splits, "examples": examples}

    @torch.no_grad()
    def shares(self, model: Any, length: int) -> tuple[float, float]:
        """Of strings of ``length`` symbols, those in the language: drawn given the length, and symbol by symbol.

        ``PROPOSALS · samples`` strings are drawn symbol by symbol with the marker left out until the end. Weighted by
        P(no marker before the end) · P(marker at the end), they are a sample of P(s | n) (importance sampling,
        normalised by the sum of weights); the first ``samples`` of them without weights are the second share. A model
        that can draw from P(s | n) itself (``start_given_length``) does so instead, where it knows such strings.
        """
        training = model.training
        model.eval()
        try:
            with cached(model):
                inside, weights = self._draw(model, length, model.start(PROPOSALS * self.samples))
                free = float(inside[: self.samples].mean())
                if isinstance(model, StringModel):
                    given = model.start_given_length(PROPOSALS * self.samples, length)
                    inside, weights = self._draw(model, length, given)
        except ValueError:  # the model has no string of that length, so none that is right
            return 0.0, free
        finally:
            model.train(training)
        return float((weights.softmax(0) * inside).sum()), free

    def _draw(self, model: Any, length: int, state: Any) -> tuple[Tensor, Tensor]:
        """Strings symbol by symbol without a marker: whether each is in the language, and its log-weight."""
        generator = torch.Generator().manual_seed(self.seed + 10_007 * length)
        token = torch.full((PROPOSALS * self.samples,), self.marker)
        weights, drawn = torch.zeros(len(token), dtype=torch.float64), []
        for _ in range(length):
            log_probs, state = model.step(token, state)
            symbols = log_probs[:, : self.marker].double()
            weights += symbols.logsumexp(-1)
            token = torch.multinomial(symbols.softmax(-1), 1, generator=generator)[:, 0]
            drawn.append(token)
        log_probs, _ = model.step(token, state)
        weights += log_probs[:, self.marker].double()
        return torch.from_numpy(self.member(torch.stack(drawn, 1).numpy())).double(), weights

    def facts(self) -> dict[str, Any]:
        """What the report says of the task."""
        best = math.log(self.population) / (self.mean_length + 1)
        notes = [
            f"Accuracy: the share in the language of strings of length {self.sample_lengths[0]}, drawn given their "
            f"length ({PROPOSALS * self.samples:,} strings proposed).",
            f"Lowest achievable loss: {best:.4f} nats, of the uniform distribution over {self.population:,} strings.",
            *self.notes,
        ]
        return {
            "kind": self.kind, "vocab": self.vocab, "block": self.block, "tokenizer": "symbols", "metric": "accuracy",
            "chance": math.log(self.vocab), "best": best, "floor": {},
            "train_tokens": int((self.train_strings >= 0).sum() + len(self.train_strings)),
            "validation_tokens": int((self.held_out >= 0).sum() + len(self.held_out)),
            "source": f"drawn from seed {self.seed}", "notes": notes,
        }  # fmt: skip

    def _as_text(self, strings: np.ndarray) -> Batch:
        rows = torch.from_numpy(strings.astype(np.int64))
        edge = torch.full((len(rows), 1), -1)
        inputs = torch.cat([edge, rows], 1).clamp_min(0)
        inputs[:, 0] = self.marker
        targets = torch.cat([rows, edge], 1)
        ends = (rows >= 0).sum(1, keepdim=True)
        return inputs, targets.masked_fill(targets < 0, IGNORED).scatter(1, ends, self.marker)


def tomita(
    name: str,
    number: int,
    strings: int,
    longest: int,
    test_lengths: tuple[int, ...],
    samples: int,
    seed: int,
    asked: str = "next",
    validation: int = 1000,
) -> LanguageTask | SequenceTask:
    """A Tomita language: ``strings`` members of length 1 to ``longest`` to learn, up to 1 000 others to validate.

    ``asked: membership``: no strings to write; random strings of length 1 to ``longest``, and for every prefix the
    target whether it is in the language. Raises ``ValueError`` when the language has too few strings for both.
    """
    if asked == "membership":
        return recognition(name, number, longest, test_lengths, seed, validation)
    member = TOMITA[number]
    found = []
    for length in range(1, longest + 1):
        every = (np.arange(2**length)[:, None] >> np.arange(length - 1, -1, -1)) & 1
        good = every[member(every)]
        found.append(np.pad(good, ((0, 0), (0, longest - length)), constant_values=-1))
    population = np.concatenate(found).astype(np.int8)
    if len(population) < strings + 10:
        raise ValueError(
            f"Tomita {number} has {len(population)} strings of length 1 to {longest}: too few to learn {strings} "
            "and keep ten for validation"
        )
    chosen = np.random.default_rng([seed, number]).permutation(len(population))[: strings + 1000]
    return LanguageTask(
        name, "tomita", ["0", "1"], member, population[chosen[:strings]], population[chosen[strings:]],
        len(population), float((population >= 0).sum(1).mean()), test_lengths, samples, seed,
        notes=[f"Tomita {number}: {(member.__doc__ or '').split(': ')[1]}"],
    )  # fmt: skip


def recognition(
    name: str, number: int, longest: int, test_lengths: tuple[int, ...], seed: int, validation: int
) -> SequenceTask:
    """Is what has been read so far in Tomita's language? Uniform random bits."""
    member = TOMITA[number]

    def draw(rows: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        inputs = rng.integers(2, size=(len(rows), width))
        targets = np.stack([member(inputs[:, : place + 1]) for place in range(width)], 1)
        return inputs, targets.astype(np.int64)

    rng = np.random.default_rng([seed, number])
    share = float(draw(np.full(10_000, longest), longest, rng)[1].mean())
    tests = {f"length {length}": (length, length) for length in test_lengths}
    chance = -(share * math.log(share) + (1 - share) * math.log(1 - share))
    return SequenceTask(
        name, "tomita", ["0", "1"], draw, (1, longest), tests, chance, 0.0, max(share, 1 - share), seed=seed,
        validation=validation,
        notes=[
            f"Tomita {number}: {(member.__doc__ or '').split(': ')[1]}",
            f"Asked at every position: is the prefix in the language? Of prefixes up to {longest}, {share:.3f} are.",
        ],
    )  # fmt: skip


def motzkin(
    name: str, length: int, strings: int, test_lengths: tuple[int, ...], samples: int, seed: int
) -> LanguageTask:
    """Motzkin words of one length, drawn uniformly by counting the ways home (M_15 = 310 572).

    Raises ValueError for more training strings than there are words.
    """
    ways = motzkin_ways(length)
    population = ways[0][length]
    if population < strings + 10:
        raise ValueError(f"there are {population} Motzkin words of length {length}: too few to learn {strings}")
    rng = np.random.default_rng([seed, 15])
    wanted = min(strings + 1000, population)
    drawn: dict[bytes, np.ndarray] = {}
    while len(drawn) < wanted:  # without repetition
        for word in random_motzkin(wanted, length, ways, rng):
            drawn.setdefault(word.tobytes(), word)
    words = np.stack(list(drawn.values())[:wanted])
    return LanguageTask(
        name, "motzkin", ["(", ")", "-"], motzkin_word, words[:strings], words[strings:], population, length,
        test_lengths, samples, seed, notes=[f"Only words of length {length} are learned."],
    )  # fmt: skip


def motzkin_ways(length: int) -> list[list[int]]:
    """``ways[h][m]``: paths of m steps up, down or level from height h to 0 that never go below 0."""
    ways = [[int(h == 0)] for h in range(length + 2)]
    for m in range(1, length + 1):
        for h in range(length + 1):
            ways[h].append(ways[h][m - 1] + ways[h + 1][m - 1] + (ways[h - 1][m - 1] if h else 0))
        ways[length + 1].append(0)
    return ways


def random_motzkin(
    count: int, length: int, ways: list[list[int]], rng: np.random.Generator
) -> Integer[np.ndarray, "{count} {length}"]:
    """``count`` uniform words: each step is taken in proportion to the ways home that it leaves."""
    table = np.array(ways, dtype=float)
    height = np.zeros(count, dtype=int)
    words = np.empty((count, length), dtype=np.int8)
    for place in range(length):
        left = length - place - 1
        up, level = table[height + 1, left], table[height, left]
        down = np.where(height > 0, table[np.maximum(height - 1, 0), left], 0.0)
        u = rng.random(count) * (up + level + down)
        step = np.where(u < up, 0, np.where(u < up + down, 1, 2))
        words[:, place] = step
        height += np.where(step == 0, 1, np.where(step == 1, -1, 0))
    return words
