"""Circuits that measure on their way: results decide what happens next, wires are reset, outcomes are post-selected.

A step is a gate, a ``Measure``, a ``Reset``, an ``If`` or a ``Repeat``; blocks of steps nest. Classical bits have names
and start at 0. Measurements are of Z: outcome m projects the wire onto |m⟩ and is written into the bit (Nielsen and
Chuang, section 2.2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Shaped

from qattn.circuits.ir.circuit import (
    CHANNELS,
    Circuit,
    Operation,
    ParameterRef,
    check_state,
    depth,
    expect_shape,
)

MOST_CONDITION_BITS = 16  # a condition is a table of the values that fulfil it
MOST_ROUNDS = 10_000


@dataclass(frozen=True)
class Measure:
    """The wire's outcome goes into the classical ``bit``; with ``keep`` 0 or 1 runs with the other are discarded."""

    wire: int
    bit: int
    keep: int | None = None


@dataclass(frozen=True)
class Reset:
    """The wire is measured, its outcome forgotten, and |0⟩ left on it."""

    wire: int


@dataclass(frozen=True)
class Condition:
    """Holds when the ``bits``, read as a binary number with the first one most significant, are among ``values``."""

    bits: tuple[int, ...]
    values: frozenset[int]

    def holds(self, bits: Int[np.ndarray, "branches bits"]) -> Bool[np.ndarray, " branches"]:
        """For which rows of bits the condition holds."""
        weights = 1 << np.arange(len(self.bits))[::-1]
        return np.isin(bits[:, list(self.bits)] @ weights, list(self.values))

    def negated(self) -> Condition:
        """The condition that holds when this one does not."""
        return Condition(self.bits, frozenset(range(2 ** len(self.bits))) - self.values)

    def both(self, other: Condition) -> Condition:
        """The condition that holds when this one and the other do. Raises ``ValueError`` for too many bits."""
        bits = tuple(dict.fromkeys((*self.bits, *other.bits)))
        if len(bits) > MOST_CONDITION_BITS:
            raise ValueError(f"a condition reads at most {MOST_CONDITION_BITS} bits, got {len(bits)}")
        rows = np.array(list(product((0, 1), repeat=len(bits))))

        def truth(one: Condition) -> np.ndarray:
            return Condition(tuple(bits.index(b) for b in one.bits), one.values).holds(rows)

        return Condition(bits, frozenset(np.flatnonzero(truth(self) & truth(other)).tolist()))


@dataclass(frozen=True, eq=False)
class If:
    """The steps of ``then`` when the condition holds, else those of ``otherwise``; it is read once, before them."""

    condition: Condition
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False)
class Repeat:
    """The ``body`` again and again until the condition holds after it, at ``most`` so many times."""

    until: Condition
    most: int
    body: tuple[Step, ...]


Step = Operation | Measure | Reset | If | Repeat


@dataclass(frozen=True, eq=False)
class DynamicCircuit:
    """Steps on ``qubits`` wires, from |0…0⟩ or ``initial``; ``bits`` and ``names`` name classical bits and parameters.

    Raises ``ValueError`` for what ``Circuit`` refuses, noise channels, bits that a condition reads before any
    measurement has written them, and post-selection of other values than 0 and 1.
    """

    qubits: int
    steps: tuple[Step, ...]
    bits: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    initial: np.ndarray | None = None
    _written: set[int] = field(init=False, default_factory=set, repr=False)

    def __post_init__(self) -> None:
        Circuit(self.qubits, tuple(self.operations()), names=self.names)
        if self.initial is not None:
            check_state(self.initial, self.qubits)
        self.check(self.steps)

    def check(self, steps: Sequence[Step]) -> None:
        """Raise ``ValueError`` for a step that does not fit; remembers which bits have been written."""
        for step in steps:
            if isinstance(step, Operation):
                if step.name in CHANNELS:
                    raise ValueError(f"{step.name}: noise channels and measurements in between do not go together")
            elif isinstance(step, Measure | Reset):
                self.check_wire(step)
            elif isinstance(step, If):
                self.check_bits(step.condition)
                self.check(step.then)
                self.check(step.otherwise)
            else:
                if not 1 <= step.most <= MOST_ROUNDS:
                    raise ValueError(f"a repetition has 1 to {MOST_ROUNDS} rounds, got {step.most}")
                self.check(step.body)
                self.check_bits(step.until)

    def check_wire(self, step: Measure | Reset) -> None:
        """Raise ``ValueError`` for a wire, a bit or a post-selected value that there is not."""
        if not 0 <= step.wire < self.qubits:
            what = "measured" if isinstance(step, Measure) else "reset"
            raise ValueError(f"wire {step.wire} is {what}, and the {self.qubits} qubits are 0 to {self.qubits - 1}")
        if isinstance(step, Measure):
            if not 0 <= step.bit < len(self.bits):
                raise ValueError(f"there is no classical bit {step.bit}, they are 0 to {len(self.bits) - 1}")
            if step.keep not in (None, 0, 1):
                raise ValueError(f"a post-selected outcome is 0 or 1, got {step.keep!r}")
            self._written.add(step.bit)

    def check_bits(self, condition: Condition) -> None:
        """Raise ``ValueError`` for bits that nothing has been measured into yet."""
        for bit in condition.bits:
            if not 0 <= bit < len(self.bits):
                raise ValueError(f"there is no classical bit {bit}, they are 0 to {len(self.bits) - 1}")
            if bit not in self._written:
                raise ValueError(f"a condition reads the bit {self.bits[bit]!r} before a wire is measured into it")

    def operations(self) -> Iterator[Operation]:
        """All gates, in the order of the text, those under conditions too."""
        yield from (step for step in walk(self.steps) if isinstance(step, Operation))

    @property
    def n_parameters(self) -> int:
        """How many trainable parameters there are."""
        return Circuit(self.qubits, tuple(self.operations()), names=self.names).n_parameters

    @property
    def n_inputs(self) -> int:
        """How many numbers of data the circuit reads."""
        return Circuit(self.qubits, tuple(self.operations())).n_inputs

    @property
    def postselected(self) -> bool:
        """Whether some runs are discarded."""
        return any(isinstance(step, Measure) and step.keep is not None for step in walk(self.steps))

    def filled(self, source: str, values: Shaped[np.ndarray, " values"]) -> DynamicCircuit:
        """The circuit with the slots of one source, ``"parameters"`` or ``"inputs"``, replaced by numbers."""
        expect_shape(source, np.shape(values), (self.n_parameters if source == "parameters" else self.n_inputs,))

        def number(angle: float | ParameterRef) -> float | ParameterRef:
            if not isinstance(angle, ParameterRef) or angle.source != source:
                return angle
            return float(angle.scale * values[angle.index] + angle.shift)

        def one(op: Operation) -> list[Operation]:
            return [replace(op, angles=tuple(map(number, op.angles)))]

        names = () if source == "parameters" else self.names
        return DynamicCircuit(self.qubits, replaced(self.steps, one), self.bits, names, self.initial)

    def resources(self) -> dict[str, Any]:
        """Counts: qubits, bits, parameters, gates, measurements, resets, and the depth of the whole text, a condition
        being as long as its two blocks together and a repetition as its body."""
        steps = list(walk(self.steps))
        acting = [step for step in steps if isinstance(step, Operation | Measure | Reset)]
        wires = [step.wires if isinstance(step, Operation) else (step.wire,) for step in acting]
        gates = [step for step in acting if isinstance(step, Operation)]
        return {
            "qubits": self.qubits,
            "bits": len(self.bits),
            "parameters": self.n_parameters,
            "gates": len(gates),
            "depth": depth([Operation("", w) for w in wires], self.qubits),
            "two_qubit": sum(len(op.wires) > 1 for op in gates),
            "measurements": sum(isinstance(step, Measure) for step in steps),
            "resets": sum(isinstance(step, Reset) for step in steps),
        }


def replaced(steps: Sequence[Step], gates: Callable[[Operation], Sequence[Operation]]) -> tuple[Step, ...]:
    """The steps with every gate replaced by others, inside blocks too."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Operation):
            found += gates(step)
        elif isinstance(step, If):
            found.append(If(step.condition, replaced(step.then, gates), replaced(step.otherwise, gates)))
        elif isinstance(step, Repeat):
            found.append(Repeat(step.until, step.most, replaced(step.body, gates)))
        else:
            found.append(step)
    return tuple(found)


def walk(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those inside blocks after the block they are in."""
    for step in steps:
        yield step
        if isinstance(step, If):
            yield from walk(step.then)
            yield from walk(step.otherwise)
        elif isinstance(step, Repeat):
            yield from walk(step.body)
