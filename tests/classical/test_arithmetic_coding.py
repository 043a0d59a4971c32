"""Arithmetic coding: what is decoded is what was coded, at the length that Shannon's theorem gives it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from classical import LSTM, Transformer, TransformerConfig
from classical.arithmetic_coding import TOTAL, Decoder, Encoder, compress, decompress, shares
from classical.perplexity import token_nats


@settings(max_examples=60)
@given(st.lists(st.integers(1, TOTAL // 8), min_size=1, max_size=8), st.data())
def test_any_counts_round_trip_at_the_length_of_their_information(counts: list[int], data: st.DataObject) -> None:
    bounds = np.concatenate([[0], np.cumsum(counts)])
    text = data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=40))
    encoder = Encoder()
    for token in text:
        encoder.put(int(bounds[token]), int(bounds[token + 1]), int(bounds[-1]))
    bits = encoder.finish()
    decoder = Decoder(bits)
    assert [decoder.get(bounds) for _ in text] == text
    information = -sum(math.log2(counts[token] / bounds[-1]) for token in text)
    assert information - 1e-9 <= len(bits) <= information + 2 + 1e-6 * len(text)


def test_certain_and_impossible_tokens_cost_what_the_smallest_count_costs() -> None:
    bounds = shares(torch.tensor([[0.0, -math.inf, -math.inf]]))
    assert bounds.tolist() == [[0, TOTAL - 2, TOTAL - 1, TOTAL]]
    with pytest.raises(ValueError, match="nonempty"):
        Encoder().put(3, 3, 4)


@pytest.mark.parametrize("kind", ["transformer", "lstm"])
def test_a_model_codes_a_text_at_its_own_loss(kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    model = (
        Transformer(TransformerConfig(11, 24, dim=16, layers=1, heads=2, init_std=0.5), generator).eval()
        if kind == "transformer"
        else LSTM(11, 16, generator=generator).eval()
    )
    tokens = torch.randint(11, (3, 24), generator=generator)
    bits = compress(model, tokens, 11)
    assert torch.equal(decompress(model, bits, 3, 24, 11), tokens)
    with torch.no_grad():
        nats = token_nats(model(tokens[:, :-1]), tokens[:, 1:]).sum().item() + 3 * math.log(11)
    assert nats / math.log(2) - 0.01 <= len(bits) <= nats / math.log(2) + 2.01
