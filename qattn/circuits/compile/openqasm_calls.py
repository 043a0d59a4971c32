"""Calls of gates in OpenQASM: modifiers, angles, operands, broadcasting, and gates that are defined by others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from qattn.circuits.compile.gate_modifiers import controlled, inverse, power
from qattn.circuits.compile.openqasm_library import CONTROLS, DEFINED, GATE_NAMES, INCLUDES
from qattn.circuits.ir.circuit import Angle, Operation, ParameterRef
from qattn.circuits.ir.expressions import Affine, Reader, Token, expression, finite, tokens
from qattn.circuits.ir.gates import GATES

MOST_CALLS = 1_000_000  # of gates and loop bodies: no short text shall run for hours
MODIFIERS = ("ctrl", "negctrl", "inv", "pow")
BUILT_IN = {"U": (3, 1), "CX": (0, 2), "gphase": (1, 0)}  # angles and qubits of the gates without a library


class LineError(ValueError):
    """What is wrong, with the line it is on."""


@dataclass(frozen=True)
class Definition:
    """A ``gate``: its parameters, its qubits, the tokens of its body, and the gates known before it."""

    parameters: tuple[str, ...]
    qubits: tuple[str, ...]
    body: tuple[Token, ...]
    gates: dict[str, Definition]


@dataclass(eq=False)
class Scope:
    """What names mean inside a gate or a loop."""

    values: dict[str, Affine] = field(default_factory=dict)
    wires: dict[str, list[int]] = field(default_factory=dict)
    gates: dict[str, Definition] = field(default_factory=dict)


@cache
def library() -> dict[str, Definition]:
    """The library gates that are defined by others."""
    reader = Calls(tokens(DEFINED))
    while reader.reader.next.kind != "end":
        reader.define()
    return reader.scope.gates


class Calls:
    """A text whose gates are being read: names and their meanings, and the words that come next.

    ``closed`` are the wires already measured, ``touched`` those that a gate has acted on, and ``dynamic`` says that
    something depends on a measurement or comes after it on its wire. Every method raises
    ``ValueError`` for what it cannot read; ``on_line`` adds the line.
    """

    def __init__(self, words: list[Token]) -> None:
        self.reader, self.scope, self.included, self.calls = Reader(words), Scope(), False, 0
        self.parameters: list[str] = []
        self.closed: set[int] = set()
        self.touched: set[int] = set()
        self.dynamic = False

    @contextmanager
    def on_line(self) -> Iterator[None]:
        """Name the line of the next token in what goes wrong."""
        line = self.reader.next.line
        try:
            yield
        except LineError:
            raise
        except ValueError as error:
            raise LineError(f"OpenQASM, line {line}: {error}") from None

    def define(self) -> None:
        """``gate name(a, b) q, r { … }``: the body is read whenever the gate is called.

        Raises ``ValueError`` for a gate without qubits, for equal names, and for a body without end.
        """
        self.reader.take("gate")
        name = self.reader.take("name").text
        parameters = self.names("(", ")") if self.reader.next.text == "(" else ()
        qubits = self.names("", "{")
        if not qubits or len(set(parameters + qubits)) < len(parameters + qubits):
            raise ValueError(f"gate {name} needs qubits, and every name of it once")
        start, depth = self.reader.at, 1
        while depth:
            token = self.reader.take()
            if token.kind == "end":
                raise ValueError(f"the body of gate {name} is not closed")
            depth += {"{": 1, "}": -1}.get(token.text, 0)
        body = (*self.reader.words[start : self.reader.at - 1], Token("end", "the end of the gate", token.line))
        self.scope.gates[name] = Definition(parameters, qubits, body, dict(self.scope.gates))

    def names(self, first: str, last: str) -> tuple[str, ...]:
        """Names with commas between them."""
        if first:
            self.reader.take(first)
        found = []
        while self.reader.next.text != last:
            found.append(self.reader.take("name").text)
            if not self.reader.skip(","):
                break
        self.reader.take(last)
        return tuple(found)

    def call(self) -> list[Operation]:
        """A gate with its modifiers, angles and operands, on every element of its registers.

        Raises ``ValueError`` for registers of unequal lengths, and for qubits named twice or measured before.
        """
        modifiers: list[tuple[str, float]] = []
        while self.reader.next.text in MODIFIERS:
            kind = self.reader.take().text
            amount = 1.0
            if self.reader.skip("("):
                amount = self.expression().number(f"the argument of {kind}")
                self.reader.take(")")
            self.reader.take("@")
            modifiers.append((kind, amount))
        name = self.reader.take("name").text
        angles: list[Affine] = []
        if self.reader.skip("("):
            while self.reader.next.text != ")":
                angles.append(self.expression())
                if not self.reader.skip(","):
                    break
            self.reader.take(")")
        if name == "gphase" and self.reader.next.text == ";":
            operands: list[list[int]] = []
        else:
            operands = [self.operand()]
            while self.reader.skip(","):
                operands.append(self.operand())
        self.reader.take(";")
        lengths = {len(o) for o in operands if len(o) > 1}
        if len(lengths) > 1:
            raise ValueError(f"{name}: registers of unequal lengths {sorted(lengths)}")
        found: list[Operation] = []
        for k in range(lengths.pop() if lengths else 1):
            wires = tuple(o[k] if len(o) > 1 else o[0] for o in operands)
            if len(set(wires)) < len(wires):
                raise ValueError(f"{name}: a qubit is named twice")
            self.dynamic |= bool(self.closed & set(wires))
            found += self.modified(modifiers, name, angles, wires)
            self.touched |= set(wires)
        return found

    def modified(
        self, modifiers: list[tuple[str, float]], name: str, angles: list[Affine], wires: tuple[int, ...]
    ) -> list[Operation]:
        """A gate under modifiers, the first one outermost; controls come first among the wires.

        Raises ``ValueError`` for a number of controls that does not fit.
        """
        if not modifiers:
            return self.gate(name, angles, wires)
        (kind, amount), *rest = modifiers
        if kind == "inv":
            return inverse(self.modified(rest, name, angles, wires))
        if kind == "pow":
            return power(self.modified(rest, name, angles, wires), amount)
        count = int(amount)
        if count != amount or not 1 <= count <= len(wires):
            raise ValueError(f"{kind}({amount:g}) @ {name}: expected a number of controls and as many qubits more")
        found = self.modified(rest, name, angles, wires[count:])
        for control in reversed(wires[:count]):
            found = controlled(found, control, int(kind == "ctrl"))
        return found

    def gate(self, name: str, angles: list[Affine], wires: tuple[int, ...]) -> list[Operation]:
        """The operations of a gate by name: the language's own, a defined one, or one of the library.

        Raises ``ValueError`` for unknown gates, for those of a library that is not included, and for too many.
        """
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise ValueError(f"more than {MOST_CALLS} gates")
        definition = self.scope.gates.get(name)
        if definition is None and name in BUILT_IN:
            self.expect(name, angles, wires, *BUILT_IN[name])
            return [Operation("CNOT" if name == "CX" else name, wires, tuple(map(self.angle, angles)))]
        if definition is not None:
            return self.expanded(definition, angles, wires, name)
        if name not in GATE_NAMES and name not in library():
            raise ValueError(f"unknown gate {name!r}")
        if not self.included:
            raise ValueError(f"gate {name!r} belongs to a library: include one of {' and '.join(INCLUDES)} first")
        if name not in GATE_NAMES:
            return self.expanded(library()[name], angles, wires, name)
        ours = GATE_NAMES[name]
        size = (0, 1 + CONTROLS[name]) if name in CONTROLS else (GATES[ours].angles, GATES[ours].wires)
        self.expect(name, angles, wires, *size)
        return [Operation(ours, wires, tuple(map(self.angle, angles)))]

    def expanded(
        self, definition: Definition, angles: list[Affine], wires: tuple[int, ...], name: str
    ) -> list[Operation]:
        """The body of a defined gate for given angles and wires."""
        self.expect(name, angles, wires, len(definition.parameters), len(definition.qubits))
        inner = Calls(list(definition.body))
        inner.included, inner.calls, inner.parameters = self.included, self.calls, self.parameters
        inner.scope = Scope(
            self.scope.values | dict(zip(definition.parameters, angles, strict=True)),
            {q: [w] for q, w in zip(definition.qubits, wires, strict=True)},
            definition.gates,
        )
        found: list[Operation] = []
        while inner.reader.next.kind != "end":
            with inner.on_line():
                if inner.reader.next.text == "barrier":
                    inner.barrier()
                else:
                    found += inner.call()
        self.calls = inner.calls
        return found

    def expect(self, name: str, angles: list[Affine], wires: tuple[int, ...], parameters: int, qubits: int) -> None:
        """Raise ``ValueError`` unless a gate got so many angles and qubits."""
        if (len(angles), len(wires)) != (parameters, qubits):
            raise ValueError(
                f"{name} takes {parameters} angles and {qubits} qubits, got {len(angles)} and {len(wires)}"
            )

    def angle(self, value: Affine) -> Angle:
        """An angle of an operation: a number, or a parameter scaled and shifted."""
        shift, scale = finite(value.shift), finite(value.scale)
        if value.name is None:
            return shift
        return ParameterRef(self.parameters.index(value.name), "parameters", scale, shift)

    def barrier(self) -> None:
        """``barrier q;`` means nothing to a simulator."""
        self.reader.take("barrier")
        if self.reader.next.text != ";":
            self.operand()
            while self.reader.skip(","):
                self.operand()
        self.reader.take(";")

    def operand(self) -> list[int]:
        """Wires of a register, or of places in it."""
        return self.targets(self.scope.wires, "qubit register")

    def targets(self, registers: dict[str, list[int]], what: str) -> list[int]:
        """Places of a register, all of them or those in brackets.

        Raises ``ValueError`` for unknown registers and for places out of range.
        """
        name = self.reader.take("name").text
        if name not in registers:
            raise ValueError(f"there is no {what} {name!r}")
        places = registers[name]
        if self.reader.next.text != "[":
            return places
        found = []
        for index in self.indices(len(places)):
            if not -len(places) <= index < len(places):
                raise ValueError(f"{name}[{index}] is out of range, it has places 0 to {len(places) - 1}")
            found.append(places[index])
        return found

    def indices(self, size: int | None) -> list[int]:
        """``[2]``, ``[0:3]``, ``[0:2:6]``, ``[{0, 2}]``, or ``{0, 2}``; ranges include their ends.

        Raises ``ValueError`` for what is no range, and for one that is endless or too long.
        """
        brackets = self.reader.skip("[")
        if self.reader.skip("{"):
            found = [self.integer()]
            while self.reader.skip(","):
                found.append(self.integer())
            self.reader.take("}")
        else:
            numbers = [self.integer()]
            while self.reader.skip(":"):
                numbers.append(self.integer())
            if len(numbers) > 3 or (size is None and len(numbers) == 1):
                raise ValueError("expected a range such as [0:3]")
            first, last = numbers[0], numbers[-1]
            step = numbers[1] if len(numbers) == 3 else 1
            if step == 0:
                raise ValueError("a range needs a step that is not 0")
            if abs(last - first) // abs(step) > MOST_CALLS:
                raise ValueError(f"a range of more than {MOST_CALLS} values")
            found = list(range(first, last + (1 if step > 0 else -1), step)) if len(numbers) > 1 else [first]
        if brackets:
            self.reader.take("]")
        return found

    def integer(self) -> int:
        """A whole number. Raises ``ValueError`` for other numbers."""
        value = self.expression().number("an index")
        if value != int(value):
            raise ValueError(f"expected a whole number, got {value:g}")
        return int(value)

    def expression(self) -> Affine:
        """Arithmetic of numbers, constants, loop variables and at most one parameter.

        Raises ``ValueError`` for names that are not declared.
        """

        def lookup(name: str) -> Affine:
            if name not in self.scope.values:
                raise ValueError(f"{name!r} is not declared")
            return self.scope.values[name]

        return expression(self.reader, lookup)
