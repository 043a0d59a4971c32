"""The hidden quantum Markov model (rung 2i): the emitted token *is* the measurement, and the state goes on collapsed.

    p(w) = Tr Σ_r K_{w,r} ρ K_{w,r}†,   ρ ← Σ_r K_{w,r} ρ K_{w,r}† / p(w),   Σ_{w,r} K_{w,r}† K_{w,r} = 1

Monras, Beige and Wiesner (2011); sizes as in QCLM (github.com/TheFausap/QCLM): V·rank Kraus operators stacked to one
isometry C^dim → C^(V·rank·dim) and a learned pure start, 2·dim·(V·rank·dim + 1) numbers. Gives up the single terminal
measurement: each token is a Process 1, and normalising by its probability is conditioning, not a unitary step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from qattn.core.density_matrix import density, dephase, expectation
from qattn.core.measurement import log_probabilities
from qattn.core.states import normalize, random_states
from qattn.core.unitaries import Field, Isometry, isometry_defect
from qattn.lm.base import StateMap
from qattn.lm.instrument_scan import kraus_recursion
from qattn.lm.token_ids import expect_tokens


@dataclass(frozen=True)
class InstrumentConfig:
    """A hidden quantum Markov model. Raises ``ValueError`` for sizes that cannot be.

    vocab, dim, rank: outcomes, dimension of the memory, Kraus operators an outcome; dephasing: the share γ of every
    coherence that is lost after each token (1: a hidden Markov model); floor: a learned depolarising readout.
    """

    vocab: int
    dim: int = 24
    rank: int = 4
    field: Field = "complex"
    dephasing: float = 0.0
    floor: bool = False

    def __post_init__(self) -> None:
        for name in ("vocab", "dim", "rank"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.dephasing <= 1:
            raise ValueError(f"dephasing must lie between 0 and 1, got {self.dephasing}")


class InstrumentLM(nn.Module):
    """Rung 2i: tokens (batch, time) → log-probabilities (batch, time, vocab). Cost a token: 16·rank·dim³ and the
    readout's 4·dim²·V (complex), whatever the text's length.
    """

    context_limit: int | None = None
    constrained_groups = ("instrument", "start")
    strict = False

    def __init__(self, config: InstrumentConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.kraus = Isometry(c.vocab * c.rank * c.dim, c.dim, c.field, generator=generator)
        psi = random_states((c.dim,), c.field, generator=generator, dtype=torch.float32)
        self.psi = nn.Parameter(torch.view_as_real(psi) if psi.is_complex() else psi[:, None])
        self.floor_logit = nn.Parameter(torch.tensor(-4.0), requires_grad=c.floor)

    def stacked(self) -> Shaped[Tensor, "vocab dim rank dim"]:
        """K_{w,r}[a, b] with axes (w, a, r, b): the isometry's rows."""
        return self.kraus().unflatten(0, (self.config.vocab, self.config.dim, self.config.rank))

    def operators(self) -> Shaped[Tensor, "vocab rank dim dim"]:
        """K_{w,r}, complete by construction."""
        return self.stacked().transpose(1, 2)

    def prepare(self) -> Shaped[Tensor, "dim dim"]:
        """ρ₀, a pure state; dephased like every later one."""
        psi = normalize(torch.view_as_complex(self.psi) if self.psi.shape[-1] == 2 else self.psi[:, 0])
        return dephase(density(psi), self.config.dephasing)

    @staticmethod
    def effects(stacked: Shaped[Tensor, "vocab dim rank dim"]) -> Shaped[Tensor, "vocab dim dim"]:
        """E_w = Σ_r K_{w,r}† K_{w,r}."""
        tall = stacked.flatten(1, 2)
        return tall.mH @ tall

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        expect_tokens(tokens, self.config.vocab)
        stacked = self.stacked()
        rho = self.prepare().expand(tokens.shape[0], -1, -1)
        states = kraus_recursion(rho, stacked, tokens, self.config.dephasing)
        return self.read(states, self.effects(stacked))

    def read(
        self, rho: Shaped[Tensor, "*batch dim dim"], effects: Shaped[Tensor, "vocab dim dim"]
    ) -> Float[Tensor, "*batch vocab"]:
        """log Tr(ρ E_w)."""
        floor = torch.sigmoid(self.floor_logit) if self.config.floor else None
        return log_probabilities(expectation(rho, effects), floor)

    def first(self) -> Float[Tensor, " vocab"]:
        """Log-probabilities of the first token of a text, which `forward` and `step` do not give."""
        return self.read(self.prepare(), self.effects(self.stacked()))

    def start(self, batch: int) -> Shaped[Tensor, "batch dim dim"]:
        """ρ₀ for every text."""
        return self.prepare().expand(batch, -1, -1)

    def step(
        self, token: Int[Tensor, " batch"], state: Shaped[Tensor, "batch dim dim"]
    ) -> tuple[Float[Tensor, "batch vocab"], Shaped[Tensor, "batch dim dim"]]:
        """One token further in constant time and memory."""
        expect_tokens(token, self.config.vocab)
        stacked = self.stacked()
        rho = kraus_recursion(state, stacked, token[:, None], self.config.dephasing)[:, 0]
        return self.read(rho, self.effects(stacked)), rho

    def state_map(self, tokens: Int[Tensor, "batch time"]) -> StateMap:
        """ψ → Σ_{w,r} K_{w,r}ψ ⊗ |w,r⟩, the isometry of one token before anything is measured, and its adjoint, which
        undoes it. The text does not enter it.
        """
        kraus = self.kraus()
        return StateMap(
            lambda psi: psi @ kraus.mT, lambda phi: phi @ kraus.conj(), (*tokens.shape, self.config.dim),
            self.config.field,
        )  # fmt: skip

    def completeness(self) -> float:
        """Largest entry of |Σ K†K − 1|."""
        return isometry_defect(self.kraus())

    def parameter_groups(self) -> dict[str, list[str]]:
        """Where the trainable parameters sit: the instrument, the start, the floor."""
        owner = {"kraus.raw": "instrument", "psi": "start", "floor_logit": "floor"}
        return {owner[name]: [name] for name, parameter in self.named_parameters() if parameter.requires_grad}

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token (a complex one counts 8)."""
        c = self.config
        multiply, parts = (8, 2) if c.field == "complex" else (2, 1)
        return 2 * multiply * c.rank * c.dim**3 + 2 * parts * c.dim**2 * c.vocab
