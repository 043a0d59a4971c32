"""Tasks whose sequences are drawn from a seed: one target at every position that is asked, nothing elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.lm.contract import Batch
from experiments.lm.evaluate import answers, right_share
from experiments.stats.accuracy import effective_examples
from experiments.tasks.tokenizers import SymbolTokenizer

IGNORED = -100
Rows = np.ndarray
Draw = Callable[[Rows, int, np.random.Generator], tuple[Rows, Rows]]
"""(lengths (n,), width, generator) → inputs and targets (n, width); what lies beyond a row's length is ignored."""


@dataclass
class SequenceTask:
    """Sequences by ``draw``; lengths are uniform in an interval, both ends included.

    ``lengths`` are trained on, ``tests`` are other intervals by name, for length generalisation. ``extra`` positions
    follow the length itself (an "=" sign, say). ``train_size`` None draws new sequences for ever; a number fixes so
    many. ``queries`` picks among the targets those that accuracy counts (None: all). ``chance`` and ``best`` are nats a
    target: of guessing knowing nothing, and the lowest achievable; ``guess`` is the accuracy of guessing. ``metric`` is
    what judges: accuracy, or val_nats where even the best answer is often wrong. ``whole`` is every sequence there is,
    where they are few and equally likely: validation is then exact, and a batch of at least as many is all of them.
    ``drawn``: an answer is drawn from the model's distribution, not its likeliest. ``bounds`` are theorems' values of
    the metric by name, lines in the report.
    """

    name: str
    kind: str
    symbols: list[str]
    draw: Draw
    lengths: tuple[int, int]
    tests: dict[str, tuple[int, int]]
    chance: float
    best: float | None
    guess: float
    seed: int = 0
    extra: int = 0
    validation: int = 1000
    train_size: int | None = None
    queries: Callable[[Tensor], Tensor] | None = None
    notes: list[str] = field(default_factory=list)
    metric: str = "accuracy"
    characters_per_token: float | None = None
    whole: tuple[Rows, Rows] | None = None
    drawn: bool = False
    bounds: dict[str, float] = field(default_factory=dict)

    @cached_property
    def tokenizer(self) -> SymbolTokenizer:
        """The symbols, written with spaces between them."""
        return SymbolTokenizer(self.symbols)

    @property
    def vocab(self) -> int:
        """Number of symbols."""
        return len(self.symbols)

    @property
    def span(self) -> int:
        """Tokens of the longest training sequence."""
        return self.lengths[1] + self.extra

    @property
    def block(self) -> int:
        """Tokens of the longest sequence, tests included."""
        return max([self.lengths[1], *(high for _, high in self.tests.values())]) + self.extra

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """New sequences, or rows of the fixed training set; the only user of the training stream."""
        if self.whole is not None and size >= len(self.whole[0]):
            return self._validation
        if self.train_size is not None:
            rows = torch.randint(self.train_size, (size,), generator=generator)
            return self._training[0][rows].long(), self._training[1][rows].long()
        seed = int(torch.randint(2**62, (1,), generator=generator))
        return self.sample(size, self.lengths, np.random.default_rng(seed))

    def windows(self) -> list[Batch]:
        """The validation sequences: of the training lengths, from a generator of their own."""
        return [self._validation]

    def sample(self, size: int, lengths: tuple[int, int], rng: np.random.Generator) -> Batch:
        """``size`` sequences, padded on the right to the longest length; targets of the padding are ignored."""
        drawn = rng.integers(lengths[0], lengths[1], size, endpoint=True)
        width = lengths[1] + self.extra
        inputs, targets = self.draw(drawn, width, rng)
        targets = np.where(np.arange(width) < (drawn + self.extra)[:, None], targets, IGNORED)
        return torch.from_numpy(inputs.astype(np.int64)), torch.from_numpy(targets.astype(np.int64))

    def prompt(self, asked: str | None) -> str | None:
        """Nothing: the targets do not continue the inputs."""
        return None

    def examine(self, model: Any) -> dict[str, Any]:
        """Share of the asked targets that the likeliest token hits: on the training lengths, and on each test.

        ``accuracy`` is that of the last test, the hardest; of the validation split where there is no test. ``examples``
        are effective numbers: the targets of one sequence are not independent. Where answers are drawn it is the mean
        probability of the right one, which has no error of sampling on a ``whole`` set.
        """
        sets = {"validation": self._validation}
        for index, (name, lengths) in enumerate(self.tests.items()):
            rng = np.random.default_rng([self.seed, 2, index])
            sets[name] = self.sample(max(1, self.validation // 4), lengths, rng)
        if self.drawn:
            splits = {name: right_share(model, [pair]) for name, pair in sets.items()}
            return {"accuracy": list(splits.values())[-1], "splits": splits}
        splits, examples = {}, {}
        for name, pair in sets.items():
            hits, asked = (x.numpy() for x in answers(model, [pair], self.queries))
            splits[name] = float(hits.sum() / asked.sum())
            examples[name] = effective_examples(hits, asked)
        last = list(sets)[-1]
        return {"accuracy": splits[last], "splits": splits, "examples": examples | {"accuracy": examples[last]}}

    def facts(self) -> dict[str, Any]:
        """What the report says of the task."""
        test = next(reversed(self.tests), None)
        notes = [
            f"Accuracy is measured on {test}." if test else "Accuracy is measured on the validation sequences.",
            f"Guessing: {self.chance:.4f} nats, accuracy {self.guess:.4f}. "
            + (
                "The lowest achievable loss is not known."
                if self.best is None
                else f"Lowest achievable loss: {self.best:.4f} nats."
            ),
            *self.notes,
        ]
        return {
            "kind": self.kind, "vocab": self.vocab, "block": self.block, "tokenizer": "symbols", "metric": self.metric,
            "chance": self.chance, "best": self.best, "guess": self.guess, "floor": {},
            "source": f"drawn from seed {self.seed}", "notes": notes, "bounds": self.bounds,
        }  # fmt: skip

    @cached_property
    def _validation(self) -> Batch:
        if self.whole is not None:
            inputs, targets = self.whole
            return torch.from_numpy(inputs.astype(np.int64)), torch.from_numpy(targets.astype(np.int64))
        return self.sample(self.validation, self.lengths, np.random.default_rng([self.seed, 1]))

    @cached_property
    def _training(self) -> Batch:
        assert self.train_size is not None
        inputs, targets = self.sample(self.train_size, self.lengths, np.random.default_rng([self.seed, 0]))
        return inputs.to(torch.int32), targets.to(torch.int32)


def uniform(classes: int) -> tuple[float, float]:
    """Nats and accuracy of guessing among equally likely classes."""
    return math.log(classes), 1 / classes
