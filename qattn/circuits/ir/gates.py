"""The gate set, one table row per gate: PennyLane's name, wires, angles, matrix, and what kind of matrix it is.

A gate is ``controls`` control wires followed by the wires its base ``matrix`` acts on. The kind says how cheaply a
state-vector engine can apply it: a ``permutation`` moves amplitudes, a ``diagonal`` multiplies each by a phase, a
``dense`` one mixes them.
Matrix conventions are PennyLane's (Nielsen and Chuang, chapter 4); the first wire of a gate is its most significant
bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float, Shaped
from torch import Tensor
from torch.nn.functional import linear

MatrixOf = Callable[[Tensor], Tensor]  # real angles (..., a) → matrices (..., K, K), or diagonals (..., K)


@dataclass(frozen=True)
class Gate:
    """One row of the table.

    ``matrix`` maps angles ``(..., angles)`` to the base matrix without controls: ``(..., K, K)``, for diagonal gates
    its diagonal ``(..., K)``. ``real`` marks matrices without imaginary part. ``qasm`` is the name in OpenQASM's
    standard libraries, if any.
    """

    name: str
    wires: int
    angles: int
    kind: str
    matrix: MatrixOf
    controls: int = 0
    real: bool = False
    qasm: str | None = None


def complex_of(real: Float[Tensor, "*shape"]) -> torch.dtype:
    """complex64 for float32, complex128 for float64: the precision of the angles decides, nothing is promoted."""
    return torch.complex64 if real.dtype == torch.float32 else torch.complex128


def phase(angle: Float[Tensor, "*shape"]) -> Complex[Tensor, "*shape"]:
    """exp(i angle), elementwise, in the precision of ``angle``."""
    return torch.complex(torch.cos(angle), torch.sin(angle))


def grid(rows: list[list[Any]], like: Float[Tensor, "*batch"]) -> Shaped[Tensor, "*batch rows rows"]:
    """Stack entries (tensors of the shape of ``like``, or numbers) into matrices ``(..., K, K)``; real when every
    entry is real."""
    entries = [entry for row in rows for entry in row]
    is_complex = any(
        entry.is_complex() if isinstance(entry, Tensor) else isinstance(entry, complex) for entry in entries
    )
    dtype = complex_of(like) if is_complex else like.dtype
    filled = [
        e.to(dtype) if isinstance(e, Tensor) else torch.full(like.shape, e, dtype=dtype, device=like.device)
        for e in entries
    ]
    return torch.stack(filled, -1).unflatten(-1, (len(rows), len(rows)))


def constant(rows: Sequence[Any] | Shaped[np.ndarray, "*table"]) -> MatrixOf:
    """A gate without angles: the same matrix (or diagonal) for every element of the batch."""
    table = torch.as_tensor(np.asarray(rows))
    table = table.to(torch.complex128 if table.is_complex() else torch.float64)

    def matrix(angles: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batched"]:
        """The constant for every element of the batch."""
        target = complex_of(angles) if table.is_complex() else angles.dtype
        return table.to(device=angles.device, dtype=target).expand(*angles.shape[:-1], *table.shape)

    return matrix


def rx(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """exp(−iθ/2 X)."""
    c, s = torch.cos(t[..., 0] / 2), torch.sin(t[..., 0] / 2)
    zero = torch.zeros_like(c)
    off = torch.complex(zero, -s)
    return grid([[c, off], [off, c]], c)


def ry(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """exp(−iθ/2 Y)."""
    c, s = torch.cos(t[..., 0] / 2), torch.sin(t[..., 0] / 2)
    return grid([[c, -s], [s, c]], c)


def rz(t: Float[Tensor, "*batch angles"]) -> Complex[Tensor, "*batch rows"]:
    """exp(−iθ/2 Z), its diagonal."""
    half = t[..., 0] / 2
    return phase(torch.stack([-half, half], -1))


def phase_shift(t: Float[Tensor, "*batch angles"]) -> Complex[Tensor, "*batch rows"]:
    """diag(1, exp(iφ)), its diagonal."""
    return phase(torch.stack([torch.zeros_like(t[..., 0]), t[..., 0]], -1))


# The entries of Rot are sums of waves, cosines and sines of (φ ± θ ± ω) / 2, and this is how the real and
# imaginary parts of the four entries add up from the eight. Few, wide operations: small circuits spend their time here.
ROT_ARGUMENTS = 0.5 * torch.tensor([[1, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]], dtype=torch.float64)
ROT_ENTRIES = 0.5 * torch.tensor(
    [
        [1, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, -1, -1, 0, 0],
        [0, 0, 0, 0, 0, 0, -1, 1],
        [0, 0, 1, -1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, -1],
        [0, 0, 1, -1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0, 0],
    ],
    dtype=torch.float64,
)


def rot(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """RZ(ω) RY(θ) RZ(φ), the general rotation of SU(2), for angles (φ, θ, ω)."""
    arguments = linear(t, ROT_ARGUMENTS.to(t))
    waves = torch.cat([torch.cos(arguments), torch.sin(arguments)], -1)
    return torch.view_as_complex(linear(waves, ROT_ENTRIES.to(t)).unflatten(-1, (2, 2, 2)))


def u3(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """The rotation (θ, φ, δ) whose first entry is real."""
    theta, phi, delta = t.unbind(-1)
    c, s = torch.cos(theta / 2), torch.sin(theta / 2)
    return grid([[c, -phase(delta) * s], [phase(phi) * s, phase(phi + delta) * c]], c)


def u2(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """U3(π/2, φ, δ)."""
    return u3(torch.cat([torch.full_like(t[..., :1], math.pi / 2), t], -1))


def ising(sign: int) -> MatrixOf:
    """exp(−iφ/2 XX) for sign 1, exp(−iφ/2 YY) for sign −1."""

    def matrix(t: Float[Tensor, "*batch 1"]) -> Complex[Tensor, "*batch rows rows"]:
        c, s = torch.cos(t[..., 0] / 2), torch.sin(t[..., 0] / 2)
        zero = torch.zeros_like(c)
        inner, outer = torch.complex(zero, -s), torch.complex(zero, -sign * s)
        return grid([[c, 0, 0, outer], [0, c, inner, 0], [0, inner, c, 0], [outer, 0, 0, c]], c)

    return matrix


def ising_zz(t: Float[Tensor, "*batch angles"]) -> Complex[Tensor, "*batch rows"]:
    """exp(−iφ/2 ZZ), its diagonal."""
    half = t[..., 0] / 2
    return phase(torch.stack([-half, half, half, -half], -1))


def ising_xy(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """exp(iφ/4 (XX + YY))."""
    c, s = torch.cos(t[..., 0] / 2), torch.sin(t[..., 0] / 2)
    off = torch.complex(torch.zeros_like(c), s)
    return grid([[1, 0, 0, 0], [0, c, off, 0], [0, off, c, 0], [0, 0, 0, 1]], c)


def pswap(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """SWAP with the phase exp(iφ) on what it moves."""
    e = phase(t[..., 0])
    return grid([[1, 0, 0, 0], [0, 0, e, 0], [0, e, 0, 0], [0, 0, 0, 1]], t[..., 0])


def single_excitation(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """Planar rotation of |01⟩ and |10⟩ by half the angle: the reconfigurable beam splitter RBS(angle/2)."""
    c, s = torch.cos(t[..., 0] / 2), torch.sin(t[..., 0] / 2)
    return grid([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]], c)


def double_excitation(t: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch rows rows"]:
    """Planar rotation of |0011⟩ and |1100⟩ by half the angle."""
    c, s = torch.cos(t[..., 0] / 2), torch.sin(t[..., 0] / 2)
    rows: list[list[Any]] = [[float(i == j) for j in range(16)] for i in range(16)]
    rows[3][3], rows[3][12], rows[12][3], rows[12][12] = c, -s, s, c
    return grid(rows, c)


R = math.sqrt(0.5)
NOT = constant([[0, 1], [1, 0]])
SWAP = constant([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])

TABLE: tuple[Gate, ...] = (
    Gate("Identity", 1, 0, "diagonal", constant([1, 1]), real=True, qasm="id"),
    Gate("PauliX", 1, 0, "permutation", NOT, real=True, qasm="x"),
    Gate("PauliY", 1, 0, "dense", constant([[0, -1j], [1j, 0]]), qasm="y"),
    Gate("PauliZ", 1, 0, "diagonal", constant([1, -1]), real=True, qasm="z"),
    Gate("Hadamard", 1, 0, "dense", constant([[R, R], [R, -R]]), real=True, qasm="h"),
    Gate("S", 1, 0, "diagonal", constant([1, 1j]), qasm="s"),
    Gate("T", 1, 0, "diagonal", constant([1, complex(R, R)]), qasm="t"),
    Gate("Adjoint(S)", 1, 0, "diagonal", constant([1, -1j]), qasm="sdg"),
    Gate("Adjoint(T)", 1, 0, "diagonal", constant([1, complex(R, -R)]), qasm="tdg"),
    Gate("SX", 1, 0, "dense", constant([[0.5 + 0.5j, 0.5 - 0.5j], [0.5 - 0.5j, 0.5 + 0.5j]]), qasm="sx"),
    Gate("RX", 1, 1, "dense", rx, qasm="rx"),
    Gate("RY", 1, 1, "dense", ry, real=True, qasm="ry"),
    Gate("RZ", 1, 1, "diagonal", rz, qasm="rz"),
    Gate("PhaseShift", 1, 1, "diagonal", phase_shift, qasm="p"),
    Gate("U1", 1, 1, "diagonal", phase_shift, qasm="u1"),
    Gate("U2", 1, 2, "dense", u2, qasm="u2"),
    Gate("U3", 1, 3, "dense", u3, qasm="u3"),
    Gate("Rot", 1, 3, "dense", rot),
    Gate("CNOT", 2, 0, "permutation", NOT, controls=1, real=True, qasm="cx"),
    Gate("CY", 2, 0, "dense", constant([[0, -1j], [1j, 0]]), controls=1, qasm="cy"),
    Gate("CZ", 2, 0, "diagonal", constant([1, -1]), controls=1, real=True, qasm="cz"),
    Gate("CH", 2, 0, "dense", constant([[R, R], [R, -R]]), controls=1, real=True, qasm="ch"),
    Gate("SWAP", 2, 0, "permutation", SWAP, real=True, qasm="swap"),
    Gate("ISWAP", 2, 0, "dense", constant([[1, 0, 0, 0], [0, 0, 1j, 0], [0, 1j, 0, 0], [0, 0, 0, 1]])),
    Gate("SISWAP", 2, 0, "dense", constant([[1, 0, 0, 0], [0, R, R * 1j, 0], [0, R * 1j, R, 0], [0, 0, 0, 1]])),
    Gate(
        "ECR",
        2,
        0,
        "dense",
        constant([[0, 0, R, R * 1j], [0, 0, R * 1j, R], [R, -R * 1j, 0, 0], [-R * 1j, R, 0, 0]]),
    ),
    Gate("PSWAP", 2, 1, "dense", pswap),
    Gate("CRX", 2, 1, "dense", rx, controls=1, qasm="crx"),
    Gate("CRY", 2, 1, "dense", ry, controls=1, real=True, qasm="cry"),
    Gate("CRZ", 2, 1, "diagonal", rz, controls=1, qasm="crz"),
    Gate("CRot", 2, 3, "dense", rot, controls=1),
    Gate("ControlledPhaseShift", 2, 1, "diagonal", phase_shift, controls=1, qasm="cp"),
    Gate("IsingXX", 2, 1, "dense", ising(1)),
    Gate("IsingYY", 2, 1, "dense", ising(-1)),
    Gate("IsingZZ", 2, 1, "diagonal", ising_zz),
    Gate("IsingXY", 2, 1, "dense", ising_xy),
    Gate("SingleExcitation", 2, 1, "dense", single_excitation, real=True),
    Gate("Toffoli", 3, 0, "permutation", NOT, controls=2, real=True, qasm="ccx"),
    Gate("CSWAP", 3, 0, "permutation", SWAP, controls=1, real=True, qasm="cswap"),
    Gate("CCZ", 3, 0, "diagonal", constant([1, -1]), controls=2, real=True),
    Gate("DoubleExcitation", 4, 1, "dense", double_excitation, real=True),
)
GATES: dict[str, Gate] = {gate.name: gate for gate in TABLE}
ALIASES = {
    "X": "PauliX",
    "Y": "PauliY",
    "Z": "PauliZ",
    "H": "Hadamard",
    "I": "Identity",
    "CPhase": "ControlledPhaseShift",
    "RBS": "SingleExcitation",
    "CX": "CNOT",
}
# Gates with as many wires as they are given; their matrix, word or control pattern travels with the operation.
VARIADIC = ("MultiRZ", "PauliRot", "QubitUnitary", "DiagonalQubitUnitary", "MultiControlledX")


@lru_cache(maxsize=256)
def multi_rz(wires: int) -> Gate:
    """exp(−iφ/2 Z⊗…⊗Z) as a row of the gate table."""
    parity = torch.tensor([bin(i).count("1") % 2 for i in range(2**wires)])

    def diagonal(t: Float[Tensor, "*batch 1"]) -> Complex[Tensor, "*batch rows"]:
        return phase(t[..., 0:1] / 2 * (2 * parity.to(t) - 1))

    return Gate("MultiRZ", wires, 1, "diagonal", diagonal)


@lru_cache(maxsize=256)
def pauli_rot(word: str) -> Gate:
    """exp(−iφ/2 P) for a Pauli word P as a row of the gate table."""
    whole = pauli_matrix(word)

    def matrix(t: Float[Tensor, "*batch 1"]) -> Complex[Tensor, "*batch rows rows"]:
        pauli = torch.as_tensor(whole, dtype=complex_of(t), device=t.device)
        half = t[..., 0, None, None] / 2
        return (
            torch.eye(2 ** len(word), dtype=t.dtype, device=t.device) * torch.cos(half) - 1j * torch.sin(half) * pauli
        )

    return Gate("PauliRot", len(word), 1, "dense", matrix)


def pauli_matrix(word: str) -> Complex[np.ndarray, "dim dim"]:
    """The tensor product of Pauli matrices named by ``word``, first letter on the most significant wire."""
    single = {
        "I": np.eye(2),
        "X": np.array([[0, 1], [1, 0]]),
        "Y": np.array([[0, -1j], [1j, 0]]),
        "Z": np.diag([1.0, -1]),
    }
    whole = np.eye(1)
    for letter in word:
        whole = np.kron(whole, single[letter])
    return whole.astype(complex)
