"""Counts behind the contract of a language model."""

from __future__ import annotations

import pytest
import torch

from classical import NGram
from classical.counted import CountedLM


def text(length: int = 300) -> torch.Tensor:
    return torch.randint(6, (length,), generator=torch.Generator().manual_seed(0))


def test_counts_predict_as_the_n_gram_does_and_survive_being_stored() -> None:
    model, plain = CountedLM(NGram(3, 6, 0.1)).count(text()), NGram(3, 6, 0.1).fit(text())
    tokens = text(40).view(4, 10)
    assert torch.equal(model(tokens), plain.forward(tokens))
    other = CountedLM(NGram(3, 6, 0.1))
    other.adopt({name: tensor.clone() for name, tensor in model.named_buffers()})
    assert torch.equal(other(tokens), model(tokens))
    state = other.start(4)
    for position in range(10):
        log_probs, state = other.step(tokens[:, position], state)
        torch.testing.assert_close(log_probs, model(tokens)[:, position], rtol=0, atol=0)


def test_the_ledger_counts_what_was_seen() -> None:
    model = CountedLM(NGram(2, 6)).count(torch.tensor([0, 1, 0, 1, 2]))
    sizes = {name: dict(model.named_buffers())[name].numel() for name in model.parameter_groups()["counts"]}
    assert sizes == {"counts_0": 3, "counts_1": 3}  # three tokens; the pairs 01, 10 and 12
    assert not list(model.parameters())
    assert model.flops_per_token(64) == 0


def test_before_counting_there_is_nothing_to_say() -> None:
    with pytest.raises(ValueError, match="the n-gram has seen no text yet"):
        CountedLM(NGram(2, 6))(torch.zeros(1, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match="an n-gram of order 2 has as many levels, got 0"):
        NGram(2, 6).adopt([])
