"""What kinds of model whose angles a classical control sets have in common, and such a model without its register."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import Clash, Positive, PositiveInt
from experiments.schema.model_base import ModelConfig

if TYPE_CHECKING:
    import torch

NOT_SHARED = {"kind", "optimizer", "twin_of", "angle_init_scale"}
Control = Literal["token", "additive", "mlp"]


class ControlledModel(ModelConfig):
    """Fields of the classical control, from tokens to angles."""

    heads: PositiveInt = 4
    """Groups of angles that share an attention score."""
    key_dim: PositiveInt = 16
    """Length of queries and keys."""
    attention: bool = True
    """Whether earlier tokens set angles by attention (a score times a value, falling with distance); without it only
    what the control looks at does."""
    decay: Literal["fixed", "learned"] = "fixed"
    """How attention falls with distance: one rate per head, fixed or learned."""
    control: Control = "mlp"
    """What turns tokens into angles: a linear map of the newest `token`'s embedding, the `additive` one of the last
    `ngram` embeddings, or an `mlp` on these."""
    ngram: PositiveInt | None = None
    """Tokens the control looks at, with control additive or mlp; null is 4."""
    hidden: PositiveInt | None = None
    """Width of the control's hidden layer, with control mlp; null is 512."""
    embedding: PositiveInt = 64
    """Length of the control's token embeddings."""
    angle_init_scale: Positive = 0.2
    """Size of the text's angles at the start."""

    def clashes(self) -> Iterator[Clash]:
        if self.hidden is not None and self.control != "mlp":
            got = f"control: {self.control}, which has no hidden layer; remove hidden"
            yield "hidden", "control: mlp beside it", got, ("control",)
        if self.ngram is not None and self.control == "token":
            got = "control: token, which sees one token; remove ngram"
            yield "ngram", "control: additive or mlp beside it", got, ("control",)
        if self.decay == "learned" and not self.attention:
            yield "decay", "attention: true beside it", "attention: false; remove decay", ("attention",)

    def filled(self) -> dict[str, object]:
        values: dict[str, object] = {}
        if self.control != "token" and self.ngram is None:
            values["ngram"] = 4
        if self.control == "mlp" and self.hidden is None:
            values["hidden"] = 512
        return values

    def widths(self) -> dict[str, int]:
        return {"hidden": 1, "embedding": 1} if self.control == "mlp" else {"embedding": 1}

    def without_register(self, angles: int, layers: int) -> NoRegisterModel:
        """The same control, with so many angles in each of ``layers``, read by a softmax."""
        shared = {name: getattr(self, name) for name in ControlledModel.model_fields if name not in NOT_SHARED}
        return NoRegisterModel(kind="no_register", dim=angles, layers=layers, **shared)

    def control_rates(self) -> dict[str, float]:
        """The recommended rates of the control's groups."""
        return {"embedding": 4e-3 if self.control == "mlp" else 1e-2, "control": 2e-3}


class NoRegisterModel(ControlledModel):
    """The classical twin of the kinds with a controlled register: the same control, read by a softmax directly."""

    note: ClassVar[str] = "rung 2 without its register: a softmax of the control, its angles, or their cos and sin"
    rung: ClassVar[str] = "0"
    classical: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("embedding", "control", "head")

    kind: Literal["no_register"]
    """`no_register`"""
    reads: Literal["control", "angles", "cos_sin"] = "cos_sin"
    """What the softmax reads: the `control` vector alone, the `angles` it sets, or their cosines and sines."""
    dim: PositiveInt = 96
    """Angles per layer, divisible by `heads`; none where it reads the control."""
    layers: PositiveInt = 4
    """Layers of angles."""
    angle_init_scale: Positive = 1.0
    """Size of the text's angles at the start."""

    def clashes(self) -> Iterator[Clash]:
        yield from super().clashes()
        if self.reads != "control" and self.dim % self.heads:
            yield "dim", f"a multiple of heads ({self.heads})", str(self.dim), ("heads",)

    def widths(self) -> dict[str, int]:
        return {**({} if self.reads == "control" else {"dim": self.heads}), **super().widths()}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.no_register import NoRegisterConfig, NoRegisterLM

        return NoRegisterLM(NoRegisterConfig(vocab=vocab, **self.settings(vocab)), generator)

    def recommended_rates(self) -> dict[str, float]:
        return {**self.control_rates(), "head": 4e-3}
