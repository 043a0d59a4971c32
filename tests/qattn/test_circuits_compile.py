"""Matrices, phases, permutations and a trained text model as gates, checked by multiplying the gates out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group, unitary_group

from qattn.circuits.analyse.noise import sweep
from qattn.circuits.compile.language_model import compile_model, compile_text
from qattn.circuits.compile.synthesis import (
    dense,
    diagonal,
    elementary,
    givens,
    permutation,
    shannon_counts,
    summary,
    t_count,
    unary_block,
)
from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.ansatz_layers import butterfly_pairs
from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.simulate import statevector
from qattn.lm.unitary import UnitaryConfig, UnitaryLM

NONE = torch.zeros(0, dtype=torch.float64)


def matrix_of(circuit: Circuit) -> np.ndarray:
    identity = torch.eye(2**circuit.qubits, dtype=torch.complex128)
    return statevector.run(circuit, NONE, states=identity).amplitudes().mT.numpy()


def up_to_phase(a: np.ndarray, b: np.ndarray) -> float:
    """1 - |tr(a^dagger b)| / d: zero when the unitaries agree up to a global phase."""
    return 1 - abs(np.trace(a.conj().T @ b)) / len(a)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("kind", ["orthogonal", "unitary", "identity", "reflection", "reversal"])
def test_givens_networks_are_exact_and_nearest_neighbour(d: int, kind: str) -> None:
    made = {
        "orthogonal": lambda: ortho_group.rvs(d, random_state=d),
        "unitary": lambda: unitary_group.rvs(d, random_state=d),
        "identity": lambda: np.eye(d),
        "reflection": lambda: np.diag([1.0] * (d - 1) + [-1.0]),
        "reversal": lambda: np.eye(d)[::-1].copy(),
    }[kind]()
    circuit = givens(made)
    assert np.allclose(unary_block(circuit, matrix_of(circuit)), made, atol=1e-12)
    rotations = [op for op in circuit.operations if op.name == "SingleExcitation"]
    assert len(rotations) == d * (d - 1) // 2
    assert all(op.wires[1] == op.wires[0] + 1 for op in rotations)


def test_pyramid_and_butterfly_keep_one_excitation_and_are_orthogonal() -> None:
    for name, count in (("GivensPyramid", 4 * 3 // 2), ("Butterfly", 4)):
        circuit = build(name, 4, 1)
        assert circuit.n_parameters == count
        p = torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        amplitudes = statevector.run(circuit, p).amplitudes()
        unary = amplitudes[[8, 4, 2, 1]]
        assert unary.imag.abs().max() == 0
        assert unary.abs().square().sum().item() == pytest.approx(1, abs=1e-12)
    assert len(butterfly_pairs(8)) == 12  # 8/2 log2 8


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(1, 4).flatmap(lambda n: st.permutations(range(2**n))))
def test_permutations_become_reversible_gates(image: list[int]) -> None:
    circuit = permutation(image)
    assert {op.name for op in circuit.operations} <= {"PauliX", "CNOT", "Toffoli", "MultiControlledX"}
    made = matrix_of(circuit)
    assert np.array_equal(made[image, range(len(image))], np.ones(len(image)))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_diagonal_phases_are_a_multiplexed_rz_network(n: int) -> None:
    phases = np.random.default_rng(n).normal(size=2**n)
    circuit = diagonal(phases)
    assert up_to_phase(np.diag(np.exp(1j * phases)), matrix_of(circuit)) < 1e-12
    counts = circuit.resources()["by_name"]
    assert set(counts) <= {"RZ", "CNOT"}
    assert counts["RZ"] == 2**n - 1


@pytest.mark.parametrize("n", [2, 3, 4])
def test_dense_synthesis_is_exact_and_as_large_as_the_formula_says(n: int) -> None:
    wanted = unitary_group.rvs(2**n, random_state=n)
    flat = elementary(dense(wanted))
    assert up_to_phase(wanted, matrix_of(flat)) < 1e-10
    names = flat.resources()["by_name"]
    assert names["CNOT"] == shannon_counts(n)["cnot"]
    assert sum(bool(op.angles) for op in flat.operations) == shannon_counts(n)["rotations"]


def test_t_counts_of_known_circuits() -> None:
    from qattn.circuits.ir.circuit import gate

    assert t_count(Circuit(3, (gate("Toffoli", 0, 1, 2),))) == 7
    assert t_count(elementary(Circuit(3, (gate("Toffoli", 0, 1, 2),)))) == 7
    assert t_count(Circuit(1, (gate("RZ", 0, np.pi / 2), gate("RZ", 0, np.pi / 4), gate("T", 0)))) == 2
    assert t_count(Circuit(1, (gate("RZ", 0, 0.3),)), precision=1e-3) == 30  # 3 log2(1000) = 29.9


def tiny(field: str, readout: str = "povm") -> UnitaryLM:
    config = UnitaryConfig(
        vocab=3 if readout == "projective" else 5, dim=6, layers=2, heads=1, key_dim=4, hidden=8, embedding=4, rank=2,
        field=field, readout=readout, init_scale=1.0, angle_init_scale=1.0,
    )  # fmt: skip
    return UnitaryLM(config, torch.Generator().manual_seed(3))


@pytest.mark.parametrize(("field", "readout"), [("complex", "povm"), ("real", "povm"), ("complex", "projective")])
def test_a_text_model_as_one_circuit_gives_its_own_next_token(field: str, readout: str) -> None:
    model = tiny(field, readout)
    for text in ([1], [1, 2, 0, 2, 1]):
        tokens = torch.tensor(text)
        made = compile_model(model, tokens)
        own = model(tokens[None])[0, -1].exp().detach().numpy()
        assert np.allclose(made.next_token(), own, atol=1e-5)
        assert np.allclose(made.next_token(device="default.qubit"), own, atol=1e-5)


def test_shots_converge_at_the_rate_of_one_over_the_root() -> None:
    """The mean total variation over 20 seeds times the root of the shots is constant within 25 % between 1e3 and 1e5
    shots.

    Its relative spread is about 0.35 / sqrt(20) = 8 % at each end: a false alarm is beyond 2.2 of the ratio's
    deviations at a fixed seed list, and the seeds are fixed.
    """
    made = compile_model(tiny("complex"), torch.tensor([1, 2, 3]))
    exact = made.next_token()
    scaled = [
        np.mean([np.abs(made.next_token(shots, seed) - exact).sum() / 2 for seed in range(20)]) * shots**0.5
        for shots in (10**3, 10**5)
    ]
    assert scaled[0] / scaled[1] == pytest.approx(1, abs=0.25)


def test_the_report_counts_and_noise_hurts() -> None:
    made = compile_model(tiny("complex"), torch.tensor([1, 2, 3]))
    report = summary(made.circuit, exact_to=3)
    assert report["two_qubit"] > 100
    assert report["t_count"] >= report["rotations"]
    assert report["depth"] is None
    assert "formula" in report["depth_reason"]
    rows = sweep(made.circuit, [0, 0.01, 0.1], read=made.tokens)
    assert rows[0]["fidelity"] == pytest.approx(1, abs=1e-9)
    assert rows[0]["kl"] == pytest.approx(0, abs=1e-9)
    assert rows[0]["fidelity"] > rows[1]["fidelity"] > rows[2]["fidelity"]
    assert rows[0]["kl"] < rows[1]["kl"] < rows[2]["kl"]


def test_what_cannot_be_compiled_says_why() -> None:
    with pytest.raises(ValueError, match=r"not unitary, ‖U†U − 1‖ = "):
        dense(np.array([[1.0, 1.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="Givens network needs"):
        givens(np.ones((2, 3)))
    with pytest.raises(ValueError, match="permutation"):
        permutation([0, 0, 1, 2])
    with pytest.raises(ValueError, match="power of two"):
        diagonal(np.zeros(3))
    with pytest.raises(ValueError, match="mixers need shape"):
        compile_text(np.eye(2)[None, :, :1], np.zeros((1, 1)), np.ones(1), None, 1)
    with pytest.raises(ValueError, match="strictly unitary"):
        compile_model(torch.nn.Linear(2, 2), torch.tensor([0]))
    with pytest.raises(ValueError, match="at least one token"):
        compile_model(tiny("complex"), torch.zeros(0, dtype=torch.long))
