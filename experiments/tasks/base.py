"""What the training loop, the judge and the report need of a task, be it a text or generated sequences."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch

from experiments.lm.contract import Batch
from experiments.tasks.tokenizers import Tokenizer


@runtime_checkable
class Task(Protocol):
    """Batches to train on, windows to evaluate on, and what a report says of both. Ignored targets are −100."""

    @property
    def name(self) -> str:
        """The name in the experiment."""
        ...

    @property
    def kind(self) -> str:
        """The kind in the experiment file."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Between text and token ids."""
        ...

    @property
    def characters_per_token(self) -> float | None:
        """Turns nats per token into bits per character; None where tokens are no characters."""
        ...

    @property
    def vocab(self) -> int:
        """Number of token ids."""
        ...

    @property
    def block(self) -> int:
        """Tokens of the longest sequence a model will see, tests included."""
        ...

    @property
    def span(self) -> int:
        """Tokens of a training sequence."""
        ...

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Inputs and targets (size, span); the only user of the training stream."""
        ...

    def windows(self) -> list[Batch]:
        """The whole validation split."""
        ...

    def prompt(self, asked: str | None) -> str | None:
        """What a model continues for the report; None where targets are no continuation."""
        ...

    def examine(self, model: Any) -> dict[str, Any]:
        """Measurements of a model beyond its validation loss: ``test_nats``, ``accuracy``, and ``splits`` by name.

        ``examples`` says of how many independent test examples each split's share is, and under "accuracy" that one's.
        """
        ...

    def facts(self) -> dict[str, Any]:
        """What the report says of the task."""
        ...
