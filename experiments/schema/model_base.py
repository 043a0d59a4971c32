"""What every kind of model has in common in an experiment file."""

from __future__ import annotations

from typing import ClassVar

from experiments.schema.base import Kind
from experiments.schema.optimizer_options import Optimizer


class ModelConfig(Kind):
    """What learns. Its size is checked against its structure here, against the vocabulary when the text is known."""

    groups: ClassVar[tuple[str, ...]] = ()
    """The parameter groups that `optimizer.rates` may name."""

    rung: ClassVar[str] = ""
    """Where the kind stands on the ladder of physicality: 0, 1, 2, 2r, 2i, 3, 4 or c; counts stand below it."""
    classical: ClassVar[bool] = False
    """Whether `reference: best classical` looks at this kind: a trained model that claims nothing quantum."""
    trains: ClassVar[bool] = True
    """Whether the kind learns by steps, so that it has a learning rate."""

    optimizer: Optimizer = Optimizer()
    """Overrides `training.optimizer` field by field."""

    def filled(self) -> dict[str, object]:
        """Values of the fields left null, where they follow from the other fields."""
        return {}

    def widths(self) -> dict[str, int]:
        """The sizes that `comparison.match` may change, coarse ones first, each with the number it is a multiple of."""
        return {}

    def recommended_rates(self) -> dict[str, float]:
        """Learning rates by group where neither the model nor the training names `lr` or `rates`."""
        return {}
