"""Temperature, top-k and top-p as laws, at their edges, and on log-probabilities that hold −∞."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classical.sampling import keep_top_k, keep_top_p, next_token_distribution, sample, temper

LOGS = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64).log()
rows = st.lists(st.floats(-30, 30), min_size=1, max_size=12)


def chosen(distribution: torch.Tensor) -> list[int]:
    return distribution[0].nonzero()[:, 0].tolist()


@given(rows, st.floats(0.05, 20))
def test_temperature_is_softmax_of_scaled_logits(logits: list[float], temperature: float):
    """Svozil, Eq. 16, for logits and for log-probabilities alike."""
    z = torch.tensor([logits], dtype=torch.float64)
    expected = (z / temperature).softmax(-1)
    assert torch.allclose(temper(z, temperature), expected, atol=1e-12)
    assert torch.allclose(temper(z.log_softmax(-1), temperature), expected, atol=1e-12)


def test_known_values():
    """Halving T squares the ratios: (0.5, 0.3, 0.15, 0.05)² / Σ."""
    squares = torch.tensor([[25, 9, 2.25, 0.25]], dtype=torch.float64) / 36.5
    assert torch.allclose(temper(LOGS, 0.5), squares)
    assert torch.allclose(keep_top_k(LOGS.exp(), 2), torch.tensor([[0.625, 0.375, 0, 0]], dtype=torch.float64))
    assert chosen(next_token_distribution(LOGS, top_p=0.5)) == [0]
    assert chosen(next_token_distribution(LOGS, top_p=0.51)) == [0, 1]
    assert chosen(next_token_distribution(LOGS, top_p=0.94)) == [0, 1, 2]
    assert chosen(next_token_distribution(LOGS, top_p=1e-12)) == [0]


def test_order_is_temperature_then_top_k_then_top_p():
    # top-k 3 renormalises to 0.526, 0.316, 0.158: two tokens now hold 0.842 instead of 0.8
    assert chosen(next_token_distribution(LOGS, top_k=3, top_p=0.84)) == [0, 1]
    assert chosen(next_token_distribution(LOGS, top_p=0.84)) == [0, 1, 2]
    assert chosen(next_token_distribution(LOGS, temperature=0.5, top_p=0.9)) == [0, 1]


@given(rows, st.floats(0.1, 5), st.integers(1, 15), st.floats(0.01, 1))
def test_every_cut_is_a_distribution_and_keeps_the_ratios(
    logits: list[float], temperature: float, top_k: int, top_p: float
):
    z = torch.tensor([logits], dtype=torch.float64)
    full = temper(z, temperature)
    cut = next_token_distribution(z, temperature, top_k, top_p)
    assert cut.sum().item() == pytest.approx(1)
    kept = cut > 0
    assert 1 <= kept.sum() <= min(top_k, len(logits))
    assert kept[0, full.argmax()]
    assert torch.allclose(cut[kept], full[kept] / full[kept].sum(), rtol=1e-9)
    assert full[kept].min() >= full[~kept].max() if (~kept).any() else True


@given(rows, st.floats(0.01, 0.99))
def test_the_nucleus_is_the_smallest_set_that_reaches_p(logits: list[float], top_p: float):
    probs = temper(torch.tensor([logits], dtype=torch.float64), 1.0)
    kept = probs[keep_top_p(probs, top_p) > 0]
    assert kept.sum() >= top_p - 1e-12
    assert kept.sum() - kept.min() < top_p + 1e-12


@pytest.mark.parametrize("temperature", [0, 0.0, 1e-9, 1e-30, 1e-300, 5e-324])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cold_is_argmax_and_never_nan(temperature: float, dtype: torch.dtype):
    z = torch.tensor([[-1e4, -0.5, -0.25, -math.inf], [0.0, -math.inf, -math.inf, -math.inf]], dtype=dtype)
    assert next_token_distribution(z, temperature).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]
    assert sample(z, temperature).tolist() == [2, 0]


def test_hot_is_uniform_over_what_is_possible():
    z = torch.tensor([[-1.0, -2.0, -math.inf]])
    assert torch.allclose(temper(z, 1e12), torch.tensor([[0.5, 0.5, 0.0]], dtype=torch.float64))


def test_top_k_beyond_the_vocabulary_means_all_and_ties_keep_exactly_k():
    assert torch.equal(next_token_distribution(LOGS, top_k=99), next_token_distribution(LOGS))
    assert chosen(next_token_distribution(torch.zeros(1, 4), top_k=2)) == [0, 1]
    assert next_token_distribution(torch.zeros(1, 4), top_p=1.0).tolist() == [[0.25] * 4]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("temperature", -1),
        ("temperature", -1e-9),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", 0),
        ("top_k", -1),
        ("top_k", True),
        ("top_p", 0),
        ("top_p", -0.1),
        ("top_p", 1.5),
        ("top_p", math.nan),
    ],
)
def test_the_impossible_names_its_option(option: str, value: float):
    for call in (sample, next_token_distribution):
        with pytest.raises(ValueError, match=f"{option} must be .*, got {value!r}"):
            call(LOGS, **{option: value})


@pytest.mark.parametrize("row", [[math.nan, 0.0], [-math.inf, -math.inf], [math.inf, 0.0]])
def test_rows_without_a_distribution_are_refused(row: list[float]):
    with pytest.raises(ValueError, match="finite largest value in every row"):
        sample(torch.tensor([row]))


def test_frequencies_follow_the_probabilities():
    """χ² with 3 degrees of freedom on 20 000 draws; 40 is exceeded with probability 1e-8."""
    draws = sample(LOGS.expand(20_000, 4), generator=torch.Generator().manual_seed(0))
    counts, expected = draws.bincount(minlength=4), 20_000 * LOGS[0].exp()
    assert ((counts - expected) ** 2 / expected).sum() < 40


def test_the_seed_decides_and_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    a, b = (sample(LOGS.expand(50, 4), generator=torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(a, b)
    assert torch.equal(torch.get_rng_state(), before)
