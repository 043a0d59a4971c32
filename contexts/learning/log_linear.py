"""The classical twin of learned contexts: the same tables, places, ridge and optimiser, without any geometry.

A log-linear model of rank d, p(s | text) ∝ exp(b_s + Σ_x ⟨w_s | R_k v(x)⟩) for words x at places k: one free vector per
word, one free matrix per place, one free vector per sense. Where it is as good at as many parameters, orthonormality
and the Born rule explain nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from contexts.learning.classifier import Example, SenseClassifier
from contexts.learning.contextual_model import select_by_evidence


class LogLinearModel(nn.Module):
    """Evidence of rank ``dimension`` for each of ``senses``; ``places`` as in the contextual model."""

    def __init__(
        self, vocabulary: int, dimension: int, senses: int, generator: torch.Generator, places: int = 0
    ) -> None:
        super().__init__()
        self.places = places

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.vectors = nn.Parameter(draw(vocabulary, dimension) / dimension**0.5)
        self.turns = nn.Parameter(
            torch.eye(dimension, dtype=torch.float64)
            + 0.3 * draw(2 * places + 1 if places else 0, dimension, dimension) / dimension**0.5
        )
        self.senses = nn.Parameter(draw(dimension, senses) / dimension**0.5)
        self.prior = nn.Parameter(torch.zeros(senses, dtype=torch.float64))

    def evidence(self) -> Float[Tensor, "places vocab senses"]:
        """What every word at every relative place (one entry if order is ignored) says for every sense, in nats."""
        placed = torch.einsum("vd,ped->pve", self.vectors, self.turns) if self.places else self.vectors[None]
        return placed @ self.senses

    def select(
        self,
        tokens: Int[Tensor, "batch time"],
        places: Int[Tensor, "batch time"] | None = None,
        table: Float[Tensor, "places vocab senses"] | None = None,
    ) -> Float[Tensor, "batch senses"]:
        """log p(sense | text), as :meth:`~contexts.learning.contextual_model.ContextualModel.select`."""
        table = self.evidence() if table is None else table
        return select_by_evidence(self.prior, table, tokens, places, self.places)


class LogLinearClassifier(SenseClassifier):
    """:class:`~contexts.learning.classifier.SenseClassifier` with a log-linear model in place of contexts."""

    def build(
        self, examples: Sequence[Example], names: Sequence[str]
    ) -> tuple[Int[Tensor, " examples"], torch.Generator]:
        """The untrained ``model``, the labels, and the generator for its training."""
        words = sorted({t for e in examples for t in e.tokens})
        self.vocabulary = {w: i for i, w in enumerate(["<unknown>", *words])}
        generator = torch.Generator().manual_seed(self.seed)
        dimension = min(self.dimension, len(self.vocabulary))
        self.model = LogLinearModel(len(self.vocabulary), dimension, len(names), generator, self.places)
        return torch.from_numpy(np.array([e.sense for e in examples])), generator

    def _penalty(self) -> Tensor:
        return torch.zeros((), dtype=torch.float64)
