"""Exact coherence of given vectors, in blocks, so that memory stays bounded however many vectors there are.

Lines are meant, not points: u and −u (or e^{iφ}u) have |cos| = 1 and are named as antipodal (phase) duplicates.
Products are float32 (complex64) matrix products. Every pair that lies within their error of one to report is recomputed
in float64 from the rows as they were given. numpy is used
throughout: it has no reduced-precision matrix mode (TF32, bf16) to guard against.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int64

from contexts.packing.bounds.capacity import QUANTILES
from contexts.packing.measure.gram import BLOCK, Matrix, normalise, slices, upper_blocks
from contexts.packing.validation import Number, check_epsilon

DUPLICATE = 1 - 1e-6
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Pair:
    """Two rows and their cosine, recomputed in float64; ``kind`` is "duplicate", "antipodal", "phase" or "near"."""

    i: int
    j: int
    coherence: float
    kind: str


@dataclass
class Measurement:
    """What :func:`measure` found. ``quantiles`` are of |cos| over pairs i ≠ j; ``sampled_pairs`` is None if over all.

    ``mean_nearest`` is the mean over rows of their largest |cos|; ``duplicates`` counts the pairs with |cos| above
    1 − 1e-6, the first of which are among ``pairs``. ``gflops`` and ``gemm_peak_gflops`` are the rate reached over the
    whole search and that of bare products of the same blocks, both per CPU-second and measured in the same call.
    """

    n: int
    d: int
    field: str
    coherence: float
    pairs: list[Pair]
    quantiles: dict[float, float]
    sampled_pairs: int | None
    mean_nearest: float
    duplicates: int
    seconds: float
    gflops: float
    gemm_peak_gflops: float
    nearest: Float32[np.ndarray, " n"] = dataclasses.field(repr=False)
    sample: Float[np.ndarray, " pairs"] = dataclasses.field(repr=False)


def measure(
    vectors: Matrix,
    top: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
    sample_pairs: int = 4_000_000,
) -> Measurement:
    """Coherence, its distribution, the nearest pairs and the nearest neighbour of every row, of an (n, d) matrix.

    The largest |cos| and the row maxima are over *all* pairs. Quantiles are over all pairs up to ``sample_pairs`` of
    them, and otherwise over those of randomly drawn rows (``seed``) with all others. ``progress`` receives the
    fraction done. Raises ValueError as :func:`normalise`.
    """
    start = time.process_time()
    is_complex = np.iscomplexobj(vectors)
    unit = normalise(vectors, np.complex64 if is_complex else np.float32)
    n, d = unit.shape
    candidates = _TopPairs(top)
    bare = _gemm_peak(unit)
    busy = time.process_time()
    nearest, duplicates = _all_pairs(vectors, unit, candidates, progress)
    busy = time.process_time() - busy
    flops = (8 if is_complex else 2) * n * n / 2 * d
    pairs = sorted((_recheck(vectors, i, j) for i, j in candidates.pairs()), key=lambda p: -p.coherence)
    sample, count = _sample(unit, seed, sample_pairs)
    return Measurement(
        n=n,
        d=d,
        field="complex" if is_complex else "real",
        coherence=pairs[0].coherence if pairs else 0.0,
        pairs=pairs,
        quantiles={q: float(np.quantile(sample, q)) for q in QUANTILES} if len(sample) else {},
        sampled_pairs=count,
        mean_nearest=float(nearest.mean(dtype=np.float64)),
        duplicates=duplicates,
        seconds=time.process_time() - start,
        gflops=flops / busy / 1e9 if busy > 0 else 0.0,
        gemm_peak_gflops=max(bare, _gemm_peak(unit)),  # before and after: other work on the machine comes and goes
        nearest=nearest,
        sample=sample,
    )


def _all_pairs(
    vectors: Matrix, unit: np.ndarray, candidates: _TopPairs, progress: Progress | None
) -> tuple[np.ndarray, int]:
    """Row maxima of |cos| and the number of duplicates, over all pairs in blocks; the largest go to ``candidates``."""
    n, d = unit.shape
    is_complex = np.iscomplexobj(unit)
    nearest, duplicates = np.zeros(n, np.float32), 0
    # a float32 product of rows rounded to float32 errs by at most this (Higham, gamma_n); float64 decides within it
    error = (8 + 2 * d if is_complex else 4 + d) * 2.0**-24
    total, done = n * n / 2, 0.0
    product = np.empty(BLOCK * BLOCK, unit.dtype)
    size = np.empty(BLOCK * BLOCK, np.float32) if is_complex else product
    for rows, columns in upper_blocks(n):
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        gram = product[: shape[0] * shape[1]].reshape(shape)
        right = unit[columns].conj().T if is_complex else unit[columns].T
        np.matmul(unit[rows], right, out=gram)
        modulus = size[: gram.size].reshape(shape)
        by_row, by_column = _largest_of(gram, modulus, diagonal=rows == columns)
        np.maximum(nearest[rows], by_row, out=nearest[rows])
        np.maximum(nearest[columns], by_column, out=nearest[columns])
        if float(by_row.max()) + error > min(candidates.threshold, DUPLICATE):
            if rows == columns:
                modulus[np.tri(len(modulus), dtype=bool)] = -1  # every pair once
            i, j = np.nonzero(modulus > candidates.cut(modulus, error))
            exact = _moduli(vectors, rows, columns, i, j)
            duplicates += int(np.count_nonzero(exact > DUPLICATE))
            candidates.take(exact, i + rows.start, j + columns.start)
        done += modulus.size * (0.5 if rows == columns else 1)
        if progress:
            progress(done / total)
    return nearest, duplicates


def greedy_subset(vectors: Matrix, eps: Number, most: int = 20_000) -> Int64[np.ndarray, " kept"]:
    """Rows kept, in order, by keeping each whose |cos| with all kept so far is at most ε: an ε-coherent subset.

    A lower bound on the largest such subset. Looks at the first ``most`` rows.
    """
    check_epsilon(eps)
    unit = normalise(vectors[:most], np.complex64 if np.iscomplexobj(vectors) else np.float32)
    kept = np.empty_like(unit)
    chosen: list[int] = []
    for rows in slices(len(unit), 256):
        block = unit[rows]
        free = np.ones(len(block), bool)
        for earlier in slices(len(chosen)):
            free &= np.abs(block @ kept[earlier].conj().T).max(axis=1) <= eps
        within = np.abs(block @ block.conj().T) > eps
        for i in np.flatnonzero(free):
            if free[i]:
                kept[len(chosen)] = block[i]
                chosen.append(rows.start + int(i))
                free &= ~within[i]
    return np.array(chosen, int)


class _TopPairs:
    """The ``count`` largest entries seen so far."""

    def __init__(self, count: int):
        self.count = count
        self.values = np.empty(0)
        self.rows = np.empty(0, int)
        self.columns = np.empty(0, int)
        self.threshold = -1.0

    def cut(self, modulus: np.ndarray, error: float) -> float:
        """Entries of a block at or below this cannot be among the largest, nor duplicates, given their ``error``."""
        few = min(self.count, modulus.size)
        kth = float(np.partition(modulus.reshape(-1), modulus.size - few)[modulus.size - few])
        return max(-0.5, min(max(self.threshold - error, kth - 2 * error), DUPLICATE - error) - 1e-7)

    def take(self, values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        values = np.concatenate([self.values, values])
        rows, columns = np.concatenate([self.rows, rows]), np.concatenate([self.columns, columns])
        best = np.argsort(-values, kind="stable")[: self.count]
        self.values, self.rows, self.columns = values[best], rows[best], columns[best]
        if len(values) >= self.count:
            self.threshold = float(self.values[-1])

    def pairs(self) -> Iterator[tuple[int, int]]:
        return zip(self.rows.tolist(), self.columns.tolist(), strict=True)


def _largest_of(gram: np.ndarray, modulus: np.ndarray, diagonal: bool) -> tuple[np.ndarray, np.ndarray]:
    """|gram| into ``modulus``, 0 on a diagonal, and its largest entries by row and column; one strip in cache."""
    by_row, by_column = np.empty(len(gram), np.float32), np.zeros(gram.shape[1], np.float32)
    for strip in slices(len(gram), 128):
        part = np.abs(gram[strip], out=modulus[strip])
        if diagonal:
            part[np.arange(len(part)), np.arange(strip.start, strip.stop)] = 0
        part.max(axis=1, out=by_row[strip])
        np.maximum(by_column, part.max(axis=0), out=by_column)
    return by_row, by_column


def _moduli(vectors: Matrix, rows: slice, columns: slice, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """|cos| in float64 of the pairs (i, j) of a block: of few pairs one by one, of many (equal rows) all at once."""
    if not len(i):
        return np.empty(0)
    if len(i) > 4 * BLOCK:
        return np.abs(normalise(vectors[rows]) @ normalise(vectors[columns]).conj().T)[i, j]
    u, v = normalise(vectors[(i + rows.start).tolist()]), normalise(vectors[(j + columns.start).tolist()])
    return np.abs(np.einsum("pd,pd->p", u, v.conj()))


def _recheck(vectors: Matrix, i: int, j: int) -> Pair:
    u, v = normalise(vectors[[i, j]])
    product = np.vdot(u, v)
    modulus = min(1.0, float(abs(product)))
    kind = "near"
    if modulus > DUPLICATE:
        phase = product / abs(product)
        kind = "duplicate" if abs(phase - 1) < 1e-3 else "antipodal" if abs(phase + 1) < 1e-3 else "phase"
    return Pair(i, j, modulus, kind)


def _sample(unit: np.ndarray, seed: int, most: int) -> tuple[np.ndarray, int | None]:
    n = len(unit)
    if n * (n - 1) // 2 <= most:
        parts = [
            modulus[np.triu_indices(len(modulus), 1)] if rows == columns else modulus.reshape(-1)
            for rows, columns in upper_blocks(n)
            for modulus in [np.abs(unit[rows] @ unit[columns].conj().T)]
        ]
        return np.concatenate(parts), None
    chosen = np.random.default_rng(seed).choice(n, max(1, most // n), replace=False)
    out = np.empty((len(chosen), n - 1), np.float32)
    for k, i in enumerate(chosen):
        modulus = np.abs(unit @ unit[i].conj())
        out[k] = np.delete(modulus, i)
    return out.reshape(-1), out.size


def _gemm_peak(unit: np.ndarray) -> float:
    """GFLOP per CPU-second of the bare product of two blocks, the best of a few."""
    a = unit[:BLOCK]
    b = a.copy()  # a product of a matrix with its own transpose is a cheaper operation (syrk)
    out = np.empty((len(a), len(a)), unit.dtype)
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        for _ in range(4):
            np.matmul(a, b.T, out=out)
        best = min(best, time.process_time() - start)
    return 4 * (8 if np.iscomplexobj(unit) else 2) * len(a) ** 2 * unit.shape[1] / max(best, 1e-9) / 1e9
