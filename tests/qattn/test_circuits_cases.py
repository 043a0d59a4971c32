"""Faults found on comparable software, each as a test: NaN gradients, silent promotions, lost axes, equal seeds,
unpicklable modules."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from qattn.circuits.analyse.expressibility import entropy
from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef, gate
from qattn.circuits.ir.encode import encoded
from qattn.circuits.ir.spec import from_dict
from qattn.circuits.ir.spec_writer import to_dict
from qattn.circuits.simulate import naive, pennylane_device, statevector
from qattn.circuits.simulate.readout import (
    check_povm,
    expectations,
    log_probabilities,
    marginal,
    naimark,
    pauli_action,
    sample,
)
from qattn.circuits.simulate.run import simulate
from qattn.circuits.torch_module import CircuitModule

NONE = torch.zeros(0, dtype=torch.float64)
BELL = Circuit(2, (gate("Hadamard", 0), gate("CNOT", 0, 1)))


def test_log_probabilities_have_finite_gradients_where_the_probability_is_zero() -> None:
    circuit = Circuit(2, (gate("RX", 0, ParameterRef(0)), gate("CNOT", 0, 1)))
    p = torch.zeros(1, dtype=torch.float64, requires_grad=True)  # |00> exactly: three probabilities are 0
    logs = log_probabilities(statevector.run(circuit, p).probabilities())
    (gradient,) = torch.autograd.grad(logs.sum(), p)
    assert torch.isfinite(logs).all()
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3])
def test_entropy_gradients_are_finite_at_and_near_product_states(angle: float) -> None:
    circuit = Circuit(3, (gate("RY", 0, ParameterRef(0)), gate("CNOT", 0, 1)))
    p = torch.tensor([angle], dtype=torch.float64, requires_grad=True)
    value = entropy(statevector.run(circuit, p).amplitudes()[None], [0])
    (gradient,) = torch.autograd.grad(value.sum(), p)
    assert torch.isfinite(gradient).all()
    c = math.cos(angle / 2) ** 2
    expected = 0.0 if c in (0.0, 1.0) else -c * math.log(c) - (1 - c) * math.log1p(-c)
    assert value.item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("real", "complex_"), [(torch.float32, torch.complex64), (torch.float64, torch.complex128)])
def test_precision_is_the_parameters_and_never_promoted(real: torch.dtype, complex_: torch.dtype) -> None:
    circuit = encoded(build("StronglyEntanglingLayers", 3, 2), "angle")
    p = torch.ones(circuit.n_parameters, dtype=real, requires_grad=True)
    final = statevector.run(circuit, p, torch.ones(4, 3, dtype=real))
    assert final.psi.dtype == naive.state_vector(circuit, p, torch.ones(4, 3, dtype=real)).dtype == complex_
    assert final.probabilities().dtype == expectations(final, ["ZII", "XYI"]).dtype == real
    assert torch.autograd.grad(final.probabilities()[0, 0], p)[0].dtype == real


def test_float32_probabilities_can_be_sampled_although_they_miss_one() -> None:
    p = torch.full((2**12,), 1 / 2**12, dtype=torch.float32)
    p[0] += 3e-5  # far more than rounding ever leaves
    assert abs(p.double().sum().item() - 1) > 1e-6
    assert sample(p, 100, 0).shape == (100,)
    with pytest.raises(ValueError, match="sum to 1"):
        sample(torch.tensor([0.5, 0.4]), 10, 0)


def test_modules_pickle_copy_and_save_as_numbers_and_a_spec(tmp_path: Path) -> None:
    circuit = encoded(build("StronglyEntanglingLayers", 2, 2, reupload="Y"), "reupload")
    module = CircuitModule(circuit, ["ZI", "XY"], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = torch.rand(3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    module.save(tmp_path / "m.safetensors")
    for other in (
        pickle.loads(pickle.dumps(module)),
        copy.deepcopy(module),
        CircuitModule.load(tmp_path / "m.safetensors"),
    ):
        assert torch.equal(other(x), module(x))
    (tmp_path / "x.safetensors").write_bytes(b"no")
    with pytest.raises(ValueError, match="not a saved circuit"):
        CircuitModule.load(tmp_path / "x.safetensors")


def test_functional_call_uses_the_weights_it_is_given() -> None:
    module = CircuitModule(build("BasicEntanglerLayers", 2, 1), ["ZI"], generator=torch.Generator().manual_seed(0))
    zero = torch.func.functional_call(module, {"weights": torch.zeros(2)}, ())
    assert zero.item() == 1.0
    assert module().item() != 1.0


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_the_batch_axis_is_kept_for_none_one_and_many(batch: int) -> None:
    circuit = encoded(build("StronglyEntanglingLayers", 2, 1), "angle")
    p, x = torch.ones(6), torch.ones(batch, 2)
    final = statevector.run(circuit, p, x)
    assert final.amplitudes().shape == final.probabilities().shape == (batch, 4)
    assert expectations(final, ["ZI", "XX", "IZ"]).shape == (batch, 3)
    words = ["ZI", "XX", "IZ"]
    one = pennylane_device.expectations(circuit, words, p, x)
    assert isinstance(one, torch.Tensor)
    assert one.shape == (batch, 3)
    assert pennylane_device.probabilities(circuit, p, x).shape == (batch, 4)
    assert statevector.run(circuit, p, x[0] if batch else torch.ones(2)).probabilities().shape == (4,)


def test_states_keep_their_imaginary_part_on_every_route() -> None:
    circuit = Circuit(1, (gate("Hadamard", 0), gate("S", 0)))
    expected = torch.tensor([1, 1j], dtype=torch.complex128) / math.sqrt(2)
    for state in (
        statevector.run(circuit, NONE).amplitudes(),
        naive.state_vector(circuit, NONE),
        pennylane_device.state_vector(circuit, NONE).to(torch.complex128),
    ):
        assert torch.allclose(state, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["default.qubit", "lightning.qubit", "default.mixed"])
def test_one_seed_reproduces_and_two_calls_differ(name: str) -> None:
    """False alarm: 60 fair coin pairs equal by chance has probability 2**-60."""
    import pennylane as qml

    first, again = (pennylane_device.samples(BELL, NONE, None, name, 60, seed=5) for _ in range(2))
    assert np.array_equal(first, again)
    node = pennylane_device.node(BELL, lambda: qml.sample(wires=[0]), name, shots=60, seed=5)
    assert not np.array_equal(np.asarray(node(NONE)), np.asarray(node(NONE)))
    assert np.array_equal(
        sample(statevector.run(BELL, NONE).probabilities(), 60, 5),
        sample(statevector.run(BELL, NONE).probabilities(), 60, 5),
    )


@pytest.mark.parametrize("name", ["fast", "default.qubit", "lightning.qubit", "default.mixed"])
def test_wire_0_is_the_most_significant_bit_everywhere(name: str) -> None:
    def spec(measure: object) -> dict:
        return {"qubits": 3, "gates": [["PauliX", 0]], "measure": measure}

    def told(measure: object) -> dict:
        return simulate(from_dict(spec(measure)), name, seed=1)

    assert told("probabilities")["probabilities"] == pytest.approx([0, 0, 0, 0, 1, 0, 0, 0])
    assert told({"probabilities": [1, 0]})["probabilities"] == pytest.approx([0, 1, 0, 0])
    assert told({"expectations": ["ZII", "IIZ"]})["expectations"] == pytest.approx([-1, 1])
    assert told({"samples": 2})["samples"] == ["100", "100"]
    loaded = from_dict({"qubits": 2, "gates": [], "encode": {"kind": "amplitude", "values": [0, 0, 1, 0]}})
    assert simulate(loaded, name)["probabilities"] == pytest.approx([0, 0, 1, 0])
    basis = from_dict({"qubits": 3, "gates": [], "encode": {"kind": "basis", "values": [1, 1, 0]}})
    assert simulate(basis, name)["probabilities"][6] == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "method"),
    [("lightning.qubit", "adjoint"), ("default.qubit", "adjoint"), ("default.qubit", "parameter-shift")],
)
def test_adjoint_and_parameter_shift_gradients_of_a_batch(name: str, method: str) -> None:
    """Every sample's gradient, against ours; devices that cannot broadcast are run sample by sample."""
    circuit = Circuit(
        2,
        (
            gate("RX", 0, ParameterRef(0, "inputs")),
            gate("CRY", 0, 1, ParameterRef(0)),
            gate("Rot", 1, ParameterRef(1), ParameterRef(2), ParameterRef(3)),
            gate("CRZ", 1, 0, ParameterRef(0, scale=2.0)),
            gate("SingleExcitation", 0, 1, ParameterRef(1)),
        ),
    )
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(3, 4, generator=generator, dtype=torch.float64).requires_grad_()
    x = torch.rand(3, 1, generator=generator, dtype=torch.float64).requires_grad_()
    weights = torch.rand(3, 2, generator=generator, dtype=torch.float64)
    ours = expectations(statevector.run(circuit, p, x), ["ZI", "XY"])
    theirs = pennylane_device.expectations(circuit, ["ZI", "XY"], p, x, name, diff_method=method)
    assert torch.allclose(ours, theirs.double(), atol=1e-6)
    for a, b in zip(
        torch.autograd.grad((ours * weights).sum(), (p, x)),
        torch.autograd.grad((theirs * weights).sum(), (p, x)),
        strict=True,
    ):
        assert torch.allclose(a, b, atol=1e-6)


def test_second_derivatives_come_from_the_naive_engine_and_are_refused_by_the_fast_one() -> None:
    circuit = Circuit(1, (gate("RY", 0, ParameterRef(0)),))
    p = torch.tensor([0.7], dtype=torch.float64, requires_grad=True)

    def p0(run_state: torch.Tensor) -> torch.Tensor:
        return run_state[0].abs().square()

    (first,) = torch.autograd.grad(p0(naive.state_vector(circuit, p)), p, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), p)
    assert second.item() == pytest.approx(-math.cos(0.7) / 2)  # P0 = cos(t/2)**2
    entangled = BELL.then([gate("RY", 1, ParameterRef(0))])
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(statevector.run(entangled, p).probabilities()[0], p, create_graph=True)


def test_specs_survive_writing_and_reading() -> None:
    circuit = encoded(build("SimplifiedTwoDesign", 3, 1), "angle", axis="Y")
    circuit = circuit.then(
        [
            Operation("PauliRot", (2, 0), (ParameterRef(0, scale=0.5, shift=0.25),), word="XY"),
            Operation("MultiRZ", (0, 1, 2), (0.3,)),
            Operation("DiagonalQubitUnitary", (1,), (), np.exp(1j * np.arange(2))),
        ]
    )
    from qattn.circuits.ir.spec import Spec

    first = Spec(circuit, np.linspace(0, 1, circuit.n_parameters), np.array([0.1, 0.2, 0.3]))
    again = from_dict(to_dict(first))
    states = [
        statevector.run(s.circuit, torch.tensor(s.parameters), torch.tensor(s.inputs)).amplitudes()
        for s in (first, again)
    ]
    assert torch.equal(*states)


def test_pauli_words_act_as_matrices() -> None:
    from qattn.circuits.ir.gates import pauli_matrix

    for word in ("XYZ", "YYI", "IZX"):
        flip, factor = pauli_action(word)
        dense = torch.zeros(8, 8, dtype=torch.complex128)
        dense[torch.arange(8), flip] = factor
        assert np.allclose(dense.numpy(), pauli_matrix(word))


def test_means_of_z_without_a_table_of_signs_are_those_of_the_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    from qattn.circuits.ir.gates import pauli_matrix

    monkeypatch.setattr("qattn.circuits.simulate.readout.MOST_SIGNS", 0)
    circuit, words = build("StronglyEntanglingLayers", 4, 2), ["ZIII", "IIZI", "ZIZZ", "XIIY", "IIII"]
    p = torch.rand(3, circuit.n_parameters, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    psi = naive.state_vector(circuit, p.requires_grad_())
    matrices = torch.stack([torch.as_tensor(pauli_matrix(word)) for word in words])
    wanted = torch.einsum("bi,kij,bj->bk", psi.conj(), matrices, psi).real
    means = expectations(statevector.run(circuit, p), words)
    assert torch.allclose(means, wanted, atol=1e-14)
    assert torch.allclose(expectations(statevector.run(circuit, p[0]), words), wanted[0], atol=1e-14)
    weights = torch.arange(5.0)
    gradients = [torch.autograd.grad((each * weights).sum(), p)[0] for each in (means, wanted)]
    assert torch.allclose(*gradients, atol=1e-13)


def test_a_povm_through_a_naimark_ancilla_gives_the_traces() -> None:
    """The trine: three outcomes on one qubit, p_k = 2/3 cos^2(half the Bloch angle)."""
    trine = [np.array([math.cos(a), math.sin(a)]) for a in (0, math.pi / 3, 2 * math.pi / 3)]
    elements = np.array([2 / 3 * np.outer(v, v) for v in trine]).astype(complex)
    circuit = Circuit(2, (gate("RY", 1, 0.8), gate("CNOT", 0, 1)))
    dilated, ancillas = naimark(circuit, elements, [1])
    p = marginal(statevector.run(dilated, NONE).probabilities(), ancillas, dilated.qubits)[:3]
    state = np.array([math.cos(0.4), math.sin(0.4)])
    assert np.allclose(p.numpy(), [2 / 3 * (v @ state) ** 2 for v in trine], atol=1e-12)
    with pytest.raises(ValueError, match="add up to the identity"):
        check_povm(elements[:2], 2)
