"""Johnson and Lindenstrauss in practice: random projections of n vectors, and what they do to pairwise distances."""

from __future__ import annotations

import math
import warnings
from typing import Literal

import numpy as np
from jaxtyping import Float64, Int64, Shaped
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from contexts.packing.constructions.codes import walsh_hadamard
from contexts.packing.measure.gram import check_matrix
from contexts.packing.validation import check_epsilon, check_size

Kind = Literal["gaussian", "sparse", "hadamard"]
MOST_PAIRS = 200_000
BLOCK = 4096


def dimension_by_theorem(n: int, eps: float) -> int:
    """k ≥ 4 ln n / (ε²/2 − ε³/3): with probability at least 1/n all squared distances stay within 1 ± ε.

    Dasgupta & Gupta 2003, for Gaussian projections; 0 < ε < 1. Raises ValueError for another ε or n.
    """
    check_size("n", n)
    check_epsilon(eps)
    if eps == 1:
        raise ValueError("epsilon must be below 1 for a projection")
    return max(1, math.ceil(4 * math.log(n) / (eps**2 / 2 - eps**3 / 3)))  # scikit-learn's function rounds down


def project(
    vectors: Float64[np.ndarray, "n d"], k: int, kind: Kind = "gaussian", seed: int = 0
) -> Float64[np.ndarray, "n k"]:
    """A random linear map to R^k, squared lengths kept on average; one map for all rows.

    ``gaussian``; ``sparse``: one entry in √d is not zero (Li, Hastie & Church 2006); ``hadamard``: random signs, a
    Walsh-Hadamard transform padded to a power of two, k random coordinates (Ailon & Chazelle 2006; k is at most that
    power). Raises ValueError for a k that does not fit.
    """
    check_size("k", k)
    if kind != "hadamard":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataDimensionalityWarning)  # a k above d is asked for on purpose
            if kind == "gaussian":
                return GaussianRandomProjection(k, random_state=seed).fit_transform(vectors)
            return SparseRandomProjection(k, random_state=seed, dense_output=True).fit_transform(vectors)
    rng = np.random.default_rng([seed, k])
    size = 1 << max(0, vectors.shape[1] - 1).bit_length()
    if k > size:
        raise ValueError(f"a Hadamard projection of R^{vectors.shape[1]} has at most {size} coordinates, got k = {k}")
    padded = np.zeros((len(vectors), size))
    padded[:, : vectors.shape[1]] = vectors * rng.choice((-1.0, 1.0), vectors.shape[1])
    chosen = rng.choice(size, k, replace=False)
    return walsh_hadamard(padded)[:, chosen] / math.sqrt(k)


def pairs_of_rows(n: int, seed: int = 0) -> Int64[np.ndarray, "pairs 2"]:
    """All pairs of n ≥ 2 rows up to 200,000 of them, and beyond so many drawn at random."""
    if n * (n - 1) // 2 <= MOST_PAIRS:
        return np.column_stack(np.triu_indices(n, 1))
    rng = np.random.default_rng([seed, n])
    first = rng.integers(n, size=MOST_PAIRS)
    return np.column_stack([first, (first + rng.integers(1, n, size=MOST_PAIRS)) % n])


def squared_distances(
    vectors: Float64[np.ndarray, "n d"], pairs: Int64[np.ndarray, "pairs 2"]
) -> Float64[np.ndarray, " pairs"]:
    """|u − v|² of the pairs of rows, by differences: equal rows have exactly 0."""
    out = np.empty(len(pairs))
    for start in range(0, len(pairs), BLOCK):
        i, j = pairs[start : start + BLOCK].T
        out[start : start + BLOCK] = ((vectors[i] - vectors[j]) ** 2).sum(axis=1)
    return out


def distortions(
    before: Float64[np.ndarray, " pairs"], after: Float64[np.ndarray, " pairs"]
) -> Float64[np.ndarray, " kept"]:
    """|Pu − Pv|²/|u − v|² − 1, equal rows left out."""
    apart = before > 0
    return after[apart] / before[apart] - 1


def real_rows(vectors: Shaped[np.ndarray, ...]) -> Float64[np.ndarray, "n reals"]:
    """Rows of R^d or C^d as rows of R^d or R^{2d}, distances unchanged, scaled by the largest entry.

    Raises ValueError for what is not a finite matrix of numbers.
    """
    check_matrix(vectors)
    wide = np.asarray(vectors, np.complex128 if np.iscomplexobj(vectors) else np.float64)
    if np.iscomplexobj(wide):
        wide = np.hstack([wide.real, wide.imag])
    if not np.isfinite(wide).all():
        raise ValueError("the matrix holds a NaN or an infinity")
    top = float(np.abs(wide).max())
    return wide / top if top > 0 else wide
