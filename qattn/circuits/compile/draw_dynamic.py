"""Dynamic circuits as PennyLane tapes for its drawings: conditions hang from their measurements by double lines.

A repetition is drawn as one round between two boxes that say how often and until what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from qattn.circuits.ir.circuit import Operation
from qattn.circuits.ir.dynamic import Condition, If, Measure, Repeat, Reset, Step


class Queue:
    """Steps put into PennyLane's queue, and the measurements that the bits hold so far."""

    def __init__(self, qubits: int, names: Sequence[str], converted: Callable[[Operation], Any]) -> None:
        self.qubits, self.names, self.converted = qubits, names, converted
        self.values: dict[int, Any] = {}

    def put(self, steps: Sequence[Step], under: Any = None) -> None:
        """Steps in their order, gates ``under`` a condition where there is one.

        Raises ``ValueError`` for measurements and resets inside a condition, of which PennyLane has no drawing.
        """
        import pennylane as qml

        for step in steps:
            if isinstance(step, Operation):
                qml.cond(under, self.converted)(step) if under is not None else self.converted(step)
            elif isinstance(step, If):
                self.put(step.then, self.both(under, self.value(step.condition)))
                self.put(step.otherwise, self.both(under, self.value(step.condition.negated())))
            elif under is not None:
                raise ValueError("a measurement or a reset inside a condition cannot be drawn")
            elif isinstance(step, Measure):
                self.values[step.bit] = qml.measure(step.wire, postselect=step.keep)
            elif isinstance(step, Reset):
                qml.measure(step.wire, reset=True)
            else:
                self.repeat(step)

    def repeat(self, step: Repeat) -> None:
        """One round between boxes."""
        wires = tuple(range(self.qubits))
        labelled(f"{step.most}×", wires)
        self.put(step.body)
        until = ", ".join(self.names[b] for b in step.until.bits)
        rows = " or ".join(sorted(format(v, f"0{len(step.until.bits)}b") for v in step.until.values))
        labelled(f"until {until} = {rows}", wires)

    def value(self, condition: Condition) -> Any:
        """The condition as an expression of measurements."""
        number = sum(self.values[b] * 2**k for k, b in enumerate(reversed(condition.bits)))
        return reduce(or_, [number == v for v in sorted(condition.values)])

    def both(self, first: Any, second: Any) -> Any:
        """Two conditions at once."""
        return second if first is None else first & second


def labelled(text: str, wires: tuple[int, ...]) -> Any:
    """A box with a text, for what PennyLane has no picture of."""
    import pennylane as qml

    class Box(qml.operation.Operation):
        def label(self, decimals: int | None = None, base_label: str | None = None, cache: dict | None = None) -> str:
            return text

    return Box(wires=list(wires))
