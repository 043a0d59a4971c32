"""Time evolution: closed forms, and product formulas that converge as their order says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.schema import CONFIGS
from qattn.circuits.ir.hamiltonian import read_hamiltonian
from qattn.circuits.simulate.statevector import run
from qattn.circuits.trotter import evolved, trotter_circuit


def test_the_exact_evolution_is_rabis() -> None:
    """P(1) = a²/(a² + b²) sin²(√(a² + b²) t) of H = aX + bZ from |0⟩ (Rabi, Phys. Rev. 51, 652, 1937)."""
    a, b, times = 0.7, -0.4, np.array([0.0, 0.3, 2.0])
    h = read_hamiltonian({"X": a, "Z": b, "I": 0.5}, 1, ("h",))
    got = np.abs(evolved(h, np.array([1, 0], complex), times)[:, 1]) ** 2
    whole = np.hypot(a, b)
    assert got == pytest.approx((a / whole) ** 2 * np.sin(whole * times) ** 2, abs=1e-14)


def test_commuting_words_need_one_step() -> None:
    h = read_hamiltonian({"ZZ": 0.3, "XX": -1.1}, 2, ("h",))
    start = np.array([0.6, 0, 0.8j, 0])
    done = run(trotter_circuit(h, 1.7, 1, 1), torch.zeros(0, dtype=torch.float64), states=torch.as_tensor(start))
    assert done.amplitudes().numpy() == pytest.approx(evolved(h, start, np.array([1.7]))[0], abs=1e-14)


def test_errors_fall_with_their_order_and_are_drawn(ask, tmp_path: Path) -> None:
    shipped = CONFIGS / "circuits" / "evolve_ising.yaml"
    told = ask(
        "evolve", shipped, "--set", "evolve.steps=[8, 16]", "--set", "evolve.qubits=4", "--out", tmp_path, "--json"
    ).json
    assert {int(k): v for k, v in told["slopes"].items()} == pytest.approx({1: 1, 2: 2, 4: 4}, abs=0.15)
    assert (tmp_path / "evolution.svg").exists()
    for words, sentence in (
        ("evolve.hamiltonian={ZZ: 1}", "hamiltonian.ZZ: expected a word of 6 letters"),
        ("evolve.start='01'", "evolve.start: expected 6 bits"),
        ("evolve.orders=[3]", "expected 1, 2 or 4, got 3"),
    ):
        answer = ask("evolve", shipped, "--set", words)
        assert answer.code == 2
        assert sentence in answer.err
