"""The LSTM: its equations by hand, its published size, one token at a time."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from classical.lstm import LSTM


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def texts() -> torch.Tensor:
    return torch.randint(7, (3, 9), generator=generator(5))


def test_the_gates_follow_the_equations() -> None:
    """i, f, o = σ(·), g = tanh(·), c ← f c + i g, h = o tanh c (Gers et al. 2000), written out."""
    model = LSTM(7, dim=5, embedding=4, generator=generator(1)).double()
    inner, hidden, cell = model.recurrent, torch.zeros(3, 5).double(), torch.zeros(3, 5).double()
    for position, got in enumerate(model(texts()).unbind(1)):
        x = model.embedding(texts()[:, position])
        gates = x @ inner.weight_ih_l0.mT + inner.bias_ih_l0 + hidden @ inner.weight_hh_l0.mT + inner.bias_hh_l0
        i, f, g, o = gates.split(5, -1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        expected = (hidden @ model.head.weight.mT + model.head.bias).log_softmax(-1)
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layers", [1, 2])
def test_step_agrees_with_forward_and_the_ledger_and_flops_with_arithmetic(layers: int) -> None:
    model = LSTM(7, dim=5, layers=layers, embedding=4, generator=generator(1))
    full, state = model(texts()), model.start(3)
    for position in range(9):
        log_probs, state = model.step(texts()[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-6)
    parameters = dict(model.named_parameters())
    groups = model.parameter_groups()
    assert sorted(name for names in groups.values() for name in names) == sorted(parameters)
    recurrent = 4 * 5 * (4 + 5 + 2) + (layers - 1) * 4 * 5 * (5 + 5 + 2)
    assert sum(parameters[name].numel() for name in groups["recurrent"]) == recurrent
    assert model.flops_per_token(9) == 2 * (4 * 5 * (4 + 5) + (layers - 1) * 4 * 5 * 10 + 5 * 7)
    with FlopCounterMode(display=False) as counter:
        model.head(torch.zeros(1, 5))
    assert counter.get_total_flops() == 2 * 5 * 7


def test_the_seed_alone_decides_the_start_and_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = LSTM(7, generator=generator(4))
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(2)
    for a, b in zip(first.parameters(), LSTM(7, generator=generator(4)).parameters(), strict=True):
        assert torch.equal(a, b)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="dim must be at least 1, got 0"):
        LSTM(7, dim=0)
