"""What an experiment file may say: the keys of `kind: gru` and of `kind: majority`, with their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments import ModelConfig, TaskConfig

if TYPE_CHECKING:
    import torch

    from experiments.tasks import Task


class GruModel(ModelConfig):
    """Gated recurrent units (Cho et al. 2014)."""

    note: ClassVar[str] = "classical recurrent network with two gates"
    groups: ClassVar[tuple[str, ...]] = ("embedding", "recurrent", "head")
    rung: ClassVar[str] = "0"
    classical: ClassVar[bool] = True

    kind: Literal["gru"]
    """`gru`"""
    dim: int = 32
    """Hidden units, and the length of the token embeddings."""

    def widths(self) -> dict[str, int]:
        return {"dim": 1}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn_example.gru import GRU

        return GRU(vocab, self.dim, generator)


class MajorityTask(TaskConfig):
    """Are there more ones than zeros so far?"""

    note: ClassVar[str] = "running majority of bits, tested on longer ones"

    kind: Literal["majority"]
    """`majority`"""
    length: int = 15
    """Greatest length in training; tests are up to twice as long."""
    validation: int = 400
    """Validation sequences."""
    seed: int = 0
    """Of the validation and test sequences."""

    def build(self, name: str) -> Task:
        from qattn_example.majority import majority

        return majority(name, **self.fields())
