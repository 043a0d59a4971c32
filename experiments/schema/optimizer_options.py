"""The optimizer's options: once under ``training`` for every model, and again under a model where it differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from experiments.schema.base import Clash, NonNegative, NonNegativeInt, Positive, Strict

Beta = Annotated[float, Field(ge=0, lt=1)]


class Optimizer(Strict):
    """How the parameters move. A model's own `optimizer` overrides `training.optimizer` field by field."""

    kind: Literal["adamw", "muon"] = "adamw"
    """`adamw`, or `muon`: Muon on the hidden matrices (of unitary kinds: the control's) and AdamW on the rest."""
    lr: Positive = 1e-3
    """Learning rate of AdamW, reached after the warm-up."""
    min_lr: NonNegative | None = None
    """Learning rate at the last step of a cosine schedule; null is a tenth of `lr`."""
    muon_lr: Positive | None = None
    """Learning rate of Muon, scaled by the same schedule; null is 0.02. Used by kind muon only."""
    warmup: NonNegativeInt | None = None
    """Steps of linear warm-up from zero; null is a tenth of the steps, at most 100."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """After the warm-up: `cosine` decay to `min_lr`, or `constant`."""
    betas: tuple[Beta, Beta] = (0.9, 0.99)
    """AdamW's decay rates of the mean and of the mean square of the gradient."""
    weight_decay: NonNegative = 0.1
    """Decoupled weight decay, on matrices only (never on constrained parameters such as unitaries)."""
    clip: Positive = 1.0
    """Largest norm of the whole gradient."""
    z_loss: NonNegative = 0.0
    """Weight in the loss of the mean of (log Z)², Z the sum in a model's softmax (Chowdhery et al. 2022 take 1e-4); no
    term of a model that is read by a measurement."""
    rates: dict[str, Positive] = Field(default_factory=dict)
    """Learning rates by parameter group instead of `lr`, scaled by the same schedule; the kind names the groups."""

    def clashes(self) -> Iterator[Clash]:
        if self.min_lr is not None and self.min_lr > self.lr:
            yield "min_lr", f"at most lr ({self.lr:g})", f"{self.min_lr:g}", ("lr",)
