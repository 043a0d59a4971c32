"""Scaled dot-product attention with its causal mask, many heads, and the cache that makes decoding cheap.

Svozil, Appendix C and D.1 (Eqs. 37-46); The Shape of the Probable, part 3, "Attention"; lecture notes "Large Language
Models", section 3.5. `naive_attention` spells the equations out; `attention` is the fast kernel that computes the same.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from classical.config import TransformerConfig
from classical.linear import make_linear
from classical.norms import RMS_EPS
from classical.positions import rotate


def may_attend(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "queries keys"]:
    """True where key j is not later than query i; the queries are the last of the ``keys`` positions."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def causal_mask(length: int) -> Float[Tensor, "length length"]:
    """M of part 3, "Attention": 0 where j ≤ i, −∞ where j > i."""
    return torch.zeros(length, length).masked_fill(~may_attend(length, length), -math.inf)


def attention_weights(
    q: Float[Tensor, "*batch queries d_k"], k: Float[Tensor, "*batch keys d_k"], causal: bool = True
) -> Float[Tensor, "*batch queries keys"]:
    """A = softmax(QKᵀ/√d_k + M), row-wise (Svozil, Eqs. 40-42 with the mask of C.3). Every row sums to 1."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        scores = scores.masked_fill(~may_attend(q.shape[-2], k.shape[-2], q.device), -math.inf)
    return scores.softmax(-1)


def naive_attention(
    q: Float[Tensor, "*batch queries d_k"],
    k: Float[Tensor, "*batch keys d_k"],
    v: Float[Tensor, "*batch keys d_v"],
    causal: bool = True,
) -> Float[Tensor, "*batch queries d_v"]:
    """Y = AV (Svozil, Eqs. 43-44): the reference that the fast path is compared with."""
    return attention_weights(q, k, causal) @ v


def attention(
    q: Float[Tensor, "batch heads queries d_k"],
    k: Float[Tensor, "batch heads keys d_k"],
    v: Float[Tensor, "batch heads keys d_k"],
    dropout: float | int = 0.0,
) -> Float[Tensor, "batch heads queries d_k"]:
    """Causal attention by PyTorch's fused kernel; the queries are the last of the keys' positions."""
    queries, keys = q.shape[-2], k.shape[-2]
    if queries == keys:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
    mask = None if queries == 1 else may_attend(queries, keys, q.device)
    return F.scaled_dot_product_attention(q, k, v, mask, dropout_p=dropout)


class KVCache:
    """Keys and values of the positions already read, for one layer (part 3, "Autoregression").

    Rows of K and V of past tokens never change, so they are kept. `append` makes new tensors and leaves the old
    ones alone: a copied cache can be continued in two directions.
    """

    def __init__(self, keys: Tensor | None = None, values: Tensor | None = None):
        self.keys, self.values = keys, values

    def copy(self) -> "KVCache":
        """The same past, to be continued separately (nothing is cloned: appending never writes in place)."""
        return KVCache(self.keys, self.values)

    def append(
        self, k: Float[Tensor, "batch heads new d_k"], v: Float[Tensor, "batch heads new d_k"]
    ) -> tuple[Float[Tensor, "batch heads keys d_k"], Float[Tensor, "batch heads keys d_k"]]:
        """Adds the new positions; returns all keys and all values."""
        if self.keys is not None and self.values is not None:
            k, v = torch.cat((self.keys, k), dim=2), torch.cat((self.values, v), dim=2)
        self.keys, self.values = k, v
        return k, v


class MultiHeadAttention(nn.Module):
    """MultiHead(X) = Concat[head_1 … head_h] W_O, head_i = Attention(XW_Q,i, XW_K,i, XW_V,i) (Svozil, Eqs. 45-46).

    The 3h projections of Eqs. 37-39 are one matrix ``qkv``: rows 0…d−1 are the queries, head by head, then keys, then
    values.
    """

    def __init__(self, config: TransformerConfig, generator: torch.Generator | None = None):
        super().__init__()
        dim, std = config.dim, config.init_std
        self.head_dim, self.qk_norm, self.dropout = config.head_dim, config.qk_norm, config.dropout
        out_std = 0.0 if config.zero_init else std / math.sqrt(2 * config.layers)
        self.qkv = make_linear(dim, 3 * dim, bias=config.bias, std=std, generator=generator)
        self.out = make_linear(dim, dim, bias=config.bias, std=out_std, generator=generator)

    def forward(
        self,
        x: Float[Tensor, "batch time dim"],
        rotation: Float[Tensor, "2 time head_dim"] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch time dim"]:
        """Attends from x to x and to what ``cache`` holds, and extends the cache; ``rotation``: see `rotary_table`."""
        batch, time, dim = x.shape
        qkv = self.qkv(x)
        if rotation is None and not self.qk_norm:
            q, k, v = (self._split_heads(part) for part in qkv.split(dim, dim=-1))
        else:  # queries and keys are normalised and turned in one go, as 2h heads: half the number of kernels
            qk, v = (self._split_heads(part) for part in qkv.split((2 * dim, dim), dim=-1))
            if self.qk_norm:
                qk = F.rms_norm(qk, qk.shape[-1:], eps=RMS_EPS)
            if rotation is not None:
                qk = rotate(qk, rotation)
            q, k = qk.chunk(2, dim=1)
        if cache is not None:
            k, v = cache.append(k, v)
        y = attention(q, k, v, self.dropout if self.training else 0.0)
        y = self.out(y.transpose(1, 2).reshape(batch, time, dim))
        return F.dropout(y, self.dropout, self.training) if self.dropout else y

    def _split_heads(self, x: Tensor) -> Tensor:
        """(batch, time, n·d_k) → (batch, n, time, d_k), a view."""
        return x.view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)
