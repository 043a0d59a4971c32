"""What every kind of model has in common in an experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from experiments.schema.audit_columns import OF_PREDICTIONS
from experiments.schema.base import Kind, Name
from experiments.schema.optimizer_options import Optimizer

if TYPE_CHECKING:
    import torch

    from experiments.tasks import Task

RUNGS = ("", "0", "1", "2", "2s", "2r", "2i", "3", "4", "c")
"""The rungs of the ladder of physicality, from classical to discrete; "" is counts, below it."""
NOT_FOR_THE_MODEL = {"kind", "optimizer", "twin_of", "tasks"}


class ModelConfig(Kind):
    """What learns. Its size is checked against its structure here, against the vocabulary when the text is known.

    A class is all that the laboratory knows of a kind: the keys of the experiment file with their defaults, how a model
    is built from them, where it stands on the ladder, what can be audited, and its classical twins.
    """

    groups: ClassVar[tuple[str, ...]] = ()
    """The parameter groups that `optimizer.rates` may name."""

    rung: ClassVar[str] = ""
    """Where the kind stands on the ladder of physicality, one of :data:`RUNGS`."""
    audited: ClassVar[tuple[str, ...]] = OF_PREDICTIONS
    """The audit's columns that the kind has a number for, with its default sizes; the others have a reason."""
    classical: ClassVar[bool] = False
    """Whether `reference: best classical` looks at this kind: a trained model that claims nothing quantum."""
    trains: ClassVar[bool] = True
    """Whether the kind learns by steps, so that it has a learning rate."""

    softmax: ClassVar[bool] = False
    """Whether a softmax reads every model of the kind, so that its z-loss can be asked for; else `readout` says it."""

    twin_of: Name | tuple[Name, ...] = ()
    """The model, or models, beside which this one stands with one thing taken away: the Born rule, register, coherence
    or attention; or with another control. The report splits the price by it, the training does not depend on it."""
    tasks: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """The tasks that this model learns, by name, where an experiment has several; null is all of them."""
    optimizer: Optimizer = Optimizer()
    """Overrides `training.optimizer` field by field."""

    @property
    def claims_nothing_quantum(self) -> bool:
        """:attr:`classical`, or made so by its fields."""
        return self.classical

    @property
    def states(self) -> int | None:
        """Dimensions, or states, of all that the model carries from token to token; None where that is real numbers of
        any precision, or the whole text."""
        return None

    def learns(self, task: str) -> bool:
        """Whether the model is trained on the task of this name."""
        return self.tasks is None or task in self.tasks

    @property
    def originals(self) -> tuple[str, ...]:
        """The models whose twin this is."""
        return (self.twin_of,) if isinstance(self.twin_of, str) else self.twin_of

    @property
    def has_softmax(self) -> bool:
        """Whether a softmax reads this model."""
        return self.softmax or getattr(self, "readout", None) == "softmax"

    def filled(self) -> dict[str, object]:
        """Values of the fields left null, where they follow from the other fields."""
        return {}

    def widths(self) -> dict[str, int]:
        """The sizes that `comparison.match` may change, coarse ones first, each with the number it is a multiple of."""
        return {}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        """The untrained model for ``vocab`` symbols and texts of at most ``block``, drawn from ``generator`` alone.

        Torch and the model are imported here, not with the schema. Raises ValueError when the sizes cannot fit.
        """
        raise NotImplementedError(f"kind {self.kind} does not say how it is built")

    def settings(self, vocab: int) -> dict[str, Any]:
        """The fields that a model's constructor takes: all that are not null."""
        values = self.model_dump(exclude=NOT_FOR_THE_MODEL)
        return {key: value for key, value in values.items() if value is not None}

    def refuse(self, task: Task) -> None:
        """Raise ValueError, the sentence's end in it, for a task that the kind cannot learn."""

    def twins(self) -> dict[str, ModelConfig]:
        """This model without what makes it quantum, by what was left out: what a claim for it is compared with.

        The names are those of :data:`experiments.schema.twins.PARTS`.
        """
        return {}

    def recommended_rates(self) -> dict[str, float]:
        """Learning rates by group where neither the model nor the training names `lr` or `rates`."""
        return {}
