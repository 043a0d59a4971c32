"""Add-k n-grams against published figures, a brute-force count, and the contract."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classical import NGram

TEXT = Path(__file__).parents[2] / "experiments" / "data" / "tinyshakespeare.txt"


@pytest.fixture(scope="module")
def shakespeare() -> tuple[np.ndarray, np.ndarray]:
    text = TEXT.read_text(encoding="utf-8")
    index = {c: i for i, c in enumerate(sorted(set(text)))}
    assert len(index) == 65
    tokens = np.array([index[c] for c in text])
    return tokens[:1_003_854], tokens[1_003_854:]


@pytest.mark.parametrize(("order", "bits"), [(1, 4.829), (2, 3.583), (3, 2.952), (4, 2.574)])
def test_published_bits_per_character(shakespeare: tuple[np.ndarray, np.ndarray], order: int, bits: float):
    """Tiny-Shakespeare, 90/10 by position, add-0.1, bits per character of the validation split (QCLM)."""
    train, validation = shakespeare
    assert NGram(order, 65, k=0.1).fit(train).nats(validation) / math.log(2) == pytest.approx(bits, abs=0.001)


def by_definition(train: list[int], order: int, vocab: int, k: float, history: list[int], token: int) -> float:
    past = tuple(history[-(order - 1) :]) if order > 1 else ()
    grams = Counter(tuple(train[i : i + len(past) + 1]) for i in range(len(train) - len(past)))
    total = sum(count for gram, count in grams.items() if gram[:-1] == past)
    return (grams[(*past, token)] + k) / (total + k * vocab)


tokens = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@given(tokens, tokens, st.integers(1, 5), st.sampled_from([0.1, 1.0, 2.5]))
def test_equals_counting_by_definition(train: list[int], text: list[int], order: int, k: float):
    model = NGram(order, 5, k).fit(train)  # token 4 is never seen
    p = [by_definition(train, order, 5, k, text[:i], token) for i, token in enumerate(text)]
    assert model.nats(text) == pytest.approx(-sum(map(math.log, p)) / len(text), rel=1e-12)
    log_probs = model.forward(torch.tensor([text]))
    assert log_probs.shape == (1, len(text), 5)
    assert torch.allclose(log_probs.exp().sum(-1), torch.ones(1, len(text)).double())
    for i, token in enumerate([*text[1:], 4]):
        expected = by_definition(train, order, 5, k, text[: i + 1], token)
        assert log_probs[0, i, token].item() == pytest.approx(math.log(expected), rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_step_equals_forward(order: int):
    generator = torch.Generator().manual_seed(0)
    model = NGram(order, 9).fit(torch.randint(9, (400,), generator=generator))
    text = torch.randint(9, (3, 12), generator=generator)
    expected, state = model(text), model.start(3)
    for t in range(12):
        log_probs, state = model.step(text[:, t], state)
        assert torch.equal(log_probs, expected[:, t])
    assert state.shape == (3, order - 1)


def test_a_large_vocabulary_and_a_high_order_need_no_large_table():
    """A table of V^n numbers would hold 10^40 of them."""
    rng = np.random.default_rng(0)
    text = rng.integers(0, 10**5, 5000)
    model = NGram(8, 10**5).fit(text)
    seen = math.log((1 + 0.1) / (1 + 0.1 * 10**5))
    assert model.nats(text) == pytest.approx(-seen, rel=0.01)  # every long context was seen exactly once
    assert model.nats(rng.integers(0, 10**5, 5000)) == pytest.approx(math.log(10**5), rel=0.01)


def test_batch_rows_do_not_see_each_other():
    model = NGram(3, 4).fit([0, 1, 2, 3, 0, 1, 2, 1])
    both = model(torch.tensor([[0, 1, 2], [3, 0, 1]]))
    assert torch.equal(both[1:], model(torch.tensor([[3, 0, 1]])))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NGram(0, 5), "order must be at least 1, got 0"),
        (lambda: NGram(2, 0), "vocab must be at least 1"),
        (lambda: NGram(2, 5, k=0), "k must be a positive number, got 0"),
        (lambda: NGram(2, 5, k=math.nan), "k must be a positive number"),
        (lambda: NGram(2, 5).fit([]), "the training text is empty"),
        (lambda: NGram(2, 5).fit([0, 5]), "tokens must lie in 0…4, got 0…5"),
        (lambda: NGram(2, 5).fit([0.5]), "tokens must be integers"),
        (lambda: NGram(2, 5).fit([[0]]), "one sequence, got shape"),
        (lambda: NGram(2, 5).nats([1]), "call fit first"),
        (lambda: NGram(2, 5).fit([1]).nats([]), "the text is empty"),
    ],
)
def test_bad_input_is_named(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()
