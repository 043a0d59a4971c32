"""Interpolated Kneser–Ney against known figures, a naive implementation by definition, and the contract."""

import math
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classical import KneserNey, NGram
from classical.counted import CountedLM
from classical.kneser_ney import discounts_of

DATA = Path(__file__).parents[2] / "experiments" / "data"


def split(name: str) -> tuple[np.ndarray, np.ndarray, int]:
    text = (DATA / f"{name}.txt").read_text(encoding="utf-8")
    index = {c: i for i, c in enumerate(sorted(set(text)))}
    tokens = np.array([index[c] for c in text])
    cut = int(0.9 * len(text))
    return tokens[:cut], tokens[cut:], len(index)


@pytest.mark.parametrize(
    ("name", "known"),
    [("tinyshakespeare", {4: 1.722, 5: 1.566, 6: 1.5385}), ("moby_dick", {4: 1.666, 5: 1.516, 6: 1.478})],
)
def test_known_losses_on_the_shipped_texts(name: str, known: dict[int, float]):
    """Characters, 90/10 by position, D = 0.75, nats per character: an independent script gave these six figures."""
    train, validation, vocab = split(name)
    model = KneserNey(6, vocab, 0.75).fit(train)
    for order, nats in known.items():
        assert model.shorter(order).nats(validation) == pytest.approx(nats, abs=6e-4)
    modified = KneserNey(6, vocab).adopt(model.levels()).nats(validation)
    assert modified < known[6]  # Chen and Goodman 1999: three discounts are better than one


def by_definition(
    train: list[int], order: int, vocab: int, discount: float | None, history: list[int]
) -> dict[int, float]:
    """P(· | history), with sets and dictionaries and nothing else."""
    past = tuple(history[-(order - 1) :]) if order > 1 else ()

    def grams(size: int) -> list[tuple[int, ...]]:
        return [tuple(train[i : i + size]) for i in range(len(train) - size + 1)]

    def table(size: int) -> dict[tuple[int, ...], int]:
        if size == len(past) + 1:
            return dict(Counter(grams(size)))
        before: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for gram in grams(size + 1):
            before[gram[1:]].add(gram[0])
        return {gram: len(tokens) for gram, tokens in before.items()}

    def taken(counts: dict[tuple[int, ...], int], count: int) -> float:
        d = [discount or 0.75] * 3
        n = Counter(counts.values())
        if discount is None and n[1] and n[2] and n[3]:
            y = n[1] / (n[1] + 2 * n[2])
            estimates = [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
            if all(0 < e <= r for e, r in zip(estimates, (1, 2, 3), strict=True)):
                d = estimates
        return d[min(count, 3) - 1]

    probs = dict.fromkeys(range(vocab), 1 / vocab)
    for size in range(1, len(past) + 2):
        context = past[len(past) - size + 1 :]
        counts = table(size)
        here = {gram[-1]: count for gram, count in counts.items() if gram[:-1] == context}
        total = sum(here.values())
        if total:
            rest = sum(taken(counts, count) for count in here.values()) / total
            kept = {w: (count - taken(counts, count)) / total for w, count in here.items()}
            probs = {w: kept.get(w, 0.0) + rest * p for w, p in probs.items()}
    return probs


tokens = st.lists(st.integers(0, 3), min_size=1, max_size=40)


@given(tokens, tokens, st.integers(1, 5), st.sampled_from([None, 0.3, 0.75, 1.0]))
def test_equals_the_definition_and_sums_to_one(train: list[int], text: list[int], order: int, discount: float | None):
    model = KneserNey(order, 5, discount).fit(train)  # token 4 is never seen
    p = [by_definition(train, order, 5, discount, text[:i])[token] for i, token in enumerate(text)]
    assert model.nats(text) == pytest.approx(-sum(map(math.log, p)) / len(text), rel=1e-12)
    probs = model.forward(torch.tensor([text])).exp()
    assert torch.allclose(probs.sum(-1), torch.ones(1, len(text)).double(), rtol=0, atol=1e-14)
    for i in range(len(text)):
        expected = by_definition(train, order, 5, discount, text[: i + 1])
        assert probs[0, i].tolist() == pytest.approx([expected[w] for w in range(5)], rel=1e-12)


def test_a_shorter_order_is_the_model_that_was_fitted_at_it():
    text = torch.randint(4, (300,), generator=torch.Generator().manual_seed(1))
    for make in (KneserNey, NGram):
        for order in (1, 2, 3):
            assert torch.equal(make(5, 4).fit(text).shorter(order)(text[None]), make(order, 4).fit(text)(text[None]))
    with pytest.raises(ValueError, match=r"must lie in 1…5, got 6"):
        KneserNey(5, 4).fit(text).shorter(6)


def test_the_loss_inside_windows_is_that_of_the_rows():
    text = torch.randint(6, (500,), generator=torch.Generator().manual_seed(0))
    for model in (KneserNey(4, 6).fit(text), NGram(4, 6).fit(text)):
        inputs, targets = text[:60].view(5, 12), text[1:61].view(5, 12)
        expected = -model(inputs).gather(-1, targets[..., None]).mean().item()
        assert model.window_nats(inputs, targets) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 4, 6])
def test_step_equals_forward(order: int):
    generator = torch.Generator().manual_seed(0)
    model = KneserNey(order, 9).fit(torch.randint(9, (400,), generator=generator))
    text = torch.randint(9, (3, 12), generator=generator)
    expected, state = model(text), model.start(3)
    for t in range(12):
        log_probs, state = model.step(text[:, t], state)
        assert torch.equal(log_probs, expected[:, t])


def test_a_word_bound_to_one_predecessor_is_unlikely_elsewhere():
    """The example of the method: "Francisco" is frequent and follows "San" alone, so a new context does not get it."""
    san, francisco, new, glasses = range(4)
    train = [san, francisco] * 20 + [glasses, new, glasses, san, francisco, glasses]
    probs = KneserNey(2, 5, 0.75).fit(train).forward(torch.tensor([[4]])).exp()[0, 0]  # 4 was never seen
    assert train.count(francisco) > 6 * train.count(glasses)
    assert probs[glasses] > probs[francisco]


def test_the_three_discounts_are_chen_and_goodmans():
    counts = np.repeat([1, 2, 3, 4], [40, 20, 10, 5])  # Y = 40/80
    assert discounts_of(counts, None).tolist() == pytest.approx([0, 1 - 0.5, 2 - 0.75, 3 - 1.0])
    assert discounts_of(counts[:45], None).tolist() == [0, 0.75, 0.75, 0.75]  # no count of 3: not defined


def test_stored_counts_give_the_same_model_back():
    train = torch.randint(6, (500,), generator=torch.Generator().manual_seed(0))
    model, other = CountedLM(KneserNey(4, 6)).count(train), CountedLM(KneserNey(4, 6))
    other.adopt({name: tensor.clone() for name, tensor in model.named_buffers()})
    assert torch.equal(other(train[:64].view(4, 16)), model(train[:64].view(4, 16)))


@pytest.mark.parametrize("discount", [0, -0.1, 1.5, math.nan])
def test_a_discount_outside_its_range_is_named(discount: float):
    with pytest.raises(ValueError, match=r"discount must lie in \(0, 1\]"):
        KneserNey(3, 5, discount)
