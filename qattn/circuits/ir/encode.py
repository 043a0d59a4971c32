"""Data into circuits: basis, angle and amplitude encoding. Re-uploading is angle encoding before every layer (see
``ansatz.build``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Complex

from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef, check_state, expect_shape, gate

KINDS = ("basis", "angle", "amplitude", "reupload")


def angle_encoding(qubits: int, axis: str = "X", scale: float = 1.0) -> list[Operation]:
    """Input k becomes the angle of a rotation about ``axis`` on wire k.

    Raises ``ValueError`` for other axes than X, Y and Z.
    """
    if axis not in ("X", "Y", "Z"):
        raise ValueError(f"an encoding rotation is X, Y or Z, got {axis!r}")
    return [gate(f"R{axis}", w, ParameterRef(w, "inputs", scale)) for w in range(qubits)]


def basis_encoding(bits: Sequence[int], qubits: int) -> list[Operation]:
    """X on every wire whose bit is 1 (bit k belongs to wire k, the most significant first).

    Raises ``ValueError`` for what is no bit, and unless there is one per wire.
    """
    expect_shape("basis encoding: values", np.shape(bits), (qubits,))
    if any(b not in (0, 1) for b in bits):
        raise ValueError(f"basis encoding: values are bits 0 or 1, got {list(bits)}")
    return [gate("PauliX", w) for w, bit in enumerate(bits) if bit]


def amplitudes(values: Sequence[complex], qubits: int, normalize: bool = False) -> Complex[np.ndarray, " dim"]:
    """A state vector from given amplitudes. Raises ``ValueError`` unless there are 2ⁿ of them with norm 1 (or
    ``normalize``)."""
    state = np.asarray(values, complex)
    expect_shape("amplitudes", state.shape, (2**qubits,))
    if normalize:
        norm = np.linalg.norm(state)
        if not np.isfinite(norm) or norm == 0:
            raise ValueError(f"amplitudes of norm {norm:g} cannot be normalised")
        state = state / norm
    check_state(state, qubits)
    return state


def encoded(
    circuit: Circuit, kind: str, values: Sequence | None = None, axis: str = "X", normalize: bool = False
) -> Circuit:
    """``circuit`` with an encoding in front. Without ``values``, angle and amplitude encodings read the inputs at
    run time.

    Raises ``ValueError`` for unknown encodings and for values that do not fit.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown encoding {kind!r}; known are {', '.join(KINDS)}")
    n = circuit.qubits
    if kind == "basis":
        if values is None:
            raise ValueError("basis encoding needs `values`, one bit per qubit")
        return Circuit(n, (*basis_encoding(values, n), *circuit.operations), circuit.initial, names=circuit.names)
    if kind == "amplitude":
        if values is None:
            return Circuit(n, circuit.operations, amplitude_inputs=True, names=circuit.names)
        return Circuit(n, circuit.operations, amplitudes(values, n, normalize), names=circuit.names)
    operations = circuit.operations if kind == "reupload" else (*angle_encoding(n, axis), *circuit.operations)
    return Circuit(n, tuple(operations), circuit.initial, names=circuit.names)
