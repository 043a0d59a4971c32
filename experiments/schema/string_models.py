"""The kind of model that gives whole strings a probability, by their length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.audit_columns import OF_REGISTERS
from experiments.schema.base import Clash, NonNegative, PositiveInt
from experiments.schema.model_base import ModelConfig

if TYPE_CHECKING:
    import torch

    from experiments.tasks import Task


class BornMachineModel(ModelConfig):
    """The uniform Born machine (u-MPS): strings of a given length by one post-selected measurement at their end."""

    note: ClassVar[str] = (
        "uniform Born machine (u-MPS) on strings between markers: P(s | n) by one measurement, no clock"
    )
    rung: ClassVar[str] = "2i"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("transition", "readout", "start", "lengths")

    kind: Literal["born_machine"]
    """`born_machine`; only for tasks whose strings stand between markers (`motzkin`, `tomita` with asked: next)."""
    transition: Literal["isometry", "unitary"] = "isometry"
    """`isometry`: every symbol an outcome, u-MPS in left-canonical form; `unitary`: a free unitary per symbol, and the
    register only turns until it is measured."""
    field: Literal["complex", "real"] = "complex"
    """Of the operators, the start and the measurement; a `real` register has an even `dim`."""
    dim: PositiveInt = 20
    """Dimension of the register."""
    rank: PositiveInt = 1
    """Dimension of the subspace that the measurement at the end asks for, at most `dim`; u-MPS has 1."""
    longest: PositiveInt | None = None
    """Greatest length of a string, to which the learned prior of lengths goes; null is the task's."""
    init_scale: NonNegative = 0.3
    """How far from commuting the operators start; 0 is a random phase of each axis for each symbol."""

    def clashes(self) -> Iterator[Clash]:
        if self.rank > self.dim:
            yield "rank", f"at most dim ({self.dim})", str(self.rank), ("dim",)
        if self.field == "real" and self.dim % 2:
            yield "dim", "an even number, since a real register turns in planes", str(self.dim), ("field",)

    def widths(self) -> dict[str, int]:
        return {"dim": 2 if self.field == "real" else 1}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.born_machine import BornMachineConfig, BornMachineLM

        settings = {"longest": block, **self.settings(vocab)}
        return BornMachineLM(BornMachineConfig(vocab=vocab, **settings), generator)

    def refuse(self, task: Task) -> None:
        from experiments.tasks.languages import LanguageTask

        if not isinstance(task, LanguageTask):
            wanted = "task kind motzkin, or tomita with asked: next"
            raise ValueError(f"kind born_machine is for strings between markers; expected {wanted}")
        longest = max(task.span - 1, *task.sample_lengths)
        if self.longest is not None and self.longest < longest:
            raise ValueError(f"longest: expected at least the task's {longest}, got {self.longest}")

    def recommended_rates(self) -> dict[str, float]:
        return {"transition": 3e-2, "readout": 3e-2, "start": 3e-2, "lengths": 0.2}
