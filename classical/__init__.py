"""The decoder-only transformer, equation by equation of the seed texts: the honest baseline."""

from classical.config import TransformerConfig
from classical.counted import CountedLM
from classical.kneser_ney import KneserNey
from classical.lstm import LSTM
from classical.ngram import NGram
from classical.presets import PRESETS, gpt2_style, llama, modern, vanilla
from classical.sampling import generate, next_token_distribution, sample
from classical.transformer import DecoderState, Transformer

__all__ = [
    "Transformer",
    "TransformerConfig",
    "DecoderState",
    "PRESETS",
    "gpt2_style",
    "modern",
    "vanilla",
    "llama",
    "NGram",
    "KneserNey",
    "CountedLM",
    "LSTM",
    "sample",
    "generate",
    "next_token_distribution",
]
