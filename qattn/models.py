"""The strictly unitary language model (rung 2 of the ladder of physicality).

    U(x) = W_L e^{iΘ_L(x)} ⋯ W_1 e^{iΘ_1(x)},   φ = U(x)|ψ₀⟩,   p(w|x) = ⟨φ|E_w|φ⟩

Svozil, section XII: tokens are classical controls, the meaning register evolves by unitaries alone (Eq. 8), and one
terminal measurement gives the next token by the Born rule (Eq. 6). Every position is its own experiment with its own
copy of the register, because a causal norm-preserving mixing of positions would be diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from qattn.attention import Angles, Memory
from qattn.control import Control
from qattn.measurement import Readout, log_probabilities
from qattn.states import normalize, random_states, rotate
from qattn.unitaries import Field, Mixers


@dataclass(frozen=True)
class UnitaryConfig:
    """What a strictly unitary model is made of. Raises ``ValueError`` for sizes that cannot fit together.

    vocab, dim: outcomes and dimension of the meaning register; layers, heads, key_dim: angle layers and their scores;
    control, ngram, hidden, embedding: the classical control; readout, rank: the measurement; decay: ``fixed|learned``;
    floor: a learned depolarising channel before the readout; near, gain: how far from the identity the mixers start and
    how large the first angles are.
    """

    vocab: int
    dim: int = 96
    layers: int = 4
    heads: int = 4
    key_dim: int = 16
    field: Field = "complex"
    control: str = "mlp"
    ngram: int = 4
    hidden: int = 512
    embedding: int = 64
    readout: str = "povm"
    rank: int = 4
    decay: str = "fixed"
    floor: bool = True
    near: float = 0.3
    gain: float = 0.2

    def __post_init__(self) -> None:
        for name in ("vocab", "dim", "layers", "heads", "key_dim", "ngram", "hidden", "embedding", "rank"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.field == "real" and self.dim % 2:
            raise ValueError(f"planar rotations need an even dim in the real field, got {self.dim}")
        if self.angle_count % self.heads:
            raise ValueError(f"the {self.angle_count} angles of a layer must be divisible by heads, got {self.heads}")
        if self.decay not in ("fixed", "learned"):
            raise ValueError(f"decay must be 'fixed' or 'learned', got {self.decay!r}")

    @property
    def angle_count(self) -> int:
        """Angles a layer: a phase an axis (complex), a planar rotation a pair of axes (real)."""
        return self.dim if self.field == "complex" else self.dim // 2


@dataclass
class UnitaryState:
    """What generation carries from token to token; its size does not grow with the text."""

    recent: Float[Tensor, "batch width"]
    memory: Memory


class UnitaryLM(nn.Module):
    """Rung 2: tokens (batch, time) → log-probabilities (batch, time, vocab), strictly unitary in between.

    Does not normalise, mix positions, or measure on the way; `experiments` audits all of it numerically.
    """

    context_limit: int | None = None

    def __init__(self, config: UnitaryConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.control = Control(c.control, c.vocab, c.embedding, c.ngram, c.hidden, generator=generator)
        self.attention = Angles(
            self.control.width, c.layers, c.heads, c.key_dim, c.angle_count, c.gain, c.decay == "learned",
            generator=generator,
        )  # fmt: skip
        self.mixers = Mixers(c.layers, c.dim, c.field, c.near, generator=generator)
        self.readout = Readout(c.readout, c.dim, c.vocab, c.rank, c.field, generator=generator)
        psi = random_states((c.dim,), c.field, generator=generator, dtype=torch.float32)
        self.psi = nn.Parameter(torch.view_as_real(psi) if psi.is_complex() else psi[:, None])
        self.floor_logit = nn.Parameter(torch.tensor(-4.0), requires_grad=c.floor)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        angles = self.angles(tokens)
        return self.read(self.evolve(self.prepare(), angles))

    def angles(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "layers batch time angles"]:
        """Θ_l(x_1..x_n) for every layer and position: the attention."""
        return self.attention(self.control(tokens))

    def prepare(self) -> Shaped[Tensor, " dim"]:
        """The initial state |ψ₀⟩ of the meaning register, a learned unit vector."""
        return normalize(torch.view_as_complex(self.psi) if self.psi.shape[-1] == 2 else self.psi[:, 0])

    def evolve(
        self, psi: Shaped[Tensor, "*start dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Shaped[Tensor, "*batch dim"]:
        """U(x)|ψ⟩: phases and mixers in turn. ``psi`` is one state for all positions or one for each."""
        batch = angles.shape[1:-1]
        state = psi.expand(*batch, psi.shape[-1]).reshape(-1, psi.shape[-1])
        for theta, mixer in zip(angles.flatten(1, -2), self.mixers(), strict=True):
            state = rotate(state, theta) @ mixer.mT
        return state.view(*batch, -1)

    def unevolve(
        self, phi: Shaped[Tensor, "*batch dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Shaped[Tensor, "*batch dim"]:
        """U(x)†|φ⟩: the same gates backwards."""
        state = phi.flatten(0, -2)
        for theta, mixer in zip(angles.flatten(1, -2).flip(0), self.mixers().flip(0), strict=True):
            state = rotate(state @ mixer.conj(), -theta)
        return state.view_as(phi)

    def read(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """log p(w) by the Born rule, behind the depolarising channel where the model has one."""
        return log_probabilities(self.readout(phi), self.floor)

    @property
    def floor(self) -> Float[Tensor, ""] | None:
        """δ of the depolarising channel p ← (1−δ)p + δ/V, or None."""
        return torch.sigmoid(self.floor_logit) if self.config.floor else None

    def start(self, batch: int) -> UnitaryState:
        """An empty context."""
        return UnitaryState(self.control.start(batch), self.attention.start(batch))

    def step(
        self, token: Int[Tensor, " batch"], state: UnitaryState
    ) -> tuple[Float[Tensor, "batch vocab"], UnitaryState]:
        """One token further in constant time and memory; equals :meth:`forward` to the dtype's tolerance."""
        control, recent = self.control.step(token, state.recent)
        angles, memory = self.attention.step(control, state.memory)
        return self.read(self.evolve(self.prepare(), angles)), UnitaryState(recent, memory)

    def parameter_groups(self) -> dict[str, list[str]]:
        """Where the parameters sit: classical (embedding, control) and quantum (start, mixers, readout, floor)."""
        owner = {
            "control.embedding": "embedding", "control": "control", "attention": "control", "mixers": "mixers",
            "readout": "readout", "psi": "start", "floor_logit": "floor",
        }  # fmt: skip
        groups: dict[str, list[str]] = {}
        for name, parameter in self.named_parameters():
            if parameter.requires_grad:
                key = name if name in owner else name.split(".")[0]
                groups.setdefault(owner[key], []).append(name)
        return groups

    constrained_groups = ("mixers", "readout", "start")

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token (a complex one counts 8)."""
        c = self.config
        multiply = 8 if c.field == "complex" else 2
        rows = self.readout.rank * c.vocab if c.readout == "povm" else 0
        register = multiply * c.dim * (c.layers * c.dim + rows)
        return self.control.flops_per_token() + self.attention.flops_per_token(length) + register
