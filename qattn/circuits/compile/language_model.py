"""A trained strictly unitary language model and a text as one circuit: the tokens' controls are known angles by then.

    U(x) = W_L e^{iΘ_L(x)} ⋯ W_1 e^{iΘ_1(x)},   p(w|x) = Σ_r |⟨r,w| B U(x) |ψ₀⟩|²      (Svozil, section XII, Eqs. 6
    and 8)

|ψ₀⟩ is prepared on m = ⌈log₂ D⌉ wires, every Θ is a multiplexed rotation, every W a matrix on those wires, and the
isometry B of the readout a unitary on ⌈log₂ RV⌉ wires whose ancillas start in |0⟩ (Naimark). Measuring all wires
gives (r, w); r is forgotten. A depolarising floor δ is a classical channel after the measurement.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float, Int, Shaped
from torch import Tensor

from qattn.circuits.compile.export import preparation
from qattn.circuits.compile.synthesis import multiplexed, multiplexed_phases
from qattn.circuits.ir.circuit import Circuit, Operation, expect_shape
from qattn.circuits.ir.spec import with_noise
from qattn.circuits.simulate import pennylane_device as pennylane
from qattn.circuits.simulate.readout import complete_isometry, sample
from qattn.circuits.simulate.statevector import run
from qattn.lm.circuit import CircuitLM
from qattn.lm.unitary import ControlledLM


@dataclass(frozen=True, eq=False)
class CompiledText:
    """The circuit for one text; outcome i < ``outcomes`` of all wires means token i mod ``vocab``."""

    circuit: Circuit
    vocab: int
    outcomes: int
    floor: float = 0.0

    def tokens(self, p: Float[np.ndarray, " outcomes"]) -> Float[np.ndarray, " vocab"]:
        """Probabilities ``(2ᵏ,)`` of the wires, or frequencies, as a distribution over tokens ``(vocab,)``."""
        whose = np.arange(self.outcomes) % self.vocab
        words = np.bincount(whose, np.asarray(p, float)[: self.outcomes], self.vocab)
        return (1 - self.floor) * words + self.floor / self.vocab

    def next_token(
        self, shots: int | None = None, seed: int | None = None, device: str = "fast", noise: float = 0.0
    ) -> Float[np.ndarray, " vocab"]:
        """The distribution of the next token ``(vocab,)``: exact, or estimated from shots.

        ``noise`` is the strength of a depolarising channel on every wire of every gate, on ``default.mixed``. Raises
        ``ValueError`` for an unknown device, noise where it cannot be, and shots below 1.
        """
        check_backend(device, shots, noise)
        circuit = with_noise(self.circuit, "DepolarizingChannel", noise) if noise else self.circuit
        none = torch.zeros(0, dtype=torch.float64)
        if shots is None:
            p = (
                run(circuit, none).probabilities()
                if device == "fast"
                else pennylane.probabilities(circuit, none, None, device)
            )
            return self.tokens(p.detach().numpy())
        if device == "fast":
            drawn = sample(run(circuit, none).probabilities(), shots, seed)
        else:
            drawn = pennylane.samples(circuit, none, None, device, shots, seed)
        return self.tokens(np.bincount(drawn, minlength=2**circuit.qubits) / shots)


def check_backend(device: str, shots: int | None, noise: float) -> None:
    """Raise ``ValueError`` unless these can be had together."""
    if device != "fast":
        pennylane.make_device(device, 1)
    if shots is not None and shots < 1:
        raise ValueError(f"shots must be at least 1, got {shots}")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is a channel's strength between 0 and 1, got {noise}")
    if noise and device != "default.mixed":
        raise ValueError(f"noise needs a density matrix: run it on device default.mixed, got {device}")


def compile_text(
    mixers: Shaped[np.ndarray, "layers dim columns"],
    angles: Shaped[np.ndarray, "steps angles"],
    start: Shaped[np.ndarray, " size"],
    frame: Shaped[np.ndarray, "rows width"] | None,
    vocab: int,
    floor: float = 0.0,
) -> CompiledText:
    """Mixers ``(L, D, D)``, angles ``(L, D)`` (phases) or ``(L, D/2)`` (planar rotations of axes 2a, 2a+1), start
    ``(D,)``, and the readout's isometry ``(R·vocab, D)``, None for the projective readout (B = 1).

    Raises ``ValueError`` for shapes that do not fit and for matrices that are not unitary.
    """
    layers, dim = mixers.shape[0], mixers.shape[-1]
    expect_shape("mixers", mixers.shape, (layers, dim, dim))
    expect_shape("start", start.shape, (dim,))
    if angles.shape not in ((layers, dim), (layers, dim // 2)):
        raise ValueError(f"angles need shape {(layers, dim)} or {(layers, dim // 2)}, got {angles.shape}")
    rows = dim if frame is None else frame.shape[0]
    if rows % vocab or (frame is not None and frame.shape[1] != dim):
        raise ValueError(
            f"the readout needs shape (rank x {vocab}, {dim}), got {None if frame is None else frame.shape}"
        )
    m = max(1, (dim - 1).bit_length())
    k = max(m, (rows - 1).bit_length())
    register = tuple(range(k - m, k))
    operations = prepare(start, register)
    for theta, mixer in zip(angles, mixers, strict=True):
        operations += attention_step(theta, dim, register)
        operations.append(Operation("QubitUnitary", register, (), padded(mixer, 2**m)))
    if frame is not None:
        operations.append(dilation(frame, k))
    return CompiledText(Circuit(k, tuple(operations)), vocab, rows, floor)


def attention_step(theta: Shaped[np.ndarray, " angles"], dim: int, register: tuple[int, ...]) -> list[Operation]:
    """e^{iΘ}: phases as multiplexed RZ (up to a global phase), planar rotations as one multiplexed RY on the last
    wire."""
    size = 2 ** len(register)
    if len(theta) == dim:
        phases = np.zeros(size)
        phases[:dim] = theta
        return multiplexed_phases(phases, register)
    turns = np.zeros(size // 2)
    turns[: dim // 2] = 2 * theta
    return multiplexed(turns, register[:-1], register[-1], "Y")


def prepare(start: Shaped[np.ndarray, " dim"], register: tuple[int, ...]) -> list[Operation]:
    """|ψ₀⟩ from |0…0⟩ by gates."""
    state = np.zeros(2 ** len(register), complex)
    state[: len(start)] = start
    return preparation(state / np.linalg.norm(state), register)


def padded(matrix: Shaped[np.ndarray, "dim dim"], size: int) -> Complex[np.ndarray, "size size"]:
    """``matrix`` on the first axes, the identity on the rest."""
    whole = np.eye(size, dtype=complex)
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole


def compile_gates(
    template: Circuit,
    parameters: Float[np.ndarray, " parameters"],
    angles: Float[np.ndarray, "*angles"],
    frame: Shaped[np.ndarray, "rows dim"] | None,
    vocab: int,
    floor: float,
) -> CompiledText:
    """A circuit model's own gate list with its numbers filled in, and the readout's isometry, if it has one, behind."""
    bound = template.bound(parameters, angles)
    if frame is None:
        return CompiledText(bound, vocab, 2**bound.qubits, floor)
    k = max(bound.qubits, (frame.shape[0] - 1).bit_length())
    shift = k - bound.qubits
    operations = [replace(op, wires=tuple(w + shift for w in op.wires)) for op in bound.operations]
    return CompiledText(Circuit(k, (*operations, dilation(frame, k))), vocab, frame.shape[0], floor)


def dilation(frame: Shaped[np.ndarray, "rows dim"], qubits: int) -> Operation:
    """The readout's isometry, completed to a unitary on so many wires; those in front start in |0⟩ (Naimark)."""
    tall = np.zeros((2**qubits, frame.shape[1]), complex)
    tall[: frame.shape[0]] = frame
    return Operation("QubitUnitary", tuple(range(qubits)), (), complete_isometry(tall))


@torch.no_grad()
def compile_model(model: Any, tokens: Int[Tensor, "*time"]) -> CompiledText:
    """The circuit of a strictly unitary model with one register per position, :class:`qattn.lm.unitary.UnitaryLM` or
    :class:`qattn.lm.circuit.CircuitLM`, for one text ``(time,)``. Matrices are recomputed in float64.

    Raises ``ValueError`` for other models and for an empty text.
    """
    if tokens.dim() != 1 or len(tokens) == 0:
        raise ValueError(f"a text to compile is one row of at least one token, got shape {tuple(tokens.shape)}")
    exact = in_double(model)
    return compile_angles(exact, exact.angles(tokens[None])[:, 0, -1])


def in_double(model: Any) -> Any:
    """A copy of a model that becomes a circuit, in float64. Raises ``ValueError`` for other models."""
    if not isinstance(model, ControlledLM) or not model.strict:
        raise ValueError(f"only the strictly unitary model becomes a circuit, got {type(model).__name__}")
    return deepcopy(model).double().eval()


@torch.no_grad()
def compile_angles(exact: Any, angles: Float[Tensor, "layers angles"]) -> CompiledText:
    """The circuit at one position, whose angles ``(layers, angles)`` are known."""
    frame = exact.readout.frame()
    known = {
        "frame": None if frame is None else frame.numpy(),
        "vocab": exact.readout.vocab,
        "floor": 0.0 if exact.floor is None else float(exact.floor),
    }
    if isinstance(exact, CircuitLM):
        return compile_gates(exact.template, exact.gate_parameters().numpy(), angles.numpy(), **known)
    return compile_text(exact.mixers().numpy(), angles.numpy(), exact.prepare().numpy(), **known)
