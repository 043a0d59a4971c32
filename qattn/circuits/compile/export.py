"""Circuits out: OpenQASM 2 and 3, a PennyLane script; PennyLane operations in (OpenQASM in: ``openqasm_reader``).

Qubit k of the file is wire k: the most significant bit of our state index (OpenQASM itself orders nothing; tools
that print ``c`` with bit 0 on the right show our strings reversed). Global phases are dropped: OpenQASM 2 has no
word for them and no measurement sees them.
Gates outside the standard libraries are decomposed by PennyLane (matrices on three wires or more by the quantum Shannon
decomposition), matrices on one or two wires by ``kak``. Every decomposition is multiplied out and compared with what it
stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Complex
from scipy.linalg import polar

from qattn.circuits.compile.kak import one_qubit_gates, two_qubit_gates
from qattn.circuits.compile.multiply_out import expect_prepared, expect_same
from qattn.circuits.ir.circuit import CHANNELS, Circuit, Operation
from qattn.circuits.ir.gates import GATES
from qattn.circuits.simulate import pennylane_device

# the qelib1.inc of arXiv:1707.03429 has no swap, and readers that keep to it refuse one
QASM2 = frozenset("id x y z h s t sdg tdg rx ry rz u1 u2 u3 cx cy cz ch ccx crz".split())  # noqa: SIM905
QASM3 = QASM2 | {"swap", "cswap", "sx", "p", "cp", "crx", "cry"}
DROPPED = ("GlobalPhase", "Identity", "Barrier")


def lowered(circuit: Circuit, names: frozenset[str]) -> Circuit:
    """The same circuit, up to a global phase, in gates whose OpenQASM names are among ``names``; angles must be
    numbers.

    Raises ``ValueError`` for noise channels.
    """
    if circuit.noisy:
        raise ValueError(f"noise channels ({', '.join(CHANNELS)}) cannot be exported: drop the noise first")
    if circuit.n_parameters or circuit.n_inputs:
        circuit = circuit.bound([], [])  # raises with the number of values that are missing
    operations: list[Operation] = []
    for op in prepared(circuit):
        if op.name in GATES and GATES[op.name].qasm in names:
            operations.append(op)
        else:
            operations += decomposed(op, names)
    return Circuit(circuit.qubits, tuple(operations))


def prepared(circuit: Circuit) -> list[Operation]:
    """The operations with the initial amplitudes, if any, prepared by gates."""
    start = [] if circuit.initial is None else preparation(circuit.initial, range(circuit.qubits))
    return [*start, *circuit.operations]


def preparation(state: Complex[np.ndarray, " n"], wires: Sequence[int]) -> list[Operation]:
    """Gates that turn |0…0⟩ into ``state`` by Möttönen's method (arXiv:quant-ph/0407010), up to a global phase.

    Raises ``ArithmeticError`` should they prepare another state.
    """
    import pennylane as qml

    made = operations_of(qml.MottonenStatePreparation(state, wires=list(wires)).decomposition())
    expect_prepared(state, made, wires)
    return made


def decomposed(op: Operation, names: frozenset[str]) -> list[Operation]:
    """One operation in gates whose OpenQASM names are among ``names``, up to a global phase; multiplied out and
    compared.

    A matrix given to eight digits is first replaced by the nearest unitary one. Raises ``ArithmeticError`` should the
    gates do something else than the operation.
    """
    import pennylane as qml

    allowed = {gate.name for gate in GATES.values() if gate.qasm in names}

    def stop(candidate: Any) -> bool:
        small = candidate.name == "QubitUnitary" and len(candidate.wires) <= 2
        return small or candidate.name in allowed or candidate.name in DROPPED

    if op.name == "QubitUnitary":
        op = replace(op, data=polar(op.data)[0])
    tape = qml.tape.QuantumScript([pennylane_device.convert(op, list(op.angles))])
    (flat,), _ = qml.transforms.decompose(tape, stopping_condition=stop)
    found: list[Operation] = []
    for part in operations_of(flat.operations):
        found += matrix_gates(part) if part.name == "QubitUnitary" else [part]
    expect_same(op, found)
    return found


def matrix_gates(op: Operation) -> list[Operation]:
    """A matrix on one or two wires as RZ, RY and CNOT."""
    (gates,) = (one_qubit_gates if len(op.wires) == 1 else two_qubit_gates)(np.asarray(op.data, complex)[None])
    return [replace(g, wires=tuple(op.wires[w] for w in g.wires)) for g in gates]


def operations_of(queue: Sequence[Any], qubits: int | None = None) -> list[Operation]:
    """PennyLane operations as ours; unknown ones are decomposed. Wires must be whole numbers. Global phases are
    dropped.

    Raises ``ValueError`` for an operation without counterpart and decomposition.
    """
    found: list[Operation] = []
    for op in queue:
        wires = tuple(int(w) for w in op.wires)
        if op.name in DROPPED:
            continue
        if op.name in GATES:
            found.append(Operation(op.name, wires, tuple(float(a) for a in op.data)))
        elif op.name == "MultiRZ":
            found.append(Operation(op.name, wires, (float(op.data[0]),)))
        elif op.name == "PauliRot":
            found.append(Operation(op.name, wires, (float(op.data[0]),), word=op.hyperparameters["pauli_word"]))
        elif op.name in ("QubitUnitary", "DiagonalQubitUnitary"):
            found.append(Operation(op.name, wires, (), np.asarray(op.data[0], complex)))
        elif op.has_decomposition:
            found += operations_of(op.decomposition(), qubits)
        else:
            raise ValueError(f"gate {op.name} of PennyLane has no counterpart here and no decomposition")
    return found


def from_pennylane(queue: Sequence[Any], qubits: int) -> Circuit:
    """A circuit from PennyLane operations on wires 0 to qubits − 1."""
    return Circuit(qubits, tuple(operations_of(queue, qubits)))


def angle_text(angle: Any) -> str:
    """A number that reads back to the same float; the grammar of OpenQASM 2 wants a point before an exponent."""
    text = repr(float(angle))
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def call_text(op: Operation) -> str:
    """A gate of OpenQASM's libraries as a statement."""
    angles = f"({', '.join(map(angle_text, op.angles))})" if op.angles else ""
    return f"{GATES[op.name].qasm}{angles} {', '.join(f'q[{w}]' for w in op.wires)};"


def openqasm(circuit: Circuit, version: int = 2, measure: bool = True) -> str:
    """The bound circuit as OpenQASM 2 or 3 text. Raises ``ValueError`` for noise, free parameters and other
    versions."""
    if version not in (2, 3):
        raise ValueError(f"OpenQASM has versions 2 and 3, got {version!r}")
    flat = lowered(circuit, QASM2 if version == 2 else QASM3)
    n = circuit.qubits
    if version == 2:
        lines = ["OPENQASM 2.0;", 'include "qelib1.inc";', f"qreg q[{n}];", f"creg c[{n}];"]
    else:
        lines = ["OPENQASM 3.0;", 'include "stdgates.inc";', f"qubit[{n}] q;", f"bit[{n}] c;"]
    for op in flat.operations:
        lines.append(call_text(op))
    if measure:
        lines += [f"measure q[{w}] -> c[{w}];" if version == 2 else f"c[{w}] = measure q[{w}];" for w in range(n)]
    return "\n".join(lines) + "\n"


def pennylane_script(circuit: Circuit) -> str:
    """A Python script that builds the circuit in PennyLane, angles as numbers, and prints its probabilities."""
    bound = circuit.bound([], []) if circuit.n_parameters or circuit.n_inputs else circuit
    lines = [
        '"""Written by qattn. Wire 0 is the most significant bit of a basis state."""',
        "",
        "import numpy as np",
        "import pennylane as qml",
        "",
        f'device = qml.device("{"default.mixed" if bound.noisy else "default.qubit"}", wires={bound.qubits})',
        "",
        "",
        "@qml.qnode(device)",
        "def circuit():",
    ]
    if bound.initial is not None:
        lines.append(f"    qml.StatePrep(np.array({bound.initial.tolist()}), wires=range({bound.qubits}))")
    for op in bound.operations:
        wires = list(op.wires) if len(op.wires) > 1 else op.wires[0]
        angles = [angle_text(a) for a in op.angles]
        if op.data is not None:
            angles = [f"np.array({op.data.tolist()})"]
        if op.word:
            angles.append(repr(op.word))
        if op.name.startswith("Adjoint("):
            lines.append(f"    qml.adjoint(qml.{op.name[8:-1]}(wires={wires}))")
        else:
            lines.append(f"    qml.{op.name}({', '.join([*angles, f'wires={wires}'])})")
    lines += [
        f"    return qml.probs(wires=range({bound.qubits}))",
        "",
        "",
        'if __name__ == "__main__":',
        "    print(circuit())",
        "",
    ]
    return "\n".join(lines)


FORMATS = {
    "qasm2": lambda circuit: openqasm(circuit, 2),
    "qasm3": lambda circuit: openqasm(circuit, 3),
    "pennylane": pennylane_script,
}
