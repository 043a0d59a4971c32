"""Interference in use: n features share d dimensions, k are active, a linear decoder reads them back; how wrong is it?

Svozil, Sec. VII: "decoders tolerate pairwise correlations up to ε". The store is h = Σ_j x_j w_j over the active
features, x_j = ±1, the decoder x̂_i = Re⟨w_i, h⟩ = x_i + Σ_{j≠i} x_j Re⟨w_i, w_j⟩: the linear part of the toy model
of superposition (Elhage et al. 2022). A feature is read right if x̂_i is within 1/2 of x_i; an error of exactly 1/2 is a
tie, which the decoder loses half the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from contexts.packing.measure.gram import normalise
from contexts.packing.validation import check_size

TIE = 1e-9  # errors this close to 1/2, relative to the signal's 1, are ties: sums of few rounded products lie within


@dataclass(frozen=True)
class Interference:
    """``rms`` of x̂_i − x_i over inactive i, its largest ``worst``, ``error`` the share of inactive features misread, a
    tie counted as one half.

    ``predicted_rms`` √(k · mean |Re⟨w_i,w_j⟩|²), ``predicted_error`` of a normal law with that spread, and
    ``guarantee`` k ε, which no trial can exceed: below 1/2 nothing is ever misread.
    """

    n: int
    d: int
    active: int
    rms: float
    worst: float
    error: float
    predicted_rms: float
    predicted_error: float
    guarantee: float


def interference(vectors: Shaped[np.ndarray, ...], active: int, trials: int, seed: int) -> Interference:
    """Store and read ``trials`` random sets of ``active`` features (signs ±1) along the rows of an (n, d) matrix.

    Raises ValueError unless 1 ≤ active < n. Forms the n × n Gram matrix: n up to a few thousand.
    """
    check_size("active", active)
    check_size("trials", trials)
    unit = normalise(vectors)
    n, d = unit.shape
    if active >= n:
        raise ValueError(f"the number of active features must be below their number {n}, got {active}")
    rng = np.random.default_rng([seed, n, d, active])
    gram = (unit @ unit.conj().T).real
    np.fill_diagonal(gram, 0)
    squares, worst, wrong = 0.0, 0.0, 0.0
    for _ in range(trials):
        chosen = rng.choice(n, active, replace=False)
        noise = np.abs(rng.choice((-1.0, 1.0), active) @ gram[chosen])
        worst = max(worst, float(noise.max()))
        noise = np.delete(noise, chosen)
        squares += float(noise @ noise)
        ties = int(np.count_nonzero(np.abs(noise - 0.5) <= TIE))
        wrong += int(np.count_nonzero(noise > 0.5 + TIE)) + ties / 2
    silent = trials * (n - active)
    predicted = math.sqrt(active * float((gram**2).sum()) / (n * (n - 1)))
    return Interference(
        n=n,
        d=d,
        active=active,
        rms=math.sqrt(squares / silent),
        worst=worst,
        error=wrong / silent,
        predicted_rms=predicted,
        predicted_error=math.erfc(0.5 / (predicted * math.sqrt(2))) if predicted > 0 else 0.0,
        guarantee=active * float(np.abs(gram).max()),
    )


def random_spread(n: int, d: int, active: int, field: str = "real") -> float:
    """√(k E(Re⟨u,v⟩)²) for random unit vectors: √(k/d) in R^d, √(k/2d) in C^d. The paper's later σ ~ √(k/d)."""
    return math.sqrt(active / d / (1 if field == "real" else 2))


def tight_spread(n: int, d: int, active: int) -> float:
    """The least rms interference of n vectors of R^d: √(k (n−d)/(d(n−1))), reached by tight frames (Welch 1974)."""
    return math.sqrt(active * max(0, n - d) / (d * (n - 1)))
