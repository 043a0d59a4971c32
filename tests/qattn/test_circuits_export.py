"""Exports run elsewhere: OpenQASM read back by PennyLane, the script executed, pictures with wire 0 on top."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from qattn.circuits.compile import draw
from qattn.circuits.compile.export import from_pennylane, openqasm, pennylane_script
from qattn.circuits.compile.openqasm_reader import from_openqasm
from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.circuit import Circuit, Operation, gate
from qattn.circuits.ir.gates import GATES
from qattn.circuits.simulate import statevector

NONE = torch.zeros(0, dtype=torch.float64)


def whole_gate_set(seed: int) -> Circuit:
    """Every gate of the table once, on wires in random order, with a start state and one matrix."""
    rng = np.random.default_rng(seed)
    operations = []
    for name in rng.permutation(list(GATES)):
        row = GATES[name]
        wires = tuple(int(w) for w in rng.choice(4, row.wires, replace=False))
        operations.append(Operation(str(name), wires, tuple(rng.uniform(-3, 3, row.angles))))
    matrix = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0]
    operations.append(Operation("QubitUnitary", (3, 1), (), matrix))
    operations.append(Operation("PauliRot", (2, 0), (0.4,), word="YX"))
    start = rng.normal(size=16) + 1j * rng.normal(size=16)
    return Circuit(4, tuple(operations), start / np.linalg.norm(start))


def fidelity(a: Circuit, b: Circuit) -> float:
    return abs(torch.vdot(statevector.run(a, NONE).amplitudes(), statevector.run(b, NONE).amplitudes())).item()


@pytest.mark.parametrize("version", [2, 3])
def test_openqasm_is_read_back_to_the_same_state(version: int) -> None:
    for circuit in (whole_gate_set(1), Circuit(3, (gate("PauliX", 0), gate("CNOT", 0, 2)))):
        text = openqasm(circuit, version)
        assert text.startswith(f"OPENQASM {version}.0;")
        assert "gphase" not in text  # not a word of OpenQASM 2
        assert fidelity(circuit, from_openqasm(text)) == pytest.approx(1, abs=1e-10)


def test_openqasm_text_of_a_bell_pair() -> None:
    bell = Circuit(2, (gate("Hadamard", 0), gate("CNOT", 0, 1), gate("RZ", 1, 0.5)))
    assert openqasm(bell, 3).splitlines() == [
        "OPENQASM 3.0;",
        'include "stdgates.inc";',
        "qubit[2] q;",
        "bit[2] c;",
        "h q[0];",
        "cx q[0], q[1];",
        "rz(0.5) q[1];",
        "c[0] = measure q[0];",
        "c[1] = measure q[1];",
    ]


def test_the_pennylane_script_runs_and_agrees() -> None:
    circuit = whole_gate_set(2)
    names: dict = {"__name__": "exported"}
    exec(pennylane_script(circuit), names)
    assert np.allclose(names["circuit"](), statevector.run(circuit, NONE).probabilities().numpy(), atol=1e-10)


def test_pennylane_templates_become_ours() -> None:
    import pennylane as qml

    shape = qml.StronglyEntanglingLayers.shape(n_layers=2, n_wires=3)
    weights = np.random.default_rng(0).normal(size=shape)
    theirs = from_pennylane([qml.StronglyEntanglingLayers(weights, wires=range(3))], 3)
    assert fidelity(theirs, build("StronglyEntanglingLayers", 3, 2).bound(weights.ravel())) == pytest.approx(1)


@pytest.mark.parametrize("name", ["StronglyEntanglingLayers", "BasicEntanglerLayers", "SimplifiedTwoDesign"])
@pytest.mark.parametrize("qubits", [2, 3, 5])
def test_named_ansaetze_are_pennylanes_templates(name: str, qubits: int) -> None:
    import pennylane as qml

    from qattn.circuits.ir.ansatz import ANSATZE

    shapes = ANSATZE[name].shape(qubits, 2)
    values = np.random.default_rng(1).normal(size=ANSATZE[name].n_params(qubits, 2))
    arrays, at = [], 0
    for shape in shapes.values():
        arrays.append(values[at : at + int(np.prod(shape))].reshape(shape))
        at += int(np.prod(shape))
    template = from_pennylane([getattr(qml, name)(*arrays, wires=range(qubits))], qubits)
    assert fidelity(template, build(name, qubits, 2).bound(values)) == pytest.approx(1, abs=1e-12)


def test_qaoa_embedding_is_pennylanes() -> None:
    import pennylane as qml

    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=3), rng.normal(size=(2, 6))
    template = from_pennylane([qml.QAOAEmbedding(features, weights, wires=range(3))], 3)
    assert fidelity(template, build("QAOAEmbedding", 3, 2).bound(weights.ravel(), features)) == pytest.approx(1)


def test_drawings_have_wire_0_on_top() -> None:
    circuit = Circuit(2, (gate("PauliX", 0), gate("RY", 1, 0.5)))
    lines = draw.text(circuit).splitlines()
    assert lines[0].startswith("0:")
    assert "X" in lines[0]
    assert "RY(0.50)" in lines[1]
    assert "p0" in draw.text(build("BasicEntanglerLayers", 2, 1))
    figure = draw.figure(circuit)
    labels = [t for ax in figure.axes for t in ax.texts]
    height = {t.get_text(): t.get_position()[1] for t in labels}
    top_first = sorted((name for name in height if name in ("0", "1")), key=lambda name: height[name])
    assert top_first == ["0", "1"]  # PennyLane draws downward: the axis is inverted
    import matplotlib.pyplot as plt

    plt.close(figure)


def test_what_cannot_be_exported_says_why() -> None:
    noisy = Circuit(1, (Operation("BitFlip", (0,), (0.1,)),))
    with pytest.raises(ValueError, match="noise channels"):
        openqasm(noisy)
    with pytest.raises(ValueError, match=r"parameters need shape \(3,\), got \(0,\)"):
        openqasm(build("StronglyEntanglingLayers", 1, 1))
    with pytest.raises(ValueError, match="versions 2 and 3"):
        openqasm(Circuit(1, ()), 4)
    with pytest.raises(ValueError, match="there is no qubit"):
        from_openqasm("OPENQASM 3.0;")
