"""Generation: one policy beyond the context limit, the same text from any model that keeps the contract."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from classical import PRESETS, NGram, Transformer, generate, gpt2_style, sample

BLOCK, VOCAB = 6, 7


def transformer(name: str = "gpt2_style", **overrides: Any) -> Transformer:
    model = Transformer(PRESETS[name](VOCAB, BLOCK, dim=16, layers=2, **overrides)).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return model


def continued(model: Any, prompt: torch.Tensor, new_tokens: int, **options: Any) -> torch.Tensor:
    return torch.stack(list(generate(model, prompt, new_tokens, **options)), 1)


def by_definition(model: Any, prompt: torch.Tensor, new_tokens: int, draw: Callable[..., torch.Tensor]) -> torch.Tensor:
    text = prompt
    for _ in range(new_tokens):
        text = torch.cat((text, draw(model.forward(text[:, -BLOCK:])[:, -1])[:, None]), 1)
    return text[:, prompt.shape[1] :]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("prompt_length", [1, 4, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_greedy_text_conditions_on_the_most_recent_tokens(name: str, prompt_length: int):
    model = transformer(name)
    prompt = torch.randint(VOCAB, (2, prompt_length), generator=torch.Generator().manual_seed(1))
    expected = by_definition(model, prompt, 10, lambda z: z.argmax(-1))
    assert torch.equal(continued(model, prompt, 10, temperature=0), expected)


def test_sampled_text_uses_the_given_generator_only():
    model, prompt = transformer(), torch.zeros(3, 2, dtype=torch.int64)
    options = {"temperature": 0.8, "top_k": 5, "top_p": 0.95}
    before = torch.get_rng_state()
    got = continued(model, prompt, 12, **options, generator=torch.Generator().manual_seed(4))
    assert torch.equal(torch.get_rng_state(), before)
    generator = torch.Generator().manual_seed(4)
    assert torch.equal(got, by_definition(model, prompt, 12, lambda z: sample(z, **options, generator=generator)))


def test_models_without_limit_or_modes_work_too():
    """A counted cycle 0 1 2 0 1 2 … is continued without a mistake, past any length."""
    model = NGram(3, 4).fit([0, 1, 2] * 50)
    assert continued(model, torch.tensor([[0, 1], [2, 0]]), 20, temperature=0).tolist() == [
        [(2 + i) % 3 for i in range(20)],
        [(1 + i) % 3 for i in range(20)],
    ]


def test_tokens_come_one_by_one_and_modes_are_restored_between_them():
    model = transformer(dropout=0.5).train()
    stream = generate(model, torch.zeros(1, 1, dtype=torch.int64), 3, temperature=0)
    first = next(stream)
    assert first.shape == (1,)
    assert model.training
    assert torch.is_grad_enabled()
    rest = [int(t) for t in stream]
    assert [int(first), *rest] == continued(model.eval(), torch.zeros(1, 1, dtype=torch.int64), 3, temperature=0)[
        0
    ].tolist()


def test_nothing_new_is_an_empty_stream():
    assert list(generate(transformer(), torch.zeros(1, 99, dtype=torch.int64), 0)) == []


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        (torch.zeros(1, 0, dtype=torch.int64), {}, "at least one token.*pass a start token"),
        (torch.zeros(3, dtype=torch.int64), {}, r"shape \(batch, tokens\)"),
        (torch.zeros(1, 1, dtype=torch.int64), {"new_tokens": -1}, "new_tokens must be at least 0, got -1"),
        (torch.zeros(1, 1, dtype=torch.int64), {"temperature": -1}, "temperature must be"),
        (torch.zeros(1, 1, dtype=torch.int64), {"top_k": 0}, "top_k must be"),
        (torch.zeros(1, 1, dtype=torch.int64), {"top_p": 1.5}, "top_p must be"),
    ],
)
def test_bad_arguments_are_refused_at_the_call(prompt: torch.Tensor, options: dict[str, Any], message: str):
    model = Transformer(gpt2_style(VOCAB, BLOCK, dim=8, layers=1))
    with pytest.raises(ValueError, match=message):
        generate(model, prompt, **{"new_tokens": 1, **options})
