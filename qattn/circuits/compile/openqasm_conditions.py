"""Conditions of OpenQASM on measured bits: ``c == 3``, ``c[0]``, ``!(c[0] == 1 && d != 2)``, as tables of values.

The bit with index 0 is the least significant one of a register's value. A bit that nothing was measured into is 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from qattn.circuits.ir.dynamic import MOST_CONDITION_BITS, Condition
from qattn.circuits.ir.expressions import Reader

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Bits = Callable[[], list[int]]  # reads a register or places in it


def read_condition(reader: Reader, bits: Bits, integer: Callable[[], int], written: Sequence[int]) -> Condition:
    """What stands between the brackets of ``if``. Raises ``ValueError`` for what is no condition on measured bits."""
    found = either(reader, bits, integer, set(written))
    if not found.bits:
        raise ValueError("the condition reads no bit that was measured before")
    return found


def either(reader: Reader, bits: Bits, integer: Callable[[], int], written: set[int]) -> Condition:
    """Conditions with ``||`` between them."""
    found = both(reader, bits, integer, written)
    while reader.skip("||"):
        other = both(reader, bits, integer, written)
        found = found.negated().both(other.negated()).negated()
    return found


def both(reader: Reader, bits: Bits, integer: Callable[[], int], written: set[int]) -> Condition:
    """Conditions with ``&&`` between them."""
    found = single(reader, bits, integer, written)
    while reader.skip("&&"):
        found = found.both(single(reader, bits, integer, written))
    return found


def single(reader: Reader, bits: Bits, integer: Callable[[], int], written: set[int]) -> Condition:
    """A comparison of bits with a number, bits alone, a negation, or brackets.

    Raises ``ValueError`` for more bits than a table can hold.
    """
    if reader.skip("!"):
        return single(reader, bits, integer, written).negated()
    if reader.skip("("):
        found = either(reader, bits, integer, written)
        reader.take(")")
        return found
    places = bits()
    if len(places) > MOST_CONDITION_BITS:
        raise ValueError(f"a condition reads at most {MOST_CONDITION_BITS} bits, got {len(places)}")
    compare, wanted = COMPARISONS["!="], 0
    if reader.next.text in COMPARISONS:
        compare = COMPARISONS[reader.take().text]
        truth = {"true": 1, "false": 0}.get(reader.next.text)
        if truth is None:
            wanted = integer()
        else:
            wanted = truth
            reader.take()
    live = [k for k, place in enumerate(places) if place in written]

    def value(compact: int) -> int:
        return sum((compact >> i & 1) << k for i, k in enumerate(live))

    values = frozenset(v for v in range(2 ** len(live)) if compare(value(v), wanted))
    return Condition(tuple(places[k] for k in reversed(live)), values)
