"""A trained strictly unitary language model and a text as one circuit: the tokens' controls are known angles by then.

    U(x) = W_L e^{iΘ_L(x)} ⋯ W_1 e^{iΘ_1(x)},   p(w|x) = Σ_r |⟨r,w| B U(x) |ψ₀⟩|²      (Svozil, section XII, Eqs. 6
    and 8)

|ψ₀⟩ is prepared on m = ⌈log₂ D⌉ wires, every Θ is a multiplexed rotation, every W a matrix on those wires, and the
isometry B of the readout a unitary on ⌈log₂ RV⌉ wires whose ancillas start in |0⟩ (Naimark). Measuring all wires
gives (r, w); r is forgotten. A depolarising floor δ is a classical channel after the measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qattn.circuits import device as pennylane
from qattn.circuits.circuit import Circuit, Operation, expect_shape
from qattn.circuits.engine import run
from qattn.circuits.export import operations_of
from qattn.circuits.measure import complete_isometry, sample
from qattn.circuits.synthesis import multiplexed, multiplexed_phases


@dataclass(frozen=True, eq=False)
class CompiledText:
    """The circuit for one text; outcome i < ``outcomes`` of all wires means token i mod ``vocab``."""

    circuit: Circuit
    vocab: int
    outcomes: int
    floor: float = 0.0

    def tokens(self, p: np.ndarray) -> np.ndarray:
        """Probabilities ``(2**k,)`` of the wires, or frequencies, as a distribution over tokens ``(vocab,)``."""
        words = np.asarray(p, float)[: self.outcomes].reshape(-1, self.vocab).sum(0)
        return (1 - self.floor) * words + self.floor / self.vocab

    def next_token(self, shots: int | None = None, seed: int | None = None, device: str = "fast") -> np.ndarray:
        """The distribution of the next token ``(vocab,)``: exact, or estimated from shots."""
        none = torch.zeros(0, dtype=torch.float64)
        if shots is None:
            p = (
                run(self.circuit, none).probabilities()
                if device == "fast"
                else pennylane.probabilities(self.circuit, none, None, device)
            )
            return self.tokens(p.detach().numpy())
        if device == "fast":
            drawn = sample(run(self.circuit, none).probabilities(), shots, seed)
        else:
            drawn = pennylane.samples(self.circuit, none, None, device, shots, seed)
        return self.tokens(np.bincount(drawn, minlength=2**self.circuit.qubits) / shots)


def compile_text(
    mixers: np.ndarray, angles: np.ndarray, start: np.ndarray, frame: np.ndarray | None, vocab: int, floor: float = 0.0
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
        tall = np.zeros((2**k, dim), complex)
        tall[:rows] = frame
        operations.append(Operation("QubitUnitary", tuple(range(k)), (), complete_isometry(tall)))
    return CompiledText(Circuit(k, tuple(operations)), vocab, rows, floor)


def attention_step(theta: np.ndarray, dim: int, register: tuple[int, ...]) -> list[Operation]:
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


def prepare(start: np.ndarray, register: tuple[int, ...]) -> list[Operation]:
    """|ψ₀⟩ from |0…0⟩ by PennyLane's Möttönen preparation."""
    import pennylane as qml

    state = np.zeros(2 ** len(register), complex)
    state[: len(start)] = start
    state /= np.linalg.norm(state)
    return operations_of(qml.MottonenStatePreparation(state, wires=list(register)).decomposition())


def padded(matrix: np.ndarray, size: int) -> np.ndarray:
    """``matrix`` on the first axes, the identity on the rest."""
    whole = np.eye(size, dtype=complex)
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole


@torch.no_grad()
def compile_model(model: Any, tokens: Tensor) -> CompiledText:
    """The circuit of a :class:`qattn.models.UnitaryLM` for one text ``(time,)``. Matrices are recomputed in float64.

    Raises ``ValueError`` for other models and for an empty text.
    """
    from copy import deepcopy

    parts = ("mixers", "angles", "prepare", "readout")
    if not all(hasattr(model, part) for part in parts) or not getattr(model, "strict", True):
        raise ValueError(f"only the strictly unitary model becomes a circuit, got {type(model).__name__}")
    if tokens.dim() != 1 or len(tokens) == 0:
        raise ValueError(f"a text to compile is one row of at least one token, got shape {tuple(tokens.shape)}")
    exact = deepcopy(model).double().eval()
    frame = exact.readout.frame()
    return compile_text(
        exact.mixers().numpy(),
        exact.angles(tokens[None])[:, 0, -1].numpy(),
        exact.prepare().numpy(),
        None if frame is None else frame.numpy(),
        exact.readout.vocab,
        0.0 if exact.floor is None else float(exact.floor),
    )
