"""L-BFGS on a batch of independent problems at once: many restarts for the price of one Python loop.

Nocedal & Wright 2006, Algorithm 7.4, with a backtracking (Armijo) line search of its own step length for each problem.
scipy's L-BFGS-B minimises one problem a call; at the sizes of a packing (a few hundred numbers) its overhead is ten
times the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64

# (points (B, N), indices of those points in the batch) → values (B,), gradients (B, N)
Objective = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

ARMIJO = 1e-4


def minimise(
    objective: Objective,
    x: Float64[np.ndarray, "problems size"],
    iterations: int,
    memory: int = 10,
    tolerance: float = 1e-9,
    stop: Callable[[], bool] | None = None,
) -> tuple[Float64[np.ndarray, "problems size"], Float64[np.ndarray, " problems"]]:
    """Minimise every row of ``x`` (B, N) for at most ``iterations`` steps; returns the new points and values.

    A problem stops when its gradient is below ``tolerance`` in every entry, or when its line search finds no descent
    (the precision of float64 is reached); the others go on without it. All stop where ``stop()`` says so.
    """
    x = x.copy()
    everyone = np.arange(len(x))
    f, g = objective(x, everyone)
    live = everyone
    history: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # steps, gradient changes, 1/(their product)
    gamma = np.full(len(x), np.nan)
    for _ in range(iterations):
        keep = np.abs(g[live]).max(axis=1) > tolerance
        if not keep.all():
            live = live[keep]
            history = [(s[keep], y[keep], r[keep]) for s, y, r in history]
        if not len(live) or (stop is not None and stop()):
            break
        direction = _two_loop(g[live], history, gamma[live])
        slope = np.einsum("bi,bi->b", direction, g[live])
        uphill = slope >= 0
        if uphill.any():
            direction[uphill] = -g[live[uphill]]
            slope[uphill] = -np.einsum("bi,bi->b", g[live[uphill]], g[live[uphill]])
        before_x, before_g = x[live], g[live]
        moved = _search(objective, x, f, g, live, direction, slope)
        step, change = x[live] - before_x, g[live] - before_g
        product = np.einsum("bi,bi->b", step, change)
        norm = np.einsum("bi,bi->b", change, change)
        curved = product > 1e-12 * np.sqrt(norm * np.einsum("bi,bi->b", step, step)) + 1e-300
        gamma[live[curved]] = product[curved] / norm[curved]
        inverse = np.where(curved, 1 / np.where(curved, product, 1.0), 0.0)  # 0 leaves that problem's pair out
        history.append((step, change, inverse))
        if len(history) > memory:
            history.pop(0)
        if not moved.all():
            live = live[moved]
            history = [(s[moved], y[moved], r[moved]) for s, y, r in history]
    return x, f


def _two_loop(g: np.ndarray, history: list[tuple[np.ndarray, np.ndarray, np.ndarray]], gamma: np.ndarray) -> np.ndarray:
    q = -g
    alphas = []
    for s, y, r in reversed(history):
        alpha = r * np.einsum("bi,bi->b", s, q)
        q -= alpha[:, None] * y
        alphas.append(alpha)
    # the first step has length 0.1 on unit vectors; later ones are scaled by the last curvature
    first = 0.1 / np.maximum(np.sqrt(np.einsum("bi,bi->b", g, g)), 1e-300)
    q *= np.where(np.isnan(gamma), first, gamma)[:, None]
    for (s, y, r), alpha in zip(history, reversed(alphas), strict=True):
        q += (alpha - r * np.einsum("bi,bi->b", y, q))[:, None] * s
    return q


def _search(objective, x, f, g, live, direction, slope, attempts: int = 12) -> np.ndarray:
    """Move the ``live`` points along their directions in place; returns which of them moved."""
    moved = np.zeros(len(live), bool)
    length = np.ones(len(live))
    todo = np.arange(len(live))
    for _ in range(attempts):
        where = live[todo]
        trial = x[where] + length[todo, None] * direction[todo]
        value, gradient = objective(trial, where)
        good = value <= f[where] + ARMIJO * length[todo] * slope[todo]
        x[where[good]], f[where[good]], g[where[good]] = trial[good], value[good], gradient[good]
        moved[todo[good]] = True
        bad = ~good
        if not bad.any():
            break
        # the minimum of the parabola through the two values and the slope, kept within [0.1, 0.5] of the last length
        rise = value[bad] - f[where[bad]] - length[todo[bad]] * slope[todo[bad]]
        fit = -slope[todo[bad]] * length[todo[bad]] / (2 * np.maximum(rise, 1e-300))
        length[todo[bad]] *= np.clip(fit, 0.1, 0.5)
        todo = todo[bad]
    return moved
