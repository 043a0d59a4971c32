"""Loss, perplexity and softmax: the values that the seed texts state."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classical.perplexity import (
    bits,
    cross_entropy,
    cross_entropy_gradient,
    distribution_perplexity,
    entropy,
    kl_divergence,
    perplexity,
    power_law_perplexity,
    text_log_probability,
)
from classical.probability import logit, sigmoid, sigmoid_derivative, softmax

logits = st.lists(st.floats(-20, 20), min_size=2, max_size=9).map(lambda z: torch.tensor(z, dtype=torch.float64))


def test_power_law_has_perplexity_25():
    """Lecture notes, section 3.2: p_n = n^(-3/2)/ζ(3/2), p_1 ≈ 0.38, perplexity 25."""
    assert round(power_law_perplexity(1.5)) == 25
    with pytest.raises(ValueError, match="exponent must be above 1"):
        power_law_perplexity(1.0)


def test_power_law_equals_a_long_sum_with_the_integral_of_its_tail():
    """Σ_{n≤N} f + ∫_N^∞ f − f(N)/2 (Euler-Maclaurin): at N = 10⁶ the next term is far below 1e-9."""
    big = 10**6
    n = torch.arange(1, big + 1, dtype=torch.float64)
    s = 1.5
    zeta = (n**-s).sum() + big ** (1 - s) / (s - 1) - big**-s / 2
    assert 1 / zeta.item() == pytest.approx(0.38, abs=0.005)
    log_moment = (n**-s * n.log()).sum()
    log_moment += big ** (1 - s) * (math.log(big) / (s - 1) + 1 / (s - 1) ** 2) - big**-s * math.log(big) / 2
    expected = math.exp(math.log(zeta) + s * log_moment.item() / zeta.item())
    assert power_law_perplexity(s) == pytest.approx(expected, rel=1e-9)
    cut = n**-s / (n**-s).sum()
    missing = math.log(power_law_perplexity(s) / distribution_perplexity(cut).item())
    assert missing == pytest.approx(0.017, abs=0.001)  # nats: the tail cannot be left out


@pytest.mark.parametrize("n", [1, 2, 65, 1000])
def test_n_equal_tokens_have_perplexity_n(n: int):
    assert distribution_perplexity(torch.full((n,), 1 / n, dtype=torch.float64)).item() == pytest.approx(n)
    assert perplexity(math.log(n)) == pytest.approx(n)
    assert bits(math.log(2) * n) == pytest.approx(n)


def test_entropy_of_a_certain_token_is_zero():
    assert entropy(torch.tensor([1.0, 0.0])).item() == 0


@given(logits)
def test_gradient_of_the_loss_is_predicted_minus_true(z: torch.Tensor):
    """∂ℓ/∂z_i = p_i − 1[i = y] (part 3, "Training"), against autograd."""
    for y in range(len(z)):
        leaf = z.clone().requires_grad_()
        target = torch.tensor(y)
        cross_entropy(leaf.log_softmax(-1), target).backward()
        assert torch.allclose(leaf.grad, cross_entropy_gradient(z, target), atol=1e-14)


@given(logits, st.integers(0, 10**6))
def test_expected_loss_is_entropy_plus_divergence(z: torch.Tensor, seed: int):
    p = torch.randn(len(z), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(-1)
    q = softmax(z)
    assert (-(p * q.log()).sum()).item() == pytest.approx((entropy(p) + kl_divergence(p, q)).item(), abs=1e-9)
    assert kl_divergence(p, q).item() >= -1e-12
    assert kl_divergence(p, p).item() == pytest.approx(0, abs=1e-12)


def test_divergence_at_the_edge():
    p, q = torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0])
    assert kl_divergence(q, p).item() == pytest.approx(math.log(2))
    assert kl_divergence(p, q).item() == math.inf


def test_chain_rule():
    log_probs = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]], dtype=torch.float64).log()
    targets = torch.tensor([0, 1, 0])
    assert text_log_probability(log_probs, targets).exp().item() == pytest.approx(0.5 * 0.75 * 0.1)
    assert cross_entropy(log_probs, targets).item() == pytest.approx(-math.log(0.5 * 0.75 * 0.1) / 3)


def test_logit_and_sigmoid_are_inverse():
    """Svozil, Eqs. 9-12."""
    p = torch.linspace(0.001, 0.999, 999, dtype=torch.float64)
    assert torch.allclose(sigmoid(logit(p)), p, atol=1e-14)
    assert logit(torch.tensor(0.5)).item() == 0
    z = torch.linspace(-8, 8, 33, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(sigmoid(z).sum(), z)
    assert torch.allclose(sigmoid_derivative(z), slope, atol=1e-15)
    assert torch.allclose(logit(sigmoid(z)), z, atol=1e-10)


@given(logits, st.floats(-50, 50), st.floats(0.1, 10))
def test_softmax_is_a_distribution_that_ignores_a_shift(z: torch.Tensor, shift: float, temperature: float):
    """Svozil, Eqs. 13-16 and the properties listed there; thermal occupation of energies −z (lecture notes 3.3)."""
    p = softmax(z, temperature)
    assert p.min() >= 0
    assert p.sum().item() == pytest.approx(1)
    assert torch.allclose(p, softmax(z + shift, temperature), atol=1e-12)
    assert torch.allclose(p, torch.softmax(z / temperature, -1), atol=1e-14)
    u = z.exp()
    assert torch.allclose(softmax(z), u / u.sum(), atol=1e-14)


def test_softmax_limits():
    z = torch.tensor([1.0, 2.0, 0.0])
    assert torch.allclose(softmax(z, 1e-4), torch.tensor([0.0, 1.0, 0.0]))
    assert torch.allclose(softmax(z, 1e9), torch.full((3,), 1 / 3))
    with pytest.raises(ValueError, match="temperature must be positive, got 0"):
        softmax(z, 0)
