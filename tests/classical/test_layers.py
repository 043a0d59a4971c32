"""Norms, activations, feed-forward and whole blocks, against their equations and PyTorch's own layers."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from classical.attention import causal_mask
from classical.blocks import Block
from classical.config import TransformerConfig
from classical.feedforward import FeedForward, gelu, relu2, swiglu
from classical.linear import make_linear
from classical.norms import LayerNorm, RMSNorm, layer_norm, make_norm, rms_norm


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def randomise(module: nn.Module) -> None:
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(normal(*p.shape, seed=100 + i) / math.sqrt(p.shape[-1]))


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_norm_modules_equal_the_equations_in_outputs_and_gradients(kind: str):
    x, gain, shift = 3 * normal(4, 5, 16) + 1, normal(16, seed=1), normal(16, seed=2)
    if kind == "layer":
        module = LayerNorm(16, bias=True).double()
        module.load_state_dict({"weight": gain, "bias": shift})
        reference = layer_norm
    else:
        module = RMSNorm(16).double()
        module.load_state_dict({"weight": gain})
        reference = lambda x, gain, _: rms_norm(x, gain)  # noqa: E731
    a, b, g, s = (t.clone().requires_grad_() for t in (x, x, gain, shift))
    y, expected = module(a), reference(b, g, s)
    assert torch.allclose(y, expected, atol=1e-13)
    direction = normal(*x.shape, seed=3)
    y.backward(direction)
    expected.backward(direction)
    assert torch.allclose(a.grad, b.grad, atol=1e-13)
    assert torch.allclose(module.weight.grad, g.grad, atol=1e-12)


def test_layer_norm_of_two_numbers_lies_on_the_diagonal_and_rms_norm_does_not():
    """Lecture notes 3.4: with d = 2, LayerNorm forces every embedding on one diagonal; RMSNorm only rescales."""
    x = normal(20, 2)
    assert torch.allclose(layer_norm(x, torch.ones(2).double(), eps=0.0).abs(), torch.ones(20, 2).double())
    assert torch.allclose(F.normalize(rms_norm(x), dim=-1), F.normalize(x, dim=-1), atol=1e-5)


def test_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="norm must be one of layer, rms, got 'batch'"):
        make_norm("batch", 4)


def test_activations_at_known_points():
    x = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
    phi = 0.5 * math.erfc(-1 / math.sqrt(2))  # Φ(1) = 0.8413…
    assert gelu(x).tolist() == pytest.approx([-(1 - phi), 0, phi], abs=1e-15)
    assert relu2(2 * x).tolist() == [0, 0, 4]
    assert swiglu(torch.tensor([1.0, 5.0], dtype=torch.float64)).item() == pytest.approx(5 / (1 + math.exp(-1)))


@pytest.mark.parametrize("activation", ["relu", "gelu", "relu2", "swiglu"])
def test_feedforward_is_its_equation_and_acts_on_each_row_alone(activation: str):
    config = TransformerConfig(vocab=2, block=4, dim=6, heads=1, activation=activation, hidden=10, bias=True)
    ffn = FeedForward(config).double()
    randomise(ffn)
    x = normal(2, 4, 6)
    h = x @ ffn.up.weight.T + ffn.up.bias
    inner = {
        "relu": lambda: h.clamp(min=0),
        "gelu": lambda: h * 0.5 * torch.erfc(-h / math.sqrt(2)),
        "relu2": lambda: h.clamp(min=0) ** 2,
        "swiglu": lambda: h[..., :10] * torch.sigmoid(h[..., :10]) * h[..., 10:],
    }[activation]()
    assert torch.allclose(ffn(x), inner @ ffn.down.weight.T + ffn.down.bias, atol=1e-13)
    assert torch.allclose(ffn(x)[:, 2:3], ffn(x[:, 2:3]), atol=1e-14)


@pytest.mark.parametrize("position", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_block_equals_pytorchs_encoder_layer_under_a_causal_mask(position: str, activation: str):
    config = TransformerConfig(
        vocab=2, block=7, dim=12, heads=3, norm_position=position, activation=activation, bias=True
    )
    block = Block(config).double()
    randomise(block)
    peer = nn.TransformerEncoderLayer(
        12, 3, 48, 0.0, activation, batch_first=True, norm_first=position == "pre", dtype=torch.float64
    )
    names = {
        "self_attn.in_proj_": block.attention.qkv,
        "self_attn.out_proj.": block.attention.out,
        "linear1.": block.feedforward.up,
        "linear2.": block.feedforward.down,
        "norm1.": block.attention_norm,
        "norm2.": block.feedforward_norm,
    }
    peer.load_state_dict({f"{k}{part}": getattr(m, part) for k, m in names.items() for part in ("weight", "bias")})
    x = normal(2, 7, 12)
    expected = peer(x, src_mask=causal_mask(7).double(), is_causal=True)
    assert torch.allclose(block(x), expected, atol=1e-12)


def test_linear_maps_draw_from_their_generator_only():
    before = torch.get_rng_state()
    a = make_linear(64, 64, bias=True, std=0.5, generator=torch.Generator().manual_seed(3))
    b = make_linear(64, 64, bias=True, std=0.5, generator=torch.Generator().manual_seed(3))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(a.weight, b.weight)
    assert torch.all(a.bias == 0)
    assert abs(a.weight.std().item() - 0.5) < 0.05  # 4096 draws: standard error 0.0055, so nine sigma
