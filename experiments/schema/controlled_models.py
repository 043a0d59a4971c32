"""What kinds of model whose angles a classical control sets have in common, and such a model without its register."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import Clash, Positive, PositiveInt
from experiments.schema.model_base import ModelConfig

if TYPE_CHECKING:
    import torch

NOT_SHARED = {"kind", "optimizer", "twin_of", "angle_init_scale"}
"""Fields that a model without its register does not take over."""
Control = Literal["token", "additive", "mlp"]
AnyControl = Literal["token", "additive", "mlp", "transformer"]


class ControlledModel(ModelConfig):
    """Fields of the classical control, from tokens to angles."""

    heads: PositiveInt = 4
    """Groups of angles that share an attention score; also the attention heads of control transformer."""
    key_dim: PositiveInt = 16
    """Length of queries and keys."""
    attention: bool = True
    """Whether earlier tokens set angles by attention (a score times a value, falling with distance); without it only
    what the control looks at does."""
    decay: Literal["fixed", "learned"] = "fixed"
    """How attention falls with distance: one rate per head, fixed or learned."""
    qk_norm: bool = False
    """Normalise the queries and keys of the attention, as a transformer's `qk_norm` does: angles then grow with the
    control vectors and not with their cube, and higher rates are stable. A nonlinearity before the angles."""
    control: AnyControl = "mlp"
    """What turns tokens into angles: a linear map of the newest `token`'s embedding, the `additive` one of the last
    `ngram` embeddings, an `mlp` on these, or a `transformer` (preset modern, without its head) on the whole text."""
    ngram: PositiveInt | None = None
    """Tokens the control looks at, with control additive or mlp; null is 4."""
    hidden: PositiveInt | None = None
    """Width of the control's hidden layers, with control mlp (null is 512) or transformer (null is 4 times
    `embedding`)."""
    blocks: PositiveInt | None = None
    """Blocks of the control, with control transformer; null is 2."""
    embedding: PositiveInt = 64
    """Length of the control's token embeddings."""
    angle_init_scale: Positive = 0.2
    """Size of the text's angles at the start."""

    def clashes(self) -> Iterator[Clash]:
        if self.hidden is not None and self.control not in ("mlp", "transformer"):
            got = f"control: {self.control}, which has no hidden layer; remove hidden"
            yield "hidden", "control: mlp or transformer beside it", got, ("control",)
        if self.ngram is not None and self.control in ("token", "transformer"):
            sees = "one token" if self.control == "token" else "the whole text"
            got = f"control: {self.control}, which sees {sees}; remove ngram"
            yield "ngram", "control: additive or mlp beside it", got, ("control",)
        if self.blocks is not None and self.control != "transformer":
            got = f"control: {self.control}; remove blocks"
            yield "blocks", "control: transformer beside it", got, ("control",)
        if self.control == "transformer" and self.embedding % (2 * self.heads):
            expected = f"a multiple of twice the heads ({2 * self.heads}) with control transformer"
            yield "embedding", expected, str(self.embedding), ("heads",)
        if self.qk_norm and not self.attention:
            yield "qk_norm", "attention: true beside it", "attention: false; remove qk_norm", ("attention",)
        if self.decay == "learned" and not self.attention:
            yield "decay", "attention: true beside it", "attention: false; remove decay", ("attention",)

    def filled(self) -> dict[str, object]:
        values: dict[str, object] = {}
        if self.control in ("additive", "mlp") and self.ngram is None:
            values["ngram"] = 4
        if self.control in ("mlp", "transformer") and self.hidden is None:
            values["hidden"] = 512 if self.control == "mlp" else 4 * self.embedding
        if self.control == "transformer" and self.blocks is None:
            values["blocks"] = 2
        return values

    def widths(self) -> dict[str, int]:
        if self.control == "transformer":
            return {"embedding": 2 * self.heads, "hidden": 1}
        return {"hidden": 1, "embedding": 1} if self.control == "mlp" else {"embedding": 1}

    def settings(self, vocab: int) -> dict[str, Any]:
        values = super().settings(vocab)
        values.pop("blocks", None)
        return values

    def given_control(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        """The control that a model does not make itself: a transformer without its head; None for the others."""
        if self.control != "transformer":
            return None
        from classical.context_vectors import ContextVectors
        from classical.presets import modern

        sizes = {"dim": self.embedding, "heads": self.heads, "hidden": self.hidden, "layers": self.blocks or 2}
        return ContextVectors(modern(vocab, block, tie=True, **sizes), generator)

    def without_register(self, angles: int, layers: int) -> NoRegisterModel:
        """The same control, with so many angles in each of ``layers``, read by a softmax."""
        shared = {name: getattr(self, name) for name in ControlledModel.model_fields if name not in NOT_SHARED}
        return NoRegisterModel(kind="no_register", dim=angles, layers=layers, **shared)

    def control_rates(self) -> dict[str, float]:
        """The recommended rates of the control's groups."""
        return {"embedding": 4e-3 if self.control in ("mlp", "transformer") else 1e-2, "control": 2e-3}


class NoRegisterModel(ControlledModel):
    """The classical twin of the kinds with a controlled register: the same control, read by a softmax directly."""

    note: ClassVar[str] = "rung 2 without its register: a softmax of the control, its angles, or their cos and sin"
    rung: ClassVar[str] = "0"
    classical: ClassVar[bool] = True
    softmax: ClassVar[bool] = True
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

        control = self.given_control(vocab, block, generator)
        return NoRegisterLM(NoRegisterConfig(vocab=vocab, **self.settings(vocab)), generator, control)

    def recommended_rates(self) -> dict[str, float]:
        return {**self.control_rates(), "head": 4e-3}
