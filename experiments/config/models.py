"""The kinds of model an experiment can compare. A new kind is one class and one line in :data:`MODELS`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from experiments.config.base import Clash, Kind, NonNegative, Positive, PositiveInt
from experiments.config.optimizer import Optimizer


class ModelConfig(Kind):
    """What learns. Its size is checked against its structure here, against the vocabulary when the text is known."""

    groups: ClassVar[tuple[str, ...]] = ()
    """The parameter groups that `optimizer.rates` may name."""

    optimizer: Optimizer = Optimizer()
    """Overrides `training.optimizer` field by field."""

    def filled(self) -> dict[str, object]:
        """Values of the fields left null, where they follow from the other fields."""
        return {}

    def recommended_rates(self) -> dict[str, float]:
        """Learning rates by group where neither the model nor the training names `lr` or `rates`."""
        return {}


class TransformerModel(ModelConfig):
    """Softmax attention, LayerNorm or RMSNorm, residual sums, feed-forward blocks."""

    note: ClassVar[str] = (
        "classical transformer; presets gpt2_style, modern, vanilla and llama, every part can be changed"
    )
    groups: ClassVar[tuple[str, ...]] = ("embedding", "position", "attention", "feedforward", "norm", "head")

    kind: Literal["transformer"]
    """`transformer`"""
    preset: Literal["gpt2_style", "modern", "vanilla", "llama"] = "gpt2_style"
    """Style: where a field below is null, the preset's value holds. `vanilla` is the post-LN original, `modern` has
    rotary positions, RMSNorm, QK-norm and ReLU², `llama` has rotary positions, RMSNorm and SwiGLU."""
    dim: PositiveInt = 128
    """Width of the residual stream, divisible by `heads`."""
    layers: PositiveInt = 4
    """Number of blocks."""
    heads: PositiveInt = 4
    """Attention heads of a block."""
    hidden: PositiveInt | None = None
    """Width of the feed-forward layer; null: four times `dim` (with swiglu 8/3 times)."""
    norm: Literal["layer", "rms"] | None = None
    """LayerNorm or RMSNorm; null: from the preset."""
    norm_position: Literal["pre", "post"] | None = None
    """Norm before each part (`pre`) or after its residual sum (`post`); null: from the preset."""
    position: Literal["learned", "sinusoidal", "rotary", "none"] | None = None
    """How a token knows its place; null: from the preset."""
    activation: Literal["relu", "gelu", "swiglu", "relu2"] | None = None
    """Non-linearity of the feed-forward layer; null: from the preset."""
    qk_norm: bool | None = None
    """Normalise queries and keys; null: from the preset."""
    tie: bool | None = None
    """Share the token embedding with the output head; null: from the preset."""
    bias: bool | None = None
    """Biases in the linear maps; null: from the preset."""
    dropout: float | None = Field(default=None, ge=0, lt=1)
    """Share of activations dropped in training; null: from the preset."""
    zero_init: bool | None = None
    """Start output projections at zero; null: from the preset."""

    @property
    def places(self) -> str:
        """The kind of positions, from the field or the preset."""
        presets = {"gpt2_style": "learned", "modern": "rotary", "vanilla": "sinusoidal", "llama": "rotary"}
        return self.position or presets[self.preset]

    def clashes(self) -> Iterator[Clash]:
        if self.places == "sinusoidal" and self.dim % 2:
            yield "dim", "an even number, since sinusoidal positions come in pairs", str(self.dim), ()
        if self.dim % self.heads:
            yield "dim", f"a multiple of heads ({self.heads})", str(self.dim), ("heads",)
        elif (self.dim // self.heads) % 2 and self.places == "rotary":
            got = f"{self.dim // self.heads} (dim {self.dim} over {self.heads} heads)"
            yield "dim", "an even head size, since rotary positions turn pairs", got, ("heads",)


class UnitaryModel(ModelConfig):
    """States move by unitaries alone: phases set by the tokens, learned mixers, one Born measurement at the end."""

    note: ClassVar[str] = "strictly unitary attention, read out by one Born measurement; complex or real"
    groups: ClassVar[tuple[str, ...]] = ("embedding", "control", "mixers", "readout", "start", "floor")

    kind: Literal["unitary"]
    """`unitary`"""
    field: Literal["complex", "real"] = "complex"
    """`complex`: unitaries and phases; `real`: orthogonal matrices and planar rotations (`dim` must be even)."""
    dim: PositiveInt = 96
    """Dimension of the register, divisible by `heads`. A `projective` readout also needs a multiple of the vocabulary,
    which can be checked only when the text has been read."""
    layers: PositiveInt = 4
    """Number of controlled phases, each followed by a mixer."""
    heads: PositiveInt = 4
    """Groups of register dimensions that share an attention score."""
    key_dim: PositiveInt = 16
    """Length of queries and keys."""
    control: Literal["linear", "ngram", "mlp"] = "mlp"
    """What turns tokens into angles: `linear` in one embedding, in the last `ngram` embeddings, or an `mlp` on them."""
    ngram: PositiveInt | None = None
    """Tokens the control looks at, with control ngram or mlp; null is 4."""
    hidden: PositiveInt | None = None
    """Width of the control's hidden layer, with control mlp; null is 512."""
    embedding: PositiveInt = 64
    """Length of the control's token embeddings."""
    readout: Literal["povm", "projective"] = "povm"
    """`povm`: an isometry to vocabulary times `rank` outcomes; `projective`: projectors of the register itself."""
    rank: PositiveInt | None = None
    """Outcomes summed for one token, with readout povm; null is 4."""
    decay: Literal["fixed", "learned"] = "fixed"
    """How attention falls with distance: one rate a head, fixed or learned."""
    floor: bool = True
    """A learned depolarising channel before the readout, so that no token has probability zero."""
    near: NonNegative = 0.3
    """How far from the identity the mixers start. Random mixers (Haar) scramble the angles and do not train."""
    gain: Positive = 0.2
    """Size of the angles at the start."""

    def clashes(self) -> Iterator[Clash]:
        if self.field == "real" and self.dim % (2 * self.heads):
            expected = f"a multiple of twice the heads ({2 * self.heads}), since a real register turns in planes"
            yield "dim", expected, str(self.dim), ("field",)
        elif self.dim % self.heads:
            yield "dim", f"a multiple of heads ({self.heads})", str(self.dim), ("heads",)
        if self.hidden is not None and self.control != "mlp":
            yield (
                "hidden",
                "control: mlp beside it",
                f"control: {self.control}, which has no hidden layer; remove hidden",
                ("control",),
            )
        if self.ngram is not None and self.control == "linear":
            yield (
                "ngram",
                "control: ngram or mlp beside it",
                "control: linear, which sees one token; remove ngram",
                ("control",),
            )
        if self.rank is not None and self.readout == "projective":
            got = "readout: projective, whose rank is dim over the vocabulary; remove rank"
            yield "rank", "readout: povm beside it", got, ("readout",)

    def filled(self) -> dict[str, object]:
        values: dict[str, object] = {}
        if self.control != "linear" and self.ngram is None:
            values["ngram"] = 4
        if self.control == "mlp" and self.hidden is None:
            values["hidden"] = 512
        if self.readout == "povm" and self.rank is None:
            values["rank"] = 4
        return values

    def recommended_rates(self) -> dict[str, float]:
        embedding = 4e-3 if self.control == "mlp" else 1e-2
        return {"embedding": embedding, "control": 2e-3, "mixers": 4e-3, "readout": 4e-3}


MODELS: dict[str, type[ModelConfig]] = {
    "transformer": TransformerModel,
    "unitary": UnitaryModel,
}
