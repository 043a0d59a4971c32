"""The kinds of model that an experiment can compare: one class and one row of :data:`MODELS` each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from experiments.plugins import Registry, kind_class
from experiments.schema.audit_columns import OF_PREDICTIONS, OF_VECTORS
from experiments.schema.base import Clash, Positive, PositiveInt
from experiments.schema.controlled_models import NoRegisterModel
from experiments.schema.model_base import ModelConfig
from experiments.schema.recurrent_models import (
    ClassicalRecurrentModel,
    InstrumentModel,
    PermutationModel,
    RecurrentModel,
)
from experiments.schema.string_models import BornMachineModel
from experiments.schema.unitary_models import CircuitModel, MeanFieldModel, SelectedModel, UnitaryModel

if TYPE_CHECKING:
    import torch

__all__ = ["MODELS", "LstmModel", "ModelConfig", "NgramModel", "TransformerModel", "UnitaryModel"]


class ModelWithFront(ModelConfig):
    """A classical model whose first layer may read several tokens, as the control of the unitary models does."""

    front: Literal["token", "ngram"] = "token"
    """What the first layer reads: the newest `token`, or the last `ngram` tokens by a table for each place, summed."""
    ngram: Annotated[int, Field(ge=2)] | None = None
    """Tokens that front ngram reads; null is 4."""

    def clashes(self) -> Iterator[Clash]:
        if self.ngram is not None and self.front == "token":
            yield "ngram", "front: ngram beside it", "front: token, which reads one token; remove ngram", ("front",)

    def filled(self) -> dict[str, object]:
        return {"ngram": 4} if self.front == "ngram" and self.ngram is None else {}

    def settings(self, vocab: int) -> dict[str, Any]:
        values = super().settings(vocab)
        del values["front"]
        return values


class TransformerModel(ModelWithFront):
    """Softmax attention, LayerNorm or RMSNorm, residual sums, feed-forward blocks."""

    note: ClassVar[str] = (
        "classical transformer; presets gpt2_style, modern, vanilla and llama, every part can be changed"
    )
    groups: ClassVar[tuple[str, ...]] = ("embedding", "position", "attention", "feedforward", "norm", "head")
    rung: ClassVar[str] = "0"
    audited: ClassVar[tuple[str, ...]] = (*OF_VECTORS, *OF_PREDICTIONS)
    classical: ClassVar[bool] = True
    softmax: ClassVar[bool] = True

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

    def widths(self) -> dict[str, int]:
        return {"dim": 2 * self.heads, "hidden": 1}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from classical.presets import PRESETS
        from classical.transformer import Transformer

        settings = self.settings(vocab)
        return Transformer(PRESETS[settings.pop("preset")](vocab, block, **settings), generator)

    def clashes(self) -> Iterator[Clash]:
        yield from super().clashes()
        if self.places == "sinusoidal" and self.dim % 2:
            yield "dim", "an even number, since sinusoidal positions come in pairs", str(self.dim), ()
        if self.dim % self.heads:
            yield "dim", f"a multiple of heads ({self.heads})", str(self.dim), ("heads",)
        elif (self.dim // self.heads) % 2 and self.places == "rotary":
            got = f"{self.dim // self.heads} (dim {self.dim} over {self.heads} heads)"
            yield "dim", "an even head size, since rotary positions turn pairs", got, ("heads",)


class LstmModel(ModelWithFront):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): the small classical recurrent network."""

    note: ClassVar[str] = "classical recurrent network with gates"
    groups: ClassVar[tuple[str, ...]] = ("embedding", "recurrent", "head")
    rung: ClassVar[str] = "0"
    classical: ClassVar[bool] = True
    softmax: ClassVar[bool] = True

    kind: Literal["lstm"]
    """`lstm`"""
    dim: PositiveInt = 128
    """Hidden units of a layer."""
    layers: PositiveInt = 1
    """Layers."""
    embedding: PositiveInt = 64
    """Length of the token embeddings."""

    def widths(self) -> dict[str, int]:
        return {"dim": 1, "embedding": 1}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from classical.lstm import LSTM

        return LSTM(vocab, **self.settings(vocab), generator=generator)


class NgramModel(ModelConfig):
    """Counts of n-grams: no training, one pass over the training split."""

    note: ClassVar[str] = "counts of n-grams (add-k or Kneser–Ney), the floor under every model of texts"
    trains: ClassVar[bool] = False

    kind: Literal["ngram"]
    """`ngram`"""
    order: Annotated[int, Field(ge=1, le=12)] = 4
    """Tokens of an n-gram, the predicted one included."""
    smoothing: Literal["add_k", "kneser_ney"] = "add_k"
    """`add_k` adds `k` to every count; `kneser_ney` interpolates all orders (Kneser and Ney 1995), far stronger."""
    k: Positive = 0.1
    """What `add_k` adds."""
    discount: Annotated[float, Field(gt=0, le=1)] | None = None
    """What `kneser_ney` takes from every count; null is three discounts per order, estimated from the counts of counts
    (modified Kneser–Ney, Chen and Goodman 1999)."""

    def clashes(self) -> Iterator[Clash]:
        if self.discount is not None and self.smoothing != "kneser_ney":
            yield "discount", "smoothing: kneser_ney beside it", f"smoothing: {self.smoothing}", ("smoothing",)
        if "k" in self.model_fields_set and self.smoothing == "kneser_ney" and self.k != 0.1:
            yield "k", "smoothing: add_k beside it", "smoothing: kneser_ney", ("smoothing",)

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from classical.counted import CountedLM
        from classical.kneser_ney import KneserNey
        from classical.ngram import NGram

        if self.smoothing == "kneser_ney":
            return CountedLM(KneserNey(self.order, vocab, self.discount))
        return CountedLM(NGram(self.order, vocab, self.k))


_OWN: dict[str, type[ModelConfig]] = {
    "transformer": TransformerModel,
    "unitary": UnitaryModel,
    "selected": SelectedModel,
    "mean_field": MeanFieldModel,
    "unitary_recurrent": RecurrentModel,
    "instrument": InstrumentModel,
    "born_machine": BornMachineModel,
    "circuit": CircuitModel,
    "permutation": PermutationModel,
    "no_register": NoRegisterModel,
    "classical_recurrent": ClassicalRecurrentModel,
    "lstm": LstmModel,
    "ngram": NgramModel,
}

MODELS = Registry("qattn.models", _OWN, kind_class(ModelConfig))
"""Every kind of model by name: our own, and those of installed packages."""
