"""Packings by optimisation: minimise the largest |⟨u,v⟩| of n lines in R^d or C^d from many restarts.

Each restart minimises a smoothed maximum, F_β = (1/β) ln Σ_{u≠v} exp(β |⟨u,v⟩|²), by L-BFGS while β grows by 4 a
stage; squaring makes it smooth at 0 and treats R and C alike. Low starting β finds symmetric optima (low β is a
low-order frame potential, minimised by designs), high β amorphous ones: so the start is drawn log-uniformly. Besides
random starts, rounds take orbits under random symmetries and perturbations of the best found. The best are polished on
their active pairs. Nothing is ever called optimal here unless a proved bound equals it.

Related: Game of Sloanes (Jasper, King, Mixon 2019) for what others did. float64/complex128 throughout.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contexts.packing.bounds import best_bound
from contexts.packing.constructions import LARGEST
from contexts.packing.fields import Number, check_field, check_size
from contexts.packing.lbfgs import minimise
from contexts.packing.measure import coherence, normalise
from contexts.packing.polish import descend, equalise
from contexts.packing.symmetry import Symmetry, paulis, random_cyclic, trivial, weyl_heisenberg

POOL = 6  # packings kept as material for perturbation
SAME = 1e-7  # two coherences closer than this count as the same local optimum
LARGEST_D, LARGEST_N = 20_000, 100_000  # the sizes of packings that are built: up to the 98,280 lines of Leech
MOST = 6000  # lines: beyond, the Gram matrix and its copies leave the memory of a laptop
ENTRIES = 60_000  # |⟨u,v⟩|² entries of one batch: it stays in cache
GROUPS = 8  # symmetries tried in one round
HALFWAY, LAST = 100, 2e4  # β/d at which a batch is thinned out, and at which annealing ends


@dataclass
class State:
    """Everything a search needs to go on: seed, rounds done, best packings (coherence, vectors, how), hits of the best.

    Search k rounds, save, load and search l more: the same as k + l rounds at once.
    """

    d: int
    n: int
    field: str
    seed: int
    round: int = 0
    hits: int = 0
    pool: list[tuple[float, np.ndarray, str]] = dataclasses.field(default_factory=list)

    def check_belongs(self, d: int, n: int, field: str) -> None:
        """Raises ValueError where this search is for other lines than these."""
        if (self.d, self.n, self.field) != (d, n, field):
            raise ValueError(
                f"the saved search is for d={self.d}, n={self.n}, {self.field}; asked for d={d}, n={n}, {field}"
            )

    def check(self) -> None:
        """Raises ValueError where this is no state that a search could have left: one read from a damaged file."""
        check_size("d", self.d)
        check_size("n", self.n)
        check_field(self.field)
        if min(self.seed, self.round, self.hits) < 0:
            raise ValueError("its seed, rounds and hits must be at least 0")
        if not self.pool:
            raise ValueError("it holds no packing")
        for value, vectors, _ in self.pool:
            if vectors.shape != (self.n, self.d):
                raise ValueError(f"expected {self.n} vectors of dimension {self.d}, got the shape {vectors.shape}")
            if vectors.dtype != (complex if self.field == "complex" else float):
                raise ValueError(f"expected double precision {self.field} vectors, got {vectors.dtype}")
            if not abs(coherence(vectors) - value) < 1e-9:
                raise ValueError(
                    f"its vectors have the coherence {coherence(vectors):.12f}, not {value:.12f} as it says"
                )

    @property
    def coherence(self) -> float:
        return self.pool[0][0] if self.pool else math.inf

    @property
    def vectors(self) -> np.ndarray:
        """The best packing found, unit rows (n, d)."""
        return self.pool[0][1]

    @property
    def how(self) -> str:
        return self.pool[0][2]


def check_workable(d: int, n: int) -> None:
    """Raises ValueError where (d, n) is no pair of sizes, or the vectors and their certificate are beyond a laptop."""
    check_size("d", d)
    check_size("n", n)
    if d > LARGEST_D:
        raise ValueError(f"d must be at most {LARGEST_D} to build vectors, got {d}")
    if n > LARGEST_N or n * d > LARGEST:
        raise ValueError(f"n must be at most {min(LARGEST_N, LARGEST // d)} in dimension {d} to build vectors, got {n}")


def optimize(
    d: int,
    n: int,
    field: str,
    *,
    seed: int = 0,
    seconds: Number = 30.0,
    rounds: int | None = None,
    target: Number = 0.0,
    patience: int = 150,
    state: State | None = None,
    progress: Callable[[State], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> State:
    """Search for n lines of R^d or C^d of small coherence.

    Ends when the coherence is at most ``target`` or meets a proved bound, after ``rounds`` rounds or ``seconds`` of CPU
    time, or when the best has been met from ``patience`` starts since it was first found. A round is a
    batch of restarts, cut short where the time is over or ``stop()`` says so, and then done again on resuming. Its
    random numbers depend on (seed, round) alone, so a run is reproducible for given ``rounds``.
    ``state`` resumes an earlier search. ``progress`` is called after each round. n ≤ d gives an orthonormal set.
    """
    check_workable(d, n)
    check_field(field)
    if state is None:
        state = State(d, n, field, seed)
    else:
        state.check_belongs(d, n, field)
    dtype = complex if field == "complex" else float
    if n <= d or d == 1:  # nothing to search: orthonormal vectors, or n copies of the only line
        lines = np.eye(n, d, dtype=dtype) if n <= d else np.ones((n, 1), dtype)
        state.pool = [(0.0 if n <= d else 1.0, lines, "orthonormal" if n <= d else "only one line")]
        return state
    if n > MOST:
        raise ValueError(f"the optimiser holds n² numbers: n must be at most {MOST}, got {n}")
    bound, _ = best_bound(d, n, field)
    goal = max(target, bound * (1 + 1e-11))
    start = time.process_time()

    def over() -> bool:
        return time.process_time() - start > seconds or (stop is not None and stop())

    while state.coherence > goal and state.hits < patience:
        if (rounds is not None and state.round >= rounds) or (state.pool and over()):
            break
        _round(state, over)
        if progress:
            progress(state)
    return state


def smoothed_maximum(x: np.ndarray, beta: np.ndarray, symmetry: Symmetry) -> tuple[np.ndarray, np.ndarray]:
    """F_β and its gradient for raw representatives x (B, r, d), which are projected and normalised inside.

    The largest term is factored out of the exponentials, so that no β overflows. Gradient in the sense of real
    coordinates: ∂F/∂Re + i ∂F/∂Im. Shapes: beta (B,), result (B,), (B, r, d).
    """
    free = symmetry.free
    if len(symmetry.fixed):
        z = x.copy()
        z[:, free:] = np.einsum("bfd,fde->bfe", x[:, free:], symmetry.fixed)
    else:
        z = x
    norm = np.linalg.norm(z, axis=2, keepdims=True)
    unit = z / norm
    full = symmetry.spread(unit)
    gram = unit @ full.conj().transpose(0, 2, 1)
    squares = gram.real**2 + gram.imag**2 if np.iscomplexobj(gram) else gram**2
    index = np.arange(unit.shape[1])
    squares[:, index, index] = -np.inf
    top = squares.max(axis=(1, 2))
    squares -= top[:, None, None]
    squares *= beta[:, None, None]
    weight = np.exp(squares, out=squares)
    if len(symmetry.elements) > 1:
        weight *= symmetry.weights[:, None]
    total = weight.sum(axis=(1, 2))
    gradient = (4 / total)[:, None, None] * ((weight * gram) @ full)
    gradient -= (gradient * unit.conj()).real.sum(axis=2, keepdims=True) * unit
    gradient /= norm
    if len(symmetry.fixed):
        gradient[:, free:] = np.einsum("bfd,fde->bfe", gradient[:, free:], symmetry.fixed)
    return top + np.log(total) / beta, gradient


def anneal(
    x: np.ndarray, beta: np.ndarray, symmetry: Symmetry, last: Number, stop: Callable[[], bool], iterations: int = 80
) -> np.ndarray:
    """Minimise F_β from raw representatives x (B, r, d), with β × 4 a stage up to ``last``; returns them normalised.

    A restart whose β has reached ``last`` waits, at that β, for the others. Ends early where ``stop()`` says so.
    """
    shape, dtype = x.shape, x.dtype
    beta = beta.copy()
    while True:
        # L-BFGS sees real numbers; a complex array is seen as twice as many
        flat = np.ascontiguousarray(x).reshape(shape[0], -1).view(float)

        def objective(points: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, slope = smoothed_maximum(points.view(dtype).reshape(-1, *shape[1:]), beta[which], symmetry)  # noqa: B023
            return value, slope.reshape(len(points), -1).view(float)

        flat, _ = minimise(objective, flat, iterations, stop=stop)
        x = flat.view(dtype).reshape(shape)
        if len(symmetry.fixed):
            x[:, symmetry.free :] = np.einsum("bfd,fde->bfe", x[:, symmetry.free :], symmetry.fixed)
        x = x / np.linalg.norm(x, axis=2, keepdims=True)
        if (beta >= last).all() or stop():
            return x
        beta = np.minimum(beta * 4, last)


def _round(state: State, over: Callable[[], bool]) -> None:
    """One batch of restarts of one kind; its best are polished and offered to the pool.

    Where it is ``over`` before its end, what there is by then is offered as it is, and the round is not counted.
    """
    d, n, field = state.d, state.n, state.field
    rng = np.random.default_rng([state.seed, state.round])
    kinds = ("random", "symmetric", "perturbed", "symmetric")
    kind = kinds[state.round % len(kinds)]
    if kind == "perturbed" and not state.pool:
        kind = "random"
    state.round += 1
    for symmetry in _symmetries(state, rng) if kind == "symmetric" else [trivial(d, n, field)]:
        rows = symmetry.representatives
        batch = int(np.clip(ENTRIES // (rows * n), 1, 8 if kind == "symmetric" else 32))
        beta = d * np.exp(rng.uniform(math.log(0.4), math.log(40), batch))
        if kind == "perturbed":
            x, beta = _perturbed(state, rng, batch), beta * 10
        else:
            x = _gaussian(rng, (batch, rows, d), field)
        x = anneal(x, beta, symmetry, last=HALFWAY * d, stop=over)
        promising = np.argsort(_coherences(symmetry.spread(x)))[: max(2, batch // 3)]
        x = anneal(x[promising], np.full(len(promising), 4.0 * HALFWAY * d), symmetry, last=LAST * d, stop=over)
        how = kind if kind != "symmetric" else f"symmetric ({symmetry.name})"
        full = symmetry.spread(x)
        if over():
            vectors = normalise(full[int(np.argmin(_coherences(full)))])
            _offer(state, coherence(vectors), vectors, how)
            state.round -= 1
            return
        _keep(state, full, how)


def _keep(state: State, full: np.ndarray, how: str) -> None:
    """Polish the best of a batch (B, n, d) and offer them to the pool; count how many starts met the best."""
    values = _coherences(full)
    order = np.argsort(values)
    before = state.coherence
    for k in order[:3]:
        best = state.coherence
        if values[k] > min(best, values[order[0]]) + 1e-3:
            break
        vectors = equalise(full[k])
        value = coherence(vectors)
        # linear programmes only for what may become a new best and is not a known optimum met again
        if value < best + 3e-4 and all(abs(value - known) > 1e-11 for known, _, _ in state.pool):
            vectors = descend(vectors, hope=best if math.isfinite(best) else 1.0)
            value = coherence(vectors)
        _offer(state, value, vectors, how)
    near = int(np.count_nonzero(values < state.coherence + 3e-4))
    state.hits = near if state.coherence < before - SAME else state.hits + near


def _offer(state: State, value: float, vectors: np.ndarray, how: str) -> None:
    for k, (known, _, _) in enumerate(state.pool):
        if abs(known - value) < SAME:
            if value < known:
                state.pool[k] = (value, vectors, how)
                state.pool.sort(key=lambda item: item[0])
            return
    state.pool.append((value, vectors, how))
    state.pool.sort(key=lambda item: item[0])
    del state.pool[POOL:]


def _symmetries(state: State, rng: np.random.Generator) -> list[Symmetry]:
    """The groups of one round: Weyl-Heisenberg and Pauli where n allows, and random cyclic ones."""
    d, n = state.d, state.n
    found = [weyl_heisenberg(d, n), paulis(d, n)] if state.field == "complex" else []
    found += [random_cyclic(d, n, state.field, rng) for _ in range(3 * GROUPS)]
    return [symmetry for symmetry in found if symmetry is not None][: int(np.clip(12_000 // n**2, 2, GROUPS))]


def _perturbed(state: State, rng: np.random.Generator, batch: int) -> np.ndarray:
    """Copies of packings of the pool, the better the oftener, with a few lines replaced or all shaken."""
    d, n, field = state.d, state.n, state.field
    out = np.empty((batch, n, d), complex if field == "complex" else float)
    for b in range(batch):
        k = min(int(rng.geometric(0.5)) - 1, len(state.pool) - 1)
        vectors = state.pool[k][1].copy()
        if rng.random() < 0.5:
            replaced = rng.choice(n, int(rng.integers(1, max(2, n // 5) + 1)), replace=False)
            vectors[replaced] = _gaussian(rng, (len(replaced), d), field)
            size = 1e-3  # all move a little: at equal lines the gradient vanishes
        else:
            size = math.exp(rng.uniform(-4, 0))
        vectors = vectors + size * _gaussian(rng, (n, d), field) / math.sqrt(d)
        out[b] = vectors
    return normalise(out.reshape(-1, d)).reshape(out.shape)


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...], field: str) -> np.ndarray:
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if field == "complex" else x


def _coherences(full: np.ndarray) -> np.ndarray:
    gram = np.abs(full @ full.conj().transpose(0, 2, 1))
    index = np.arange(full.shape[1])
    gram[:, index, index] = 0
    return gram.max(axis=(1, 2))
