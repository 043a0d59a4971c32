"""The mean-field model (rung 1): angles also come from expectation values of earlier positions' states.

    θ_l(n) = rung 2's angles with the control c(x_i) joined by f_l(i−1),   f_l(i)_m = D |⟨k_m|ψ_{l−1,i}⟩|² − 1

as in time-dependent Hartree theory, where each particle moves in the mean field of the others. What it gives up:
linearity. The phases at position n depend on the *states* at positions i < n, so the map of all initial states
together is not linear. Kept exactly: every position's norm, the complete measurement, causality, and reversal, since
layer l at position n is inverted once the positions before it are. Inner products are kept only between states that
see the same field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from qattn.core.measurement import born
from qattn.core.states import normalize, rotate
from qattn.core.unitaries import Mixers, as_field
from qattn.lm.attention import Memory, PhaseAttention
from qattn.lm.base import REGISTER, RegisterLM, StateMap, readout_flops
from qattn.lm.control import ControlModule, make_control
from qattn.lm.unitary import UnitaryConfig


@dataclass(frozen=True)
class MeanFieldConfig(UnitaryConfig):
    """Rung 2's sizes and ``features``, the number of expectation values a layer."""

    features: int = 48

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features < 1:
            raise ValueError(f"features must be at least 1, got {self.features}")


@dataclass
class MeanFieldState:
    """What generation carries; its size does not grow with the text."""

    recent: Any
    memories: list[Memory] = field(default_factory=list)
    means: list[Tensor] = field(default_factory=list)


class MeanFieldLM(RegisterLM):
    """Rung 1: tokens (batch, time) → log-probabilities (batch, time, vocab).

    Norm-preserving, causal and reversible; *not* linear in the state (see above), so it does not claim rung 2.
    """

    constrained_groups = ("mixers", "readout", "start")
    owners = {  # noqa: RUF012
        **REGISTER, "control": "control", "attention": "control", "mixers": "mixers",
        "probes": "field",
    }  # fmt: skip
    strict = False
    attention: Any

    def __init__(
        self, config: MeanFieldConfig, generator: torch.Generator | None = None, control: ControlModule | None = None
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.control: Any = make_control(c, control, generator=generator)
        width = self.control.width + c.features
        self.attention = nn.ModuleList(
            PhaseAttention.of(c, width, 1, c.angle_count, generator=generator) for _ in range(c.layers)
        )
        self.mixers = Mixers(c.layers, c.dim, c.field, c.init_scale, c.parametrization, generator=generator)
        parts = 2 if c.field == "complex" else 1
        self.probes = nn.Parameter(torch.randn(c.layers, c.features, c.dim, parts, generator=generator))
        self.make_register(c.dim, c.vocab, c.field, c.readout, c.rank, c.floor, generator)

    def means(self, psi: Shaped[Tensor, "*batch dim"], layer: int) -> Float[Tensor, "*batch features"]:
        """D |⟨k_m|ψ⟩|² − 1 for unit vectors k_m: expectation values of rank-one observables, zero on average."""
        overlaps = psi @ normalize(as_field(self.probes[layer])).conj().mT
        return self.config.dim * born(overlaps[..., None, :]) - 1

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        return self.read(self.states(tokens))

    def states(self, tokens: Int[Tensor, "batch time"]) -> Shaped[Tensor, "batch time dim"]:
        return self.evolve(self.prepare().expand(*tokens.shape, -1), self.control(tokens))

    def evolve(
        self, psi: Shaped[Tensor, "batch time dim"], control: Float[Tensor, "batch time width"]
    ) -> Shaped[Tensor, "batch time dim"]:
        """All layers at all positions."""
        for layer, mixer in enumerate(self.mixers()):
            earlier = F.pad(self.means(psi, layer), (0, 0, 1, 0))[:, :-1]
            angles = self.attention[layer](torch.cat([control, earlier], -1))[0]
            psi = rotate(psi, angles) @ mixer.mT
        return psi

    def unevolve(
        self, phi: Shaped[Tensor, "batch time dim"], control: Float[Tensor, "batch time width"]
    ) -> Shaped[Tensor, "batch time dim"]:
        """The inverse, layer by layer and within a layer from the first position on."""
        mixers = self.mixers()
        for layer in reversed(range(self.config.layers)):
            turned = phi @ mixers[layer].conj()
            memory = self.attention[layer].start(len(phi))
            means = phi.real.new_zeros(len(phi), self.config.features)
            states = []
            for position in range(phi.shape[1]):
                angles, memory = self.attention[layer].step(torch.cat([control[:, position], means], -1), memory)
                states.append(rotate(turned[:, position], -angles[0]))
                means = self.means(states[-1], layer)
            phi = torch.stack(states, 1)
        return phi

    def state_map(self, tokens: Int[Tensor, "batch time"]) -> StateMap:
        """The map of all positions' states together under a batch of texts."""
        control = self.control(tokens)
        return StateMap(
            lambda psi: self.evolve(psi, control), lambda phi: self.unevolve(phi, control),
            (*tokens.shape, self.config.dim), self.config.field,
        )  # fmt: skip

    def start(self, batch: int) -> MeanFieldState:
        """An empty context."""
        none = self.probes.new_zeros(batch, self.config.features)
        memories = [attention.start(batch) for attention in self.attention]
        return MeanFieldState(self.control.start(batch), memories, [none] * self.config.layers)

    def step(
        self, token: Int[Tensor, " batch"], state: MeanFieldState
    ) -> tuple[Float[Tensor, "batch vocab"], MeanFieldState]:
        """One token further in constant time and memory."""
        control, recent = self.control.step(token, state.recent)
        after = MeanFieldState(recent)
        psi = self.prepare().expand(len(token), -1)
        for layer, mixer in enumerate(self.mixers()):
            joined = torch.cat([control, state.means[layer]], -1)
            angles, memory = self.attention[layer].step(joined, state.memories[layer])
            after.memories.append(memory)
            after.means.append(self.means(psi, layer))
            psi = rotate(psi, angles[0]) @ mixer.mT
        return self.read(psi), after

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token (a complex one counts 8)."""
        c = self.config
        multiply = 8 if c.field == "complex" else 2
        angles = sum(attention.flops_per_token(length) for attention in self.attention)
        register = multiply * c.layers * c.dim * (c.dim + c.features)
        return self.control.flops_per_token(length) + angles + register + readout_flops(self.readout, c.field)
