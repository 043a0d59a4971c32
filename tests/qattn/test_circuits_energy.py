"""Hamiltonians: energies against exact matrices and published numbers, shots in commuting groups, variational ground
states."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.schema import CONFIGS
from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.gates import pauli_matrix
from qattn.circuits.ir.hamiltonian import Hamiltonian, read_hamiltonian
from qattn.circuits.ir.spec import from_dict
from qattn.circuits.ir.spec_writer import to_dict
from qattn.circuits.simulate.energy import commuting_groups, energy, ground_energy, variance
from qattn.circuits.simulate.run import simulate
from qattn.circuits.simulate.statevector import run

CIRCUITS = CONFIGS / "circuits"
H2 = {
    "II": -1.052373245772859,
    "IZ": 0.39793742484318045,
    "ZI": -0.39793742484318045,
    "ZZ": -0.01128010425623538,
    "XX": 0.18093119978423156,
}
MIXED = {"ZZI": 0.7, "XIY": -0.4, "YXI": 0.25, "Z2": 0.3, "X0 X1 X2": 0.1, "I": -0.2}


def read(data: object, qubits: int) -> Hamiltonian:
    return read_hamiltonian(data, qubits, ("h",))


def matrix(h: Hamiltonian) -> np.ndarray:
    return sum(c * pauli_matrix(word) for word, c in zip(h.words, h.coefficients, strict=True))


def test_energies_variances_and_gradients_are_those_of_the_matrix() -> None:
    h, circuit = read(MIXED, 3), build("StronglyEntanglingLayers", 3, 2)
    p = torch.linspace(0, 3, circuit.n_parameters, dtype=torch.float64, requires_grad=True)
    psi = run(circuit, p).amplitudes()
    dense, state = matrix(h), psi.detach().numpy()
    mean = (state.conj() @ dense @ state).real
    assert energy(h, psi).item() == pytest.approx(mean, abs=1e-13)
    assert variance(h, psi).item() == pytest.approx((state.conj() @ dense @ dense @ state).real - mean**2, abs=1e-12)
    (gradient,) = torch.autograd.grad(energy(h, psi), p)
    step = torch.zeros_like(p)
    step[4] = 1e-6
    ends = [energy(h, run(circuit, (p + s * step).detach()).amplitudes()).item() for s in (1, -1)]
    assert gradient[4].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_ground_energies_that_others_have_computed() -> None:
    """Hydrogen at 0.735 Å (−1.85727503 hartree, Qiskit's and PennyLane's examples), the critical Ising ring
    (−2 / sin(π/2n), Pfeuty 1970), the Heisenberg ring of 4 (−8 with Pauli matrices), and greatest cuts."""
    assert ground_energy(read(H2, 2)) == pytest.approx(-1.85727503, abs=1e-8)
    assert ground_energy(read(H2, 2)) + 0.719968994449 == pytest.approx(-1.137306036, abs=1e-8)
    for n in (4, 6, 11):  # the last by Lanczos
        ising = read({"chain": "ising", "J": 1, "h": 1}, n)
        assert ground_energy(ising) == pytest.approx(-2 / math.sin(math.pi / (2 * n)), abs=1e-8)
    assert ground_energy(read({"chain": "heisenberg"}, 4)) == pytest.approx(-8)
    assert ground_energy(read({"maxcut": [[0, 1], [1, 2], [2, 0]]}, 3)) == pytest.approx(-2)
    assert ground_energy(read({"maxcut": [[0, 1, 0.5], [1, 2, 2]]}, 3)) == pytest.approx(-2.5)


def test_words_of_a_group_commute_wire_by_wire_and_none_is_lost() -> None:
    h = read(MIXED, 3)
    groups = commuting_groups(h)
    assert sorted(w for g in groups for w in g.words) == sorted(w for w in h.words if w != "III")
    for group in groups:
        assert all(a in ("I", b) for word in group.words for a, b in zip(word, group.basis, strict=True))
    assert len(commuting_groups(read(H2, 2))) == 2


@pytest.mark.parametrize("device", ["fast", "default.qubit"])
def test_energies_from_shots_scatter_as_their_error_says(device: str) -> None:
    """The squared z-scores of 40 (10) seeds have mean 1; beyond 2 (3.5) lies a chance below 1e-4."""
    data = {"qubits": 3, "ansatz": {"name": "Sim6", "seed": 1}, "measure": {"hamiltonian": MIXED}}
    exact = simulate(from_dict(data), device)["energy"]
    seeds, most = (40, 2) if device == "fast" else (10, 3.5)
    told = [simulate(from_dict(data), device, shots=600, seed=s) for s in range(seeds)]
    assert np.mean([((t["energy"] - exact) / t["standard_error"]) ** 2 for t in told]) < most
    assert abs(np.mean([t["energy"] for t in told]) - exact) < 5 * told[0]["standard_error"] / math.sqrt(seeds)


def test_noise_takes_an_energy_towards_the_mean_of_all_states() -> None:
    """A depolarising channel of strength 3/4 on every wire leaves the mixed state, whose energy is the identity's."""
    noisy = {"kind": "DepolarizingChannel", "p": 0.75, "after": "end"}
    data = {"qubits": 2, "gates": [["PauliX", 1]], "measure": {"hamiltonian": H2}, "noise": noisy}
    assert simulate(from_dict(data))["energy"] == pytest.approx(H2["II"], abs=1e-12)


def test_a_hamiltonian_is_written_and_read_back() -> None:
    spec = from_dict({"qubits": 3, "gates": [], "measure": {"hamiltonian": {"chain": "xy", "h": 0.5, "ring": False}}})
    assert from_dict(to_dict(spec)).measurement.hamiltonian == spec.measurement.hamiltonian


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"ZZZ": 1}, "expected a word of 2 letters"), ({"ZQ": 1}, "expected a word of 2 letters"),
        ({"Z2": 1}, "Z2 is out of range"), ({"Z0 X0": 1}, "named twice"), ({"ZZ": 1j}, "must be real"),
        ({"ZZ": "a"}, "'a' is not a number"), ({"ZZ": [1, 2]}, "expected a finite number"),
        ({}, "expected Pauli words"), ({"maxcut": [[0]]}, "expected an edge"),
        ({"chain": "potts"}, "expected ising, heisenberg, xy"), ({"chain": "ising", "g": 1}, "unknown key 'g'"),
        ({"maxcut": []}, "no edges"), ({"maxcut": [[0, 0]]}, "to itself"), ({"maxcut": [[0, 5]]}, "at most 1"),
        ({"ZZ": 1, "Z0 Z1": -1}, "all terms are 0"), (["ZZ"], "expected Pauli words"), ({"maxcut": [3]}, "a list"),
    ],
)  # fmt: skip
def test_what_is_no_hamiltonian_says_why(data: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read(data, 2)


def test_shipped_energies_are_reached_and_drawn(ask, tmp_path: Path) -> None:
    """QAOA of depth n/2 reaches the ground state of the Ising ring; of depth 2 it cuts 5 of 6 edges of a ring (Farhi,
    Goldstone and Gutmann, arXiv:1411.4028)."""
    for name, exact, above in (("h2", -1.85727503, 0), ("ising_chain", -7.72740661, 0), ("maxcut", -6, 1)):
        told = ask("train", CIRCUITS / f"{name}.yaml", "--out", tmp_path / name, "--json").json
        assert told["ground_energy"] == pytest.approx(exact, abs=1e-7)
        assert told["above_ground"] == pytest.approx(above, abs=1e-6)
        assert (tmp_path / name / "energy.svg").read_text().startswith("<?xml")
    told = ask("simulate", tmp_path / "h2" / "circuit.json", "--json").json
    assert told["energy"] == pytest.approx(-1.85727503, abs=1e-7)
    assert told["variance"] == pytest.approx(0, abs=1e-7)
    assert "ground_energy  -1.85727503" in ask("simulate", tmp_path / "h2" / "circuit.json").out


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ("measure: {expectations: [Z]}", "an energy is that of measure: {hamiltonian: ...}"),
        ("measure: {hamiltonian: {Z: 1}}\nshots: 1", "shots"),
    ],
)
def test_energy_trainings_without_a_hamiltonian_are_refused(ask, tmp_path: Path, keys: str, sentence: str) -> None:
    text = f"qubits: 1\ngates: [[RY, 0, a]]\n{keys}\ntrain: {{task: energy}}\n"
    (tmp_path / "t.yaml").write_text(text)
    answer = ask("train", tmp_path / "t.yaml")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert sentence in answer.err
