"""Recurrent unitary language models: one register for the whole text, turned by each token (rungs 2r and 4).

    h_t = U(x_t) h_{t−1},   h_0 = |ψ₀⟩,   p(w | x_1..x_t) = ⟨h_t|E_w|h_t⟩

Strictly unitary, natural for state tracking. Any one of n bits of its past is answered rightly with probability p only
if log₂ D ≥ (1 − H₂(p)) n: the random-access bound of Ambainis, Nayak, Ta-Shma and Vazirani 2002. (Each position is a
fresh run, so Holevo's bound limits one reading alone.) A model with a register for each position is not so limited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from qattn.core.measurement import log_probabilities, squared_modulus
from qattn.core.unitaries import Field
from qattn.lm.base import REGISTER, RegisterLM, StateMap, readout_flops
from qattn.lm.control import Control
from qattn.lm.transitions import Cayley, Householder, Linear, Permutations, Stochastic, Table

TWINS = ("linear", "stochastic")
"""Transitions that are no unitaries."""
TRANSITIONS = ("table", "householder", "cayley", "permutation", *TWINS)


@dataclass(frozen=True)
class RecurrentConfig:
    """A recurrent register: `transition` is ``table``, ``householder``, ``cayley`` or ``permutation``; or, classical
    twins of the table with its very numbers, ``linear`` or ``stochastic``.

    vocab, dim, field: outcomes, dimension, complex or real; factors: reflections a token (householder); generators:
    shared Hamiltonians (cayley); temperature: of the relaxation (permutation); control, ngram, hidden, embedding: what
    sets the reflections; readout, rank, floor: the measurement (or, to compare with, ``softmax``); init_scale: distance
    of the start from the identity, or, of a table ``around`` ``displacements``, from X^q Z^p for token q·dim + p.
    """

    vocab: int
    dim: int = 64
    field: Field = "complex"
    transition: str = "householder"
    factors: int = 2
    generators: int = 16
    temperature: float = 1.0
    control: str = "token"
    ngram: int = 4
    hidden: int = 512
    embedding: int = 64
    readout: str = "povm"
    rank: int = 4
    floor: bool = True
    init_scale: float = 1.0
    around: str = "identity"

    def __post_init__(self) -> None:
        for name in ("vocab", "dim", "factors", "generators", "ngram", "hidden", "embedding", "rank"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.transition not in TRANSITIONS:
            raise ValueError(f"transition must be one of {', '.join(TRANSITIONS)}, got {self.transition!r}")
        if self.transition == "stochastic" and self.readout not in ("povm", "projective"):
            raise ValueError(f"probabilities need a povm or projective readout, got {self.readout!r}")
        if self.around not in ("identity", "displacements"):
            raise ValueError(f"around must be 'identity' or 'displacements', got {self.around!r}")
        if self.around == "displacements" and (self.transition, self.field) != ("table", "complex"):
            raise ValueError("a start around the displacements is for transition table and field complex")
        if self.around == "displacements" and self.vocab != self.dim**2:
            raise ValueError(f"displacements are dim² = {self.dim**2} unitaries, one per token, got vocab {self.vocab}")
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}")


@dataclass
class RecurrentState:
    """What generation carries: the register, and the n-gram that the control looks at."""

    psi: Shaped[Tensor, "batch dim"]
    recent: Float[Tensor, "batch width"] | None


class UnitaryRecurrentLM(RegisterLM):
    """Rungs 2r and 4: tokens (batch, time) → log-probabilities (batch, time, vocab); time runs one token at a time."""

    constrained_groups = ("transition", "readout", "start")
    owners = {  # noqa: RUF012
        **REGISTER, "control": "control", "transition": "transition",
    }  # fmt: skip

    def __init__(self, config: RecurrentConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.control: Control | None = None
        self.transition: Any
        if c.transition == "householder":
            self.control = Control(c.control, c.vocab, c.embedding, c.ngram, c.hidden, generator=generator)
            self.transition = Householder(
                self.control.width, c.dim, c.factors, c.field, c.init_scale, generator=generator
            )
        elif c.transition == "cayley":
            self.transition = Cayley(c.vocab, c.dim, c.generators, c.field, c.init_scale, generator=generator)
        elif c.transition == "permutation":
            self.transition = Permutations(c.vocab, c.dim, c.temperature, generator=generator)
        else:
            tables = {"table": Table, "linear": Linear, "stochastic": Stochastic}
            kind = tables[c.transition]
            self.transition = kind(c.vocab, c.dim, c.field, c.init_scale, c.around, generator=generator)
        self.make_register(c.dim, c.vocab, c.field, c.readout, c.rank, c.floor, generator)
        if c.around == "displacements" and c.readout == "povm":
            self._measure_the_orbit()

    @torch.no_grad()
    def _measure_the_orbit(self) -> None:
        """Start with E_w = |ψ_w⟩⟨ψ_w|/D of the states ψ_w = U(w)ψ₀ that one token leads to, a measurement for every ψ₀.

        At ``init_scale`` 0 states and measurement are then orbits of one vector, and a loss that treats all tokens
        alike keeps them so: what is searched is the fiducial vector alone.
        """
        orbit = (self.transition.unitaries() @ self.prepare()).conj() / math.sqrt(self.config.dim)
        rows = torch.zeros(self.config.rank, *orbit.shape, dtype=orbit.dtype)
        rows[0] = orbit
        self.readout.isometry.raw.copy_(torch.view_as_real(rows.flatten(0, 1)))

    @property
    def strict(self) -> bool:  # type: ignore[override]
        """Whether this model claims strict unitarity: not where a softmax reads the register, nor a classical twin."""
        return self.config.readout != "softmax" and self.config.transition not in TWINS

    def prepare(self) -> Shaped[Tensor, " dim"]:
        """The initial state |ψ₀⟩, a learned unit vector; of a Markov chain its populations |ψ₀|²."""
        psi = super().prepare()
        return squared_modulus(psi) if self.config.transition == "stochastic" else psi

    def read(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """log p(w) by the Born rule; of a Markov chain by the emission matrix ⟨s|E_w|s⟩ of the same measurement."""
        if self.config.transition != "stochastic":
            return super().read(phi)
        return log_probabilities(self.readout.of_populations(phi), self.floor)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        return self.read(self.states(tokens))

    def states(self, tokens: Int[Tensor, "batch time"]) -> Shaped[Tensor, "batch time dim"]:
        return self.transition.run(self.prepare().expand(tokens.shape[0], -1), self.gates(tokens))

    def gates(self, tokens: Int[Tensor, "batch time"]) -> Any:
        """What the text does to the register."""
        return self.transition(tokens if self.control is None else self.control(tokens))

    def evolve(self, psi: Shaped[Tensor, "batch dim"], gates: Any) -> Shaped[Tensor, "batch dim"]:
        """U(x_T) ⋯ U(x_1)|ψ⟩: the register after the whole text."""
        return self.transition.run(psi, gates)[:, -1]

    def unevolve(self, phi: Shaped[Tensor, "batch dim"], gates: Any) -> Shaped[Tensor, "batch dim"]:
        """The inverse: the same gates backwards."""
        return self.transition.inverse(phi, gates)

    @property
    def without_state_map(self) -> str:
        """Why a classical twin has no state map."""
        if self.config.transition == "linear":
            return "a free linear map per token, after which the state is normalised, is no unitary"
        return "a stochastic matrix per token moves probabilities: there is no state vector"

    def state_map(self, tokens: Int[Tensor, "batch time"]) -> StateMap | None:
        """The unitaries of a batch of whole texts, one register per text; None for a classical twin."""
        if self.config.transition in TWINS:
            return None
        gates = self.gates(tokens)
        return StateMap(
            lambda psi: self.evolve(psi, gates), lambda phi: self.unevolve(phi, gates),
            (tokens.shape[0], self.config.dim), self.config.field,
        )  # fmt: skip

    def start(self, batch: int) -> RecurrentState:
        """An empty context."""
        recent = None if self.control is None else self.control.start(batch)
        return RecurrentState(self.prepare().expand(batch, -1), recent)

    def step(
        self, token: Int[Tensor, " batch"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch vocab"], RecurrentState]:
        """One token further in constant time and memory."""
        if self.control is None or state.recent is None:
            gates, recent = self.transition(token[:, None]), None
        else:
            control, recent = self.control.step(token, state.recent)
            gates = self.transition(control[:, None])
        psi = self.transition.run(state.psi, gates)[:, 0]
        return self.read(psi), RecurrentState(psi, recent)

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token (a complex one counts 8)."""
        control = 0 if self.control is None else self.control.flops_per_token(length)
        own = self.transition.flops(self.config.dim, self.config.field)
        return control + own + readout_flops(self.readout, self.config.field)
