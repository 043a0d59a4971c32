"""The n-gram front end: what it adds, what it leaves as it was, and that a text may be read in pieces."""

from __future__ import annotations

import pytest
import torch

from classical.counting import count_parameters
from classical.front import NgramFront
from classical.lstm import LSTM
from classical.presets import gpt2_style, modern
from classical.transformer import Transformer

VOCAB, BLOCK = 11, 9


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def texts() -> torch.Tensor:
    return torch.randint(VOCAB, (3, BLOCK), generator=generator(1))


def transformer(ngram: int, preset=modern) -> Transformer:
    sizes = {"dim": 8, "layers": 2, "heads": 2, "zero_init": False}
    return Transformer(preset(VOCAB, BLOCK, ngram=ngram, **sizes), generator()).double()


def lstm(ngram: int) -> LSTM:
    return LSTM(VOCAB, 8, 2, 6, ngram, generator()).double()


def test_it_adds_one_vector_per_earlier_token_and_nothing_before_the_text() -> None:
    front = NgramFront(3, VOCAB, 4, std=1.0, generator=generator()).double()
    tokens = texts()
    added = front(tokens, front.start(3))
    for row, text in enumerate(tokens.tolist()):
        for place in range(BLOCK):
            wanted = sum(front.weight[back - 1, text[place - back]] for back in (1, 2) if place >= back)
            wanted = torch.zeros(4).double() if place == 0 else wanted
            torch.testing.assert_close(added[row, place], wanted, rtol=0, atol=1e-15)


@pytest.mark.parametrize("made", [transformer, lstm])
def test_all_else_starts_as_without_it(made) -> None:
    plain, wide = dict(made(1).named_parameters()), dict(made(4).named_parameters())
    assert set(wide) - set(plain) == {"front.weight"}
    assert all(torch.equal(plain[name], wide[name]) for name in plain)
    assert "front.weight" in made(4).parameter_groups()["embedding"]


@pytest.mark.parametrize("made", [transformer, lstm])
def test_with_its_tables_at_zero_it_is_the_model_without(made) -> None:
    wide = made(4)
    assert (wide(texts()) - made(1)(texts())).abs().max() > 1e-6
    torch.nn.init.zeros_(wide.front.weight)
    torch.testing.assert_close(wide(texts()), made(1)(texts()), rtol=0, atol=1e-13)


@pytest.mark.parametrize("made", [transformer, lstm])
@pytest.mark.parametrize("cuts", [(1, 1, 7), (2, 3, 4), (8, 1)])
def test_a_text_in_pieces_is_the_text(made, cuts: tuple[int, ...]) -> None:
    model, state, parts = made(4), made(4).start(3), []
    for piece in texts().split(cuts, dim=1):
        log_probs, state = model.extend(piece, state)
        parts.append(log_probs)
    torch.testing.assert_close(torch.cat(parts, 1), model(texts()), rtol=0, atol=1e-12)


@pytest.mark.parametrize("preset", [modern, gpt2_style])
def test_its_numbers_are_counted(preset) -> None:
    model = transformer(4, preset)
    counted = count_parameters(model.config)
    names = model.parameter_groups()
    parameters = dict(model.named_parameters())
    assert counted == {group: sum(parameters[name].numel() for name in names[group]) for group in counted}


def test_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="reads at least 2 tokens, got 1"):
        NgramFront(1, VOCAB, 4, std=1.0)
    with pytest.raises(ValueError, match="ngram must be"):
        transformer(0)
