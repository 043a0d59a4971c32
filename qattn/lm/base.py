"""What the unitary language models share: a prepared start, one Born measurement at the end, a ledger of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from qattn.core.measurement import Overlap, Softmax, log_probabilities, make_readout
from qattn.core.states import normalize, random_states
from qattn.core.unitaries import Field
from qattn.lm.grouped import GroupedLM

REGISTER = {"readout": "readout", "psi": "start", "floor_logit": "floor"}
"""The groups of the parameters that :meth:`RegisterLM.make_register` makes."""


class StateMap(NamedTuple):
    """What a batch of texts does to states: the map, its inverse, and the shape and field of what it acts on."""

    evolve: Callable[[Tensor], Tensor]
    unevolve: Callable[[Tensor], Tensor]
    shape: tuple[int, ...]
    field: Field


class RegisterLM(GroupedLM):
    """A language model whose meaning register starts in a learned unit vector and is read once by the Born rule.

    A subclass calls :meth:`make_register` last in its constructor; its ``owners`` include :data:`REGISTER`.
    """

    constrained_groups: tuple[str, ...] = ("readout", "start")
    readout: Any
    strict = True
    """Whether the model claims that its register evolves by unitaries alone, to be read once."""

    def make_register(
        self, dim: int, vocab: int, field: Field, readout: str, rank: int, floor: bool, generator: torch.Generator
    ) -> None:
        """The measurement, the start |ψ₀⟩ and the depolarising floor."""
        self.readout = make_readout(readout, dim, vocab, rank, field, generator=generator)
        self.make_start(dim, field, generator)
        self.make_floor(floor)

    def make_start(self, dim: int, field: Field, generator: torch.Generator) -> None:
        """The learned initial state |ψ₀⟩."""
        psi = random_states((dim,), field, generator=generator, dtype=torch.float32)
        start = torch.view_as_real(psi) if psi.is_complex() else psi[:, None]
        self.psi = nn.Parameter(start, requires_grad=not isinstance(self.readout, Overlap))

    def make_floor(self, floor: bool) -> None:
        """The depolarising channel before the readout, learned or absent."""
        self.floor_logit = nn.Parameter(torch.tensor(-4.0), requires_grad=floor)
        self.has_floor = floor

    def prepare(self) -> Shaped[Tensor, " dim"]:
        """The initial state |ψ₀⟩ of the meaning register, a learned unit vector."""
        return normalize(torch.view_as_complex(self.psi) if self.psi.shape[-1] == 2 else self.psi[:, 0])

    @property
    def floor(self) -> Float[Tensor, ""] | None:
        """δ of the depolarising channel p ← (1−δ)p + δ/V, or None."""
        return torch.sigmoid(self.floor_logit) if self.has_floor else None

    def read(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """log p(w) by the Born rule, behind the depolarising channel where the model has one."""
        return log_probabilities(self.readout(phi), self.floor)

    def states(self, tokens: Int[Tensor, "batch time"]) -> Shaped[Tensor, "batch time dim"]:
        """The register at every position, before it is read."""
        raise NotImplementedError

    def with_log_partition(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch time vocab"], Float[Tensor, "batch time"] | None]:
        """:meth:`forward`, and log Z of each position's softmax, which the z-loss keeps small; None for a measurement,
        whose probabilities have no such sum.
        """
        if not isinstance(self.readout, Softmax):
            out: Tensor = self(tokens)
            return out, None
        logits = self.readout.logits(self.states(tokens))
        return log_probabilities(logits.softmax(-1), self.floor), logits.logsumexp(-1)

    def completeness(self) -> float | None:
        """Largest entry of |Σ_w E_w − 1|; None for a readout without effects."""
        return self.readout.completeness()


def readout_flops(readout: Any, field: Field) -> int:
    """Real operations of one measurement: the isometry's matrix product; a projective readout has none."""
    multiply = 4 if field == "complex" and readout.kind == "softmax" else 8 if field == "complex" else 2
    return 0 if readout.kind == "projective" else multiply * readout.dim * readout.rank * readout.vocab
