"""Where restarts of a search begin: random lines, symmetric ones, parts of constructions, and the best disturbed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Inexact, Int64

from contexts.packing.constructions.construction import Construction
from contexts.packing.measure.gram import normalise
from contexts.packing.search.symmetry import Symmetry, paulis, random_abelian, weyl_heisenberg

GROUPS = 8  # symmetries tried in one round
MOST = 6000  # lines: beyond, the Gram matrix and its copies leave the memory of a laptop


def symmetries(d: int, n: int, field: str, rng: np.random.Generator) -> list[Symmetry]:
    """The groups of one round: Weyl-Heisenberg and Pauli where n allows, and random abelian ones, some for more lines.

    A few lines less than a symmetric packing has may be the best there is.
    """
    found = [weyl_heisenberg(d, n), paulis(d, n)] if field == "complex" else []
    for _ in range(4 * GROUPS):
        more = int(rng.integers(1, max(2, n // 6) + 1)) if rng.random() < 0.25 else 0
        found.append(random_abelian(d, n + more, field, rng))
    return [symmetry for symmetry in found if symmetry is not None][: int(np.clip(12_000 // n**2, 2, GROUPS))]


def most_free(lines: Inexact[np.ndarray, "lines d"], n: int, rng: np.random.Generator) -> Int64[np.ndarray, " n"]:
    """n rows left when those with the most contacts are removed one by one: |⟨u,v⟩| within 1e-4 of the largest."""
    order = rng.permutation(len(lines))
    gram = np.abs(lines[order] @ lines[order].conj().T)
    np.fill_diagonal(gram, 0)
    alive = np.ones(len(order), bool)
    contact = gram > gram.max() - 1e-4
    while alive.sum() > n:
        contacts = (contact & alive).sum(axis=1)
        if not contacts[alive].any():
            contact = gram > gram[np.ix_(alive, alive)].max() - 1e-4
            continue
        alive[np.argmax(np.where(alive, contacts, -1))] = False
    return order[alive]


def perturbed(
    pool: Sequence[Inexact[np.ndarray, "n d"]], rng: np.random.Generator, batch: int
) -> Inexact[np.ndarray, "batch n d"]:
    """Copies of packings (n, d) of the pool, the first the oftenest, with a few lines replaced or all shaken."""
    n, d = pool[0].shape
    field = "complex" if np.iscomplexobj(pool[0]) else "real"
    out = np.empty((batch, n, d), pool[0].dtype)
    for b in range(batch):
        vectors = pool[min(int(rng.geometric(0.5)) - 1, len(pool) - 1)].copy()
        if rng.random() < 0.6:
            replaced = rng.choice(n, min(int(rng.geometric(0.3)), max(1, n // 3)), replace=False)
            vectors[replaced] = gaussian(rng, (len(replaced), d), field)
            size = 1e-3  # all move a little: at equal lines the gradient vanishes
        else:
            size = math.exp(rng.uniform(-4, 0))
        out[b] = vectors + size * gaussian(rng, (n, d), field) / math.sqrt(d)
    return normalise(out.reshape(-1, d)).reshape(out.shape)


def usable(structures: Sequence[Construction], n: int, best: float) -> list[Construction]:
    """Those of more than n lines and not far above the coherence ``best``, or of a few less than n and below it."""

    def is_usable(c: Construction) -> bool:
        enough = n < c.n <= MOST and c.coherence < 1.1 * best
        return c.buildable and (enough or (0.75 * n <= c.n <= n and c.coherence < best))

    return [c for c in structures if is_usable(c)]


def parts(
    lines: Inexact[np.ndarray, "lines d"], n: int, field: str, rng: np.random.Generator, batch: int
) -> Inexact[np.ndarray, "batch n d"]:
    """n of the lines, drawn at random or left over when those with the most contacts are removed; or all and others."""
    lines = normalise(lines.astype(complex if field == "complex" else float))
    d = lines.shape[1]
    out = np.empty((batch, n, d), lines.dtype)
    for b in range(batch):
        if len(lines) < n:
            out[b] = np.vstack([lines, gaussian(rng, (n - len(lines), d), field)])
        elif len(lines) > 300 or rng.random() < 0.5:
            out[b] = lines[rng.choice(len(lines), n, replace=False)]
        else:
            out[b] = lines[most_free(lines, n, rng)]
    size = np.exp(rng.uniform(-7, -1, (batch, 1, 1)))
    out = out + size * gaussian(rng, (batch, n, d), field) / math.sqrt(d)
    return normalise(out.reshape(-1, d)).reshape(out.shape)


def gaussian(rng: np.random.Generator, shape: tuple[int, ...], field: str) -> Inexact[np.ndarray, "*shape"]:
    """Standard normal numbers of a shape; complex ones have independent real and imaginary parts."""
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if field == "complex" else x
