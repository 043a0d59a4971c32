"""The last digits of a packing: make the active pairs exactly equal, then descend along them.

Near a local optimum the pairs with the largest |⟨u,v⟩| (the active ones) are equal. Gauss-Newton on |⟨u,v⟩|² = t over
those pairs converges quadratically, also at the highly degenerate optima (E8, mutually unbiased bases) where a linear
programme stalls. Where it does not lower the maximum, a sequence of linear programmes "min t: |⟨u,v⟩|² + d|⟨u,v⟩|² ≤ t"
in a shrinking box takes over. A polish never returns a packing worse than it was given.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Inexact
from scipy.linalg import lstsq
from scipy.optimize import linprog
from scipy.sparse import csr_array

from contexts.packing.measure.gram import coherence, normalise
from contexts.packing.validation import Number

LARGEST_PROGRAMME = 400_000  # unknowns × constraints beyond which linear programmes cost more than they give
LARGEST_SYSTEM = 2_000_000  # entries of a least-squares system worth solving
PROGRAMMES, EFFORT = 80, 1_200_000_000  # at most so many programmes; one costs about unknowns³ operations
LARGEST = 800  # unknowns
PIVOTS = 5000  # of one linear programme; a limit in pivots, not in seconds, keeps results reproducible
GAPS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)  # in |⟨u,v⟩|²: how far below the maximum a pair may lie and be active


def polish(vectors: Inexact[np.ndarray, "n d"]) -> Inexact[np.ndarray, "n d"]:
    """Unit rows (n, d) of a local optimum near the given ones, to about 1e-12 in coherence where it is regular."""
    return descend(equalise(vectors))


def equalise(vectors: Inexact[np.ndarray, "n d"]) -> Inexact[np.ndarray, "n d"]:
    """Gauss-Newton on the active pairs, for several readings of which pairs are active; milliseconds."""
    best = normalise(vectors)
    value = coherence(best)
    for gap in GAPS:
        trial, converged = _gauss_newton(best, gap)
        reached = coherence(trial)
        if reached < value - 1e-15:
            best, value = trial, reached
            if converged:
                break
    return best


def descend(
    vectors: Inexact[np.ndarray, "n d"], hope: Number = 1.0, stop: Callable[[], bool] | None = None
) -> Inexact[np.ndarray, "n d"]:
    """Linear programmes in a trust box, which grows while they foretell the maximum well and shrinks where they do not.

    Ends when a programme promises less than 1e-15 or after 5 to 80 of them; up to a few seconds. Gives up early
    where it stays well above the coherence ``hope``, or where ``stop()`` says so.
    """
    best = normalise(vectors)
    square = coherence(best) ** 2
    unknowns = best.size * (2 if np.iscomplexobj(best) else 1)
    if unknowns > LARGEST or len(_active(best, 1e-9)[0]) >= unknowns:
        return best  # too large; or more equal pairs than unknowns, a vertex at which a simplex method stalls
    box = 1e-2
    for done in range(int(np.clip(EFFORT // unknowns**3, 5, PROGRAMMES))):
        if (done >= 8 and square > (hope + 5e-4) ** 2) or (done >= 20 and square > (hope + 5e-5) ** 2):
            break
        if stop is not None and stop():
            break
        pairs = _active(best, min(0.5, 6 * box))
        if len(pairs[0]) * unknowns > LARGEST_PROGRAMME:
            box /= 4
            if box < 1e-6:
                break
            continue
        step, promised = _programme(best, pairs, box)
        if step is None or promised < 1e-15:
            break
        trial = normalise(best + step)
        gained = square - coherence(trial) ** 2
        if gained > 0:
            best, square = trial, square - gained
        ratio = gained / promised
        box = min(0.1, box * (2 if ratio > 0.7 else 1 if ratio > 0.3 else 0.5 if ratio > 0.1 else 0.25))
        if box < 1e-11:
            break
    return best


def _gauss_newton(x: np.ndarray, gap: float, tolerance: float = 1e-12) -> tuple[np.ndarray, bool]:
    """Gauss-Newton steps for |⟨u,v⟩|² = t over the pairs within ``gap`` of the largest, t unknown too; did it converge?

    Given up where the defect does not fall by half a step: then these pairs cannot all be equal.
    """
    i, j = _active(x, gap)
    if len(i) < 2 or len(i) * x.size > LARGEST_SYSTEM:
        return x, False
    before = np.inf
    for _ in range(10):
        values, slopes = _linearise(x, i, j)
        t = values.mean()
        defect = float(np.abs(values - t).max())
        if defect < tolerance:
            return x, True
        if defect > before / 2:
            break
        before = defect
        matrix = np.hstack([slopes, -np.ones((len(i), 1))])
        step = lstsq(matrix, t - values, cond=1e-10, lapack_driver="gelsy", check_finite=False)[0][:-1]
        size = np.abs(step).max()
        if not np.isfinite(size) or size > 0.3:
            break
        x = normalise(x + _as_vectors(step, x))
    return x, False


def _programme(x: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], box: float) -> tuple[np.ndarray | None, float]:
    """The step that lowers the linearised maximum of |⟨u,v⟩|² most within ± ``box`` a coordinate, and by how much."""
    values, slopes = _linearise(x, *pairs)
    unknowns = slopes.shape[1]
    cost = np.zeros(unknowns + 1)
    cost[-1] = 1
    # in units of the box, so that the solver's absolute tolerances stay relative to the step
    matrix = csr_array(np.hstack([slopes, -np.ones((len(values), 1))]))
    limits = [(-1, 1)] * unknowns + [(None, None)]
    room = (values.max() - values) / box
    found = linprog(cost, A_ub=matrix, b_ub=room, bounds=limits, method="highs-ds", options={"maxiter": PIVOTS})
    if found.x is None:
        return None, 0.0
    return _as_vectors(found.x[:-1] * box, x), -found.x[-1] * box


def _active(x: np.ndarray, gap: float) -> tuple[np.ndarray, np.ndarray]:
    squares = np.triu(np.abs(x @ x.conj().T) ** 2, 1)
    i, j = np.nonzero(squares > max(squares.max() - gap, 0))
    return i, j


def _linearise(x: np.ndarray, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|⟨x_i,x_j⟩|² of the pairs and its derivative along the sphere, in real coordinates (all Re, then all Im)."""
    n, d = x.shape
    product = np.einsum("pd,pd->p", x[i], x[j].conj())
    values = np.abs(product) ** 2
    rows = np.arange(len(i))
    slopes = np.zeros((len(i), n, d), x.dtype)
    slopes[rows, i] = 2 * (product[:, None] * x[j] - values[:, None] * x[i])
    slopes[rows, j] = 2 * (product.conj()[:, None] * x[i] - values[:, None] * x[j])
    flat = slopes.reshape(len(i), -1)
    return values, np.hstack([flat.real, flat.imag]) if np.iscomplexobj(x) else flat


def _as_vectors(step: np.ndarray, x: np.ndarray) -> np.ndarray:
    if np.iscomplexobj(x):
        half = len(step) // 2
        return (step[:half] + 1j * step[half:]).reshape(x.shape)
    return step.reshape(x.shape)
