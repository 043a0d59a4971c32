"""The uniform Born machine: strings of a given length by one measurement at their end, and no clock in the register.

    P(s_1..s_n | n) = ⟨φ|E|φ⟩ / Z_n,   φ = A_{s_n} ⋯ A_{s_1} ψ₀,   Σ_s A_s† A_s = 1,   E a projector of rank k
    Z_n = ⟨ψ₀|M_n|ψ₀⟩,   M_0 = E,   M_{r+1} = Σ_s A_s† M_r A_s            (Heisenberg's picture)

With rank 1 and ``isometry`` it is u-MPS (Miller, Rabusseau and Terilla 2021) in left-canonical form. With ``unitary``,
A_s = U_s/√S, the register turns and is measured once: Moore and Crutchfield's measure-once quantum finite automaton
(2000) as a writer. Both are *post-selected*: Z_n is the chance that a string of n symbols, drawn by the outcomes or
uniformly, passes the measurement at the end, and only those that do count. A classical prior p(n), n = 0..longest,
makes it a model of the next token. With ψ_t the register after t symbols,

    p(s | s_1..s_t) ∝ Σ_{n>t} p(n)/Z_n ⟨A_s ψ_t|M_{n−t−1}|A_s ψ_t⟩,   p(end | s_1..s_t) ∝ p(t)/Z_t ⟨ψ_t|E|ψ_t⟩
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from qattn.core.measurement import log_probabilities
from qattn.core.states import normalize, random_states, rotate
from qattn.core.unitaries import Field, Isometry, Mixers, as_field, isometry_defect
from qattn.lm.base import StateMap
from qattn.lm.token_ids import expect_tokens


@dataclass(frozen=True)
class BornMachineConfig:
    """A uniform Born machine. Raises ``ValueError`` for sizes that cannot be.

    vocab: the symbols and, last, the marker before and after every string; dim, field: of the register; transition:
    ``isometry`` or ``unitary``; rank: of the projector at the end; longest: greatest length of a string; init_scale:
    distance of the start from operators that commute.
    """

    vocab: int
    dim: int = 20
    field: Field = "complex"
    transition: str = "isometry"
    rank: int = 1
    longest: int = 64
    init_scale: float = 0.3

    def __post_init__(self) -> None:
        for name, least in (("vocab", 2), ("dim", 1), ("rank", 1), ("longest", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.rank > self.dim:
            raise ValueError(f"a projector of rank {self.rank} needs a register of that dimension, got dim {self.dim}")
        if self.field == "real" and self.dim % 2:
            raise ValueError(f"planar rotations need an even dim in the real field, got {self.dim}")
        if self.transition not in ("isometry", "unitary"):
            raise ValueError(f"transition must be 'isometry' or 'unitary', got {self.transition!r}")


class BornState(NamedTuple):
    """What generation carries: the register, the symbols read of this string, and what they are weighed with."""

    psi: Shaped[Tensor, "batch dim"]
    read: Int[Tensor, " batch"]
    effects: Shaped[Tensor, "counts vocab dim dim"]


class BornMachineLM(nn.Module):
    """Tokens (batch, time) → log-probabilities (batch, time, vocab). A marker begins a new string, with ψ₀, and is the
    first token of a text; a text that begins with a symbol is read as if one stood before it.

    A string of more than ``longest`` symbols has no probability: ``ValueError``. So has one that the measurement lets
    pass for no continuation; after it every token has the least log-probability that the dtype can tell.
    """

    context_limit: int | None = None
    constrained_groups = ("transition", "readout", "start")
    strict = False

    def __init__(self, config: BornMachineConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.marker = symbols = c.vocab - 1
        self.transition: Isometry | Mixers
        if c.transition == "isometry":
            self.transition = Isometry(symbols * c.dim, c.dim, c.field, generator=generator)
        else:
            self.transition = Mixers(symbols, c.dim, c.field, generator=generator)
        self.final = Isometry(c.dim, c.rank, c.field, generator=generator)
        psi = random_states((c.dim,), c.field, generator=generator, dtype=torch.float32)
        self.psi = nn.Parameter(torch.view_as_real(psi) if psi.is_complex() else psi[:, None])
        self.lengths = nn.Parameter(torch.zeros(c.longest + 1))
        self.scatter_(generator)

    @torch.no_grad()
    def scatter_(self, generator: torch.Generator) -> None:
        """Start every symbol as phases of the axes (real: rotations of planes), uniform on the circle and
        ``init_scale`` off.

        Uniform strings turn the coherence between two axes by a random walk. It survives n symbols where all of them
        turn it by nearly the same angle, and averages out where they do not: operators that hardly commute leave long
        strings no gradient. Scattered phases that do commute are a comb of dim² frequencies, of which some are near
        those of the language.
        """
        c = self.config
        parts = self.psi.shape[-1]
        turns = torch.rand(self.marker, 1, c.dim * parts // 2, generator=generator) * 2 * torch.pi
        one = as_field(torch.eye(c.dim)[..., None] * torch.eye(parts)[0])
        axes = rotate(one.expand(self.marker, -1, -1).contiguous(), turns.expand(-1, c.dim, -1))
        axes = torch.view_as_real(axes) if axes.is_complex() else axes[..., None]
        noise = torch.randn(axes.shape, generator=generator) * c.init_scale / (2 * c.dim) ** 0.5
        self.transition.raw.copy_((axes + noise).reshape(self.transition.raw.shape))

    def operators(self) -> Shaped[Tensor, "symbols dim dim"]:
        """A_s with Σ_s A_s† A_s = 1."""
        made = self.transition()
        if self.config.transition == "isometry":
            return made.unflatten(0, (self.marker, self.config.dim))
        return made / self.marker**0.5

    def prepare(self) -> Shaped[Tensor, " dim"]:
        """|ψ₀⟩."""
        return normalize(as_field(self.psi))

    def projector(self) -> Shaped[Tensor, "dim dim"]:
        """E, of trace ``rank``."""
        frame = self.final()
        return frame @ frame.mH

    def backwards(
        self, kraus: Shaped[Tensor, "symbols dim dim"]
    ) -> tuple[Shaped[Tensor, "counts dim dim"], Float[Tensor, " counts"]]:
        """M_0..M_longest, each scaled to trace 1, and the logarithms of what they were divided by."""
        effect = self.projector() / self.config.rank
        tall = kraus.flatten(0, 1).mH
        found, scale = [effect], [effect.real.new_zeros(())]
        for _ in range(self.config.longest):
            effect = tall @ (effect @ kraus).flatten(0, 1)
            size = effect.diagonal().sum().real.detach().clamp_min(torch.finfo(effect.real.dtype).tiny)
            effect = effect / size
            found.append(effect)
            scale.append(scale[-1] + size.log())
        return torch.stack(found), torch.stack(scale)

    def effects(self, length: int | None = None) -> Shaped[Tensor, "counts vocab dim dim"]:
        """F_{t,w} with p(w | s_1..s_t) ∝ ⟨ψ_t|F_{t,w}|ψ_t⟩ for t = 0..longest; with ``length``, p(n) is certainty.

        A length of which no string passes the measurement (Z_n = 0 to rounding) has no share in p(n).
        """
        kraus, psi, longest = self.operators(), self.prepare(), self.config.longest
        passed, scale = self.backwards(kraus)
        chance = ((passed @ psi) @ psi.conj()).real  # Z_n, scaled
        possible = chance > 4 * torch.finfo(chance.dtype).eps
        prior = self.log_prior(possible, length)
        weight = torch.where(possible, prior - chance.where(possible, 1.0).log() - scale, -torch.inf)  # log p(n)/Z_n

        count = torch.arange(longest, device=psi.device)
        ends_at = torch.arange(1, longest + 2, device=psi.device)[:, None] + count  # n = t + 1 + j
        later = torch.where(ends_at <= longest, weight[ends_at.clamp_max(longest)] + scale[:-1], -torch.inf)
        top = torch.cat([later, weight[:, None]], 1).amax(1).detach()
        top = top.where(top.isfinite(), 0.0)[:, None]
        mixed = (later - top).exp().to(passed.dtype) @ passed[:-1].flatten(1)
        going = kraus.mH @ mixed.unflatten(1, psi.shape * 2)[:, None] @ kraus
        ending = (weight - top[:, 0]).exp()[:, None, None] * passed[0]
        return torch.cat([going, ending[:, None]], 1)

    def log_prior(self, possible: Bool[Tensor, " counts"], length: int | None = None) -> Float[Tensor, " counts"]:
        """log p(n) over the possible lengths, or that of the one length asked for.

        Raises ``ValueError`` for a length that no string has.
        """
        if length is None:
            return self.lengths.masked_fill(~possible, -torch.inf).log_softmax(0)
        if not 0 <= length <= self.config.longest or not possible[length]:
            raise ValueError(f"no string of {length} symbols has a probability (longest is {self.config.longest})")
        return torch.full_like(self.lengths, -torch.inf).index_fill(0, torch.tensor(length), 0.0)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        expect_tokens(tokens, self.config.vocab)
        places = torch.arange(tokens.shape[1], device=tokens.device)
        read = places - torch.where(tokens == self.marker, places, -1).cummax(1).values
        first, flat = self.prepare(), self.operators().flatten(0, 1).mT
        psi, states = first.expand(len(tokens), -1), []
        for column in tokens.unbind(1):
            psi = self.turn(psi, column, flat, first)
            states.append(psi)
        return self.read(torch.stack(states, 1), read, self.effects())

    def turn(
        self,
        psi: Shaped[Tensor, "batch dim"],
        token: Int[Tensor, " batch"],
        flat: Shaped[Tensor, "dim symbols_dim"],
        first: Shaped[Tensor, " dim"],
    ) -> Shaped[Tensor, "batch dim"]:
        """A_s ψ of unit length, or ψ₀ after the marker; ``flat`` is (A_1 … A_S)ᵀ side by side, one product for all."""
        ends = token == self.marker
        every = (psi @ flat).unflatten(-1, (self.marker, -1))
        psi = every[torch.arange(len(token), device=token.device), token.masked_fill(ends, 0)]
        length = torch.linalg.vector_norm(psi, dim=-1, keepdim=True)
        return torch.where(ends[:, None], first, psi / length.clamp_min(torch.finfo(length.dtype).tiny))

    def read(
        self,
        psi: Shaped[Tensor, "*batch dim"],
        read: Int[Tensor, "*batch"],
        effects: Shaped[Tensor, "counts vocab dim dim"],
    ) -> Float[Tensor, "*batch vocab"]:
        """log p(w) of registers after ``read`` symbols each."""
        self.refuse(read)
        shares = psi.real.new_zeros(*read.shape, self.config.vocab)
        for count in read.unique().tolist():
            here = read == count
            some = psi[here]
            seen = some @ effects[count].flatten(0, 1).mT
            shares[here] = (seen.unflatten(-1, (self.config.vocab, -1)) * some.conj()[:, None]).sum(-1).real
        shares = shares.clamp_min(0.0)
        total = shares.sum(-1, keepdim=True)
        return log_probabilities(shares / total.clamp_min(torch.finfo(total.dtype).tiny))

    def refuse(self, read: Int[Tensor, "*batch"]) -> None:
        """Raise ``ValueError`` for strings longer than the prior knows."""
        if read.numel() and int(read.max()) > self.config.longest:
            raise ValueError(
                f"a string of {int(read.max())} symbols has no probability under a prior up to {self.config.longest}: "
                "raise longest"
            )

    def start(self, batch: int) -> BornState:
        """ψ₀ for every text."""
        return self._start(batch, None)

    def start_given_length(self, batch: int, length: int) -> BornState:
        """ψ₀, and the strings known to end after ``length`` symbols: `step` then draws from P(s | n)."""
        return self._start(batch, length)

    def _start(self, batch: int, length: int | None) -> BornState:
        read = torch.zeros(batch, dtype=torch.int64, device=self.lengths.device)
        return BornState(self.prepare().expand(batch, -1), read, self.effects(length))

    def step(self, token: Int[Tensor, " batch"], state: BornState) -> tuple[Float[Tensor, "batch vocab"], BornState]:
        """One token further in constant time and memory."""
        expect_tokens(token, self.config.vocab)
        psi = self.turn(state.psi, token, self.operators().flatten(0, 1).mT, self.prepare())
        read = torch.where(token == self.marker, 0, state.read + 1)
        return self.read(psi, read, state.effects), BornState(psi, read, state.effects)

    def state_map(self, tokens: Int[Tensor, "batch time"]) -> StateMap:
        """ψ → Σ_s A_s ψ ⊗ |s⟩, the isometry of one symbol before anything is read, and its adjoint. The text does not
        enter it.
        """
        tall = self.operators().flatten(0, 1)
        return StateMap(
            lambda psi: psi @ tall.mT, lambda phi: phi @ tall.conj(), (*tokens.shape, self.config.dim),
            self.config.field,
        )  # fmt: skip

    def completeness(self) -> float:
        """Largest entry of |Σ_s A_s† A_s − 1|. What is read of it afterwards is post-selected and so not complete."""
        return isometry_defect(self.operators().flatten(0, 1))

    def parameter_groups(self) -> dict[str, list[str]]:
        """Where the trainable parameters sit: the operators, the projector, the start, the prior of the lengths."""
        return {"transition": ["transition.raw"], "readout": ["final.raw"], "start": ["psi"], "lengths": ["lengths"]}

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token (a complex one counts 8). The
        effects are made once a step for the whole batch and not counted.
        """
        c = self.config
        return (8 if c.field == "complex" else 2) * c.dim**2 * (2 * c.vocab - 1)
