"""Pictures of circuits, drawn by PennyLane: wire 0 on top, the most significant bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from qattn.circuits.ir.circuit import Circuit, ParameterRef
from qattn.circuits.simulate import pennylane_device


def tape_of(circuit: Circuit) -> Any:
    """The circuit as a PennyLane tape; free angles are shown as symbols."""
    import pennylane as qml

    labels = {"parameters": circuit.names or tuple(f"p{k}" for k in range(circuit.n_parameters))}
    labels["inputs"] = tuple(f"x{k}" for k in range(circuit.n_inputs)) if not circuit.amplitude_inputs else ()

    def shown(angle: float | ParameterRef) -> Any:
        return labels[angle.source][angle.index] if isinstance(angle, ParameterRef) else float(angle)

    start = np.eye(1, 2**circuit.qubits)[0] if circuit.amplitude_inputs else circuit.initial  # drawn as |Ψ⟩ whichever
    queue = [] if start is None else [qml.StatePrep(start, wires=range(circuit.qubits))]
    queue += [pennylane_device.convert(op, [shown(a) for a in op.angles]) for op in circuit.operations]
    return qml.tape.QuantumScript(queue, [qml.probs(wires=range(circuit.qubits))])


def text(circuit: Circuit, decimals: int = 2, width: int = 110) -> str:
    """Letters and lines, folded at ``width`` characters."""
    import pennylane as qml

    return qml.drawer.tape_text(tape_of(circuit), wire_order=range(circuit.qubits), decimals=decimals, max_length=width)


def figure(circuit: Circuit, decimals: int = 2) -> Any:
    """A matplotlib figure."""
    import pennylane as qml

    return qml.drawer.tape_mpl(tape_of(circuit), wire_order=range(circuit.qubits), decimals=decimals)[0]
