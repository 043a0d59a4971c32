"""Packings by optimisation: minimise the largest |⟨u,v⟩| of n lines in R^d or C^d from many restarts.

Each restart minimises a smoothed maximum, F_β = (1/β) ln Σ_{u≠v} exp(β |⟨u,v⟩|²), by L-BFGS while β grows by 4 per
stage; squaring makes it smooth at 0 and treats R and C alike. Low starting β finds symmetric optima (low β is a
low-order frame potential, minimised by designs), high β amorphous ones: so the start is drawn log-uniformly. Besides
random starts, rounds take orbits under random symmetries, parts of larger constructions, and perturbations of the best
found. The best are polished on their active pairs. Nothing is ever called optimal here unless a proved bound equals it.

Related: Game of Sloanes (Jasper, King, Mixon 2019) for what others did. float64/complex128 throughout.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float64, Inexact
from threadpoolctl import threadpool_limits

from contexts.packing.bounds.coherence_bounds import best_bound
from contexts.packing.constructions.construction import LARGEST, Construction
from contexts.packing.measure.gram import coherence, normalise
from contexts.packing.search.initialisation import MOST, gaussian, most_free, parts, perturbed, symmetries, usable
from contexts.packing.search.lbfgs import minimise
from contexts.packing.search.polish import descend, equalise
from contexts.packing.search.search_state import Found, State
from contexts.packing.search.symmetry import Symmetry, trivial
from contexts.packing.validation import Number, check_field, check_size

NEAR = 3e-4  # above what is hoped for: what annealing leaves for a polish, and then some
LARGEST_D, LARGEST_N = 20_000, 100_000  # the sizes of packings that are built: up to the 98,280 lines of Leech
ENTRIES = 60_000  # |⟨u,v⟩|² entries of one batch: it stays in cache
HALFWAY, LAST = 100, 2e4  # β/d at which a batch is thinned out, and at which annealing ends


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
    patience: int = 2000,
    state: State | None = None,
    structures: Sequence[Construction] = (),
    progress: Callable[[State], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> State:
    """Search for n lines of R^d or C^d of small coherence.

    Ends when the coherence is at most ``target`` or meets a proved bound, after ``rounds`` rounds or ``seconds`` of CPU
    time, or when the best has been met from ``patience`` random starts since it was first found. A round is a batch of
    restarts, cut short where the time is over or ``stop()`` says so, and then done again on resuming. Its random
    numbers depend on (seed, round) alone, so a run is reproducible for given ``rounds``. ``state`` resumes an earlier
    search. ``structures`` are constructions whose parts, or which with lines added, some rounds start from.
    ``progress`` is called after each round. n ≤ d gives an orthonormal set. The last polish may take a tenth of
    ``seconds``, or two, beyond them. Raises ``ValueError`` for more lines than n² numbers can be held of.
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
        state.pool = [Found(0.0 if n <= d else 1.0, lines, "orthonormal" if n <= d else "only one line", True)]
        return state
    if n > MOST:
        raise ValueError(f"the optimiser holds n² numbers: n must be at most {MOST}, got {n}")
    bound, _ = best_bound(d, n, field)
    goal = max(target, bound * (1 + 1e-11))
    state.final = None
    over = _Clock(seconds, stop)
    with threadpool_limits(1):  # matrices this small only lose by threads
        while state.coherence > goal and state.hits < patience:
            if (rounds is not None and state.round >= rounds) or (state.pool and over()):
                break
            _round(state, goal, structures, over)
            if progress:
                progress(state)
        _finish(state, _Clock(seconds + max(2.0, 0.1 * seconds), stop, over.start))
    return state


class _Clock:
    """Is ``seconds`` of CPU time over, or has ``stop()`` said so? The CPU clock, a dear call, is read now and then."""

    def __init__(self, seconds: Number, stop: Callable[[], bool] | None, start: float | None = None):
        self.seconds, self.stop = seconds, stop
        self.start = time.process_time() if start is None else start
        self.asked, self.late = -math.inf, False

    def __call__(self) -> bool:
        now = time.perf_counter()
        if not self.late and now - self.asked > 0.2:
            self.asked = now
            self.late = time.process_time() - self.start > self.seconds
        return self.late or (self.stop is not None and self.stop())


def smoothed_maximum(
    x: Inexact[np.ndarray, "batch r d"], beta: Float64[np.ndarray, " batch"], symmetry: Symmetry
) -> tuple[Float64[np.ndarray, " batch"], Inexact[np.ndarray, "batch r d"]]:
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
    x: Inexact[np.ndarray, "batch r d"],
    beta: Float64[np.ndarray, " batch"],
    symmetry: Symmetry,
    last: Number,
    stop: Callable[[], bool],
    iterations: int = 80,
) -> Inexact[np.ndarray, "batch r d"]:
    """Minimise F_β from raw representatives x (B, r, d), with β × 4 per stage up to ``last``; returns them normalised.

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


def _round(state: State, goal: float, structures: Sequence[Construction], over: Callable[[], bool]) -> None:
    """One batch of restarts of one kind; its best are offered to the pool, polished where they come near ``goal``.

    Where it is ``over`` before its end, what there is by then is offered as it is, and the round is not counted.
    """
    d, n, field = state.d, state.n, state.field
    rng = np.random.default_rng([state.seed, state.round])
    kinds = ("random", "symmetric", "perturbed", "part", "symmetric", "perturbed")
    kind = kinds[state.round % len(kinds)]
    whole = usable(structures, n, state.coherence) if kind == "part" else []
    if (kind == "part" and not whole) or (kind == "perturbed" and not state.pool):
        kind = "random"
    state.round += 1
    for symmetry in symmetries(d, n, field, rng) if kind == "symmetric" else [trivial(d, n, field)]:
        rows = symmetry.representatives
        batch = int(np.clip(ENTRIES // (rows * n), 1, 6 if kind == "symmetric" else 96))
        beta = d * np.exp(rng.uniform(math.log(0.4), math.log(40), batch))
        how = kind
        if kind == "perturbed":
            x, beta = perturbed([item.vectors for item in state.pool], rng, batch), beta * 10
        elif kind == "part":
            chosen = whole[int(rng.integers(len(whole)))]
            x, beta = parts(chosen.build(), n, field, rng, batch), beta * 100
            how = f"{'part of' if chosen.n > n else 'added to'} {chosen.name}"
        else:
            x = gaussian(rng, (batch, rows, d), field)
            if kind == "symmetric":
                how = f"symmetric ({symmetry.name})"
        x = anneal(x, beta, symmetry, last=HALFWAY * d, stop=over)
        promising = np.argsort(_coherences(symmetry.spread(x)))[: max(2, batch // 3)]
        x = anneal(x[promising], np.full(len(promising), 4.0 * HALFWAY * d), symmetry, last=LAST * d, stop=over)
        full = symmetry.spread(x)
        if symmetry.lines > n:
            full = np.array([lines[most_free(lines, n, rng)] for lines in full])
            how = f"{n} of {symmetry.lines} lines, {how}"
        if over():
            vectors = normalise(full[int(np.argmin(_coherences(full)))])
            state.offer(Found(coherence(vectors), vectors, how))
            state.round -= 1
            return
        hits = _keep(state, full, how, goal, over)
        if kind in ("random", "symmetric"):  # the others start from the best itself
            state.hits += hits


def _keep(state: State, full: np.ndarray, how: str, goal: float, over: Callable[[], bool]) -> int:
    """Offer the best of a batch (B, n, d) to the pool; how many of them met the best?

    Linear programmes cost more than the search that leads to them: here only for what may reach ``goal`` and is no
    optimum polished before.
    """
    values = _coherences(full)
    order = np.argsort(values)
    before = state.coherence
    for k in order[:3]:
        if values[k] > min(state.coherence, values[order[0]]) + 1e-3:
            break
        vectors = equalise(full[k])
        found = Found(coherence(vectors), vectors, how)
        if goal < found.coherence < goal + NEAR and not state.has_polished(found.coherence):
            vectors = descend(vectors, hope=goal, stop=over)
            found = Found(coherence(vectors), vectors, how, True)
        state.offer(found)
    if state.coherence < before - NEAR:
        state.hits = 0
    return int(np.count_nonzero(values < state.coherence + NEAR))


def _finish(state: State, over: Callable[[], bool]) -> None:
    """Polish the best, and what might end up below it, into ``state.final``."""
    if not state.pool:
        return
    best = state.pool[0]
    for item in state.pool[:3]:
        if not item.polished and item.coherence < best.coherence + NEAR / 3 and not over():
            vectors = descend(item.vectors, hope=best.coherence, stop=over)
            best = min(best, Found(coherence(vectors), vectors, item.how, True), key=lambda found: found.coherence)
    state.final = best


def _coherences(full: np.ndarray) -> np.ndarray:
    gram = np.abs(full @ full.conj().transpose(0, 2, 1))
    index = np.arange(full.shape[1])
    gram[:, index, index] = 0
    return gram.max(axis=(1, 2))
