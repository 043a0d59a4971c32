"""d² equiangular lines of C^d at 1/√(d+1) (SICs) as orbits of one fiducial vector under the Weyl-Heisenberg group.

Conjectured to exist for every d (Zauner 1999); known numerically far beyond what is needed here (Scott & Grassl 2010).
The fiducial is found by minimising Σ_{jk} |⟨v, D_jk v⟩|⁴, whose minimum 2d/(d+1) is reached by SICs alone (Renes,
Blume-Kohout, Scott & Caves 2004); the sum over k is one FFT.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Complex128, Float64
from scipy.optimize import least_squares, minimize

from contexts.packing.search.symmetry import paulis, weyl_heisenberg

RESTARTS = 200
PRECISE = {"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}


def sic(d: int, seed: int = 0) -> Complex128[np.ndarray, "n d"]:
    """d² lines of C^d, unit rows (d², d), at coherence 1/√(d+1) to 1e-10. Seconds for d up to about 24.

    Deterministic for a seed. Raises ValueError where 200 restarts find none. d = 1 gives the one line.
    """
    if d == 1:
        return np.ones((1, 1), complex)
    symmetry = weyl_heisenberg(d, d * d)
    assert symmetry is not None
    rng = np.random.default_rng([seed, d])
    for _ in range(RESTARTS):
        start = rng.standard_normal(2 * d)
        found = minimize(fourth_moment, start, jac=True, method="L-BFGS-B", options=PRECISE)
        if found.fun > (1 + 1e-6) * 2 * d / (d + 1):
            continue
        # Gauss-Newton on |⟨v, D v⟩|² = 1/(d+1): the fourth moment is flat at its minimum and leaves half the digits
        exact = least_squares(_defect, found.x, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        orbit = symmetry.spread(_vector(exact.x)[None, :])
        overlaps = np.abs(orbit[1:] @ orbit[0].conj())
        if np.abs(overlaps - 1 / math.sqrt(d + 1)).max() < 1e-10:
            return orbit
    raise ValueError(f"no fiducial vector of a SIC in dimension {d} was found in {RESTARTS} restarts")


def hoggar() -> Complex128[np.ndarray, "64 8"]:
    """Hoggar's 64 lines of C^8 at 1/3: the orbit of (−1+2i, 1, …, 1) under the three-qubit Paulis (Hoggar 1998)."""
    symmetry = paulis(8, 64)
    assert symmetry is not None
    fiducial = np.array([-1 + 2j, 1, 1, 1, 1, 1, 1, 1]) / math.sqrt(12)
    return symmetry.spread(fiducial[None, :])


def _vector(point: np.ndarray) -> np.ndarray:
    d = len(point) // 2
    v = point[:d] + 1j * point[d:]
    return v / np.linalg.norm(v)


def _defect(point: np.ndarray) -> np.ndarray:
    d = len(point) // 2
    return _overlaps(_vector(point)).reshape(-1)[1:] - 1 / (d + 1)


def _overlaps(v: np.ndarray) -> np.ndarray:
    """|⟨v, X^j Z^k v⟩|² as a (d, d) array."""
    d = len(v)
    shifted = v[(np.arange(d)[None, :] - np.arange(d)[:, None]) % d]
    return np.abs(np.fft.fft(v.conj()[None, :] * shifted, axis=1)) ** 2


def fourth_moment(point: Float64[np.ndarray, " reals"]) -> tuple[float, Float64[np.ndarray, " reals"]]:
    """Σ_{jk} |⟨v, X^j Z^k v⟩|⁴ / |v|⁸ and its gradient, for real coordinates (Re v, Im v) of a raw vector, by FFT."""
    d = len(point) // 2
    raw = point[:d] + 1j * point[d:]
    norm = np.linalg.norm(raw)
    v = raw / norm
    shifted = v[(np.arange(d)[None, :] - np.arange(d)[:, None]) % d]  # row j: v moved by j
    products = v.conj()[None, :] * shifted
    overlaps = np.fft.fft(products, axis=1)
    squares = np.abs(overlaps) ** 2
    # F = Σ |O|⁴; dF = Σ 4 |O|² Re(conj(O) dO), and O is linear in conj(v) and in v
    back = np.fft.fft((squares * overlaps).conj(), axis=1)  # Σ_k |O|² conj(O) ω^{-kx}
    gradient = 4 * (back * shifted).sum(axis=0)  # from conj(v)_x: ∂F/∂Re + i ∂F/∂Im of Re(c · conj(v)) is c
    moved = back * v.conj()[None, :]  # multiplies v_{x−j}
    index = (np.arange(d)[None, :] + np.arange(d)[:, None]) % d
    gradient = gradient + 4 * np.take_along_axis(moved, index, axis=1).sum(axis=0).conj()
    gradient -= (gradient * v.conj()).real.sum() * v
    gradient /= norm
    return float((squares**2).sum()), np.concatenate([gradient.real, gradient.imag])
