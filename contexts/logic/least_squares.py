"""Orthogonal representations by least squares: Levenberg–Marquardt on a product of spheres, from random starts.

What it returns is orthogonal to rounding and proves nothing: :mod:`contexts.logic.existence` does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Complex, Float, Inexact, Int

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.logic.rigidity import edges_of, jacobian

POLISHED = 1e-12
"""Largest |⟨u|v⟩| of exclusive atoms in vectors that a numerical search returns (float64)."""

Rays = Float[np.ndarray, "atoms d"] | Complex[np.ndarray, "atoms d"]
Edges = Int[np.ndarray, "edges 2"]


def descend(
    h: Hypergraph,
    complex_rays: bool,
    rng: np.random.Generator,
    spread: bool = True,
    steps: int = 200,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Inexact[np.ndarray, " d"]] | None:
    """One random start of Riemannian Levenberg–Marquardt on Σ|⟨u|v⟩|² over exclusive pairs; None if it does not reach
    0, or ``stop`` says so between two steps.

    Each step is taken in the tangent spaces of the spheres and pulled back by normalising. With ``spread``, rays of
    non-exclusive atoms closer than |⟨u|v⟩| = 0.97 also push each other apart, against coinciding rays.
    """
    n, d = len(h.vertices), h.dimension or 0
    unit = rng.normal(size=(n, d)) + (1j * rng.normal(size=(n, d)) if complex_rays else 0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    unit, error = polish(unit, edges_of(h), steps, spread, stop)
    return dict(zip(h.vertices, unit, strict=True)) if error <= POLISHED else None


def polish(
    unit: Rays, edges: Edges, steps: int = 200, spread: bool = False, stop: Callable[[], bool] = lambda: False
) -> tuple[Rays, float]:
    """Move unit rows to the nearest place where the edges' inner products vanish; the rows and the largest one left."""
    damping = 1e-2
    rows, table = _residual(unit, edges, spread)
    for _ in range(steps):
        if stop():
            break
        table = _tangent(unit, table)
        gram = table.T @ table
        gradient = table.T @ rows
        move = np.linalg.solve(gram + damping * np.eye(len(gram)), -gradient)
        trial = _retract(unit, move)
        new_rows, new_table = _residual(trial, edges, spread)
        if np.linalg.norm(new_rows) < np.linalg.norm(rows):
            unit, rows, table = trial, new_rows, new_table
            damping = max(damping / 4, 1e-15)
            if np.abs(rows).max(initial=0.0) < 1e-15:
                break
        else:
            rows, table = _residual(unit, edges, spread)
            damping *= 6
            if damping > 1e8:
                break
    i, j = edges[:, 0], edges[:, 1]
    return unit, float(np.abs(np.sum(unit[i].conj() * unit[j], axis=1)).max(initial=0.0))


def _residual(unit: Rays, edges: Edges, spread: bool) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of the edges, and of rays that are too near each other, with their Jacobian."""
    inner = np.sum(unit[edges[:, 0]].conj() * unit[edges[:, 1]], axis=1)
    rows = np.concatenate([inner.real, inner.imag]) if np.iscomplexobj(unit) else inner
    table = jacobian(unit, edges)
    if not spread:
        return rows, table
    overlap = np.abs(unit.conj() @ unit.T)
    close = np.argwhere(np.triu(overlap, 1) > 0.97)
    if not len(close):
        return rows, table
    products = np.sum(unit[close[:, 0]].conj() * unit[close[:, 1]], axis=1)
    size = np.abs(products)
    slope = jacobian(unit, close)
    if np.iscomplexobj(unit):
        half = len(close)
        slope = (products.real / size)[:, None] * slope[:half] + (products.imag / size)[:, None] * slope[half:]
    else:
        slope = np.sign(products)[:, None] * slope
    return np.concatenate([rows, size - 0.97]), np.concatenate([table, slope])


def _tangent(unit: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Remove from each row of a Jacobian the part along each atom's own vector."""
    flat = np.concatenate([unit.real, unit.imag], axis=1) if np.iscomplexobj(unit) else unit
    blocks = table.reshape(len(table), *flat.shape)
    along = np.einsum("eni,ni->en", blocks, flat)
    return (blocks - along[:, :, None] * flat).reshape(table.shape)


def _retract(unit: np.ndarray, move: np.ndarray) -> np.ndarray:
    n, d = unit.shape
    if np.iscomplexobj(unit):
        parts = move.reshape(n, 2, d)
        moved = unit + parts[:, 0] + 1j * parts[:, 1]
    else:
        moved = unit + move.reshape(n, d)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)
