"""Plain values out of YAML or JSON: numbers, lists, complex arrays, each refused in one sentence that names its key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np
from jaxtyping import Complex, Shaped

Place = tuple[str | int, ...]
"""Where a value stands in the plain-data form: ``("gates", 3, "wires")`` is written ``gates[3].wires``."""


class SpecError(ValueError):
    """What is wrong with the plain-data form of a circuit: the ``place`` of the value, and the ``reason``."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(place, reason)
        self.place, self.reason = place, reason

    def __str__(self) -> str:
        text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.place)
        return f"{text.removeprefix('.')}: {self.reason}" if text else self.reason


@contextmanager
def at(*place: str | int) -> Iterator[None]:
    """Turn a ``ValueError`` about a value into a :class:`SpecError` that names its place."""
    try:
        yield
    except SpecError:
        raise
    except ValueError as error:
        raise SpecError(place, str(error)) from error


def known(data: Any, allowed: Sequence[str], where: Place) -> None:
    """Raise :class:`SpecError` unless ``data`` is a mapping with keys among those allowed."""
    if not isinstance(data, Mapping):
        raise SpecError(where, f"expected a mapping with keys among {', '.join(allowed)}, got {data!r}")
    for key in data:
        if key not in allowed:
            near = get_close_matches(str(key).lower(), allowed, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(allowed)}"
            raise SpecError((*where, str(key)), f"unknown key {key!r}; {hint}")


def whole(value: Any, where: Place, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number from ``least`` to ``most``. Raises :class:`SpecError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SpecError(where, f"expected a whole number of at least {least}, got {value!r}")
    if value > most:
        raise SpecError(where, f"expected a whole number of at most {most}, got {value!r}")
    return value


def listed(value: Any, where: Place) -> Sequence[Any]:
    """A list. Raises :class:`SpecError` for anything else."""
    if not isinstance(value, list | tuple):
        raise SpecError(where, f"expected a list, got {value!r}")
    return value


def text(value: Any, where: Place) -> str:
    """Text. Raises :class:`SpecError` for anything else."""
    if not isinstance(value, str):
        raise SpecError(where, f"expected text, got {value!r}")
    return value


def truth(value: Any, where: Place) -> bool:
    """True or false. Raises :class:`SpecError` for anything else."""
    if not isinstance(value, bool):
        raise SpecError(where, f"expected true or false, got {value!r}")
    return value


def number(value: Any, where: Place) -> float:
    """A finite number. Raises :class:`SpecError` for anything else, also for whole numbers that no float holds."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:
        value = f"a number of {len(str(value))} digits" if abs(value) < 10**4000 else "a far too large number"
        raise SpecError(where, f"expected a finite number, got {value}") from None
    raise SpecError(where, f"expected a finite number, got {value!r}")


def complex_number(value: Any, where: Place) -> complex:
    """A number, ``[re, im]``, or text such as ``"0.5-0.5j"``. Raises :class:`SpecError` for anything else."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return complex(number(value[0], (*where, 0)), number(value[1], (*where, 1)))
    if isinstance(value, str):
        try:
            found = complex(value.replace(" ", "").replace("i", "j"))
        except ValueError:
            raise SpecError(where, f"expected a complex number such as 0.5-0.5j, got {value!r}") from None
        if np.isfinite(found):
            return found
    return complex(number(value, where))


def array_of(value: Any, depth: int, where: Place) -> Complex[np.ndarray, "*shape"]:
    """Nested lists of complex numbers, ``depth`` levels deep, as an array of so many axes.

    Raises :class:`SpecError` for what is no list, for rows of unequal lengths, and for anything else than numbers.
    """
    if not isinstance(value, list | tuple) or not value:
        raise SpecError(where, f"expected a list of numbers, got {value!r}")
    if depth == 1:
        return np.array([complex_number(v, (*where, k)) for k, v in enumerate(value)])
    rows = [array_of(v, depth - 1, (*where, k)) for k, v in enumerate(value)]
    if len({row.shape for row in rows}) > 1:
        raise SpecError(where, f"the rows have unequal lengths {[row.shape[0] for row in rows]}")
    return np.stack(rows)


def pairs(values: Shaped[np.ndarray, "*shape"]) -> list[Any]:
    """The inverse of ``array_of``: nested lists with ``[re, im]`` for every complex number."""
    if values.ndim > 1:
        return [pairs(v) for v in values]
    return [[float(v.real), float(v.imag)] for v in np.asarray(values, complex)]
