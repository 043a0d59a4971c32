"""Pictures of circuits, drawn by PennyLane: wire 0 on top, the most significant bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from qattn.circuits.compile.draw_dynamic import Queue, labelled
from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef
from qattn.circuits.ir.dynamic import DynamicCircuit
from qattn.circuits.simulate import pennylane_device
from qattn.circuits.simulate.readout import Measurement


def tape_of(circuit: Circuit | DynamicCircuit, measurement: Measurement | None = None) -> Any:
    """The circuit as a PennyLane tape that ends in the measurement (default: all probabilities).

    A free angle is shown as what it is, ``2·a + 0.1`` for twice the parameter a plus 0.1.
    """
    import pennylane as qml

    names = {"parameters": circuit.names or numbered("p", circuit.n_parameters)}
    names["inputs"] = () if getattr(circuit, "amplitude_inputs", False) else numbered("x", circuit.n_inputs)

    def converted(op: Operation) -> Any:
        angles = [label_of(a, names[a.source]) if isinstance(a, ParameterRef) else float(a) for a in op.angles]
        if op.name == "PauliRot" and isinstance(angles[0], str):  # PennyLane's own label wants a number
            return labelled(f"R{op.word}\n({angles[0]})", op.wires)
        return pennylane_device.convert(op, angles)

    given = isinstance(circuit, Circuit) and circuit.amplitude_inputs
    start = np.eye(1, 2**circuit.qubits)[0] if given else circuit.initial  # drawn as |Ψ⟩ whichever
    with qml.queuing.AnnotatedQueue() as found:
        if start is not None:
            qml.StatePrep(start, wires=range(circuit.qubits))
        if isinstance(circuit, DynamicCircuit):
            Queue(circuit.qubits, circuit.bits, converted).put(circuit.steps)
        else:
            for op in circuit.operations:
                converted(op)
    queue = qml.tape.QuantumScript.from_queue(found).operations
    m = measurement or Measurement()
    wires = m.wires or tuple(range(circuit.qubits))
    if m.kind == "povm":
        return qml.tape.QuantumScript([*queue, labelled("POVM", wires)], [])
    if m.hamiltonian is not None:
        terms = [qml.pauli.string_to_pauli_word(word) for word in m.hamiltonian.words]
        return qml.tape.QuantumScript(queue, [qml.expval(qml.Hamiltonian(list(m.hamiltonian.coefficients), terms))])
    if m.kind == "expectations":
        return qml.tape.QuantumScript(queue, [qml.expval(qml.pauli.string_to_pauli_word(word)) for word in m.words])
    ends = {"state": qml.state, "samples": lambda: qml.sample(wires=wires)}
    return qml.tape.QuantumScript(queue, [ends.get(m.kind, lambda: qml.probs(wires=wires))()])


def numbered(letter: str, count: int) -> tuple[str, ...]:
    """x0, x1, …"""
    return tuple(f"{letter}{k}" for k in range(count))


def label_of(angle: ParameterRef, names: tuple[str, ...]) -> str:
    """The name of a free angle with its scale and shift."""
    text = names[angle.index]
    if angle.scale != 1:
        text = f"-{text}" if angle.scale == -1 else f"{angle.scale:.4g}·{text}"
    return text if angle.shift == 0 else f"{text}{angle.shift:+.4g}"


def text(
    circuit: Circuit | DynamicCircuit, decimals: int = 2, width: int = 110, measurement: Measurement | None = None
) -> str:
    """Letters and lines, folded at ``width`` characters."""
    import pennylane as qml

    tape = tape_of(circuit, measurement)
    return qml.drawer.tape_text(tape, wire_order=range(circuit.qubits), decimals=decimals, max_length=width)


def figure(circuit: Circuit | DynamicCircuit, decimals: int = 2, measurement: Measurement | None = None) -> Any:
    """A matplotlib figure."""
    import pennylane as qml

    tape = tape_of(circuit, measurement)
    return qml.drawer.tape_mpl(tape, wire_order=range(circuit.qubits), decimals=decimals)[0]
