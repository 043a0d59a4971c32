"""Word-sense tasks and a classifier on learned contexts, in scikit-learn's manner: fit, predict, score.

An example is a text with one asked word and its sense. The classifier builds a star: one context a sense, all sharing
the asked word's vector, each naming the training word most telling of its sense; see
:mod:`contexts.learning.contextual_model`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from contexts.learning.contextual_model import ContextualModel

CONTROLS = ("none", "one_basis", "frozen_contexts", "shuffled_senses")
"""``one_basis``: no intertwined contexts, the senses are outcomes of one basis. ``frozen_contexts``: bases stay random,
tokens alone are trained. ``shuffled_senses``: trained on permuted labels, so that nothing of the text can help."""


@dataclass(frozen=True)
class Example:
    """``tokens`` of a text, the ``position`` of the asked word in it, and its ``sense`` (a number)."""

    tokens: tuple[str, ...]
    position: int
    sense: int


@dataclass(frozen=True)
class SenseTask:
    """Examples of one asked word (or one kind of text) with their senses, split into training and test.

    ``dev`` is for choices between settings, where the source has such a part; nothing is ever chosen on the test part.
    """

    name: str
    senses: tuple[str, ...]
    train: tuple[Example, ...]
    test: tuple[Example, ...]
    source: str = ""
    dev: tuple[Example, ...] = ()

    def __post_init__(self) -> None:
        for part, examples in (("train", self.train), ("dev", self.dev), ("test", self.test)):
            if not examples and part != "dev":
                raise ValueError(f"task {self.name!r} has no {part} examples")
            for e in examples:
                if not 0 <= e.position < len(e.tokens) or not 0 <= e.sense < len(self.senses):
                    raise ValueError(f"task {self.name!r} has a {part} example out of range: {e}")


class SenseClassifier:
    """Learned contexts that tell senses apart.

        dimension  d of the space, raised where the vocabulary is smaller than d would need; own: vectors that speak
        for a context
        window     words on each side of the asked one that are read (None: all); places: how many of them keep their
                   order
        steps      of Adam on the whole training set; rate its step size for tokens and contexts alike
    shrink     ridge on the evidence of every token, per training example, which keeps rare words quiet
    """

    def __init__(
        self,
        dimension: int = 12,
        own: int = 2,
        window: int | None = None,
        places: int = 0,
        steps: int = 150,
        rate: float = 0.05,
        shrink: float = 0.5,
        seed: int = 0,
        control: str = "none",
    ) -> None:
        if control not in CONTROLS:
            raise ValueError(f"the control must be one of {', '.join(CONTROLS)}; got {control!r}")
        if not 1 <= own < dimension:
            raise ValueError(
                f"a context of dimension {dimension} has 1 to {dimension - 1} own vectors beside the shared one; "
                f"got own = {own}"
            )
        self.dimension, self.own, self.window, self.places = dimension, own, window, places
        self.steps, self.rate, self.shrink, self.seed, self.control = steps, rate, shrink, seed, control

    model: Any

    def fit(self, examples: Sequence[Example], names: Sequence[str]) -> SenseClassifier:
        """Train on examples of the senses ``names``. Raises ValueError when a sense has no example."""
        labels, generator = self.build(examples, names)
        self._train(examples, labels, generator)
        return self

    def build(
        self, examples: Sequence[Example], names: Sequence[str]
    ) -> tuple[Int[Tensor, " examples"], torch.Generator]:
        """The untrained ``model`` that :meth:`fit` starts from, with the labels and the generator for its training.

        Raises ValueError for a sense without an example, and for a dimension without room for the senses.
        """
        senses = len(names)
        labels = np.array([e.sense for e in examples])
        if missing := [s for s in range(senses) if s not in labels]:
            raise ValueError(f"sense {missing[0]} has no training example")
        words = sorted({t for e in examples for t in e.tokens})
        self.vocabulary = {w: i for i, w in enumerate(["<unknown>", *words])}
        asked = Counter(e.tokens[e.position] for e in examples).most_common(1)[0][0]
        self.members = telling_words(examples, names)
        contexts = [[self.vocabulary[asked], *([self.vocabulary[m]] if m else [])] for m in self.members]
        generator = torch.Generator().manual_seed(self.seed)
        dimension = min(self.dimension, len(self.vocabulary))
        own = min(self.own, dimension - 1)
        if self.control == "one_basis":
            own = min(own, (dimension - 1) // senses)
            if own == 0:
                raise ValueError(
                    f"one basis of dimension {dimension} has no room for {senses} senses beside the shared vector; "
                    f"it takes dimension {senses + 1}"
                )
        with _float64():
            self.model = ContextualModel(
                len(self.vocabulary),
                dimension,
                contexts,
                own,
                generator,
                self.places,
                one_basis=self.control == "one_basis",
            )
        return torch.from_numpy(labels), generator

    def predict_log_proba(self, examples: Sequence[Example]) -> Float[np.ndarray, "examples senses"]:
        """log p(sense | text), (examples, senses). Words not seen in training speak for no sense."""
        with torch.no_grad():
            return self.model.select(*self._encode(examples)).numpy()

    def predict(self, examples: Sequence[Example]) -> Int[np.ndarray, " examples"]:
        """The likeliest sense of each example, as indices (n,)."""
        return self.predict_log_proba(examples).argmax(axis=1)

    def score(self, examples: Sequence[Example]) -> float:
        """Accuracy."""
        return float(np.mean(self.predict(examples) == np.array([e.sense for e in examples])))

    def _train(self, examples: Sequence[Example], labels: Tensor, generator: torch.Generator) -> None:
        if self.control == "shuffled_senses":
            labels = labels[torch.randperm(len(labels), generator=generator)]
        if self.control == "frozen_contexts":
            for parameter in self.model.bases.parameters():
                parameter.requires_grad_(False)
        tokens, places = self._encode(examples)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.parameters = sum(p.numel() for p in trained)
        optimizer = torch.optim.Adam(trained, lr=self.rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps, eta_min=self.rate / 20)
        for _ in range(self.steps):
            table = self.model.evidence()
            loss = -self.model.select(tokens, places, table).gather(1, labels[:, None]).mean()
            loss = loss + self.shrink / len(labels) * (table - table.mean(-1, keepdim=True)).square().sum()
            loss = loss + self._penalty()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()

    def _penalty(self) -> Tensor:
        """What pulls cyclic contexts together; zero for stars and trees."""
        return self.model.bases.penalty()

    def _encode(self, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
        """Token ids and relative places; −1 pads, and stands for unknown words and the asked word itself, which are
        mute."""
        rows = []
        for e in examples:
            row = [
                (self.vocabulary.get(t, -1), place)
                for t, place in near(e, self.window)
                if place and (not self.places or abs(place) <= self.places)
            ]
            rows.append([x for x in row if x[0] >= 0])
        width = max(1, max(map(len, rows)))
        table = torch.full((len(rows), width, 2), -1, dtype=torch.long)
        table[:, :, 1] = 0
        for k, row in enumerate(rows):
            if row:
                table[k, : len(row)] = torch.tensor(row)
        return table[:, :, 0], table[:, :, 1]


def near(example: Example, window: int | None) -> list[tuple[str, int]]:
    """Tokens with their place relative to the asked word, within the window."""
    placed = [(t, i - example.position) for i, t in enumerate(example.tokens)]
    return placed if window is None else [(t, p) for t, p in placed if abs(p) <= window]


def telling_words(examples: Sequence[Example], names: Sequence[str]) -> list[str]:
    """For each sense a training word to stand in its context: its own name if it occurs, else the one most in its
    favour.

    By smoothed log-odds times frequency; each word once, '' where no word speaks for a sense.
    """
    senses = len(names)
    counts = [Counter[str]() for _ in range(senses)]
    asked = {e.tokens[e.position] for e in examples}
    for e in examples:
        counts[e.sense].update(set(e.tokens) - asked)
    total = sum(counts, Counter[str]())
    chosen: list[str] = []
    for s in range(senses):
        score = {
            w: counts[s][w] * log((counts[s][w] + 0.5) / (n - counts[s][w] + 0.5))
            for w, n in total.items()
            if w not in chosen
        }
        if names[s] in score:
            chosen.append(names[s])
            continue
        best = max(sorted(score), key=score.__getitem__, default="")
        chosen.append(best if best and score[best] > 0 else "")
    return chosen


class _float64:
    """Models made inside have float64 parameters; the default is restored after."""

    def __enter__(self) -> None:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *_: object) -> None:
        torch.set_default_dtype(self.before)
