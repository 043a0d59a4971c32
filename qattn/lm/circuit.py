"""The circuit language model (rung 3 of the ladder): rung 2 on qubits, with everything between the start and the
measurement made of gates.

    U(x) = W_L e^{iΘ_L(x)} ⋯ W_1 e^{iΘ_1(x)},   |ψ₀⟩ = W_0 H^{⊗m} |0…0⟩,   D = 2^m
    e^{iΘ_l(x)} = ∏_q RZ(θ_{l,q}(x)) ∏_{(q,r)} RZZ(θ_{l,qr}(x)),   W_l an ansatz of one- and two-qubit gates

Svozil, section XII.2: learnable unitaries "implemented, e.g., by parametrized quantum circuits". The angles are rung
2's attention, a few a layer instead of D, loaded anew before every mixer (data re-uploading, Pérez-Salinas et al.
2020). A text fixes them, and then the register is one circuit, :meth:`CircuitLM.template`, that any simulator runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from qattn.circuits.ir.ansatz import build, find
from qattn.circuits.ir.ansatz_layers import ring_pairs
from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef, gate
from qattn.circuits.ir.gates import complex_of
from qattn.circuits.simulate.statevector import run
from qattn.circuits.simulate.whole_unitary import unitaries
from qattn.core.evolution import evolve
from qattn.core.measurement import Bits, make_readout
from qattn.core.parametrization_cache import cacheable
from qattn.core.states import rotate
from qattn.lm.attention import PhaseAttention
from qattn.lm.base import REGISTER, StateMap, readout_flops
from qattn.lm.control import ControlModule, make_control
from qattn.lm.unitary import ControlledLM

DENSE = 256
"""Largest register whose mixers are multiplied out as matrices, once for all positions; above, gate by gate."""
MOST_QUBITS = 12


@dataclass(frozen=True)
class CircuitConfig:
    """What a circuit model is made of. Raises ``ValueError`` for sizes that cannot fit together.

    vocab, qubits: outcomes and wires, D = 2^qubits; layers: angle layers, each followed by a mixer; ansatz, depth: the
    mixers' gates and how often they repeat within one; pairs: which wires an angle couples, neighbours on a ``ring`` or
    ``all``; heads, key_dim, attention, control, ngram, hidden, embedding, decay: the classical control as in rung 2;
    readout: ``projective`` (a bit string b means token b mod vocab) or ``povm`` (a dense isometry of ``rank`` times
    vocab outcomes), or ``softmax`` to compare with; floor: a learned depolarising channel before the readout;
    init_scale, angle_init_scale: size of the mixers' and of the text's angles at the start; frozen: parameter groups
    that stay as they started.
    """

    vocab: int
    qubits: int = 8
    layers: int = 6
    ansatz: str = "HeisenbergRing"
    depth: int = 1
    pairs: str = "all"
    heads: int = 4
    key_dim: int = 16
    attention: bool = True
    control: str = "mlp"
    ngram: int = 4
    hidden: int = 512
    embedding: int = 64
    readout: str = "projective"
    rank: int = 4
    decay: str = "fixed"
    qk_norm: bool = False
    floor: bool = True
    init_scale: float = 0.3
    angle_init_scale: float = 0.2
    frozen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sizes = ("vocab", "qubits", "layers", "depth", "heads", "key_dim", "ngram", "hidden", "embedding", "rank")
        for name in sizes:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.qubits > MOST_QUBITS:
            raise ValueError(f"a register has at most {MOST_QUBITS} qubits, got {self.qubits}")
        if self.pairs not in ("ring", "all"):
            raise ValueError(f"pairs must be 'ring' or 'all', got {self.pairs!r}")
        if self.angle_count % self.heads:
            raise ValueError(
                f"the {self.angle_count} angles of a layer ({self.qubits} qubits, {len(self.couplings)} pairs) must be "
                f"divisible by heads, got {self.heads}"
            )
        if self.readout not in ("projective", "povm", "softmax"):
            raise ValueError(f"readout must be 'projective', 'povm' or 'softmax', got {self.readout!r}")
        if self.decay not in ("fixed", "learned"):
            raise ValueError(f"decay must be 'fixed' or 'learned', got {self.decay!r}")
        if self.qubits < find(self.ansatz).least:
            raise ValueError(f"ansatz {self.ansatz} needs at least {find(self.ansatz).least} qubits, got {self.qubits}")

    @property
    def dim(self) -> int:
        """D = 2^qubits."""
        return 2**self.qubits

    @property
    def couplings(self) -> list[tuple[int, int]]:
        """The pairs of wires that share an angle."""
        if self.pairs == "ring":
            return ring_pairs(self.qubits)
        return [(a, b) for a in range(self.qubits) for b in range(a + 1, self.qubits)]

    @property
    def angle_count(self) -> int:
        """Angles a layer: one a wire and one a pair."""
        return self.qubits + len(self.couplings)


def phase_table(qubits: int, couplings: list[tuple[int, int]]) -> Float[Tensor, "angles dim"]:
    """What each angle adds to the phase of each basis state: RZ(θ) = e^{−iθZ/2}, RZZ(θ) = e^{−iθZZ/2}."""
    place = torch.arange(2**qubits)
    signs = torch.stack([1.0 - 2.0 * ((place >> (qubits - 1 - wire)) & 1) for wire in range(qubits)])
    both = [signs[a] * signs[b] for a, b in couplings]
    return -torch.cat([signs, torch.stack(both)] if both else [signs]) / 2


class CircuitLM(ControlledLM):
    """Rung 3: tokens (batch, time) → log-probabilities (batch, time, vocab), by gates alone in between."""

    constrained_groups = ("mixers", "readout", "start")
    owners = {  # noqa: RUF012
        **REGISTER, "control": "control", "attention": "control", "mixing": "mixers",
        "preparation": "start",
    }  # fmt: skip
    signs: Tensor

    def __init__(
        self, config: CircuitConfig, generator: torch.Generator | None = None, control: ControlModule | None = None
    ) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.config = c = config
        self.control = make_control(c, control, generator=generator)
        self.attention = PhaseAttention.of(c, self.control.width, c.layers, c.angle_count, generator=generator)
        self.mixer = build(c.ansatz, c.qubits, c.depth)
        if self.mixer.n_inputs:
            raise ValueError(f"a mixer does not read data, ansatz {c.ansatz} does")
        count = self.mixer.n_parameters
        self.mixing = nn.Parameter(c.init_scale * torch.randn(c.layers, count, generator=generator))
        self.preparation = nn.Parameter(c.init_scale * torch.randn(count, generator=generator))
        if c.readout == "projective":
            self.readout = Bits(c.dim, c.vocab)
        else:
            self.readout = make_readout(c.readout, c.dim, c.vocab, c.rank, "complex", generator=generator)
        self.make_floor(c.floor)
        self.register_buffer("signs", phase_table(c.qubits, c.couplings), persistent=False)
        self.freeze(c.frozen)

    @property
    def strict(self) -> bool:  # type: ignore[override]
        """Whether this model claims strict unitarity: not where a softmax reads the register."""
        return self.config.readout != "softmax"

    def from_angles(
        self, tokens: Int[Tensor, "*batch"], angles: Float[Tensor, "layers *batch count"]
    ) -> Float[Tensor, "*batch vocab"]:
        return self.predict(angles)

    def predict(self, angles: Float[Tensor, "layers *batch angles"]) -> Float[Tensor, "*batch vocab"]:
        """Log-probabilities after U(x)|ψ₀⟩."""
        mixers = self._all_mixers()
        return self.read(self._evolve(self._start(mixers[0]), angles, mixers[1:]))

    def mixers(self) -> Shaped[Tensor, "layers dim dim"] | Shaped[Tensor, "layers parameters"]:
        """W_1 … W_L: matrices ``(layers, dim, dim)`` up to dimension 256, above it the gates' parameters
        ``(layers, parameters)``.
        """
        return self._all_mixers()[1:]

    @cacheable
    def _all_mixers(self) -> Tensor:
        """W_0 and the layers' mixers."""
        values = torch.cat([self.preparation[None], self.mixing])
        return unitaries(self.mixer, values) if self.config.dim <= DENSE else values

    def prepare(self) -> Shaped[Tensor, " dim"]:
        """|ψ₀⟩ = W_0 H^{⊗m}|0…0⟩."""
        return self._start(self._all_mixers()[0])

    def evolve(
        self, psi: Shaped[Tensor, "*start dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Shaped[Tensor, "*batch dim"]:
        """U(x)|ψ⟩. ``psi`` is one state for all positions or one for each."""
        return self._evolve(psi, angles, self.mixers())

    def unevolve(
        self, phi: Shaped[Tensor, "*batch dim"], angles: Float[Tensor, "layers *batch angles"]
    ) -> Shaped[Tensor, "*batch dim"]:
        """U(x)†|φ⟩: the same gates backwards."""
        state = phi.flatten(0, -2)
        for theta, mixer in zip(angles.flatten(1, -2).flip(0), unitaries(self.mixer, self.mixing.flip(0)), strict=True):
            state = rotate(state @ mixer.conj(), -theta @ self.signs)
        return state.view_as(phi)

    def _start(self, mixer: Tensor) -> Shaped[Tensor, " dim"]:
        """W_0 on the uniform superposition."""
        dtype, dim = complex_of(self.preparation), self.config.dim
        uniform = torch.full((1, dim), dim**-0.5, dtype=dtype, device=mixer.device)
        return self._mix(uniform, mixer)[0]

    def _mix(self, states: Shaped[Tensor, "batch dim"], mixer: Tensor) -> Shaped[Tensor, "batch dim"]:
        """W|ψ⟩ for a batch of states."""
        return states @ mixer.mT if mixer.dim() == 2 else run(self.mixer, mixer, states=states).amplitudes()

    def _evolve(self, psi: Tensor, angles: Tensor, mixers: Tensor) -> Tensor:
        """A layer's diagonal gates as one phase vector, then its mixer, layer by layer."""
        batch = angles.shape[1:-1]
        states = psi.expand(*batch, psi.shape[-1]).flatten(0, -2)
        phases = angles.flatten(1, -2) @ self.signs
        if mixers.dim() == 3:
            return evolve(states, phases, mixers).view(*batch, -1)
        for theta, mixer in zip(phases, mixers, strict=True):
            states = self._mix(rotate(states, theta), mixer)
        return states.view(*batch, -1)

    def state_map(self, tokens: Int[Tensor, "batch time"]) -> StateMap:
        """The unitaries of a batch of texts, one register a position."""
        angles = self.angles(tokens)
        return StateMap(
            lambda psi: self.evolve(psi, angles), lambda phi: self.unevolve(phi, angles),
            (*tokens.shape, self.config.dim), "complex",
        )  # fmt: skip

    @cached_property
    def template(self) -> Circuit:
        """The register at one position as a gate list from |0…0⟩ to before the readout.

        Its parameters are :meth:`gate_parameters`, its inputs a position's angles, layer after layer. Wire 0 is the
        most significant bit.
        """
        c = self.config
        operations: list[Operation] = [gate("Hadamard", wire) for wire in range(c.qubits)]
        operations += build(c.ansatz, c.qubits, c.depth).operations
        for layer in range(c.layers):
            angle = iter(range(layer * c.angle_count, (layer + 1) * c.angle_count))
            operations += [gate("RZ", wire, ParameterRef(next(angle), "inputs")) for wire in range(c.qubits)]
            operations += [gate("IsingZZ", a, b, ParameterRef(next(angle), "inputs")) for a, b in c.couplings]
            start = (1 + layer) * self.mixer.n_parameters
            operations += build(c.ansatz, c.qubits, c.depth, start=start).operations
        return Circuit(c.qubits, tuple(operations))

    def gate_parameters(self) -> Float[Tensor, " parameters"]:
        """The trained angles of the :attr:`template`: W_0's, then each layer's."""
        return torch.cat([self.preparation, self.mixing.flatten()])

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in matrix products of one forward token (a complex one counts 8)."""
        c = self.config
        if c.dim <= DENSE:
            mixer = 8 * c.dim**2
        else:
            mixer = sum(8 * c.dim * 2 ** len(op.wires) for op in self.mixer.operations)
        register = c.layers * (2 * c.angle_count * c.dim + mixer)
        readout = readout_flops(self.readout, "complex")
        return self.control.flops_per_token(length) + self.attention.flops_per_token(length) + register + readout
