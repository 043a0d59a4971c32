"""Dynamic circuits as OpenQASM 3: ``c`` holds the bits in their order, ``if`` decides, ``break`` ends a repetition."""

from __future__ import annotations

from collections.abc import Sequence

from qattn.circuits.compile.export import QASM3, call_text, decomposed, preparation
from qattn.circuits.ir.circuit import Operation, ParameterRef
from qattn.circuits.ir.dynamic import Condition, DynamicCircuit, If, Measure, Repeat, Reset, Step, replaced
from qattn.circuits.ir.gates import GATES


def dynamic_openqasm(circuit: DynamicCircuit) -> str:
    """The bound circuit as OpenQASM 3 text, its classical bits being what it tells.

    Raises ``ValueError`` for free angles, and for post-selection, of which OpenQASM knows nothing.
    """
    if circuit.postselected:
        raise ValueError("post-selection has no form in OpenQASM: measure the bit and discard runs afterwards")
    if any(isinstance(a, ParameterRef) for op in circuit.operations() for a in op.angles):
        raise ValueError("a circuit is exported with numbers for all of its parameters and inputs")
    start = [] if circuit.initial is None else preparation(circuit.initial, range(circuit.qubits))
    lines = ["OPENQASM 3.0;", 'include "stdgates.inc";', f"qubit[{circuit.qubits}] q;", f"bit[{len(circuit.bits)}] c;"]
    lines += [f"// c[{k}] is {name}" for k, name in enumerate(circuit.bits) if name != f"c[{k}]"]
    return "\n".join([*lines, *block_lines(replaced((*start, *circuit.steps), lowered_gate), "")]) + "\n"


def lowered_gate(op: Operation) -> Sequence[Operation]:
    """A gate in those of OpenQASM's library, up to a global phase, which stays one under classical conditions."""
    return [op] if op.name in GATES and GATES[op.name].qasm in QASM3 else decomposed(op, QASM3)


def block_lines(steps: Sequence[Step], indent: str) -> list[str]:
    """One statement per line."""
    found: list[str] = []
    for step in steps:
        if isinstance(step, Operation):
            found.append(f"{indent}{call_text(step)}")
        elif isinstance(step, Measure):
            found.append(f"{indent}c[{step.bit}] = measure q[{step.wire}];")
        elif isinstance(step, Reset):
            found.append(f"{indent}reset q[{step.wire}];")
        elif isinstance(step, If):
            found += [f"{indent}if ({condition_text(step.condition)}) {{", *block_lines(step.then, indent + "  ")]
            if step.otherwise:
                found += [f"{indent}}} else {{", *block_lines(step.otherwise, indent + "  ")]
            found.append(f"{indent}}}")
        else:
            found += repeat_lines(step, indent)
    return found


def repeat_lines(step: Repeat, indent: str) -> list[str]:
    """A loop that is left when the condition holds."""
    leave = f"{indent}  if ({condition_text(step.until)}) {{ break; }}"
    return [
        f"{indent}for int round in [1:{step.most}] {{", *block_lines(step.body, indent + "  "), leave, f"{indent}}}"
    ]  # fmt: skip


def condition_text(condition: Condition) -> str:
    """The values that fulfil a condition, bit by bit."""
    size = len(condition.bits)
    rows = [format(value, f"0{size}b") for value in sorted(condition.values)]
    cases = [" && ".join(f"c[{b}] == {v}" for b, v in zip(condition.bits, row, strict=True)) for row in rows]
    return " || ".join(f"({case})" if len(cases) > 1 and size > 1 else case for case in cases) or "false"
