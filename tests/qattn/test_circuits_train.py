"""Circuits learn states, unitaries, distributions and labels; training resumes exactly and agrees with
parameter-shift."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.circuit import Circuit, ParameterRef, gate
from qattn.circuits.ir.encode import encoded
from qattn.circuits.simulate.statevector import run
from qattn.circuits.train import Fit, Task, labelled, shift_gap, target_of


@pytest.mark.parametrize(
    ("kind", "target", "optimizer", "lr"),
    [("state", "ghz", "lbfgs", 0.5), ("state", "w", "qng", 0.2), ("distribution", "bars", "adam", 0.1)],
)
def test_a_circuit_learns(kind: str, target: str, optimizer: str, lr: float) -> None:
    circuit = build("StronglyEntanglingLayers", 3, 3)
    fit = Fit(circuit, Task(kind, target_of(kind, target, 3)), optimizer, lr)
    for _ in range(60):
        fit.step()
    assert fit.loss().item() < 5e-3
    if kind == "state":
        psi = run(circuit, fit.parameters).amplitudes().detach().numpy()
        assert abs(target_of("state", target, 3).conj() @ psi) ** 2 > 0.995


def test_a_unitary_is_learnt_from_all_its_columns() -> None:
    """RZ RY RZ reaches every one-qubit unitary up to a phase, so the Hadamard among them."""
    circuit = Circuit(1, (gate("Rot", 0, ParameterRef(0), ParameterRef(1), ParameterRef(2)),))
    hadamard = np.array([[1, 1], [1, -1]]) / math.sqrt(2)
    fit = Fit(circuit, Task("unitary", target_of("unitary", hadamard, 1)), "lbfgs", 1.0, seed=1)
    for _ in range(20):
        fit.step()
    assert fit.loss().item() < 1e-8


def test_moons_are_told_apart_by_reuploading() -> None:
    circuit = encoded(build("StronglyEntanglingLayers", 2, 4, reupload="X"), "reupload")
    points, labels = labelled("moons", 200, 2, 0)
    fit = Fit(circuit, Task("classification", data=points, labels=labels), "adam", 0.1)
    for _ in range(60):
        fit.step()
    assert fit.accuracy() > 0.85  # a coin reaches that on 50 held-out samples with probability 1e-7


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "lbfgs", "qng"])
def test_training_resumed_is_training_uninterrupted(optimizer: str) -> None:
    circuit = build("HardwareEfficient", 2, 1)

    def fresh() -> Fit:
        return Fit(circuit, Task("state", target_of("state", "ghz", 2)), optimizer, 0.1, seed=4)

    whole, first, second = fresh(), fresh(), fresh()
    losses = [whole.step() for _ in range(6)]
    for _ in range(3):
        first.step()
    second.load_state_dict(first.state_dict())
    assert [second.step() for _ in range(3)] == losses[3:]


def test_gradients_are_those_of_the_parameter_shift_rule() -> None:
    circuit = Circuit(
        3,
        (
            gate("RX", 0, ParameterRef(0)),
            gate("CRY", 0, 1, ParameterRef(1)),
            gate("IsingXX", 1, 2, ParameterRef(2)),
            gate("SingleExcitation", 2, 0, ParameterRef(3)),
            gate("Rot", 1, ParameterRef(4), ParameterRef(0), ParameterRef(1, scale=2.0)),
        ),
    )
    p = torch.linspace(0.2, 1.5, 5, dtype=torch.float64)
    assert shift_gap(circuit, p, "ZXZ") < 1e-10


def test_qng_needs_fewer_steps_than_plain_gradients_where_the_geometry_is_bad() -> None:
    """One parameter is scaled by ten: plain descent at this rate oscillates in it, the natural gradient does not see
    scales."""
    circuit = Circuit(
        2, (gate("RY", 0, ParameterRef(0, scale=10.0)), gate("RY", 1, ParameterRef(1, scale=0.5)), gate("CNOT", 0, 1))
    )
    goal = run(circuit, torch.tensor([0.2, 3.0], dtype=torch.float64)).amplitudes().numpy()

    def loss_of(optimizer: str) -> float:
        fit = Fit(circuit, Task("state", goal), optimizer, 0.1, seed=0, spread=0.1)
        for _ in range(40):
            fit.step()
        return fit.loss().item()

    assert loss_of("qng") < 0.1 * loss_of("sgd")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"task": Task("sonnet")}, "unknown task 'sonnet'"),
        ({"optimizer": "muon"}, "unknown optimizer 'muon'"),
        ({"task": Task("unitary", np.eye(4)), "optimizer": "qng"}, "natural gradient needs one state"),
        ({"circuit": Circuit(2, ())}, "no parameters to train"),
    ],
)
def test_what_cannot_be_trained_says_why(change: dict, sentence: str) -> None:
    options = {"circuit": build("Sim1", 2, 1), "task": Task("state", target_of("state", "ghz", 2)), **change}
    with pytest.raises(ValueError, match=sentence):
        Fit(**options)


@pytest.mark.parametrize(
    ("kind", "target", "sentence"),
    [
        ("state", [1, 1, 0, 0], "amplitudes need norm 1"),
        ("state", "cat", "unknown target 'cat'"),
        ("state", None, "needs a target"),
        ("distribution", [0.5, 0.2, 0.1, 0.1], "sum 1"),
        ("distribution", [1.0, 0.0], r"need shape \(4,\), got \(2,\)"),
        ("unitary", [[1, 1], [0, 1]], r"expected a matrix of shape \(4, 4\)"),
    ],
)
def test_bad_targets_say_why(kind: str, target: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        target_of(kind, target, 2)
    with pytest.raises(ValueError, match="unknown data"):
        labelled("stars", 10, 2, 0)
