"""Recipes with a name: what people mean by "a GPT-2", "a modern one" and "the transformer of the paper"."""

from collections.abc import Callable
from typing import Any

from classical.config import TransformerConfig


def gpt2_style(vocab: int, block: int, **overrides: Any) -> TransformerConfig:
    """nanoGPT's recipe: learned positions, pre-norm LayerNorm, GELU, tied head, no biases, GPT-2's random start.

    Like every preset, raises ValueError for an override that is no field of :class:`TransformerConfig`.
    """
    return _config(vocab, block, {}, overrides)


def modern(vocab: int, block: int, **overrides: Any) -> TransformerConfig:
    """RoPE, RMSNorm, normalised queries and keys, ReLU², untied head, zero outputs at the start, no biases."""
    recipe = {
        "norm": "rms",
        "position": "rotary",
        "activation": "relu2",
        "qk_norm": True,
        "tie": False,
        "zero_init": True,
    }
    return _config(vocab, block, recipe, overrides)


def vanilla(vocab: int, block: int, **overrides: Any) -> TransformerConfig:
    """The post-norm block of Svozil, Eqs. 47-48, with the sines, ReLU, biases and tied head of Vaswani et al. 2017."""
    recipe = {"norm_position": "post", "position": "sinusoidal", "activation": "relu", "bias": True}
    return _config(vocab, block, recipe, overrides)


def llama(vocab: int, block: int, **overrides: Any) -> TransformerConfig:
    """The LLaMA family (Touvron et al. 2023): RoPE, RMSNorm, SwiGLU of about 8/3·d, untied head, no biases."""
    recipe = {"norm": "rms", "position": "rotary", "activation": "swiglu", "tie": False}
    return _config(vocab, block, recipe, overrides)


PRESETS: dict[str, Callable[..., TransformerConfig]] = {
    "gpt2_style": gpt2_style,
    "modern": modern,
    "vanilla": vanilla,
    "llama": llama,
}


def _config(vocab: int, block: int, recipe: dict[str, Any], overrides: dict[str, Any]) -> TransformerConfig:
    unknown = sorted(set(overrides) - set(TransformerConfig.__dataclass_fields__))
    if unknown:
        known = ", ".join(TransformerConfig.__dataclass_fields__)
        raise ValueError(f"unknown option {', '.join(unknown)}; the options are {known}")
    return TransformerConfig(vocab=vocab, block=block, **{**recipe, **overrides})
