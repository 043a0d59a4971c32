"""The strictly unitary language model (rung 2 of the ladder of physicality).

    U(x) = W_L e^{iΘ_L(x)} ⋯ W_1 e^{iΘ_1(x)},   φ = U(x)|ψ₀⟩,   p(w|x) = ⟨φ|E_w|φ⟩

The meaning register evolves by unitaries alone (Svozil, Eq. 8) and one terminal measurement gives the next token by the
Born rule (Eq. 6). Section XII.1 encodes tokens as quantum states; here they control the gates, as in the "controlled
rotations" of XII.2, and every position is its own experiment with its own copy of the register: a matrix over positions
that is causal and keeps norms would be diagonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from qattn.core.density_matrix import density, dephase, evolve_density
from qattn.core.evolution import evolve
from qattn.core.measurement import Overlap, Readout, log_probabilities
from qattn.core.states import rotate
from qattn.core.unitaries import Field, Mixers
from qattn.lm.attention import Memory, PhaseAttention
from qattn.lm.base import REGISTER, RegisterLM, StateMap, readout_flops
from qattn.lm.control import ControlModule, make_control


@dataclass(frozen=True)
class UnitaryConfig:
    """What a strictly unitary model is made of. Raises ``ValueError`` for sizes that cannot fit together.

    vocab, dim: outcomes and dimension of the meaning register; layers, heads, key_dim: angle layers and their scores;
    attention: whether scores with all earlier tokens set angles beside the control, and qk_norm: with normalised
    queries and keys; control, ngram, hidden, embedding: the classical control, unless a module is given in its place;
    readout, rank: the measurement; decay: ``fixed|learned``; floor: a learned depolarising channel before the readout;
    init_scale, angle_init_scale: how far from the identity the mixers start and how large the first angles are;
    parametrization: of the mixers (:mod:`qattn.core.orthogonal_maps`).
    Ablations: dephasing: the share γ of every coherence lost before each mixer;
    unistochastic: coherence of the start and of the end taken away, p = |B|²|U(x)|²|ψ₀|²; frozen: parameter groups
    that stay as they started.
    """

    vocab: int
    dim: int = 96
    layers: int = 4
    heads: int = 4
    key_dim: int = 16
    attention: bool = True
    field: Field = "complex"
    control: str = "mlp"
    ngram: int = 4
    hidden: int = 512
    embedding: int = 64
    readout: str = "povm"
    rank: int = 4
    decay: str = "fixed"
    qk_norm: bool = False
    floor: bool = True
    init_scale: float = 0.3
    angle_init_scale: float = 0.2
    parametrization: str = "qr"
    dephasing: float = 0.0
    unistochastic: bool = False
    frozen: tuple[str, ...] = ()

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
        if not 0 <= self.dephasing <= 1:
            raise ValueError(f"dephasing must lie between 0 and 1, got {self.dephasing}")
        if self.mixed and self.readout == "softmax":
            raise ValueError("a softmax readout reads a state vector; dephasing and unistochastic need a measurement")

    @property
    def mixed(self) -> bool:
        """Whether the register is a density matrix."""
        return self.dephasing > 0 or self.unistochastic

    @property
    def angle_count(self) -> int:
        """Angles a layer: a phase an axis (complex), a planar rotation a pair of axes (real)."""
        return self.dim if self.field == "complex" else self.dim // 2


@dataclass
class UnitaryState:
    """What generation carries from token to token; its size does not grow with the text."""

    recent: Any
    memory: Memory


class ControlledLM(RegisterLM):
    """What rungs 2 and 3 share: a classical control sets the angles of a register, one register per position.

    A subclass makes ``control`` and ``attention`` and says in :meth:`from_angles` what the angles do.
    """

    control: Any
    attention: PhaseAttention

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        return self.from_angles(tokens, self.angles(tokens))

    def from_angles(
        self, tokens: Int[Tensor, "*batch"], angles: Float[Tensor, "layers *batch count"]
    ) -> Float[Tensor, "*batch vocab"]:
        """Log-probabilities at positions that end in ``tokens``."""
        raise NotImplementedError

    def states(self, tokens: Int[Tensor, "batch time"]) -> Shaped[Tensor, "batch time dim"]:
        return self.evolve(self.load(tokens), self.angles(tokens))

    def load(self, tokens: Int[Tensor, "*batch"]) -> Shaped[Tensor, "*start dim"]:
        """The initial state |ψ₀⟩."""
        return self.prepare()

    def evolve(
        self, psi: Shaped[Tensor, "*start dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Shaped[Tensor, "*batch dim"]:
        """U(x)|ψ⟩. ``psi`` is one state for all positions or one for each."""
        raise NotImplementedError

    def angles(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "layers batch time angles"]:
        """Θ_l(x_1..x_n) for every layer and position: the attention."""
        return self.attention.attend(self.control.project(tokens, self.attention.project))

    def start(self, batch: int) -> UnitaryState:
        """An empty context."""
        return UnitaryState(self.control.start(batch), self.attention.start(batch))

    def step(
        self, token: Int[Tensor, " batch"], state: UnitaryState
    ) -> tuple[Float[Tensor, "batch vocab"], UnitaryState]:
        """One token further in constant time and memory; equals :meth:`forward` to the dtype's tolerance."""
        control, recent = self.control.step(token, state.recent)
        angles, memory = self.attention.step(control, state.memory)
        return self.from_angles(token, angles), UnitaryState(recent, memory)


class UnitaryLM(ControlledLM):
    """Rung 2: tokens (batch, time) → log-probabilities (batch, time, vocab), strictly unitary in between.

    Does not normalise, mix positions, or measure on the way; `experiments` audits all of it numerically.
    """

    constrained_groups: tuple[str, ...] = ("mixers", "readout", "start")
    owners = {  # noqa: RUF012
        **REGISTER, "control": "control", "attention": "control", "mixers": "mixers",
    }  # fmt: skip

    def __init__(
        self, config: UnitaryConfig, generator: torch.Generator | None = None, control: ControlModule | None = None
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.control = make_control(c, control, generator=generator)
        self.attention = PhaseAttention.of(c, self.control.width, c.layers, c.angle_count, generator=generator)
        self.mixers = Mixers(c.layers, c.dim, c.field, c.init_scale, c.parametrization, generator=generator)
        self.make_register(c.dim, c.vocab, c.field, c.readout, c.rank, c.floor, generator)
        self.freeze(c.frozen)

    @property
    def strict(self) -> bool:  # type: ignore[override]
        """Whether this model claims strict unitarity: not with an ablation that gives it up."""
        return not self.config.mixed and self.config.readout in ("povm", "projective")

    def from_angles(
        self, tokens: Int[Tensor, "*batch"], angles: Float[Tensor, "layers *batch count"]
    ) -> Float[Tensor, "*batch vocab"]:
        return self.predict(self.load(tokens), angles)

    def load(self, tokens: Int[Tensor, "*batch"]) -> Shaped[Tensor, "*start dim"]:
        """The initial state: |ψ₀⟩, or with the overlap readout the input state of each position's own token."""
        return self.readout.prepare(tokens) if isinstance(self.readout, Overlap) else self.prepare()

    def predict(
        self, psi: Shaped[Tensor, "*start dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Float[Tensor, "*batch vocab"]:
        """Log-probabilities after U(x)|ψ⟩, or after the channel that an ablation makes of it."""
        c = self.config
        if not c.mixed:
            return self._predict_pure(psi, angles)
        rho = density(psi).expand(*angles.shape[1:-1], c.dim, c.dim)
        ends = 1.0 if c.unistochastic else 0.0
        rho = dephase(evolve_density(dephase(rho, ends), angles, self.mixers(), c.dephasing), ends)
        return log_probabilities(self.readout.density(rho), self.floor)

    def _predict_pure(
        self, psi: Shaped[Tensor, "*start dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Float[Tensor, "*batch vocab"]:
        """The last mixer may turn every state or, in the Heisenberg picture, the measurement: the fewer of the two."""
        readout, batch = self.readout, angles.shape[1:-1]
        if not isinstance(readout, Readout) or math.prod(batch) <= readout.rank * readout.vocab:
            return self.read(self.evolve(psi, angles))
        mixers = self.mixers()
        states = psi.expand(*batch, psi.shape[-1]).flatten(0, -2)
        states = evolve(states, angles.flatten(1, -2), mixers[:-1])
        return log_probabilities(readout(states, mixers[-1]), self.floor).unflatten(0, batch)

    def evolve(
        self, psi: Shaped[Tensor, "*start dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Shaped[Tensor, "*batch dim"]:
        """U(x)|ψ⟩: phases and mixers in turn. ``psi`` is one state for all positions or one for each."""
        batch = angles.shape[1:-1]
        states = psi.expand(*batch, psi.shape[-1]).flatten(0, -2)
        return evolve(states, angles.flatten(1, -2), self.mixers()).view(*batch, -1)

    def unevolve(
        self, phi: Shaped[Tensor, "*batch dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Shaped[Tensor, "*batch dim"]:
        """U(x)†|φ⟩: the same gates backwards."""
        state = phi.flatten(0, -2)
        for theta, mixer in zip(angles.flatten(1, -2).flip(0), self.mixers().flip(0), strict=True):
            state = rotate(state @ mixer.conj(), -theta)
        return state.view_as(phi)

    def state_map(self, tokens: Int[Tensor, "batch time"]) -> StateMap | None:
        """The unitaries of a batch of texts, one register a position; None where an ablation mixes the state."""
        if self.config.mixed:
            return None
        angles = self.angles(tokens)
        return StateMap(
            lambda psi: self.evolve(psi, angles), lambda phi: self.unevolve(phi, angles),
            (*tokens.shape, self.config.dim), self.config.field,
        )  # fmt: skip

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token (a complex one counts 8).

        What one token alone costs; a batch shares the products with embeddings between equal tokens.
        """
        c = self.config
        multiply = 8 if c.field == "complex" else 2
        vectors = 2 * c.dim if c.mixed else 1  # a density matrix goes through each mixer from both sides
        register = multiply * c.layers * c.dim * c.dim * vectors
        if c.mixed:
            readout = 2 * c.dim**2 * c.vocab * (2 if c.field == "complex" else 1)
        else:
            readout = readout_flops(self.readout, c.field)
        return self.control.flops_per_token(length) + self.attention.flops_per_token(length) + register + readout
