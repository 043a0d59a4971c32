"""Loss over a whole validation split: token-weighted, independent of batch size, never touching the training stream."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from qattn.held import held

IGNORED = -100


def token_nats(log_probs: Tensor, targets: Tensor) -> Tensor:
    """−log p of each target (Svozil, III.2: the training objective is its mean), in nats; 0 where ignored."""
    wanted = targets != IGNORED
    picked = log_probs.gather(-1, targets.clamp_min(0)[..., None])[..., 0]
    return torch.where(wanted, -picked, 0.0)


def mean_nats(log_probs: Tensor, targets: Tensor) -> Tensor:
    """Mean nats over the targets that count."""
    return token_nats(log_probs, targets).sum() / (targets != IGNORED).sum()


@torch.no_grad()
def evaluate(model: nn.Module, windows: list[tuple[Tensor, Tensor]], batch: int = 64) -> float:
    """Mean nats a token over all windows; restores the model's training mode. Sums in float64."""
    training = model.training
    model.eval()
    try:
        total, count = 0.0, 0
        with held(model):
            for inputs, targets in windows:
                for x, y in zip(inputs.split(batch), targets.split(batch), strict=True):
                    total += token_nats(model(x), y).double().sum().item()
                    count += int((y != IGNORED).sum())
    finally:
        model.train(training)
    return total / count


@torch.no_grad()
def accuracy(
    model: nn.Module,
    windows: list[tuple[Tensor, Tensor]],
    queries: Callable[[Tensor], Tensor] | None = None,
    batch: int = 64,
) -> float:
    """Share of the targets that the likeliest token hits; ``queries`` says which targets are asked (None: all).

    Ignored targets never count. Restores the model's training mode.
    """
    training = model.training
    model.eval()
    try:
        hits, count = 0, 0
        with held(model):
            for inputs, targets in windows:
                for x, y in zip(inputs.split(batch), targets.split(batch), strict=True):
                    asked = (y != IGNORED) if queries is None else (y != IGNORED) & queries(y)
                    hits += int(((model(x).argmax(-1) == y) & asked).sum())
                    count += int(asked.sum())
    finally:
        model.train(training)
    return hits / count
