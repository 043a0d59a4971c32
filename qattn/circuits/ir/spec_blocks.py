"""Blocks among the ``gates`` of a circuit's plain-data form: loops, inverses, controls, and what depends on outcomes.

- {repeat: 3, gates: [...]}                        the same gates three times
- {for: k, in: [0, 1, 2], gates: [[RX, k, "theta[k]"], [CNOT, k, k+1]]}      ``in: 3`` counts from 0 to 2
- {adjoint: [...]}                                 the inverse
- {control: [0, 1], values: [1, 0], gates: [...]}  under controls; without ``values`` all act for 1
- {measure: 0, bit: m}                             Z of wire 0 into the classical bit m; postselect: 1 keeps that
- {reset: [0, 1]}                                  back to |0⟩
- {if: {m: 1, n: 0}, gates: [...], else: [...]}    when both bits are so (a list: one case)
- {repeat: 20, until: {m: 0}, gates: [...]}        at most 20 rounds, until it holds after one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qattn.circuits.compile.gate_modifiers import controlled, inverse
from qattn.circuits.ir.circuit import Operation, check
from qattn.circuits.ir.dynamic import MOST_CONDITION_BITS, MOST_ROUNDS, Condition, If, Measure, Repeat, Reset, Step
from qattn.circuits.ir.expressions import RESERVED, substituted
from qattn.circuits.ir.spec_gates import read_gate
from qattn.circuits.ir.spec_values import Place, SpecError, at, known, listed, text, whole

MOST_STEPS = 1_000_000  # no short file shall run for hours


@dataclass(eq=False)
class Named:
    """What the gates read so far have named: parameters, classical bits; and how many steps they are."""

    qubits: int
    parameters: list[str]
    bits: list[str] = field(default_factory=list)
    steps: int = 0


def read_block(entries: Any, where: Place, named: Named) -> list[Step]:
    """A list of gates and blocks. Raises :class:`SpecError` with the place of what is none or does not fit."""
    if not isinstance(entries, list | tuple):
        raise SpecError(where, f"expected a list such as [[Hadamard, 0], [CNOT, 0, 1]], got {entries!r}")
    return [step for k, entry in enumerate(entries) for step in read_entry(entry, (*where, k), named)]


def read_entry(entry: Any, where: Place, named: Named) -> list[Step]:
    """One entry: a gate, or a block. Raises :class:`SpecError` as :func:`read_block` does."""
    readers: dict[str, Callable[[Mapping[str, Any], Place, Named], list[Step]]] = {
        "repeat": repeated,
        "for": looped,
        "adjoint": adjoint,
        "control": under_control,
        "measure": measured,
        "reset": reset,
        "if": decided,
    }
    named.steps += 1
    if named.steps > MOST_STEPS:
        raise SpecError(where, f"more than {MOST_STEPS} gates")
    if isinstance(entry, Mapping) and "gate" not in entry:
        for key, reader in readers.items():
            if key in entry:
                return reader(entry, where, named)
    op = read_gate(entry, where, named.parameters)
    try:
        check(op, named.qubits)
    except ValueError as error:
        raise SpecError(where, f"{op.name} on wires {list(op.wires)}: {error}") from error
    return [op]


def repeated(entry: Mapping[str, Any], where: Place, named: Named) -> list[Step]:
    """``repeat`` with a number of times, or with ``until`` at most so many. Raises :class:`SpecError` for others."""
    known(entry, ("repeat", "until", "gates"), where)
    count = whole(entry["repeat"], (*where, "repeat"), least=1, most=MOST_ROUNDS if "until" in entry else MOST_STEPS)
    body = read_block(entry.get("gates"), (*where, "gates"), named)
    if "until" in entry:
        return [Repeat(read_condition(entry["until"], (*where, "until"), named), count, tuple(body))]
    named.steps += (count - 1) * len(body)
    if named.steps > MOST_STEPS:
        raise SpecError(where, f"more than {MOST_STEPS} gates")
    return body * count


def looped(entry: Mapping[str, Any], where: Place, named: Named) -> list[Step]:
    """``for`` a variable ``in`` whole numbers; it may stand in wires, angles and bits.

    Raises :class:`SpecError` for a variable that is no name, and values that are no whole numbers.
    """
    known(entry, ("for", "in", "gates"), where)
    variable = text(entry["for"], (*where, "for"))
    if not variable.isidentifier() or variable.lower() in RESERVED:
        raise SpecError((*where, "for"), f"expected the name of a variable such as k, got {variable!r}")
    given = entry.get("in")
    if isinstance(given, int):
        given = list(range(whole(given, (*where, "in"), most=MOST_STEPS)))
    values = [whole(v, (*where, "in", k), least=-MOST_STEPS) for k, v in enumerate(listed(given, (*where, "in")))]
    body = listed(entry.get("gates"), (*where, "gates"))
    found: list[Step] = []
    for value in values:
        with at(*where):
            filled = substituted(body, {variable: value})
        found += read_block(filled, (*where, "gates"), named)
    return found


def adjoint(entry: Mapping[str, Any], where: Place, named: Named) -> list[Step]:
    """The inverse gates in reverse order."""
    known(entry, ("adjoint",), where)
    found = gates_alone(read_block(entry["adjoint"], (*where, "adjoint"), named), where, "an inverse")
    with at(*where):
        return [*inverse(found)]


def under_control(entry: Mapping[str, Any], where: Place, named: Named) -> list[Step]:
    """Gates that act where the control wires have given values (default: all 1).

    Raises :class:`SpecError` for unequal numbers of controls and values, and for gates without a controlled form.
    """
    known(entry, ("control", "values", "gates"), where)
    controls = several(entry["control"], (*where, "control"))
    values = several(entry.get("values", [1] * len(controls)), (*where, "values"), most=1)
    if len(values) != len(controls):
        raise SpecError((*where, "values"), f"expected one value per control, {len(controls)}, got {len(values)}")
    found = gates_alone(read_block(entry.get("gates"), (*where, "gates"), named), where, "a control")
    with at(*where):
        for wire, value in zip(reversed(controls), reversed(values), strict=True):
            found = controlled(found, wire, value)
        for op in found:
            check(op, named.qubits)
    return [*found]


def gates_alone(steps: Sequence[Step], where: Place, what: str) -> list[Operation]:
    """The steps, all of which must be gates. Raises :class:`SpecError` for others."""
    found = [step for step in steps if isinstance(step, Operation)]
    if len(found) < len(steps):
        raise SpecError(where, f"{what} is one of gates: measurements, resets and conditions have none")
    return found


def several(value: Any, where: Place, most: int = 2**63 - 1) -> list[int]:
    """One whole number or a list of them."""
    if not isinstance(value, list | tuple):
        return [whole(value, where, most=most)]
    return [whole(v, (*where, k), most=most) for k, v in enumerate(value)]


# ── what depends on outcomes


def measured(entry: Mapping[str, Any], where: Place, named: Named) -> list[Step]:
    """``measure`` of wires into bits. Raises :class:`SpecError` for unequal numbers of them."""
    known(entry, ("measure", "bit", "postselect"), where)
    wires = several(entry["measure"], (*where, "measure"), most=named.qubits - 1)
    given = entry.get("bit")
    names = [given] if isinstance(given, str) else listed(given, (*where, "bit"))
    if len(names) != len(wires):
        raise SpecError((*where, "bit"), f"expected a name per measured wire, {len(wires)}, got {len(names)}")
    keep = None
    if entry.get("postselect") is not None:
        keep = whole(entry["postselect"], (*where, "postselect"), most=1)
    found: list[Step] = []
    for wire, name in zip(wires, names, strict=True):
        if text(name, (*where, "bit")) not in named.bits:
            named.bits.append(name)
        found.append(Measure(wire, named.bits.index(name), keep))
    return found


def reset(entry: Mapping[str, Any], where: Place, named: Named) -> list[Step]:
    """``reset`` of wires."""
    known(entry, ("reset",), where)
    return [Reset(wire) for wire in several(entry["reset"], (*where, "reset"), most=named.qubits - 1)]


def decided(entry: Mapping[str, Any], where: Place, named: Named) -> list[Step]:
    """``if`` with its ``gates`` and perhaps ``else``."""
    known(entry, ("if", "gates", "else"), where)
    condition = read_condition(entry["if"], (*where, "if"), named)
    then = read_block(entry.get("gates"), (*where, "gates"), named)
    otherwise = read_block(entry.get("else") or [], (*where, "else"), named)
    return [If(condition, tuple(then), tuple(otherwise))]


def read_condition(data: Any, where: Place, named: Named) -> Condition:
    """``{m: 1, n: 0}``: bits and the values that all of them must have; in a list of such one of them must hold.

    Raises :class:`SpecError` for bits that nothing was measured into before.
    """
    if isinstance(data, list | tuple):
        found = None
        for k, case in enumerate(data):
            one = read_condition(case, (*where, k), named)
            with at(*where):
                found = one if found is None else found.negated().both(one.negated()).negated()
        if found is None:
            raise SpecError(where, "expected at least one case")
        return found
    if not isinstance(data, Mapping) or not data:
        raise SpecError(where, f"expected bits with their values such as {{m: 1}}, got {data!r}")
    if len(data) > MOST_CONDITION_BITS:
        raise SpecError(where, f"a condition reads at most {MOST_CONDITION_BITS} bits, got {len(data)}")
    for name in data:
        if name not in named.bits:
            raise SpecError((*where, str(name)), f"the bit {name!r} is read before a wire is measured into it")
    values = [whole(value, (*where, str(name)), most=1) for name, value in data.items()]
    number = int("".join(map(str, values)), 2)
    return Condition(tuple(named.bits.index(name) for name in data), frozenset({number}))
