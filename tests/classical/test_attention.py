"""Attention against its equations, against PyTorch's own module, and against the claims of the seed texts."""

import math

import pytest
import torch
from torch import nn

from classical.attention import (
    KVCache,
    MultiHeadAttention,
    attention,
    attention_weights,
    causal_mask,
    naive_attention,
)
from classical.config import TransformerConfig


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_two_tokens_by_hand():
    """Scores 0 and ln 3 after scaling: the second row weighs the two values 1/4 and 3/4 (Svozil, Eqs. 40-44)."""
    q = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    k = torch.tensor([[1.0, 0.0], [0.0, math.log(3) * math.sqrt(2)]], dtype=torch.float64)
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    expected = torch.tensor([[1.0, 0.0], [0.25, 0.75]], dtype=torch.float64)
    assert torch.allclose(naive_attention(q, k, v), expected, atol=1e-15)


def test_mask_is_minus_infinity_above_the_diagonal():
    mask = causal_mask(3)
    assert mask.tolist() == [[0, -math.inf, -math.inf], [0, 0, -math.inf], [0, 0, 0]]
    q, k = normal(3, 4), normal(3, 4, seed=1)
    by_hand = (q @ k.T / 2 + mask).softmax(-1)
    assert torch.allclose(attention_weights(q, k), by_hand, atol=1e-15)


def test_rows_sum_to_one_and_the_first_token_attends_to_itself():
    weights = attention_weights(normal(2, 5, 8), normal(2, 5, 8, seed=1))
    assert torch.allclose(weights.sum(-1), torch.ones(2, 5, dtype=torch.float64), atol=1e-14)
    assert torch.all(weights[:, 0, 0] == 1)  # lecture notes 3.5: p_11 = 1


@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (1, 7), (3, 7)])
def test_fast_path_equals_the_equations_in_outputs_and_gradients(queries: int, keys: int):
    def inputs() -> list[torch.Tensor]:
        shapes = ((2, 3, queries, 4), (2, 3, keys, 4), (2, 3, keys, 4))
        return [normal(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]

    fast, slow = inputs(), inputs()
    y, reference = attention(*fast), naive_attention(*slow)
    assert torch.allclose(y, reference, atol=1e-13)
    direction = normal(*y.shape, seed=9)
    for a, b in zip(
        torch.autograd.grad(y, fast, direction), torch.autograd.grad(reference, slow, direction), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-13)


def test_scores_of_independent_unit_vectors_have_variance_d_k():
    """Part 3, "Attention": Var(qᵀk) = d_k, so √d_k brings it back to 1. 20 000 scores of 128 components: the standard
    error of the variance is about 1 %, so 6 % is six sigma (false alarm below 1e-8)."""
    q, k = normal(20_000, 128), normal(20_000, 128, seed=1)
    scores = (q * k).sum(-1)
    assert abs(scores.var().item() / 128 - 1) < 0.06
    assert abs((scores / math.sqrt(128)).var().item() - 1) < 0.06
    assert 11 < scores.std().item() < 11.7  # "a standard deviation close to 11"


def test_attention_without_mask_treats_the_text_as_a_set():
    """Part 3, "The sine formula": permuted rows in, permuted rows out."""
    q, k, v = (normal(6, 4, seed=i) for i in range(3))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    permuted = naive_attention(q[order], k[order], v[order], causal=False)
    assert torch.allclose(permuted, naive_attention(q, k, v, causal=False)[order], atol=1e-14)


@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_equals_pytorchs_own_module(bias: bool):
    config = TransformerConfig(vocab=2, block=8, dim=12, heads=3, bias=bias)
    ours = MultiHeadAttention(config, torch.Generator().manual_seed(1)).double()
    peer = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(normal(*p.shape, seed=p.numel()))
        peer.in_proj_weight.copy_(ours.qkv.weight)
        peer.out_proj.weight.copy_(ours.out.weight)
        if bias:
            peer.in_proj_bias.copy_(ours.qkv.bias)
            peer.out_proj.bias.copy_(ours.out.bias)
    x = normal(2, 8, 12)
    expected, _ = peer(x, x, x, attn_mask=causal_mask(8).double(), need_weights=False)
    assert torch.allclose(ours(x), expected, atol=1e-12)


def test_heads_add_up_value_by_value():
    """Lecture notes 3.5: E_n gains Σ_m p_mn W_V E_m with W_V = W_V↑ W_V↓ per head; Svozil, Eq. 46, says the same."""
    config = TransformerConfig(vocab=2, block=5, dim=8, heads=2)
    module = MultiHeadAttention(config, torch.Generator().manual_seed(0)).double()
    x = normal(1, 5, 8)[0]
    wq, wk, wv = module.qkv.weight.split(8)
    total = torch.zeros(5, 8, dtype=torch.float64)
    for h in (slice(0, 4), slice(4, 8)):
        p = attention_weights(x @ wq[h].T, x @ wk[h].T)
        value_map = module.out.weight[:, h] @ wv[h]  # d×d, rank d/2
        for n in range(5):
            for m in range(n + 1):
                total[n] += p[n, m] * (value_map @ x[m])
    assert torch.allclose(module(x[None])[0], total, atol=1e-13)


def test_cache_can_be_continued_in_two_directions():
    cache = KVCache()
    first = normal(1, 1, 2, 3)
    cache.append(first, first)
    branch = cache.copy()
    cache.append(normal(1, 1, 1, 3, seed=1), normal(1, 1, 1, 3, seed=1))
    keys, _ = branch.append(normal(1, 1, 1, 3, seed=2), normal(1, 1, 1, 3, seed=2))
    assert torch.equal(keys, torch.cat((first, normal(1, 1, 1, 3, seed=2)), 2))
    assert cache.keys is not None
    assert torch.equal(cache.keys[:, :, 2:], normal(1, 1, 1, 3, seed=1))
