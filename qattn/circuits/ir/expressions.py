"""Arithmetic in circuit files: numbers, pi, functions, and at most one parameter to the first power.

``pi/2``, ``2*a + 0.1`` and ``-cos(pi/8)`` become an :class:`Affine`, scale · parameter + shift; ``a*b`` and ``sin(a)``
are refused, since an angle is scale · value + shift everywhere. The tokens are those of OpenQASM, whose reader shares
them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

CONSTANTS = {"pi": math.pi, "π": math.pi, "tau": math.tau, "τ": math.tau, "euler": math.e, "ℇ": math.e}
FUNCTIONS = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "exp": math.exp, "ln": math.log, "log": math.log,
    "sqrt": math.sqrt, "arcsin": math.asin, "arccos": math.acos, "arctan": math.atan,
}  # fmt: skip
# Words of YAML and of arithmetic: as the name of a parameter each would be a misunderstanding.
RESERVED = frozenset((*CONSTANTS, *FUNCTIONS, "inf", "nan", "on", "off", "yes", "no", "true", "false"))
TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<text>\"[^\"\n]*\")"
    r"|(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<symbol>->|\*\*|==|!=|<=|>=|&&|\|\||[-+*/^()\[\]{},;:=@<>!])",
    re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One word of a text: its kind (text, number, name, symbol or end) and the line it stands on, from 1."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Affine:
    """``scale`` times the parameter ``name`` plus ``shift``; a number when there is no name."""

    shift: float = 0.0
    scale: float = 0.0
    name: str | None = None

    def plus(self, other: Affine, sign: float = 1.0) -> Affine:
        """Sum, or difference for ``sign`` −1. Raises ``ValueError`` for two different parameters."""
        if self.name and other.name and self.name != other.name:
            raise ValueError(f"an angle holds one parameter, got {self.name!r} and {other.name!r}")
        scale = self.scale + sign * other.scale
        return Affine(self.shift + sign * other.shift, scale, (self.name or other.name) if scale else None)

    def times(self, factor: float) -> Affine:
        """The product with a number."""
        return Affine(self.shift * factor, self.scale * factor, self.name if factor else None)

    def number(self, what: str) -> float:
        """The value. Raises ``ValueError`` where there is a parameter, ``what`` being where no parameter can stand."""
        if self.name:
            raise ValueError(f"{what} must be a number, got the parameter {self.name!r}")
        return self.shift


Lookup = Callable[[str], Affine]


def tokens(text: str) -> list[Token]:
    """The words of a text, comments left out, with an end token. Raises ``ValueError`` naming the line of anything
    else."""
    found, at, line = [], 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text[at : at + 20].splitlines()[0]!r} (line {line}) is not understood")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], line))
        line += match[0].count("\n")
        at = match.end()
    return [*found, Token("end", "the end", line)]


class Reader:
    """A place in a list of tokens."""

    def __init__(self, words: list[Token]) -> None:
        self.words, self.at = words, 0

    @property
    def next(self) -> Token:
        """The token that comes next; it stays."""
        return self.words[self.at]

    def take(self, *wanted: str) -> Token:
        """The next token, which must be one of ``wanted`` (texts or kinds). Raises ``ValueError`` otherwise."""
        token = self.next
        if wanted and token.text not in wanted and token.kind not in wanted:
            raise ValueError(f"expected {' or '.join(wanted)}, got {token.text!r}")
        if token.kind != "end":
            self.at += 1
        return token

    def skip(self, *texts: str) -> bool:
        """Take the next token if it is one of ``texts``."""
        found = self.next.kind != "text" and self.next.text in texts
        self.at += found
        return found


def expression(reader: Reader, lookup: Lookup) -> Affine:
    """A sum of products. Raises ``ValueError`` for what is not arithmetic or not affine in one parameter."""
    total = product(reader, lookup)
    while reader.next.text in ("+", "-"):
        sign = 1.0 if reader.take().text == "+" else -1.0
        total = total.plus(product(reader, lookup), sign)
    return total


def product(reader: Reader, lookup: Lookup) -> Affine:
    """Factors with ``*`` and ``/`` between them. Raises ``ValueError`` for a product of parameters."""
    total = signed(reader, lookup)
    while reader.next.text in ("*", "/"):
        divided = reader.take().text == "/"
        factor = signed(reader, lookup)
        if divided:
            total = total.times(1 / nonzero(factor.number("a divisor")))
        elif factor.name is None:
            total = total.times(factor.shift)
        elif total.name is None:
            total = factor.times(total.shift)
        else:
            raise ValueError(
                f"an angle is linear in its parameter, got a product of {total.name!r} and {factor.name!r}"
            )
    return total


def signed(reader: Reader, lookup: Lookup) -> Affine:
    """A power with its signs in front: −2**2 is −4, as everywhere in mathematics."""
    if reader.skip("-"):
        return signed(reader, lookup).times(-1.0)
    if reader.skip("+"):
        return signed(reader, lookup)
    base = atom(reader, lookup)
    if not reader.skip("**", "^"):
        return base
    power, exponent = base.number("the base of a power"), signed(reader, lookup).number("an exponent")
    return Affine(evaluated(lambda: power**exponent))


def atom(reader: Reader, lookup: Lookup) -> Affine:
    """A number, a constant, a function's value, a parameter, or an expression in brackets."""
    token = reader.take("number", "name", "(")
    if token.text == "(":
        inner = expression(reader, lookup)
        reader.take(")")
        return inner
    if token.kind == "number":
        return Affine(finite(float(token.text)))
    if token.text in FUNCTIONS and reader.next.text == "(":
        reader.take("(")
        argument = expression(reader, lookup).number(f"the argument of {token.text}")
        reader.take(")")
        return Affine(evaluated(lambda: FUNCTIONS[token.text](argument)))
    if token.text in CONSTANTS:
        return Affine(CONSTANTS[token.text])
    return lookup(token.text + place_in_array(reader, lookup))


def place_in_array(reader: Reader, lookup: Lookup) -> str:
    """``[2]`` or ``[0,3]`` behind the name of an array, its places worked out; nothing behind other names.

    Raises ``ValueError`` for places that are no whole numbers from 0 on.
    """
    if not reader.skip("["):
        return ""
    places = [expression(reader, lookup)]
    while reader.skip(","):
        places.append(expression(reader, lookup))
    reader.take("]")
    numbers = [place.number("a place in an array") for place in places]
    if any(number != int(number) or number < 0 for number in numbers):
        raise ValueError("a place in an array is a whole number from 0 on")
    return f"[{','.join(str(int(number)) for number in numbers)}]"


def evaluated(value: Callable[[], float]) -> float:
    """A finite value. Raises ``ValueError`` where there is none."""
    try:
        return finite(value())
    except (ArithmeticError, ValueError, TypeError):
        raise ValueError("the value is not a finite real number") from None


def finite(value: float) -> float:
    """The value itself. Raises ``ValueError`` unless it is finite."""
    if isinstance(value, complex) or not math.isfinite(value):
        raise ValueError("the value is not a finite real number")
    return value


def nonzero(value: float) -> float:
    """The value itself. Raises ``ValueError`` for 0."""
    if value == 0:
        raise ValueError("division by 0")
    return value


def read_number(text: str) -> float:
    """A number written as arithmetic, such as ``-1/2`` or ``pi/4``. Raises ``ValueError`` for names and nonsense."""

    def none(name: str) -> Affine:
        raise ValueError(f"{name!r} is not a number")

    reader = Reader([replace(token, line=1) for token in tokens(text)])
    found = expression(reader, none).number("it")
    reader.take("end")
    return found


def substituted(value: Any, variables: Mapping[str, int]) -> Any:
    """Nested lists and mappings with variables of a loop replaced, arithmetic of numbers then being worked out.

    Names of gates and Pauli words stay, also where a variable has the same name. Raises ``ValueError`` for a wire or
    an angle whose arithmetic has no value.
    """
    if isinstance(value, list | tuple):
        head = [value[0]] if value and isinstance(value[0], str) else []
        return [*head, *(substituted(v, variables) for v in value[len(head) :])]
    if isinstance(value, Mapping):
        kept = ("gate", "word", "for")
        return {k: v if k in kept else substituted(v, variables) for k, v in value.items()}
    if not isinstance(value, str):
        return value
    try:
        words = tokens(value)[:-1]
    except ValueError:
        return value
    if not any(word.kind == "name" and word.text in variables for word in words):
        return value
    filled = "".join(f"({variables[w.text]})" if w.text in variables else w.text for w in words)
    if any(word.kind == "name" and word.text not in (*variables, *CONSTANTS, *FUNCTIONS) for word in words):
        return re.sub(r"\[[^\[\]]*\]", lambda place: places_worked_out(place[0]), filled)
    found = read_number(filled)
    return int(found) if found == int(found) else found


def places_worked_out(brackets: str) -> str:
    """``[(2)+1]`` as ``[3]``, so that equal places of an array are equal names."""
    return place_in_array(Reader(tokens(brackets)), lambda name: Affine(scale=1.0, name=name))


def read_angle(text: str) -> Affine:
    """An angle written as text, any identifier being a parameter. Raises ``ValueError`` with what is wrong."""

    def parameter(name: str) -> Affine:
        if name.lower() in RESERVED:
            raise ValueError(f"{name!r} cannot be the name of a parameter")
        return Affine(scale=1.0, name=name)

    reader = Reader([replace(token, line=1) for token in tokens(text)])
    found = expression(reader, parameter)
    reader.take("end")
    return found
