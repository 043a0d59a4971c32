"""Rung 2 with its register taken away: a softmax of what the classical control, or its angles, say directly.

    p(w|x) = softmax_w(H f(x) + b),   f = c(x)  |  Θ_1..Θ_L(x)  |  cos Θ, sin Θ

The control c and the angles Θ are those of :class:`qattn.lm.unitary.UnitaryLM`, made by the same code from the same
random numbers. So the difference in loss is what the register does and nothing else. With the angles themselves and an
additive control this is a log-linear model (Rosenfeld 1996), with an MLP and no attention the neural n-gram model of
Bengio et al. (2003). cos and sin are what phases can tell a register in first order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from qattn.lm.attention import Memory, PhaseAttention
from qattn.lm.control import ControlModule, make_control
from qattn.lm.grouped import GroupedLM

READS = ("control", "angles", "cos_sin")


@dataclass(frozen=True)
class NoRegisterConfig:
    """A classical control and a softmax. Raises ``ValueError`` for sizes that cannot fit together.

    reads: what the softmax reads (the ``control`` vector, its ``angles``, or their ``cos_sin``); dim: angles per
    layer; the others as in :class:`qattn.lm.unitary.UnitaryConfig`. ``control`` has no angles, and no use for dim,
    layers, heads, key_dim, attention, decay and angle_init_scale.
    """

    vocab: int
    reads: str = "cos_sin"
    dim: int = 96
    layers: int = 4
    heads: int = 4
    key_dim: int = 16
    attention: bool = True
    control: str = "mlp"
    ngram: int = 4
    hidden: int = 512
    embedding: int = 64
    decay: str = "fixed"
    qk_norm: bool = False
    angle_init_scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("vocab", "dim", "layers", "heads", "key_dim", "ngram", "hidden", "embedding"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.reads not in READS:
            raise ValueError(f"reads must be one of {', '.join(READS)}, got {self.reads!r}")
        if self.decay not in ("fixed", "learned"):
            raise ValueError(f"decay must be 'fixed' or 'learned', got {self.decay!r}")


@dataclass
class NoRegisterState:
    """What generation carries; its size does not grow with the text."""

    recent: Any
    memory: Memory | None


class NoRegisterLM(GroupedLM):
    """Tokens (batch, time) → log-probabilities (batch, time, vocab), with nothing quantum in between."""

    owners = {  # noqa: RUF012
        "control": "control", "attention": "control", "head": "head", "bias": "head",
    }  # fmt: skip

    def __init__(
        self, config: NoRegisterConfig, generator: torch.Generator | None = None, control: ControlModule | None = None
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.control: Any = make_control(c, control, generator=generator)
        self.attention: PhaseAttention | None = None
        width = self.control.width
        if c.reads != "control":
            self.attention = PhaseAttention.of(c, width, c.layers, c.dim, generator=generator)
            width = c.layers * c.dim * (2 if c.reads == "cos_sin" else 1)
        self.head = nn.Parameter(torch.randn(width, c.vocab, generator=generator) * 0.5 / math.sqrt(width))
        self.bias = nn.Parameter(torch.zeros(c.vocab))

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        return F.log_softmax(self.logits(tokens), -1)

    def with_log_partition(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch time vocab"], Float[Tensor, "batch time"]]:
        """:meth:`forward`, and log Z of each position's softmax, log p = z − log Z, which the z-loss keeps small."""
        logits = self.logits(tokens)
        return F.log_softmax(logits, -1), logits.logsumexp(-1)

    def logits(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """What the softmax is taken of."""
        if self.attention is None:
            return self.control.project(tokens, self.head) + self.bias
        return self.read(self.attention.attend(self.control.project(tokens, self.attention.project)))

    def read(self, angles: Float[Tensor, "layers *batch angles"]) -> Float[Tensor, "*batch vocab"]:
        """The head on the angles of all layers side by side, or on their cosines and sines."""
        features = angles.movedim(0, -2).flatten(-2)
        if self.config.reads == "cos_sin":
            features = torch.cat([features.cos(), features.sin()], -1)
        return features @ self.head + self.bias

    def start(self, batch: int) -> NoRegisterState:
        """An empty context."""
        return NoRegisterState(self.control.start(batch), self.attention.start(batch) if self.attention else None)

    def step(
        self, token: Int[Tensor, " batch"], state: NoRegisterState
    ) -> tuple[Float[Tensor, "batch vocab"], NoRegisterState]:
        """One token further in constant time and memory; equals :meth:`forward` to the dtype's tolerance."""
        control, recent = self.control.step(token, state.recent)
        if self.attention is None or state.memory is None:
            return F.log_softmax(control @ self.head + self.bias, -1), NoRegisterState(recent, None)
        angles, memory = self.attention.step(control, state.memory)
        return F.log_softmax(self.read(angles), -1), NoRegisterState(recent, memory)

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token."""
        attention = 0 if self.attention is None else self.attention.flops_per_token(length)
        return self.control.flops_per_token(length) + attention + 2 * self.head.numel()
