"""Plain values out of YAML or JSON: numbers, lists, complex arrays, each refused in one sentence that names its key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Complex, Shaped


def known(data: Any, allowed: Sequence[str], where: str) -> None:
    """Raise ``ValueError`` unless ``data`` is a mapping with keys among those allowed."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{where}: expected a mapping with keys among {', '.join(allowed)}, got {data!r}")
    for key in data:
        if key not in allowed:
            raise ValueError(f"{where}: unknown key {key!r}; known are {', '.join(allowed)}")


def whole(value: Any, key: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number from ``least`` to ``most``. Raises ``ValueError`` naming the key."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{key}: expected a whole number of at least {least}, got {value!r}")
    if value > most:
        raise ValueError(f"{key}: expected a whole number of at most {most}, got {value!r}")
    return value


def listed(value: Any, where: str) -> Sequence[Any]:
    """A list. Raises ``ValueError`` for anything else."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}: expected a list, got {value!r}")
    return value


def number(value: Any, where: str) -> float:
    """A finite number. Raises ``ValueError`` for anything else, also for whole numbers that no float holds."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:
        value = f"a number of {len(str(value))} digits" if abs(value) < 10**4000 else "a far too large number"
        raise ValueError(f"{where}: expected a finite number, got {value}") from None
    raise ValueError(f"{where}: expected a finite number, got {value!r}")


def complex_number(value: Any, where: str) -> complex:
    """A number, ``[re, im]``, or text such as ``"0.5-0.5j"``."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return complex(number(value[0], where), number(value[1], where))
    if isinstance(value, str):
        try:
            found = complex(value.replace(" ", "").replace("i", "j"))
        except ValueError:
            raise ValueError(f"{where}: expected a complex number such as 0.5-0.5j, got {value!r}") from None
        if np.isfinite(found):
            return found
    return complex(number(value, where))


def array_of(value: Any, depth: int, where: str) -> Complex[np.ndarray, ...]:
    """Nested lists of complex numbers, ``depth`` levels deep."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"{where}: expected a list of numbers, got {value!r}")
    if depth == 1:
        return np.array([complex_number(v, where) for v in value])
    rows = [array_of(v, depth - 1, where) for v in value]
    if len({row.shape for row in rows}) > 1:
        raise ValueError(f"{where}: the rows have unequal lengths {[row.shape[0] for row in rows]}")
    return np.stack(rows)


def pairs(values: Shaped[np.ndarray, ...]) -> list[Any]:
    """The inverse of ``array_of``: nested lists with ``[re, im]`` for every complex number."""
    if values.ndim > 1:
        return [pairs(v) for v in values]
    return [[float(v.real), float(v.imag)] for v in np.asarray(values, complex)]
