"""Two-qubit matrices into gates, above all those near special ones, where decompositions are known to fail
(PennyLaneAI/pennylane#5308)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.linalg import expm
from scipy.stats import unitary_group

from qattn.circuits.compile.export import openqasm
from qattn.circuits.compile.kak import cartan, one_qubit_gates, two_qubit_gates, two_qubit_layers
from qattn.circuits.compile.multiply_out import compare, expect_prepared, expect_same
from qattn.circuits.compile.synthesis import dense, elementary
from qattn.circuits.ir.circuit import Circuit, Operation, gate
from qattn.circuits.simulate import statevector

CNOT = np.eye(4)[[0, 1, 3, 2]]
CZ = np.diag([1.0, 1, 1, -1])
SWAP = np.eye(4)[[0, 2, 1, 3]]
ISWAP = np.array([[1, 0, 0, 0], [0, 0, 1j, 0], [0, 1j, 0, 0], [0, 0, 0, 1]])
PAULIS = [np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1])]


def kron(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("mij,mkl->mikjl", a, b).reshape(-1, 4, 4)


def near(base: np.ndarray, strength: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """B exp(i ε H) for random Hermitian H, one strength per matrix."""
    h = rng.normal(size=(len(strength), 4, 4)) + 1j * rng.normal(size=(len(strength), 4, 4))
    values, vectors = np.linalg.eigh((h + h.conj().swapaxes(1, 2)) / 2)
    return base @ ((vectors * np.exp(1j * strength[:, None] * values)[:, None]) @ vectors.conj().swapaxes(1, 2))


def near_special(each: int) -> np.ndarray:
    rng = np.random.default_rng(0)

    def haar(size: int) -> np.ndarray:
        return unitary_group.rvs(size, size=each, random_state=rng)

    local = kron(haar(2), haar(2))
    half = unitary_group.rvs(2, random_state=0)
    bases = [local, np.eye(4), CNOT, CZ, SWAP, ISWAP, local @ CNOT, SWAP @ local, np.kron(half, half), haar(4)]
    return np.concatenate([near(base, 10.0 ** rng.uniform(-17, -1, each), rng) for base in bases])


def test_ten_thousand_near_special_matrices_are_their_gates() -> None:
    """From the angles and local gates found, by a formula of its own; every fiftieth through the simulator besides."""
    matrices = near_special(1000)
    parts = cartan(matrices)
    x, y, z = parts.angles.T
    slack = 1e-14
    assert np.all(math.pi / 4 + slack >= x)
    assert np.all(x >= z - slack)
    assert np.all(z >= np.abs(y) - slack)
    hamiltonian = sum(np.einsum("m,ij->mij", a, np.kron(p, p)) for a, p in zip(parts.angles.T, PAULIS, strict=True))
    values, vectors = np.linalg.eigh(hamiltonian)
    interaction = (vectors * np.exp(1j * values)[:, None]) @ vectors.conj().swapaxes(1, 2)
    made = kron(*parts.after.swapaxes(0, 1)) @ interaction @ kron(*parts.before.swapaxes(0, 1))
    overlap = np.abs(np.einsum("mij,mij->m", made.conj(), matrices)) / 4
    assert 1 - overlap.min() < 1e-13
    assert sum(len(places) for places, _ in two_qubit_layers(matrices)) == len(matrices)  # multiplied out, to 1e-10
    none, identity = torch.zeros(0, dtype=torch.float64), torch.eye(4, dtype=torch.complex128)
    for matrix, gates in zip(matrices[::50], two_qubit_gates(matrices[::50]), strict=True):
        columns = statevector.run(Circuit(2, gates), none, states=identity).amplitudes().mT.numpy()
        phase = np.vdot(columns, matrix)
        assert np.linalg.norm(matrix - phase / abs(phase) * columns) < 1e-12


@pytest.mark.parametrize(
    ("matrix", "least"),
    [
        (np.eye(4), 0), (np.kron(PAULIS[0], PAULIS[1]), 0), (CNOT, 1), (CZ, 1), (SWAP @ CNOT @ SWAP, 1), (ISWAP, 2),
        (expm(0.3j * np.kron(PAULIS[1], PAULIS[1])), 2), (SWAP, 3), (expm(0.25j * math.pi * SWAP / 2), 3),
        (np.diag([1, 1, 1, np.exp(0.4j)]), 2), (SWAP @ CZ, 2),
    ],
)  # fmt: skip
def test_no_cnot_more_than_needed(matrix: np.ndarray, least: int) -> None:
    """Vatan and Williams 2004; Shende, Bullock, Markov, PRA 70, 012310 (2004)."""
    (gates,) = two_qubit_gates(matrix.astype(complex)[None])
    assert sum(op.name == "CNOT" for op in gates) == least


def test_one_qubit_matrices_near_diagonal_and_near_flips() -> None:
    rng = np.random.default_rng(1)
    strength = 10.0 ** rng.uniform(-17, 0, 500)
    h = rng.normal(size=(500, 2, 2))
    values, vectors = np.linalg.eigh(h + h.swapaxes(1, 2))
    small = (vectors * np.exp(1j * strength[:, None] * values)[:, None]) @ vectors.swapaxes(1, 2)
    for base in (*PAULIS, np.eye(2), unitary_group.rvs(2, random_state=0)):
        one_qubit_gates(base @ small)  # raises unless the gates multiply out to 1e-10
    assert one_qubit_gates(np.eye(2, dtype=complex)[None]) == [()]


@pytest.mark.parametrize("qubits", [3, 4])
def test_larger_matrices_near_local_ones(qubits: int) -> None:
    rng = np.random.default_rng(2)
    for strength in (1e-6, 1e-4, 1e-3):
        local = np.eye(1)
        for _ in range(qubits):
            local = np.kron(local, unitary_group.rvs(2, random_state=rng))
        h = rng.normal(size=local.shape)
        wanted = local @ expm(1j * strength * (h + h.T))
        elementary(dense(wanted))  # raises unless the gates multiply out to 1e-10


def test_an_exported_near_local_matrix_is_read_back_by_pennylane() -> None:
    import pennylane as qml

    pytest.importorskip("openqasm3")
    matrix = near_special(20)[3]
    text = openqasm(Circuit(2, (Operation("QubitUnitary", (0, 1), (), matrix),)), 3, measure=False)
    got = qml.matrix(qml.from_qasm3(text.replace('include "stdgates.inc";\n', "")), wire_order=["q[0]", "q[1]"])()
    assert abs(np.trace(got.conj().T @ matrix)) / 4 == pytest.approx(1, abs=1e-13)


def test_gates_that_do_something_else_are_not_handed_on() -> None:
    bell = [gate("Hadamard", 0), gate("CNOT", 0, 1)]
    expect_prepared(np.array([1, 0, 0, 1], complex) / math.sqrt(2), bell, [0, 1])
    with pytest.raises(ArithmeticError, match="a state's preparation"):
        expect_prepared(np.array([1, 0, 0, 1 + 1e-8j]) / math.sqrt(2), bell, [0, 1])
    expect_same(gate("CNOT", 5, 3), [gate("Hadamard", 3), gate("CZ", 3, 5), gate("Hadamard", 3)])
    with pytest.raises(ArithmeticError, match="CNOT on 2 wires"):
        expect_same(gate("CNOT", 5, 3), [gate("CZ", 3, 5), gate("RX", 3, 1e-8)])
    wide = Operation("MultiControlledX", tuple(range(7)))
    with pytest.raises(ArithmeticError, match="MultiControlledX on 7 wires"):
        expect_same(wide, [gate("CNOT", 0, 6)])
    with pytest.raises(ArithmeticError, match="does not touch"):
        expect_same(gate("PauliX", 0), [gate("PauliX", 1)])
    with pytest.raises(ArithmeticError, match="something else"):
        compare(np.eye(2, dtype=complex)[None], np.diag([1, 1j])[None], "a matrix")
