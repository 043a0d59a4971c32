"""Loss over a whole validation split: token-weighted, independent of batch size, never touching the training stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from classical import perplexity
from experiments.lm.contract import Batch, Tokens
from qattn.core.parametrization_cache import cached

IGNORED = -100
Queries = Callable[[Tokens], Bool[Tensor, "_sequences _time"]]
"""Targets → which of them are asked."""


def token_nats(log_probs: Float[Tensor, "*batch vocab"], targets: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """−log p of each target (Svozil, III.2: the training objective is its mean), in nats; 0 where ignored."""
    wanted = targets != IGNORED
    return torch.where(wanted, perplexity.token_nats(log_probs, targets.masked_fill(~wanted, 0)), 0.0)


def mean_nats(log_probs: Float[Tensor, "*batch vocab"], targets: Int[Tensor, "*batch"]) -> Float[Tensor, ""]:
    """Mean nats over the targets that count; 0, with no gradient, where none does."""
    return token_nats(log_probs, targets).sum() / (targets != IGNORED).sum().clamp_min(1)


@torch.no_grad()
def preparations(model: Any, windows: list[Batch], batch: int = 64) -> dict[str, float]:
    """Expected preparations of the register per token of a :class:`RepeatedModel`, over the targets that count: their
    ``mean``, ``median`` and ``most``."""
    found = []
    with cached(model):
        for inputs, targets in windows:
            for x, y in zip(inputs.split(batch), targets.split(batch), strict=True):
                found.append(model.preparations(x)[y != IGNORED].double())
    every = torch.cat(found)
    return {"mean": every.mean().item(), "median": every.median().item(), "most": every.max().item()}


@torch.no_grad()
def predictions(
    model: nn.Module, windows: list[Batch], batch: int
) -> Iterator[tuple[Float[Tensor, "_sequences _time vocab"], Tokens]]:
    """Log-probabilities and targets, ``batch`` sequences at a time, in evaluation mode and without gradients."""
    training = model.training
    model.eval()
    try:
        with cached(model):
            for inputs, targets in windows:
                for x, y in zip(inputs.split(batch), targets.split(batch), strict=True):
                    yield model(x), y
    finally:
        model.train(training)


def evaluate(model: nn.Module, windows: list[Batch], batch: int = 64) -> float:
    """Mean nats per token over all windows; restores the model's training mode. Sums in float64.

    Raises ``ValueError`` where no target counts.
    """
    total, count = 0.0, 0
    for log_probs, targets in predictions(model, windows, batch):
        total += token_nats(log_probs, targets).double().sum().item()
        count += int((targets != IGNORED).sum())
    return total / _some(count)


def accuracy(
    model: nn.Module,
    windows: list[Batch],
    queries: Queries | None = None,
    batch: int = 64,
) -> float:
    """Share of the targets that the likeliest token hits; ``queries`` says which targets are asked (None: all).

    Ignored targets never count. Restores the model's training mode. Raises ``ValueError`` where no target counts.
    """
    hits, asked = answers(model, windows, queries, batch)
    return int(hits.sum()) / int(asked.sum())


def answers(
    model: nn.Module,
    windows: list[Batch],
    queries: Queries | None = None,
    batch: int = 64,
) -> tuple[Int[Tensor, " sequences"], Int[Tensor, " sequences"]]:
    """Of every sequence how many targets the likeliest token hits and how many are asked, as :func:`accuracy`."""
    hits, counts = [], []
    for log_probs, targets in predictions(model, windows, batch):
        asked = targets != IGNORED
        if queries is not None:
            asked &= queries(targets)
        hits.append(((log_probs.argmax(-1) == targets) & asked).sum(1))
        counts.append(asked.sum(1))
    _some(sum(int(count.sum()) for count in counts))
    return torch.cat(hits), torch.cat(counts)


def right_share(model: nn.Module, windows: list[Batch], batch: int = 64) -> float:
    """The mean probability of the right answer over all targets that count: how often an answer *drawn* from the model
    is right. Sums in float64. Raises ``ValueError`` where no target counts.
    """
    total, count = 0.0, 0
    for log_probs, targets in predictions(model, windows, batch):
        asked = targets != IGNORED
        total += (-token_nats(log_probs, targets)).double().exp()[asked].sum().item()
        count += int(asked.sum())
    return total / _some(count)


def _some(count: int) -> int:
    if not count:
        raise ValueError("there is no target to measure on: every one is ignored")
    return count
