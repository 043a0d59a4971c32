"""Svozil, Eqs. 17-36, against autograd and finite differences."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classical.backprop import Network, backward, descend, forward, loss, random_network

NAMES = tuple(Network.__dataclass_fields__)


@given(st.integers(0, 10**6), st.integers(0, 4), st.sampled_from([0.0, 1.0]))
def test_every_gradient_equals_autograd(seed: int, k: int, y: float):
    net = random_network(5, 3, 4, torch.Generator().manual_seed(seed))
    leaves = [getattr(net, name).clone().requires_grad_() for name in NAMES]
    value = loss(forward(Network(*leaves), k).y_hat, y)
    expected = torch.autograd.grad(value, leaves)
    gradient = backward(net, forward(net, k), y)
    for name, reference in zip(NAMES, expected, strict=True):
        assert torch.allclose(getattr(gradient, name), reference, atol=1e-15), name


def test_a_finite_difference_agrees():
    net = random_network(5, 3, 4, torch.Generator().manual_seed(0))
    slope = backward(net, forward(net, 2), 1.0).W1[1, 2].item()
    step = torch.zeros_like(net.W1)
    step[1, 2] = 1e-6
    up, down = (Network(net.E, net.W1 + s * step, net.b1, net.W2, net.b2) for s in (1, -1))
    numeric = (loss(forward(up, 2).y_hat, 1.0) - loss(forward(down, 2).y_hat, 1.0)).item() / 2e-6
    assert slope == pytest.approx(numeric, rel=1e-6)


def test_only_the_embedding_that_was_read_moves():
    net = random_network(5, 3, 4, torch.Generator().manual_seed(0))
    gradient = backward(net, forward(net, 2), 1.0)
    assert gradient.E[2].abs().sum() > 0
    assert gradient.E[[0, 1, 3, 4]].abs().sum() == 0
    assert torch.equal(descend(net, gradient, 0.5).E[0], net.E[0])


def test_descent_learns_a_sentiment_table():
    """Four tokens, two good, two bad: after 600 sweeps every prediction is on its side by a wide margin."""
    net = random_network(4, 2, 3, torch.Generator().manual_seed(1))
    targets = (0.0, 1.0, 1.0, 0.0)
    for _ in range(600):
        for k, y in enumerate(targets):
            net = descend(net, backward(net, forward(net, k), y), 1.0)
    assert all(abs(forward(net, k).y_hat.item() - y) < 0.1 for k, y in enumerate(targets))


def test_unknown_tokens_are_refused():
    net = random_network(4, 2, 3, torch.Generator().manual_seed(1))
    with pytest.raises(ValueError, match="token must lie in 0…3, got -1"):
        forward(net, -1)
