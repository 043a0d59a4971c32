"""Exact coherence of given vectors, in blocks, so that memory stays bounded however many vectors there are.

Lines are meant, not points: u and −u (or e^{iφ}u) have |cos| = 1 and are named as antipodal (phase) duplicates.
Products are float32 (complex64) matrix products. A block whose largest entry lies within their error of a pair to
report is recomputed in float64 from the rows as they were given, and so is each reported pair. numpy is used
throughout: it has no reduced-precision matrix mode (TF32, bf16) to guard against.
"""

from __future__ import annotations

import dataclasses
import math
import mmap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from contexts.packing.capacity import QUANTILES
from contexts.packing.fields import Number, check_epsilon

BLOCK = 1024
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
    nearest: np.ndarray = dataclasses.field(repr=False)
    sample: np.ndarray = dataclasses.field(repr=False)


class Changed:
    """The rows of a matrix less their ``mean`` and their part along ``leading`` (d, r), computed a block at a time.

    Stands for a matrix wherever one is measured, without a second copy of it: ``changed[rows]`` gives double precision
    rows, divided by ``scale``.
    """

    ndim = 2

    def __init__(self, matrix: np.ndarray, mean: np.ndarray, leading: np.ndarray, scale: float):
        self.matrix, self.mean, self.leading, self.scale = matrix, mean, leading, scale
        self.shape, self.dtype = matrix.shape, mean.dtype

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, rows: slice | list[int]) -> np.ndarray:
        block = np.asarray(self.matrix[rows], self.dtype) / self.scale - self.mean
        return block - (block @ self.leading) @ self.leading.conj().T


Matrix = np.ndarray | Changed


def normalise(vectors: Matrix, dtype: np.dtype | type | None = None) -> np.ndarray:
    """Unit rows of an (n, d) matrix, computed in double precision and returned in ``dtype`` (default: double).

    Raises ValueError for what is not a matrix of numbers, is empty, holds NaN or infinity, or has a zero row (named).
    """
    check_matrix(vectors)
    out = np.empty(vectors.shape, dtype or _double(vectors))
    for rows, block in _blocks(vectors):
        top = _largest(block)
        if not top.all():
            raise ValueError(f"row {rows.start + int(np.argmin(top))} is the zero vector, which has no direction")
        block = block / top  # scaled first: squares of entries beyond 1e154 would overflow
        out[rows] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return out


def check_matrix(vectors: Matrix) -> None:
    if not isinstance(vectors, np.ndarray | Changed) or vectors.ndim != 2:
        shape = getattr(vectors, "shape", None)
        raise ValueError(f"expected a matrix (n vectors as rows, d columns), got {_what(vectors, shape)}")
    if vectors.dtype.kind not in "fciu":
        raise ValueError(f"expected numbers, got dtype {vectors.dtype}")
    if 0 in vectors.shape:
        raise ValueError(f"the matrix is empty: {vectors.shape[0]} vectors of dimension {vectors.shape[1]}")


def coherence(vectors: Matrix) -> float:
    """max |⟨u,v⟩| over distinct rows after normalisation, in float64; 0 for a single vector. O(block · n) memory."""
    unit = normalise(vectors)
    top = 0.0
    for rows, columns in _upper_blocks(len(unit)):
        gram = np.abs(unit[rows] @ unit[columns].conj().T)
        if rows == columns:
            np.fill_diagonal(gram, 0)  # by place, never by value: a computed 1 is often 1 − 1e-16
        top = max(top, float(gram.max()))
    return min(top, 1.0)


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
    nearest = np.zeros(n, np.float32)
    candidates = _TopPairs(top)
    duplicates = 0
    # a float32 product of rows rounded to float32 errs by at most this (Higham, gamma_n); float64 decides within it
    error = (8 + 2 * d if is_complex else 4 + d) * 2.0**-24
    total, done = n * n / 2, 0.0
    product = np.empty(BLOCK * BLOCK, unit.dtype)
    size = np.empty(BLOCK * BLOCK, np.float32) if is_complex else product
    bare = _gemm_peak(unit)
    busy = time.process_time()
    for rows, columns in _upper_blocks(n):
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        gram = product[: shape[0] * shape[1]].reshape(shape)
        right = unit[columns].conj().T if is_complex else unit[columns].T
        np.matmul(unit[rows], right, out=gram)
        modulus = np.abs(gram, out=size[: gram.size].reshape(shape))
        if rows == columns:
            np.fill_diagonal(modulus, 0)
        by_row, by_column = modulus.max(axis=1), modulus.max(axis=0)
        np.maximum(nearest[rows], by_row, out=nearest[rows])
        np.maximum(nearest[columns], by_column, out=nearest[columns])
        peak = float(by_row.max()) + error
        if peak > min(candidates.threshold, DUPLICATE):
            modulus = np.abs(normalise(vectors[rows]) @ normalise(vectors[columns]).conj().T)
            if rows == columns:
                modulus[np.tri(len(modulus), dtype=bool)] = -1  # every pair once
            duplicates += int(np.count_nonzero(modulus > DUPLICATE))
            candidates.take(modulus, rows.start, columns.start)
        done += modulus.size * (0.5 if rows == columns else 1)
        if progress:
            progress(done / total)
    busy = time.process_time() - busy
    flops = (8 if is_complex else 2) * total * d
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


def greedy_subset(vectors: Matrix, eps: Number, most: int = 20_000) -> np.ndarray:
    """Rows kept, in order, by keeping each whose |cos| with all kept so far is at most ε: an ε-coherent subset.

    A lower bound on the largest such subset. Looks at the first ``most`` rows.
    """
    check_epsilon(eps)
    unit = normalise(vectors[:most], np.complex64 if np.iscomplexobj(vectors) else np.float32)
    kept = np.empty_like(unit)
    chosen: list[int] = []
    for rows in _slices(len(unit), 256):
        block = unit[rows]
        free = np.ones(len(block), bool)
        for earlier in _slices(len(chosen)):
            free &= np.abs(block @ kept[earlier].conj().T).max(axis=1) <= eps
        within = np.abs(block @ block.conj().T) > eps
        for i in np.flatnonzero(free):
            if free[i]:
                kept[len(chosen)] = block[i]
                chosen.append(rows.start + int(i))
                free &= ~within[i]
    return np.array(chosen, int)


def effective_dimension(vectors: Matrix) -> float:
    """Participation ratio (Σλ)²/Σλ² of the spectrum of Σ u u†, u the unit vectors: d if isotropic, 1 if parallel."""
    check_matrix(vectors)
    second = np.zeros((vectors.shape[1],) * 2, np.complex128 if np.iscomplexobj(vectors) else np.float64)
    for rows in _slices(len(vectors)):
        block = normalise(vectors[rows])
        second += block.conj().T @ block
    return float(np.trace(second).real ** 2 / np.linalg.norm(second) ** 2)


def centring(vectors: np.ndarray) -> Changed:
    """Rows minus their mean. Real embeddings share a common direction that raises every cosine.

    Divided by the largest entry where that lies beyond 1e±100, whose squares would leave double precision.
    """
    check_matrix(vectors)
    largest = max(float(_largest(block).max()) for _, block in _blocks(vectors))
    scale = 1.0 if largest == 0 or 1e-100 < largest < 1e100 else largest
    mean = sum(((block / scale).sum(axis=0) for _, block in _blocks(vectors)), np.zeros(1)) / len(vectors)
    return Changed(vectors, mean, np.zeros((vectors.shape[1], 0)), scale)


def removing_the_top(vectors: np.ndarray, remove: int | None = None) -> Changed:
    """Centred rows with their ``remove`` (default: d/100, at least 1) leading principal components taken out.

    Mu & Viswanath 2018, "All-but-the-Top". Raises ValueError unless 0 ≤ remove < d.
    """
    check_matrix(vectors)
    d = vectors.shape[1]
    remove = max(1, d // 100) if remove is None else remove
    if not 0 <= remove < d:
        raise ValueError(f"can remove 0 to {d - 1} principal components, got {remove}")
    changed = centring(vectors)
    second = np.zeros((d, d), changed.dtype)
    for rows in _slices(len(vectors)):
        block = changed[rows]
        second += block.T @ block.conj()
    changed.leading = np.linalg.eigh(second)[1][:, d - remove :]
    return changed


def centred(vectors: np.ndarray) -> np.ndarray:
    """:func:`centring` as a matrix."""
    return centring(vectors)[:]


def all_but_the_top(vectors: np.ndarray, remove: int | None = None) -> np.ndarray:
    """:func:`removing_the_top` as a matrix."""
    return removing_the_top(vectors, remove)[:]


class _TopPairs:
    """The ``count`` largest entries seen so far."""

    def __init__(self, count: int):
        self.count = count
        self.values = np.empty(0)
        self.rows = np.empty(0, int)
        self.columns = np.empty(0, int)
        self.threshold = -1.0

    def take(self, modulus: np.ndarray, row: int, column: int) -> None:
        flat, few = modulus.reshape(-1), min(self.count, modulus.size)
        flat = np.sort(np.argpartition(flat, flat.size - few)[flat.size - few :])
        flat = flat[modulus.reshape(-1)[flat] > self.threshold]
        i, j = np.divmod(flat, modulus.shape[1])
        values = np.concatenate([self.values, modulus.reshape(-1)[flat]])
        rows, columns = np.concatenate([self.rows, i + row]), np.concatenate([self.columns, j + column])
        best = np.argsort(-values, kind="stable")[: self.count]
        self.values, self.rows, self.columns = values[best], rows[best], columns[best]
        if len(values) >= self.count:
            self.threshold = float(self.values[-1])

    def pairs(self) -> Iterator[tuple[int, int]]:
        return zip(self.rows.tolist(), self.columns.tolist(), strict=True)


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
            for rows, columns in _upper_blocks(n)
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


def _double(vectors: Matrix) -> type:
    return np.complex128 if np.iscomplexobj(vectors) else np.float64


def _blocks(vectors: Matrix) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows in double precision. Raises ValueError where one holds NaN or infinity (the row is named)."""
    for rows in _slices(len(vectors)):
        with np.errstate(over="ignore"):  # extended precision may exceed double: an infinity, named below
            block: np.ndarray = np.asarray(vectors[rows], _double(vectors))
        bad = ~np.isfinite(block).all(axis=1)
        if bad.any():
            raise ValueError(f"row {rows.start + int(np.argmax(bad))} holds a NaN or an infinity")
        yield rows, block
        _let_go(vectors)


def _let_go(vectors: Matrix) -> None:
    """Pages of a mapped file that have been read need not stay in memory: the file has them."""
    mapped = getattr(vectors.matrix if isinstance(vectors, Changed) else vectors, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _largest(block: np.ndarray) -> np.ndarray:
    """The largest |Re| or |Im| of each row, as a column; |z| itself may overflow."""
    if np.iscomplexobj(block):
        return np.maximum(np.abs(block.real), np.abs(block.imag)).max(axis=1, keepdims=True)
    return np.abs(block).max(axis=1, keepdims=True)


def _slices(n: int, block: int = BLOCK) -> Iterator[slice]:
    for start in range(0, n, block):
        yield slice(start, min(n, start + block))


def _upper_blocks(n: int) -> Iterator[tuple[slice, slice]]:
    for rows in _slices(n):
        for columns in _slices(n):
            if columns.start >= rows.start:
                yield rows, columns


def _what(thing: object, shape: tuple[int, ...] | None) -> str:
    return f"an array of shape {shape}" if shape is not None else type(thing).__name__
