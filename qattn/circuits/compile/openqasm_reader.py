"""OpenQASM 2 and 3 read into circuits, statement by statement; what is not read is refused with its line.

Read are registers, gates of the standard libraries, ``gate`` definitions, modifiers (``ctrl``, ``negctrl``, ``inv``,
``pow``), broadcasting, ``const``, ``input`` (a parameter of the circuit), ``for`` over numbers, barriers, measurements,
resets, ``if`` on measured bits, and ``if (…) break;`` at the end of a loop (Cross et al., arXiv:1707.03429 and
arXiv:2104.14722). Refused are other classical computation, subroutines, timing, and whatever else the grammar does not
know. Registers follow each other in the order of their declaration: qubit 0 of the first is wire 0, the most
significant bit. Global phases are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from qattn.circuits.compile.openqasm_calls import MOST_CALLS, Calls, LineError
from qattn.circuits.compile.openqasm_conditions import read_condition
from qattn.circuits.compile.openqasm_library import INCLUDES
from qattn.circuits.ir.circuit import Circuit, Operation
from qattn.circuits.ir.dynamic import DynamicCircuit, If, Measure, Repeat, Reset, Step, replaced, walk
from qattn.circuits.ir.expressions import CONSTANTS, Affine, Token, tokens

MOST_QUBITS = 10_000
CLASSICAL = frozenset(("int", "uint", "float", "angle"))
REFUSED = {
    "while": "loops without an end known beforehand", "switch": "switches", "def": "subroutines",
    "return": "subroutines", "extern": "subroutines", "defcal": "calibrations", "cal": "calibrations",
    "defcalgrammar": "calibrations", "delay": "timing", "box": "timing", "stretch": "timing", "duration": "timing",
    "let": "aliases", "opaque": "gates without a definition", "array": "arrays", "pragma": "pragmas",
    "output": "outputs", "end": "`end`", "continue": "`continue`",
    **dict.fromkeys(("int", "uint", "float", "angle", "bool", "complex"), "variables that change (write const)"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ReadText:
    """A circuit, and the wires measured at its end in the order of the classical bits (empty: none was).

    Where something follows a measurement the circuit is dynamic, and all measurements are among its steps.
    """

    circuit: Circuit | DynamicCircuit
    measured: tuple[int, ...]


def from_openqasm(text: str) -> Circuit:
    """The circuit of an OpenQASM 2 or 3 text with measurements at its end alone.

    Raises ``ValueError`` naming the line of what is wrong or not read, and for other measurements.
    """
    found = read_openqasm(text).circuit
    if isinstance(found, DynamicCircuit):
        raise ValueError("OpenQASM: the circuit measures, resets or decides on its way: use read_openqasm")
    return found


def read_openqasm(text: str) -> ReadText:
    """The circuit of an OpenQASM text and what is measured. Raises ``ValueError`` as ``from_openqasm`` does."""
    try:
        program = Program(tokens(text))
        program.read()
    except LineError:
        raise
    except ValueError as error:
        raise ValueError(f"OpenQASM: {error}") from None
    steps, names = replaced(program.done, ours), tuple(program.parameters)
    if any(isinstance(step, Break) for step in walk(steps)):
        raise ValueError("OpenQASM: `break` is read in `if (…) break;` at the end of a loop alone")
    if program.size == 0:
        raise ValueError("OpenQASM: there is no qubit: expected a register such as `qubit[3] q;` or `qreg q[3];`")
    if program.dynamic:
        return ReadText(DynamicCircuit(program.size, steps, program.bit_names(), names), ())
    circuit = Circuit(program.size, tuple(step for step in steps if isinstance(step, Operation)), names=names)
    return ReadText(circuit, tuple(wire for _, wire in sorted(program.measured.items())))


def ours(op: Operation) -> list[Operation]:
    """The language's own rotation as U3; global phases are dropped."""
    if op.name == "gphase":
        return []
    return [Operation("U3", op.wires, op.angles) if op.name == "U" else op]


class Break(Reset):
    """``break;`` as a step, until its loop is read."""


class Program(Calls):
    """A whole text being read: ``done`` are the operations so far."""

    def __init__(self, words: list[Token]) -> None:
        super().__init__(words)
        self.size = 0
        self.bits: dict[str, list[int]] = {}
        self.done: list[Step] = []
        self.unnamed = 0  # bits of measurements whose results are not kept
        self.measured: dict[int, int] = {}  # classical bit: wire

    def read(self) -> None:
        """Everything to the end. Raises ``ValueError`` for other versions of the language."""
        with self.on_line():
            if self.reader.skip("OPENQASM"):
                number = self.reader.take("number").text
                if number.split(".")[0] not in ("2", "3"):
                    raise ValueError(f"expected OPENQASM 2.0 or 3.0, got {number}")
                self.reader.take(";")
        while self.reader.next.kind != "end":
            self.done += self.statement()

    def bit_names(self) -> tuple[str, ...]:
        """The classical bits in their order: c[0], c[1], …"""
        return tuple(f"{name}[{k}]" if len(at) > 1 else name for name, at in self.bits.items() for k in range(len(at)))

    def statement(self) -> list[Step]:
        """One statement; the steps it means. Raises ``ValueError`` for parts of the language that are not read."""
        with self.on_line():
            word = self.reader.next.text
            if word in REFUSED:
                raise ValueError(f"{REFUSED[word]} are not read")
            handlers = {
                "include": self.include, "qubit": self.qubits, "qreg": self.qubits, "bit": self.classical_bits,
                "creg": self.classical_bits, "gate": self.define, "const": self.constant, "input": self.parameter,
                "barrier": self.barrier, "measure": self.measure, "reset": self.reset, "for": self.loop,
                "if": self.decide, "break": self.leave,
            }  # fmt: skip
            if word in handlers:
                return handlers[word]() or []
            following = self.reader.words[self.reader.at + 1].text
            if word in self.bits and following in ("=", "["):
                return self.assign(self.targets(self.bits, "classical register"))
            return [*self.call()]

    def include(self) -> None:
        """``include "stdgates.inc";`` Raises ``ValueError`` for other files."""
        self.reader.take()
        name = self.reader.take("text").text.strip('"')
        if name not in INCLUDES:
            raise ValueError(f"{name} is not read: known are {' and '.join(INCLUDES)}")
        self.included = True
        self.reader.take(";")

    def qubits(self) -> None:
        """``qubit[3] q;`` or ``qreg q[3];`` Raises ``ValueError`` for too many of them."""
        name, size = self.register()
        self.reader.take(";")
        if self.size + size > MOST_QUBITS:
            raise ValueError(f"more than {MOST_QUBITS} qubits")
        self.scope.wires[name] = list(range(self.size, self.size + size))
        self.size += size

    def classical_bits(self) -> list[Step]:
        """``bit[3] c;``, ``creg c[3];`` or ``bit c = measure q;``"""
        name, size = self.register()
        start = sum(map(len, self.bits.values()))
        self.bits[name] = list(range(start, start + size))
        if self.reader.next.text == "=":
            return self.assign(self.bits[name])
        self.reader.take(";")
        return []

    def register(self) -> tuple[str, int]:
        """``qreg q[3]``, ``qubit[3] q`` or ``qubit q``: the name and the size."""
        old = self.reader.take().text in ("qreg", "creg")
        size = 1
        if not old and self.reader.next.text == "[":
            size = self.width()
        name = self.new_name()
        if old and self.reader.next.text == "[":
            size = self.width()
        return name, size

    def width(self) -> int:
        """``[3]``: the size of a register or of a number. Raises ``ValueError`` for sizes that no register has."""
        self.reader.take("[")
        size = self.integer()
        self.reader.take("]")
        if not 1 <= size <= MOST_QUBITS:
            raise ValueError(f"a register has 1 to {MOST_QUBITS} places, got {size}")
        return size

    def new_name(self) -> str:
        """A name that means nothing yet. Raises ``ValueError`` for one that is declared already."""
        name = self.reader.take("name").text
        if name in self.scope.wires or name in self.bits or name in self.scope.values or name in CONSTANTS:
            raise ValueError(f"{name!r} is declared already")
        return name

    def constant(self) -> None:
        """``const int n = 3;``"""
        self.reader.take("const")
        self.type_name()
        name = self.new_name()
        self.reader.take("=")
        self.scope.values[name] = Affine(self.expression().number("a constant"))
        self.reader.take(";")

    def parameter(self) -> None:
        """``input float theta;`` is a parameter of the circuit."""
        self.reader.take("input")
        self.type_name()
        name = self.new_name()
        self.reader.take(";")
        self.scope.values[name] = Affine(scale=1.0, name=name)
        self.parameters.append(name)

    def type_name(self) -> None:
        """A classical type; its width says nothing here. Raises ``ValueError`` for other types."""
        kind = self.reader.take("name").text
        if kind not in CLASSICAL:
            raise ValueError(f"expected {', '.join(sorted(CLASSICAL))}, got {kind!r}")
        if self.reader.next.text == "[":
            self.width()

    def measure(self) -> list[Step]:
        """``measure q -> c;`` or, its result unused, ``measure q;``."""
        self.reader.take("measure")
        wires = self.operand()
        if self.reader.skip("->"):
            return self.store(self.targets(self.bits, "classical register"), wires)
        self.closed |= set(wires)
        self.reader.take(";")
        first = sum(map(len, self.bits.values()))
        found: list[Step] = [Measure(wire, first + k) for k, wire in enumerate(wires)]
        self.bits[f"unnamed{self.unnamed}"] = list(range(first, first + len(wires)))
        self.unnamed += 1
        return found

    def assign(self, bits: list[int]) -> list[Step]:
        """``c = measure q;``. Raises ``ValueError`` for other classical computation."""
        self.reader.take("=")
        if not self.reader.skip("measure"):
            raise ValueError("classical computation is not read, only `= measure`")
        return self.store(bits, self.operand())

    def store(self, bits: list[int], wires: list[int]) -> list[Step]:
        """Remember which wire a classical bit holds. Raises ``ValueError`` for unequal numbers of qubits and bits."""
        self.reader.take(";")
        if len(bits) != len(wires):
            raise ValueError(f"{len(wires)} qubits are measured into {len(bits)} bits")
        self.dynamic |= bool(self.closed & set(wires) or set(bits) & set(self.measured))
        self.closed |= set(wires)
        self.measured |= dict(zip(bits, wires, strict=True))
        return [Measure(wire, bit) for wire, bit in zip(wires, bits, strict=True)]

    def reset(self) -> list[Step]:
        """``reset q;``, which means nothing to qubits that nothing has happened to."""
        self.reader.take("reset")
        used = [wire for wire in self.operand() if wire in self.touched | self.closed]
        self.dynamic |= bool(used)
        self.reader.take(";")
        return [Reset(wire) for wire in used]

    def decide(self) -> list[Step]:
        """``if (c == 1) { … } else { … }``; OpenQASM 2 has one statement and no braces."""
        self.reader.take("if")
        self.reader.take("(")
        bits = lambda: self.targets(self.bits, "classical register")  # noqa: E731
        condition = read_condition(self.reader, bits, self.integer, tuple(self.measured))
        self.reader.take(")")
        self.dynamic = True
        then = self.block()
        otherwise = self.block() if self.reader.skip("else") else []
        return [If(condition, tuple(then), tuple(otherwise))]

    def leave(self) -> list[Step]:
        """``break;``"""
        self.reader.take("break")
        self.reader.take(";")
        return [Break(0)]

    def loop(self) -> list[Step]:
        """``for int i in [0:2:6] { … }``: in OpenQASM the last value belongs to the range.

        Raises ``ValueError`` for too many gates, and for a ``break`` that does not end alike rounds.
        """
        self.reader.take("for")
        if self.reader.words[self.reader.at + 1].text != "in":
            self.type_name()
        name = self.reader.take("name").text
        self.reader.take("in")
        self.reader.take("[") if self.reader.next.text == "[" else self.reader.take("{")
        self.reader.at -= 1
        values = self.indices(None)
        start = self.reader.at
        found: list[Step] = []
        outer = self.scope.values.get(name)
        for value in values or [0]:
            self.calls += 1
            if self.calls > MOST_CALLS:
                raise ValueError(f"more than {MOST_CALLS} gates")
            self.reader.at = start
            self.scope.values[name] = Affine(float(value))
            body = self.block()
            if len(values) > 1 and self.dynamic:  # once more, knowing what was measured in the round before
                self.reader.at = start
                body = self.block()
            if body and isinstance(body[-1], If) and [type(s) for s in body[-1].then] == [Break]:
                if any(w.kind == "name" and w.text == name for w in self.reader.words[start : self.reader.at]):
                    raise ValueError(f"a loop with `break` whose rounds differ by {name!r} is not read")
                found += [Repeat(body[-1].condition, len(values), tuple(body[:-1]))] if values else []
                break
            found += body if values else []
        if any(isinstance(step, Break) for step in walk(found)):
            raise ValueError("`break` is read in `if (…) break;` at the end of a loop alone")
        self.scope.values.pop(name)
        if outer is not None:
            self.scope.values[name] = outer
        return found

    def block(self) -> list[Step]:
        """Statements in braces, or one without."""
        if not self.reader.skip("{"):
            return self.statement()
        found: list[Step] = []
        while not self.reader.skip("}"):
            found += self.statement()
        return found
