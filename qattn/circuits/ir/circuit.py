"""What a circuit is: wires, a list of operations, and numbered slots where trainable parameters and data enter.

Wire 0 is the most significant bit of a basis state's index everywhere: |q₀ q₁ … qₙ₋₁⟩ has index Σₖ qₖ 2ⁿ⁻¹⁻ᵏ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Shaped
from numpy.typing import ArrayLike

from qattn.circuits.ir.gates import ALIASES, GATES, VARIADIC, Gate, MatrixOf, constant, multi_rz, pauli_rot

T = TypeVar("T")
CHANNELS = ("DepolarizingChannel", "BitFlip", "PhaseFlip", "AmplitudeDamping", "PhaseDamping")
UNITARITY = 1e-8  # largest accepted ‖U†U − 1‖ (Frobenius, float64) of a matrix given by a person


@dataclass(frozen=True)
class ParameterRef:
    """An angle that is not a number yet: ``scale * source[index] + shift``, source ``"parameters"`` or ``"inputs"``."""

    index: int
    source: str = "parameters"
    scale: float = 1.0
    shift: float = 0.0


Angle = float | ParameterRef


@dataclass(frozen=True, eq=False)
class Operation:
    """One gate (or noise channel) on given wires. ``data`` is the matrix of a QubitUnitary or the diagonal of a
    DiagonalQubitUnitary."""

    name: str
    wires: tuple[int, ...]
    angles: tuple[Angle, ...] = ()
    data: np.ndarray | None = None
    word: str = ""


class GateError(ValueError):
    """What is wrong with an operation: its ``place`` in the circuit, and the ``reason``, which names gate and wires."""

    def __init__(self, place: int, operation: Operation, reason: str) -> None:
        self.place, self.reason = place, f"{operation.name} on wires {list(operation.wires)}: {reason}"
        super().__init__(f"gate {place} ({operation.name} on wires {list(operation.wires)}): {reason}")


@dataclass(frozen=True, eq=False)
class Circuit:
    """A checked, immutable circuit of ``qubits`` wires, started in |0…0⟩, in ``initial``, or in given states.

    Raises :class:`GateError` for wires out of range, unknown gates, wrong numbers of wires or angles and matrices that
    are not unitary, ``ValueError`` for states that are not normalised. ``names`` are the
    parameters' names in order (default: their numbers).
    """

    qubits: int
    operations: tuple[Operation, ...]
    initial: np.ndarray | None = None
    amplitude_inputs: bool = False
    names: tuple[str, ...] = ()
    _derived: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.qubits, int) or isinstance(self.qubits, bool) or self.qubits < 1:
            raise ValueError(f"a circuit needs at least one qubit, got {self.qubits!r}")
        for place, operation in enumerate(self.operations):
            try:
                check(operation, self.qubits)
            except ValueError as error:
                raise GateError(place, operation, str(error)) from error
        if self.initial is not None:
            check_state(self.initial, self.qubits)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_derived": {}}

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What follows from the circuit alone (its plan, its groups of gates): made once, then remembered."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def slots(self, source: str = "parameters") -> list[ParameterRef]:
        """The angles read from a source, ``"parameters"`` or ``"inputs"``, gate by gate."""
        return [a for op in self.operations for a in op.angles if isinstance(a, ParameterRef) and a.source == source]

    @property
    def n_parameters(self) -> int:
        """How many trainable parameters there are."""
        return max(len(self.names), self.highest("parameters"))

    @property
    def n_inputs(self) -> int:
        """How many numbers of data the circuit reads."""
        return 2**self.qubits if self.amplitude_inputs else self.highest("inputs")

    def highest(self, source: str) -> int:
        """How many values of a source the angles ask for: one more than the greatest number."""
        return self.derived(source, lambda: 1 + max((slot.index for slot in self.slots(source)), default=-1))

    @property
    def noisy(self) -> bool:
        """Whether there is a noise channel, so that states become density matrices."""
        return any(op.name in CHANNELS for op in self.operations)

    def shape(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the circuit takes and gives; a leading batch axis is allowed on parameters and inputs."""
        return {"parameters": (self.n_parameters,), "inputs": (self.n_inputs,), "state": (2**self.qubits,)}

    def resources(self) -> dict:
        """Counts: qubits, parameters, gates, depth, two_qubit (gates on two wires or more), channels, and gates by
        name."""
        gates = [op for op in self.operations if op.name not in CHANNELS]
        return {
            "qubits": self.qubits,
            "parameters": self.n_parameters,
            "gates": len(gates),
            "depth": depth(gates, self.qubits),
            "two_qubit": sum(len(op.wires) > 1 for op in gates),
            "channels": len(self.operations) - len(gates),
            "by_name": dict(sorted(Counter(op.name for op in gates).items())),
        }

    def then(self, operations: Iterable[Operation]) -> Circuit:
        """The same circuit with operations appended."""
        return replace(self, operations=(*self.operations, *operations), _derived={})

    def with_inputs(self, inputs: Shaped[np.ndarray, "*shape"]) -> Circuit:
        """The circuit for given data: input slots become numbers, amplitudes the start; parameters stay free."""
        values = np.asarray(inputs).ravel()
        expect_shape("inputs", values.shape, (self.n_inputs,))
        start = values if self.amplitude_inputs else self.initial
        return Circuit(self.qubits, self.filled("inputs", values), start, names=self.names)

    def bound(self, parameters: ArrayLike, inputs: ArrayLike = ()) -> Circuit:
        """The circuit with every slot replaced by a number (for export, drawing and devices)."""
        values = np.asarray(parameters, float).ravel()
        expect_shape("parameters", values.shape, (self.n_parameters,))
        given = self.with_inputs(np.asarray(inputs))
        return Circuit(self.qubits, given.filled("parameters", values), given.initial)

    def filled(self, source: str, values: Shaped[np.ndarray, " values"]) -> tuple[Operation, ...]:
        """The operations with the slots of one source replaced by numbers."""

        def number(angle: Angle) -> Angle:
            if not isinstance(angle, ParameterRef) or angle.source != source:
                return angle
            return float(angle.scale * values[angle.index] + angle.shift)

        return tuple(replace(op, angles=tuple(map(number, op.angles))) for op in self.operations)


def gate(name: str, *wires_and_angles: int | Angle) -> Operation:
    """``gate("RY", 2, 0.3)``: a fixed-size gate's wires, then its angles."""
    name = ALIASES.get(name, name)
    wires = wires_of(name)
    return Operation(name, tuple(int(w) for w in wires_and_angles[:wires]), tuple(wires_and_angles[wires:]))  # type: ignore[arg-type]


def wires_of(name: str) -> int:
    """How many wires a fixed-size gate or channel takes. Raises ``ValueError`` for other gates and unknown names."""
    name = ALIASES.get(name, name)
    if name in CHANNELS:
        return 1
    if name in GATES:
        return GATES[name].wires
    if name in VARIADIC:
        raise ValueError(
            f"{name} takes any number of wires: write it as a mapping with `gate: {name}` and `wires: [...]`"
        )
    raise ValueError(unknown_gate(name))


def unknown_gate(name: str) -> str:
    """The sentence for an unknown gate, with the nearest known one."""
    known = (*GATES, *ALIASES, *VARIADIC, *CHANNELS)
    lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), lower, n=1, cutoff=0.7)
    hint = f"did you mean {lower[near[0]]}?" if near else f"known are {', '.join((*GATES, *VARIADIC, *CHANNELS))}"
    return f"unknown gate {name!r}; {hint}"


def expect_shape(what: str, got: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Raise ``ValueError`` unless the shapes are equal."""
    if tuple(got) != tuple(expected):
        raise ValueError(f"{what} need shape {tuple(expected)}, got {tuple(got)}")


def check(op: Operation, qubits: int) -> None:
    """Raise ``ValueError`` unless the operation fits a circuit of so many qubits."""
    if op.name not in GATES and op.name not in VARIADIC and op.name not in CHANNELS:
        raise ValueError(unknown_gate(op.name))
    outside = [w for w in op.wires if not 0 <= w < qubits]
    if outside:
        raise ValueError(f"wire {outside[0]} is out of range, the {qubits} qubits are 0 to {qubits - 1}")
    if len(set(op.wires)) != len(op.wires):
        raise ValueError("a wire is named twice")
    if not op.wires:
        raise ValueError("no wires given")
    if op.name == "MultiControlledX" and len(op.wires) < 2:
        raise ValueError("needs a control and a target; without a control it is PauliX")
    if op.name in VARIADIC:
        angles = 1 if op.name in ("MultiRZ", "PauliRot") else 0
    else:
        expected = wires_of(op.name)
        if len(op.wires) != expected:
            raise ValueError(f"expected {expected} wires, got {len(op.wires)}")
        angles = 1 if op.name in CHANNELS else GATES[op.name].angles
    if len(op.angles) != angles:
        raise ValueError(f"expected {angles} angles, got {len(op.angles)}")
    numbers = [a for a in op.angles if not isinstance(a, ParameterRef)]
    if not np.all(np.isfinite(np.asarray(numbers, float))):
        raise ValueError(f"angles must be finite numbers, got {numbers}")
    if op.name in CHANNELS and numbers and not 0 <= float(numbers[0]) <= 1:
        raise ValueError(f"a channel's strength lies between 0 and 1, got {numbers[0]}")
    if op.name == "PauliRot" and (len(op.word) != len(op.wires) or set(op.word) - set("IXYZ")):
        raise ValueError(f"needs a Pauli word of {len(op.wires)} letters from IXYZ, got {op.word!r}")
    if op.name == "QubitUnitary":
        check_unitary(op.data, len(op.wires))
    if op.name == "DiagonalQubitUnitary":
        check_phases(op.data, len(op.wires))


def check_unitary(matrix: Shaped[np.ndarray, "*shape"] | None, wires: int) -> None:
    """Raise ``ValueError`` unless ``matrix`` is unitary on so many wires, within ``UNITARITY``."""
    size = 2**wires
    if matrix is None or matrix.shape != (size, size):
        raise ValueError(f"expected a matrix of shape {(size, size)}, got {None if matrix is None else matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise ValueError("the matrix has entries that are not finite numbers")
    defect = float(np.linalg.norm(matrix.conj().T @ matrix - np.eye(size)))
    if defect > UNITARITY:
        raise ValueError(f"the matrix is not unitary, ‖U†U − 1‖ = {defect:.3g} (limit {UNITARITY:g})")


def check_phases(diagonal: Shaped[np.ndarray, "*shape"] | None, wires: int) -> None:
    """Raise ``ValueError`` unless ``diagonal`` holds 2ᵏ numbers of modulus 1 for k wires, within ``UNITARITY``."""
    if diagonal is None or diagonal.shape != (2**wires,):
        raise ValueError(
            f"expected a diagonal of shape {(2**wires,)}, got {None if diagonal is None else diagonal.shape}"
        )
    defect = float(np.max(np.abs(np.abs(diagonal) - 1)))
    if not defect <= UNITARITY:
        raise ValueError(f"the diagonal is not unitary, an entry's modulus differs from 1 by {defect:.3g}")


def check_state(state: Shaped[np.ndarray, "*shape"], qubits: int) -> None:
    """Raise ``ValueError`` unless ``state`` has 2ⁿ amplitudes of norm 1, within 10⁻⁶."""
    expect_shape("amplitudes", np.shape(state), (2**qubits,))
    norm = float(np.linalg.norm(state))
    if not abs(norm - 1) <= 1e-6:
        raise ValueError(f"amplitudes need norm 1, got {norm:.6g}")


def depth(operations: Iterable[Operation], qubits: int) -> int:
    """Longest chain of gates that share wires."""
    level = [0] * qubits
    for op in operations:
        top = 1 + max(level[w] for w in op.wires)
        for w in op.wires:
            level[w] = top
    return max(level)


def row_of(op: Operation) -> Gate:
    """The gate-table row of an operation; made on the spot for gates that carry their matrix, word or size.

    Raises ``ValueError`` for noise channels.
    """
    if op.name in GATES:
        return GATES[op.name]
    k = len(op.wires)
    if op.name == "MultiRZ":
        return multi_rz(k)
    if op.name == "PauliRot":
        return pauli_rot(op.word)
    if op.name == "MultiControlledX":
        return Gate(op.name, k, 0, "permutation", GATES["PauliX"].matrix, controls=k - 1, real=True)
    if op.data is None:
        raise ValueError(f"{op.name} is a noise channel, not a gate: run it on default.mixed")
    real = bool(np.isrealobj(op.data) or not np.any(op.data.imag))
    table: MatrixOf = constant(op.data.real.copy() if real else op.data)
    return Gate(op.name, k, 0, "dense" if op.name == "QubitUnitary" else "diagonal", table, real=real)
