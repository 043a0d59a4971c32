"""Quantum attention: a token-controlled Hamiltonian. Scores times values are *angles*; nothing is mixed or normalised.

    θ_{l,a}(x) = b_l(x_n)_a + Σ_{i≤n} κ_{l,h(a)}(n−i) ⟨q_l(x_n), k_l(x_i)⟩ v_l(x_i)_a

The control is diagonal in the token basis, so U = Σ_x |x⟩⟨x| ⊗ U(x) is one unitary on tokens ⊗ meaning: "classical
attention mixes, quantum attention rotates" (Svozil, XII.3). All layers' angles come from one matrix product because
they depend on the tokens alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

EPS = 1e-6
"""Added to the mean square of a query or key before it is normalised."""


@dataclass
class Memory:
    """The running state of all layers: Σ_i r^{n−i} k_i v_iᵀ and the sum of squared decays; its size never grows."""

    outer: Float[Tensor, "batch maps key_dim values"]
    weight: Float[Tensor, " maps"]


@runtime_checkable
class AttentionConfig(Protocol):
    """What the configurations of all models with angles have."""

    @property
    def heads(self) -> int:
        """Groups of angles that share a score."""
        ...

    @property
    def key_dim(self) -> int:
        """Length of queries and keys."""
        ...

    @property
    def attention(self) -> bool:
        """Whether earlier tokens set angles by a score."""
        ...

    @property
    def decay(self) -> str:
        """``fixed`` or ``learned``: how scores fall with distance."""
        ...

    @property
    def qk_norm(self) -> bool:
        """Whether queries and keys are normalised."""
        ...

    @property
    def angle_init_scale(self) -> float:
        """Size of the angles at the start, in radians."""
        ...


class PhaseAttention(nn.Module):
    """Angles of all layers from control vectors: a parallel form over the text and a constant-memory recurrent form.

    ``count`` is the number of angles per layer (dim phases, or dim/2 planar rotations); heads share it evenly. The
    decay κ(n) = r^n / √Σ_{m≤n} r^{2m} has one rate r per head, spread from 1/2 to 1 − 2⁻⁵, fixed or learned.
    Without ``bilinear`` the sum over earlier tokens is left out and θ_l(x) = b_l(x_n) alone remains. Unbounded, θ is of
    third degree in the control vectors, and at high rates runs away; with ``qk_norm`` queries and keys have entries of
    mean square one, so that a score is at most √key_dim.
    ``angle_init_scale`` is the standard deviation of the first angles for control vectors of unit variance.
    """

    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        key_dim: int,
        count: int,
        angle_init_scale: float,
        learned_decay: bool,
        bilinear: bool = True,
        qk_norm: bool = False,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        if count % heads:
            raise ValueError(f"the {count} angles of a layer must be divisible by heads, got {heads}")
        self.layers, self.heads, self.key_dim, self.count = layers, heads, key_dim, count
        self.bilinear, self.qk_norm = bilinear, qk_norm
        columns = {"query": heads * key_dim, "key": heads * key_dim, "value": count} if bilinear else {}
        columns["local"] = count
        scale = {"query": 1.0, "key": 1.0, "value": angle_init_scale, "local": angle_init_scale}
        blocks = [
            scale[name] * torch.randn(width, layers * size, generator=generator) / math.sqrt(width)
            for name, size in columns.items()
        ]
        self.sizes = [block.shape[1] for block in blocks]
        self.project = nn.Parameter(torch.cat(blocks, 1))
        spread = torch.linspace(1, 5, heads) if heads > 1 else torch.tensor([1.0])
        rates = (1 - 0.5**spread).repeat(layers)
        self.rate_logit = nn.Parameter(torch.logit(rates), requires_grad=learned_decay and bilinear)

    @classmethod
    def of(
        cls, config: AttentionConfig, width: int, layers: int, count: int, *, generator: torch.Generator
    ) -> PhaseAttention:
        """As a model's configuration has it, for control vectors of length ``width``."""
        return cls(
            width, layers, config.heads, config.key_dim, count, config.angle_init_scale, config.decay == "learned",
            config.attention, config.qk_norm, generator=generator,
        )  # fmt: skip

    def forward(self, control: Float[Tensor, "batch time width"]) -> Float[Tensor, "layers batch time angles"]:
        """All angles of a text at once; O(time²) like any attention, no softmax."""
        return self.attend(control @ self.project)

    def attend(self, projected: Float[Tensor, "batch time columns"]) -> Float[Tensor, "layers batch time angles"]:
        """:meth:`forward` for control vectors already multiplied by ``project``."""
        *parts, local = projected.split(self.sizes, -1)
        own = local.unflatten(-1, (self.layers, self.count)).permute(2, 0, 1, 3)
        if not self.bilinear:
            return own
        time = projected.shape[1]
        query, key, value = (self._by_map(part) for part in parts)
        query, key = self._normed(query), self._normed(key)
        score = (query @ key.mT) * (self._decay(time) / math.sqrt(self.key_dim))
        attended = (score @ value).unflatten(1, (self.layers, self.heads))
        attended = attended.permute(1, 0, 3, 2, 4).flatten(3)
        return attended + own

    def start(self, batch: int) -> Memory:
        """No token seen."""
        maps = self.layers * self.heads
        return Memory(
            self.project.new_zeros(batch, maps, self.key_dim, self.count // self.heads), self.project.new_zeros(maps)
        )

    def step(
        self, control: Float[Tensor, "batch width"], memory: Memory
    ) -> tuple[Float[Tensor, "layers batch angles"], Memory]:
        """The angles of the next position in constant time and memory."""
        *parts, local = (control @ self.project).split(self.sizes, -1)
        own = local.unflatten(-1, (self.layers, self.count)).transpose(0, 1)
        if not self.bilinear:
            return own, memory
        query, key, value = (part.unflatten(-1, (self.layers * self.heads, -1)) for part in parts)
        query, key = self._normed(query), self._normed(key)
        rate = torch.sigmoid(self.rate_logit)
        outer = rate[:, None, None] * memory.outer + key[..., :, None] * value[..., None, :]
        weight = rate.square() * memory.weight + 1
        attended = (query[..., None, :] @ outer)[..., 0, :] / (weight.sqrt()[:, None] * math.sqrt(self.key_dim))
        attended = attended.unflatten(1, (self.layers, self.heads)).flatten(2).transpose(0, 1)
        return attended + own, Memory(outer, weight)

    def flops_per_token(self, time: int) -> int:
        """Operations per token: projections, scores and values over a text of length ``time``."""
        maps = self.layers * self.heads if self.bilinear else 0
        return 2 * self.project.numel() + 2 * maps * time * (self.key_dim + self.count // self.heads)

    def _by_map(self, part: Float[Tensor, "batch time columns"]) -> Float[Tensor, "batch maps time size"]:
        return part.unflatten(-1, (self.layers * self.heads, -1)).transpose(1, 2)

    def _normed(self, part: Float[Tensor, "*batch key_dim"]) -> Float[Tensor, "*batch key_dim"]:
        return F.rms_norm(part, part.shape[-1:], eps=EPS) if self.qk_norm else part

    def _decay(self, time: int) -> Float[Tensor, "maps time time"]:
        position = torch.arange(time, device=self.rate_logit.device)
        gap = (position[:, None] - position[None, :]).clamp_min(0).to(self.rate_logit.dtype)
        decay = (F.logsigmoid(self.rate_logit)[:, None, None] * gap).exp().tril()
        return decay / torch.linalg.vector_norm(decay, dim=-1, keepdim=True)
