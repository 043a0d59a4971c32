"""The choices that make one decoder-only transformer, in one frozen dataclass, and nothing that runs."""

from dataclasses import dataclass
from typing import Literal, get_args, no_type_check

Norm = Literal["layer", "rms"]
NormPosition = Literal["pre", "post"]
Position = Literal["learned", "sinusoidal", "rotary", "none"]
Activation = Literal["relu", "gelu", "swiglu", "relu2"]


@no_type_check  # __post_init__ checks every field and answers in a sentence; a type checker must not come first
@dataclass(frozen=True)
class TransformerConfig:
    """Shape and recipe of a `classical.Transformer`; every contradiction is a ValueError that names the field.

    The number of layers is the L, ``dim`` the d and ``vocab`` the |V| of *The Shape of the Probable*, part 3.
    """

    vocab: int  # number of tokens in the vocabulary, |V|
    block: int  # longest context in tokens; also the size of a learned position table
    dim: int = 128  # width d of the residual stream
    layers: int = 4  # number of blocks, L
    heads: int = 4  # attention heads per block; each gets dim / heads components
    norm: Norm = "layer"
    norm_position: NormPosition = "pre"  # "post" is Svozil, Eqs. 47-48; it has no final norm before the head
    position: Position = "learned"
    activation: Activation = "gelu"
    hidden: int | None = None  # width of the feed-forward layer; None: 4·dim, and for swiglu LLaMA's 8/3·dim
    qk_norm: bool = False  # RMS-normalise every query and key (no gain), so that scores are bounded by √d_k
    tie: bool = True  # unembedding = embedding, W_U = E (Press and Wolf 2017)
    bias: bool = False  # biases in linear maps and in LayerNorm
    dropout: float = 0.0
    zero_init: bool = False  # maps that write to the residual stream, and an untied head, start at zero
    ngram: int = 1  # tokens that the first layer reads: the newest, or with it the n − 1 before, by tables of their own
    init_std: float = 0.02  # standard deviation of every other weight at the start (GPT-2)

    def __post_init__(self) -> None:
        for name in ("vocab", "block", "dim", "layers", "heads", "ngram"):
            _expect_count(name, getattr(self, name))
        if self.hidden is not None:
            _expect_count("hidden", self.hidden)
        for name, choices in (
            ("norm", Norm),
            ("norm_position", NormPosition),
            ("position", Position),
            ("activation", Activation),
        ):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"{name} must be one of {', '.join(get_args(choices))}, got {getattr(self, name)!r}")
        for name in ("qk_norm", "tie", "bias", "zero_init"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}")
        if self.dim % self.heads:
            raise ValueError(f"dim must be a multiple of heads, got dim {self.dim} and heads {self.heads}")
        if self.position == "rotary" and self.head_dim % 2:
            raise ValueError(f"rotary positions turn pairs, so dim / heads must be even, got {self.head_dim}")
        if self.position == "sinusoidal" and self.dim % 2:
            raise ValueError(f"sinusoidal positions come in pairs, so dim must be even, got {self.dim}")
        for name in ("dropout", "init_std"):
            if not isinstance(getattr(self, name), int | float):
                raise ValueError(f"{name} must be a number, got {getattr(self, name)!r}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout!r}")
        if not 0 < self.init_std < float("inf"):
            raise ValueError(f"init_std must be a positive number, got {self.init_std!r}")

    @property
    def head_dim(self) -> int:
        """Components of one head, d_k = d / H."""
        return self.dim // self.heads

    @property
    def ffn_hidden(self) -> int:
        """Width of the feed-forward layer after the rule for ``hidden=None``.

        SwiGLU has three matrices instead of two, so LLaMA takes 8/3·d to keep about 8d² weights, rounded up to a
        multiple of 256; below d = 1024 we round up to a multiple of 8, lest the rounding be larger than the rule.
        """
        if self.hidden is not None:
            return self.hidden
        if self.activation != "swiglu":
            return 4 * self.dim
        multiple = 256 if self.dim >= 1024 else 8
        return -(-(8 * self.dim // 3) // multiple) * multiple


def _expect_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
