"""One- and two-qubit unitaries into gates by Cartan's KAK decomposition, many matrices at once, stable everywhere.

    U = e^{iφ} (A₀ ⊗ A₁) exp(i(x XX + y YY + z ZZ)) (B₀ ⊗ B₁),   π/4 ≥ x ≥ z ≥ |y|

(Khaneja and Glaser 2001; Kraus and Cirac, PRA 63, 062309, 2001). In the magic basis local gates are real and the middle
factor is diagonal, so WᵀW = P D² Pᵀ is found by diagonalising two commuting real symmetric matrices *together*
(Jacobi rotations, Cardoso and Souloumiac, SIAM J. Matrix Anal. Appl. 17, 161, 1996). That is backward stable also where
eigenvalues nearly meet (near local gates, CNOT, SWAP), where diagonalising first one matrix and then the other is not.
The number of CNOTs is the least possible (Vatan and Williams, PRA 69, 032315, 2004): 0, 1, 2 or 3. What is written down
is multiplied out and compared with the matrix (see ``multiply_out``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float, Int, Shaped

from qattn.circuits.compile.multiply_out import compare
from qattn.circuits.ir.circuit import Operation, gate

ZERO = 1e-13  # an interaction angle below this is none (radians)
SWEEPS = 12  # Jacobi sweeps; they converge quadratically, four or five are enough for matrices of this size

X = np.array([[0, 1], [1, 0]], complex)
Y = np.array([[0, -1j], [1j, 0]])
Z = np.diag([1.0 + 0j, -1])
PAULIS = (X, Y, Z)
HADAMARD = (X + Z) / math.sqrt(2)
CNOT = {(0, 1): np.eye(4)[[0, 1, 3, 2]], (1, 0): np.eye(4)[[0, 3, 2, 1]]}  # by (control, target)
MAGIC = np.array([[1, 0, 0, 1j], [0, 1j, 1, 0], [0, 1j, -1, 0], [1, 0, 0, -1j]]) / math.sqrt(2)
SIGNS = np.array([[1, -1, 1], [1, 1, -1], [-1, -1, -1], [-1, 1, 1]])  # of XX, YY, ZZ on the columns of MAGIC

Locals = Complex[np.ndarray, "count 2 2 2"]  # one matrix on each of the two wires
Layer = Shaped[np.ndarray, "_ 2 ..."] | tuple[int, int]
"""Local matrices or their Euler angles, or the control and the target of a CNOT."""


@dataclass(frozen=True, eq=False)
class Cartan:
    """``count`` matrices taken apart: local gates ``after`` and ``before`` the interaction, ``(count, 2, 2, 2)``, and
    its ``angles`` (x, y, z), ``(count, 3)`` in radians. Global phases are dropped."""

    after: Locals
    angles: Float[np.ndarray, "count 3"]
    before: Locals


def cartan(matrices: Complex[np.ndarray, "count 4 4"]) -> Cartan:
    """The KAK decomposition of unitary matrices, first wire the most significant bit."""
    special = matrices / np.linalg.det(matrices)[:, None, None] ** 0.25
    w = MAGIC.conj().T @ special @ MAGIC
    symmetric = np.swapaxes(w, 1, 2) @ w
    basis = joint_eigenvectors(np.stack([symmetric.real, symmetric.imag], 1))
    basis[:, :, 0] *= np.linalg.det(basis)[:, None]
    phases = np.angle(np.einsum("mji,mjk,mki->mi", basis, symmetric, basis)) / 2
    phases[:, 0] += np.pi * (np.cos(phases.sum(1)) < 0)  # the left factor shall be a rotation too
    left = (w @ basis * np.exp(-1j * phases)[:, None, :]).real
    after, before = (tensor_factors(MAGIC @ o @ MAGIC.conj().T) for o in (left, np.swapaxes(basis, 1, 2)))
    return in_chamber(after, phases @ SIGNS / 4, before)


def joint_eigenvectors(pairs: Float[np.ndarray, "count 2 4 4"]) -> Float[np.ndarray, "count 4 4"]:
    """Orthogonal matrices that diagonalise two commuting symmetric matrices each, by Jacobi rotations."""
    work, basis = pairs.copy(), np.broadcast_to(np.eye(4), (len(pairs), 4, 4)).copy()
    for _ in range(SWEEPS):
        for p, q in ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2)):
            difference, twice = work[:, :, p, p] - work[:, :, q, q], 2 * work[:, :, p, q]
            on = (difference**2 - twice**2).sum(1)
            off = 2 * (difference * twice).sum(1)
            angle = np.arctan2(off, on + np.hypot(on, off)) / 2
            rotation = np.broadcast_to(np.eye(4), basis.shape).copy()
            rotation[:, p, p] = rotation[:, q, q] = np.cos(angle)
            rotation[:, q, p] = np.sin(angle)
            rotation[:, p, q] = -rotation[:, q, p]
            basis = basis @ rotation
            work = np.swapaxes(rotation, 1, 2)[:, None] @ work @ rotation[:, None]
    return basis


def tensor_factors(products: Complex[np.ndarray, "count 4 4"]) -> Locals:
    """A and B of A ⊗ B, each unitary, from the largest singular pair of the rearranged matrix."""
    rearranged = products.reshape(-1, 2, 2, 2, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 4, 4)
    u, _, vh = np.linalg.svd(rearranged)
    return math.sqrt(2) * np.stack([u[:, :, 0], vh[:, 0]], 1).reshape(-1, 2, 2, 2)


def in_chamber(after: Locals, angles: Float[np.ndarray, "count 3"], before: Locals) -> Cartan:
    """Equivalent interactions: shifts by π/2 are local, as are swaps of two angles and sign changes of two."""
    angles = angles.copy()
    for k, pauli in enumerate(PAULIS):
        turns = np.round(angles[:, k] / (np.pi / 2))
        angles[:, k] -= turns * np.pi / 2
        after = np.where((turns % 2 == 1)[:, None, None, None], after @ pauli, after)
    for a, b in ((0, 2), (2, 1), (0, 2)):  # a bubble sort: |x| first, |y| last
        swapped = np.abs(angles[:, a]) < np.abs(angles[:, b])
        turn = (PAULIS[a] + PAULIS[b]) / math.sqrt(2)
        after = np.where(swapped[:, None, None, None], after @ turn, after)
        before = np.where(swapped[:, None, None, None], turn @ before, before)
        angles[:, [a, b]] = np.where(swapped[:, None], angles[:, [b, a]], angles[:, [a, b]])
    for k, pauli in ((0, Z), (2, X)):  # P ⊗ 1 changes the signs of the two angles whose letters differ from P
        negative = angles[:, k] < 0
        flip = np.stack([pauli, np.eye(2)])
        after = np.where(negative[:, None, None, None], after @ flip, after)
        before = np.where(negative[:, None, None, None], flip @ before, before)
        angles[:, [k, 1]] *= np.where(negative, -1, 1)[:, None]
    return Cartan(after, angles, before)


# ── gates


def two_qubit_gates(matrices: Complex[np.ndarray, "count 4 4"]) -> list[tuple[Operation, ...]]:
    """RZ, RY and the fewest CNOTs on wires 0 and 1 for each unitary matrix, up to its global phase.

    Raises ``ArithmeticError`` should the gates of one not multiply out to it.
    """
    made: list[tuple[Operation, ...]] = [()] * len(matrices)
    for places, layers in two_qubit_layers(matrices):
        for row, place in enumerate(places):
            made[place] = tuple(
                op
                for layer in layers
                for op in (euler_gates(layer[row]) if isinstance(layer, np.ndarray) else (gate("CNOT", *layer),))
            )
    return made


def two_qubit_layers(
    matrices: Complex[np.ndarray, "count 4 4"],
) -> list[tuple[Int[np.ndarray, " _"], list[Layer]]]:
    """Matrices that take equally many CNOTs together: their places in the batch, and layers of Euler angles
    ``(places, 2, 3)`` and CNOTs. Raises ``ArithmeticError`` should those of one not multiply out to it."""
    parts = cartan(matrices)
    x, y, z = parts.angles.T
    none = x < ZERO
    one = (np.abs(x - np.pi / 4) < ZERO) & (z < ZERO) & (np.abs(y) < ZERO)
    two = (np.abs(y) < ZERO) & ~none & ~one
    found = []
    for chosen, template in ((none, local), (one, one_cnot), (two, two_cnots), (~(none | one | two), three_cnots)):
        places = np.flatnonzero(chosen)
        if len(places) == 0:
            continue
        layers = template(Cartan(parts.after[places], parts.angles[places], parts.before[places]))
        angles: list[Layer] = [euler_angles(layer) if isinstance(layer, np.ndarray) else layer for layer in layers]
        compare(matrices[places], product_of(angles, len(places)), "a 4 × 4 matrix")
        found.append((places, angles))
    return found


def one_qubit_gates(matrices: Complex[np.ndarray, "count 2 2"]) -> list[tuple[Operation, ...]]:
    """RZ RY RZ on wire 0 for each unitary matrix, up to its global phase. Raises ``ArithmeticError`` as above."""
    angles = euler_angles(matrices[:, None])
    compare(matrices, rotations(angles)[:, 0], "a 2 × 2 matrix")
    return [tuple(euler_gates(row)) for row in angles]


def local(parts: Cartan) -> list[Layer]:
    """No interaction: one matrix per wire."""
    return [parts.after @ parts.before]


def one_cnot(parts: Cartan) -> list[Layer]:
    """exp(iπ/4 XX) = (H ⊗ 1) e^{iπ/4 Z} ⊗ e^{iπ/4 X} CNOT (H ⊗ 1), up to a phase."""
    front = np.stack([HADAMARD, np.eye(2)])
    behind = np.stack([HADAMARD @ exponential(Z, np.pi / 4), exponential(X, np.pi / 4)])
    return [front @ parts.before, (0, 1), parts.after @ behind]


def two_cnots(parts: Cartan) -> list[Layer]:
    """exp(i(x XX + z ZZ)) = CNOT (e^{ixX} ⊗ e^{izZ}) CNOT."""
    x, _, z = parts.angles.T
    middle = np.stack([exponential(X, x), exponential(Z, z)], 1)
    return [parts.before, (0, 1), middle, (0, 1), parts.after]


def three_cnots(parts: Cartan) -> list[Layer]:
    """Vatan and Williams 2004, Fig. 6."""
    x, y, z = parts.angles.T
    quarter = np.pi / 4
    first = np.stack([exponential(Z, quarter - z), exponential(Y, quarter - x)], 1)
    second = np.stack([np.broadcast_to(np.eye(2), (len(x), 2, 2)), exponential(Y, y - quarter)], 1)
    front = np.stack([np.eye(2), exponential(Z, quarter)])
    behind = np.stack([exponential(Z, -quarter), np.eye(2)])
    return [front @ parts.before, (1, 0), first.conj(), (0, 1), second, (1, 0), parts.after @ behind]


def exponential(
    pauli: Complex[np.ndarray, "2 2"], angle: float | Float[np.ndarray, "*count"]
) -> Complex[np.ndarray, "*count 2 2"]:
    """exp(i angle P) of a Pauli matrix, for every angle."""
    angle = np.asarray(angle, float)[..., None, None]
    return np.cos(angle) * np.eye(2) + 1j * np.sin(angle) * pauli


def euler_angles(matrices: Complex[np.ndarray, "count wires 2 2"]) -> Float[np.ndarray, "count wires 3"]:
    """(φ, θ, ω) with U = RZ(ω) RY(θ) RZ(φ) up to a phase.

    Of the sum and the difference of φ and ω the one that the larger entries fix is met exactly; the other one matters
    the less the worse it is known.
    """
    a, b, c, d = (matrices[..., i, j] for i in (0, 1) for j in (0, 1))
    straight, crossed = np.hypot(np.abs(a), np.abs(d)), np.hypot(np.abs(b), np.abs(c))
    omega = np.angle(c * a.conj() - d * b.conj())
    phi = np.where(straight >= crossed, np.angle(d * a.conj()) - omega, omega - np.angle(-c * b.conj()))
    theta = 2 * np.arctan2(crossed, straight)
    turn = np.where(np.abs(omega) > np.pi / 2, np.sign(omega) * np.pi, 0)  # a rotation about Y alone stays one
    phi, theta, omega = phi + turn, np.where(turn == 0, theta, -theta), omega - turn
    return np.stack([phi - 2 * np.pi * np.round(phi / (2 * np.pi)), theta, omega], -1)


def rotations(angles: Float[np.ndarray, "count wires 3"]) -> Complex[np.ndarray, "count wires 2 2"]:
    """RZ(ω) RY(θ) RZ(φ)."""
    phi, theta, omega = np.moveaxis(angles, -1, 0)
    return exponential(Z, -omega / 2) @ exponential(Y, -theta / 2) @ exponential(Z, -phi / 2)


def euler_gates(angles: Float[np.ndarray, "wires 3"]) -> list[Operation]:
    """The rotations of every wire; those by less than rounding are left out."""
    return [
        gate(name, wire, float(angle))
        for wire, row in enumerate(angles)
        for name, angle in zip(("RZ", "RY", "RZ"), row, strict=True)
        if abs(angle) > 1e-15
    ]


def product_of(layers: Sequence[Layer], count: int) -> Complex[np.ndarray, "count 4 4"]:
    """The gates multiplied out, from the angles that are written down."""
    whole = np.broadcast_to(np.eye(4, dtype=complex), (count, 4, 4))
    for layer in layers:
        if isinstance(layer, np.ndarray):
            pair = rotations(layer)
            matrix = np.einsum("mij,mkl->mikjl", pair[:, 0], pair[:, 1]).reshape(-1, 4, 4)
        else:
            matrix = CNOT[layer]
        whole = matrix @ whole
    return whole
