"""What the kinds of model that are measured have in common: how they are read, and their twin that a softmax reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from experiments.schema.base import PositiveInt
from experiments.schema.model_base import ModelConfig

Share = Annotated[float, Field(ge=0, le=1)]
Rank = PositiveInt | Literal["fit"]


def with_rank(settings: dict[str, Any], dim: int, vocab: int) -> dict[str, Any]:
    """``rank: fit`` as a number: the least that makes a measurement of ``dim`` dimensions complete, and at least 4."""
    return settings | {"rank": max(4, -(-dim // vocab))} if settings.get("rank") == "fit" else settings


def softmax_of(model: ModelConfig) -> ModelConfig:
    """The same register read by a softmax, which needs no floor."""
    return model.model_copy(update={"readout": "softmax", "rank": None, "floor": False})
