"""A transformer's vectors for others to read: those of the transformer itself, causal, and the same step by step."""

import pytest
import torch
import torch.nn.functional as F

from classical import Transformer, gpt2_style, modern
from classical.context_vectors import ContextVectors


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def texts() -> torch.Tensor:
    return torch.randint(11, (2, 9), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("preset", [modern, gpt2_style])
def test_a_softmax_of_the_vectors_is_the_transformer_itself(preset) -> None:
    config = preset(11, 12, dim=8, heads=2, layers=2, tie=True, zero_init=False)
    vectors = ContextVectors(config, generator()).double()
    whole = Transformer(config, generator()).double()
    expected = F.log_softmax(vectors(texts()) @ vectors.embedding.mT, -1)
    torch.testing.assert_close(whole(texts()), expected, rtol=0, atol=1e-12)
    assert [name.removeprefix("transformer.") for name, _ in vectors.named_parameters()] == [
        name for name, _ in whole.named_parameters()
    ]
    head = 2 * config.vocab * config.dim
    assert vectors.flops_per_token(9) == whole.flops_per_token(9) - head


def test_step_by_step_the_vectors_are_the_same_and_the_future_does_not_count() -> None:
    vectors = ContextVectors(modern(11, 12, dim=8, heads=2, layers=2, tie=True, zero_init=False), generator()).double()
    state, whole = vectors.start(2), vectors(texts())
    for position, token in enumerate(texts().T):
        vector, state = vectors.step(token, state)
        torch.testing.assert_close(vector, whole[:, position], rtol=0, atol=1e-12)
    changed = texts()
    changed[:, 6:] = (changed[:, 6:] + 1) % 11
    torch.testing.assert_close(vectors(changed)[:, :6], whole[:, :6], rtol=0, atol=1e-12)
    assert (vectors(changed)[:, 6:] - whole[:, 6:]).abs().amin((0, 2)).min() > 0


def test_a_head_of_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match="tie must be true"):
        ContextVectors(modern(11, 12, dim=8, heads=2, layers=1))
