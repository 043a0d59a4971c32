"""Orthogonal representations among the rays of a finite pool, chosen by SAT; leaves are rebuilt from the complement."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from jaxtyping import Complex, Float, Inexact
from pysat.card import CardEnc, EncType
from pysat.solvers import Solver

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.rays import null_space
from contexts.logic import ray_pools
from contexts.logic.rigidity import edges_of

CONFLICT_LIMIT = 3_000
"""Conflicts after which the SAT search leaves a pool."""


def search_pool(
    h: Hypergraph,
    rays: Float[np.ndarray, "rays d"] | Complex[np.ndarray, "rays d"],
    level: str,
    rng: np.random.Generator,
) -> dict[str, Inexact[np.ndarray, " d"]] | None:
    """Choose rays of a pool for the core (atoms that are no leaves) by SAT, then rebuild the leaves; None if there is
    no choice.

    Not finding one says nothing about other rays.
    """
    core, leaves = _core(h)
    atoms, n, size = h.subset(core), len(core), len(rays)
    if level != "proper" and n > size:
        return None
    perpendicular = ray_pools.orthogonality(rays)
    near = [np.flatnonzero(row).tolist() for row in perpendicular]
    top = n * size
    clauses: list[list[int]] = []

    def x(atom: int, ray: int) -> int:
        return atom * size + ray + 1

    def at_most_one(literals: list[int]) -> None:
        nonlocal top
        encoded = CardEnc.atmost(literals, 1, top_id=top, encoding=EncType.seqcounter)
        top = max(top, encoded.nv)
        clauses.extend(encoded.clauses)

    for i in range(n):
        clauses.append([x(i, r) for r in range(size)])
        at_most_one([x(i, r) for r in range(size)])
    if level != "proper":
        for r in range(size):
            at_most_one([x(i, r) for i in range(n)])
    for i, j in edges_of(atoms).tolist():
        for r in range(size):
            clauses.append([-x(i, r), *(x(j, s) for s in near[r])])
            clauses.append([-x(j, r), *(x(i, s) for s in near[r])])
    if level == "faithful":
        meets = {(i, r): top + 1 + i * size + r for i in range(n) for r in range(size)}  # atom i is orthogonal to ray r
        top += n * size
        clauses += [[-x(i, s), meets[i, r]] for i in range(n) for r in range(size) for s in near[r]]
        for i, j in combinations(range(n), 2):
            if not atoms.neighbour_masks[i] >> j & 1:
                clauses += [[-x(i, r), -meets[j, r]] for r in range(size)]
    degree = [mask.bit_count() for mask in atoms.neighbour_masks]
    pivot = int(np.argmax(degree))  # signs and orders of coordinates are symmetries of a pool: fix them for one atom
    allowed = [r for r in range(size) if _canonical(rays[r])]
    clauses.append([x(pivot, r) for r in allowed])
    with Solver(name="glucose4", bootstrap_with=clauses) as solver:
        solver.conf_budget(CONFLICT_LIMIT)
        if not solver.solve_limited():
            return None
        true = {v for v in solver.get_model()[: n * size] if v > 0}
    vectors = {v: rays[next(r for r in range(size) if x(i, r) in true)] for i, v in enumerate(core)}
    return _with_leaves(h, vectors, leaves, rng)


def _core(h: Hypergraph) -> tuple[list[str], dict[int, list[str]]]:
    """Atoms that are no leaves, and the leaves by context (atoms of one context and of no exclusive pair)."""
    paired = {v for pair in h.exclusive_pairs for v in pair}
    leaves: dict[int, list[str]] = {}
    for k, context in enumerate(h.contexts):
        mine = [v for v in context if h.multiplicity[v] == 1 and v not in paired]
        if mine and len(mine) < len(context):
            leaves[k] = mine
    gone = {v for mine in leaves.values() for v in mine}
    return [v for v in h.vertices if v not in gone], leaves


def _with_leaves(
    h: Hypergraph, vectors: dict[str, np.ndarray], leaves: dict[int, list[str]], rng: np.random.Generator
) -> dict[str, np.ndarray] | None:
    """Fill the leaves from the orthogonal complement of their context; where it is larger, in a random position."""
    full = dict(vectors)
    for k, mine in leaves.items():
        rest = np.stack([vectors[v] for v in h.contexts[k] if v not in mine])
        gap = null_space(rest)
        if gap.shape[1] < len(mine):
            return None
        if gap.shape[1] > 1:
            turn, _ = np.linalg.qr(rng.normal(size=(gap.shape[1], gap.shape[1])))
            gap = gap @ turn
        full |= dict(zip(mine, gap.T, strict=False))
    return {v: full[v] for v in h.vertices}


def _canonical(ray: np.ndarray) -> bool:
    """One representative under reordering and rephasing of coordinates: falling positive components."""
    size = np.abs(ray)
    return bool(np.all(np.diff(size) <= 1e-12) and np.all(np.abs(ray - size) < 1e-12))
