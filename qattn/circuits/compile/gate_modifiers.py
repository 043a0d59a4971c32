"""OpenQASM 3's gate modifiers on our operations: inverse, powers, controls.

Two operations live here alone. ``gphase`` is a global phase, which a control turns into a PhaseShift. ``U`` is the
language's own rotation: its texts disagree about its global phase, so it has no controlled form here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Complex

from qattn.circuits.ir.circuit import Angle, Operation, ParameterRef, row_of
from qattn.circuits.simulate.naive import widen

SELF_INVERSE = frozenset(
    "Identity PauliX PauliY PauliZ Hadamard CNOT CY CZ CH SWAP ECR Toffoli CSWAP CCZ MultiControlledX".split()  # noqa: SIM905
)
INVERSE = {"S": "Adjoint(S)", "T": "Adjoint(T)", "Adjoint(S)": "S", "Adjoint(T)": "T"}
CONTROLLED = {
    "PauliX": "CNOT", "CNOT": "Toffoli", "PauliY": "CY", "PauliZ": "CZ", "CZ": "CCZ", "Hadamard": "CH", "SWAP": "CSWAP",
    "RX": "CRX", "RY": "CRY", "RZ": "CRZ", "Rot": "CRot", "PhaseShift": "ControlledPhaseShift",
    "Toffoli": "MultiControlledX", "MultiControlledX": "MultiControlledX",
}  # fmt: skip
MOST_WIRES = 10  # of a gate that is written as its matrix


def negative(angle: Angle) -> Angle:
    """The angle with the other sign."""
    if isinstance(angle, ParameterRef):
        return replace(angle, scale=-angle.scale, shift=-angle.shift)
    return -angle


def inverse(operations: Sequence[Operation]) -> list[Operation]:
    """The inverse operations in reverse order. Raises ``ValueError`` where a free angle stands in their way."""
    return [inverse_of(op) for op in reversed(operations)]


def inverse_of(op: Operation) -> Operation:
    """One operation undone."""
    if op.name in SELF_INVERSE:
        return op
    if op.name in INVERSE:
        return replace(op, name=INVERSE[op.name])
    if op.name in ("U", "U3"):
        theta, phi, delta = map(negative, op.angles)
        return replace(op, angles=(theta, delta, phi))
    if op.name in ("Rot", "CRot"):
        return replace(op, angles=tuple(map(negative, reversed(op.angles))))
    if len(op.angles) == 1 and op.name != "PSWAP":  # exp(-i angle G), and phases
        return replace(op, angles=(negative(op.angles[0]),))
    return Operation("QubitUnitary", op.wires, (), matrix_of(op).conj().T)


def power(operations: Sequence[Operation], exponent: float) -> list[Operation]:
    """A sequence ``exponent`` times. Raises ``ValueError`` for a power that is no whole number."""
    if exponent != int(exponent):
        raise ValueError(f"pow({exponent:g}) @: only whole powers are read")
    if abs(exponent) * len(operations) > 10**6:
        raise ValueError(f"pow({exponent:g}) @: more than a million gates")
    return [*(operations if exponent >= 0 else inverse(operations))] * int(abs(exponent))


def controlled(operations: Sequence[Operation], control: int, on: int = 1) -> list[Operation]:
    """Every operation under one more control wire, which acts for ``on`` = 1 or 0.

    Raises ``ValueError`` for ``U``, and for angles left free in gates without a controlled form.
    """
    found = [controlled_one(op, control) for op in operations]
    flip = Operation("PauliX", (control,))
    return found if on else [flip, *found, flip]


def controlled_one(op: Operation, control: int) -> Operation:
    """One operation under a control.

    Raises ``ValueError`` for a U, whose phase the language changed, and for matrices too large.
    """
    wires = (control, *op.wires)
    if op.name == "gphase":
        return Operation("PhaseShift", wires, op.angles)
    if op.name == "U":
        raise ValueError("a controlled U depends on the phase of U, which the language changed: write ctrl @ u3, or cu")
    if op.name in CONTROLLED:
        return replace(op, name=CONTROLLED[op.name], wires=wires)
    inner = matrix_of(op)
    if len(wires) > MOST_WIRES:
        raise ValueError(f"a controlled {op.name} on {len(wires)} wires would be a matrix of 4^{len(wires)} numbers")
    whole = np.eye(2 ** len(wires), dtype=complex)
    whole[-len(inner) :, -len(inner) :] = inner
    return Operation("QubitUnitary", wires, (), whole)


def matrix_of(op: Operation) -> Complex[np.ndarray, "dim dim"]:
    """The whole matrix ``(2ᵏ, 2ᵏ)`` of an operation on k wires. Raises ``ValueError`` for free angles."""
    if any(isinstance(a, ParameterRef) for a in op.angles):
        raise ValueError(f"a modified {op.name} needs an angle that is a number")
    gate = row_of(op)
    base = gate.matrix(torch.tensor([float(a) for a in op.angles], dtype=torch.float64))  # type: ignore[arg-type]
    return widen(base, gate.kind == "diagonal", 2 ** len(op.wires)).numpy().astype(complex)
