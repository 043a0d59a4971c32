"""The two fields of a packing, R^d and C^d, and the checks of d, n and ε that every public function shares."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

Field = Literal["real", "complex"]
Number = int | float

#: m of the zonal harmonics: half the real dimension of the field (1/2 for R, 1 for C).
HALF_DIMENSION = {"real": 0.5, "complex": 1.0}


def check_field(field: str) -> None:
    """Raise ``ValueError`` unless ``field`` is ``real`` or ``complex``."""
    if field not in HALF_DIMENSION:
        raise ValueError(f"field must be 'real' or 'complex', got {field!r}")


def check_size(name: str, value: object) -> None:
    """``value`` must be a positive whole number; floats above 2^53 stand for numbers too large to write out.

    Raises ``ValueError`` otherwise.
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value != math.floor(value) or value < 1:  # type: ignore
        raise ValueError(f"{name} must be a positive whole number, got {value!r}")


def check_epsilon(eps: object) -> None:
    """ε is the largest |⟨u,v⟩| tolerated: 0 < ε ≤ 1. Raises ``ValueError`` otherwise."""
    if isinstance(eps, bool) or not isinstance(eps, int | float | np.floating) or not 0 < eps <= 1:
        raise ValueError(f"epsilon must be in (0, 1], got {eps!r}")


def gerzon(d: int, field: str) -> int:
    """The largest possible number of equiangular lines, d(d+1)/2 in R^d and d² in C^d (Gerzon; Lemmens & Seidel 1973).

    It is the dimension of the space of Hermitian matrices, in which projectors of equiangular lines are independent.
    """
    check_size("d", d)
    check_field(field)
    return d * (d + 1) // 2 if field == "real" else d * d
