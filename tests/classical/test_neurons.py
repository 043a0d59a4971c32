"""The neuron, the layer, and what depth without φ and width with φ can do (part 3, "The neuron and the layer")."""

import math

import torch

from classical.neurons import layer, merge_affine, neuron, one_hidden_layer


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_neuron_by_hand():
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0])
    assert neuron(x, w, 0.5, torch.relu).item() == 1.5
    assert neuron(x, w, -1.0).item() == 0.5  # σ(0)


def test_a_layer_is_its_neurons_side_by_side():
    x, W, b = normal(6, 3), normal(4, 3, seed=1), normal(4, seed=2)
    one_by_one = torch.stack([neuron(x, W[i], b[i].item()) for i in range(4)], -1)
    assert torch.allclose(layer(x, W, b), one_by_one, atol=1e-15)


def test_affine_maps_collapse_into_one():
    x, W1, b1, W2, b2 = normal(7, 3), normal(5, 3, seed=1), normal(5, seed=2), normal(2, 5, seed=3), normal(2, seed=4)
    W, b = merge_affine(W2, b2, W1, b1)
    linear = lambda z: z  # noqa: E731
    assert torch.allclose(layer(layer(x, W1, b1, linear), W2, b2, linear), x @ W.T + b, atol=1e-13)


def test_one_hidden_layer_approximates_a_continuous_function():
    """Cybenko 1989: the largest error on [−1, 1] falls below any ε as neurons are added (|x| sin 5x: no polynomial)."""
    x = torch.linspace(-1, 1, 801, dtype=torch.float64)[:, None]
    target = x[:, 0].abs() * torch.sin(5 * x[:, 0])
    errors = []
    for neurons in (4, 16, 64):
        W = torch.full((neurons, 1), 8.0 * math.sqrt(neurons), dtype=torch.float64)
        b = -W[:, 0] * torch.linspace(-1.2, 1.2, neurons, dtype=torch.float64)
        hidden = layer(x, W, b)
        alpha = torch.linalg.lstsq(hidden, target[:, None], driver="gelsd").solution[:, 0]
        errors.append((target - one_hidden_layer(x, alpha, W, b)).abs().max().item())
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 0.01
