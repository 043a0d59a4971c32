"""Finite pools of rays with simple components, in which orthogonal representations are searched by SAT."""

from __future__ import annotations

from itertools import product

import numpy as np
from jaxtyping import Bool, Inexact

_GOLDEN = (1 + 5**0.5) / 2
_CUBE = np.exp(2j * np.pi / 3)

COMPONENTS: dict[str, tuple[complex, ...]] = {
    "ones": (0, 1, -1),
    "sqrt2": (0, 1, -1, 2**0.5, -(2**0.5)),
    "twos": (0, 1, -1, 2, -2),
    "golden": (0, 1, -1, _GOLDEN, -_GOLDEN, 1 / _GOLDEN, -1 / _GOLDEN),
    "gauss": (0, 1, -1, 1j, -1j),
    "cube": (0, 1, _CUBE, _CUBE**2),
    "cube_signed": (0, 1, _CUBE, _CUBE**2, -1, -_CUBE, -(_CUBE**2)),
}
"""Components by name: {0, ±1}, {0, ±1, ±√2} (Peres), {0, ±1, ±2} (Conway–Kochen), the golden ratio, roots of unity."""

REAL = ("ones", "sqrt2", "twos", "golden")
COMPLEX = ("gauss", "cube", "cube_signed")

POOL_LIMIT = 500
"""Rays; larger pools are not searched."""


def pool(name: str, dimension: int) -> Inexact[np.ndarray, "rays d"] | None:
    """The different rays with these components as unit rows, (rays, dimension); None past ``POOL_LIMIT`` rays.

    The first nonzero component is made real and positive, so each ray comes once.
    """
    values = COMPONENTS[name]
    if len(values) ** dimension > 250_000:
        return None
    grid = np.array(list(product(values, repeat=dimension)))[1:]
    first = grid[np.arange(len(grid)), np.argmax(grid != 0, axis=1)]
    unit = grid * (first.conj() / np.abs(first))[:, None]
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    keys = np.round(np.concatenate([unit.real, unit.imag], axis=1), 9) + 0.0
    _, where = np.unique(keys, axis=0, return_index=True)
    unit = unit[np.sort(where)]
    if len(unit) > POOL_LIMIT:
        return None
    return unit if np.iscomplexobj(np.array(values)) else unit.real


def orthogonality(rays: Inexact[np.ndarray, "rays d"], tolerance: float = 1e-9) -> Bool[np.ndarray, "rays rays"]:
    """Which rays of a pool are orthogonal, (rays, rays)."""
    return np.abs(rays.conj() @ rays.T) <= tolerance
