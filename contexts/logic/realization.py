"""Orthogonal representations: unit vectors whose orthogonality is that of a hypergraph, found or proved impossible.

Three levels, reported separately: *proper* (exclusive atoms are orthogonal), *injective* (and different atoms have
different rays), *faithful* (and atoms are orthogonal only if exclusive). Impossibility comes with a certificate;
finding nothing is no proof, so the answer may also be "not decided".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import networkx as nx
import numpy as np
from pysat.card import CardEnc, EncType
from pysat.solvers import Solver

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.rays import check_vectors, null_space
from contexts.logic import graph_bounds, ray_pools
from contexts.logic.rigidity import edges_of, flex, jacobian

LEVELS = ("proper", "injective", "faithful")
DESCENT_LIMIT = 200
"""Atoms past which the numerical search, whose steps solve dense systems, is not tried."""

CONFLICT_LIMIT = 3_000
"""Conflicts after which the SAT search leaves a pool."""

POLISHED = 1e-12
"""Largest |⟨u|v⟩| of exclusive atoms in vectors that a numerical search returns (float64)."""


@dataclass(frozen=True)
class Realization:
    """``levels`` by name: True (found), False (impossible, see ``certificate``), None (not decided).

    ``vectors`` reach ``level``, the highest found; ``how`` says by which search, ``flex`` how far they can be bent.
    """

    levels: dict[str, bool | None]
    level: str | None
    vectors: dict[str, np.ndarray] | None
    how: str
    certificate: dict | None
    flex: int | None = None
    tried: list[str] = field(default_factory=list)
    interrupted: bool = False


def realize(
    h: Hypergraph,
    level: str = "injective",
    complex_rays: bool = False,
    seed: int = 0,
    restarts: int = 40,
    fresh: bool = False,
) -> Realization:
    """Find vectors of dimension ``h.dimension`` that reach ``level``, or a certificate that there are none.

    In order: certificates; the vectors given (unless ``fresh``); SAT over the ray pools, leaves rebuilt from the
    orthogonal complement; Levenberg–Marquardt on the product of spheres from ``restarts`` random starts. Ctrl-C returns
    the best found so far. Raises ValueError when the dimension is unknown or the level is no level.
    """
    if level not in LEVELS:
        raise ValueError(f"the level must be one of {', '.join(LEVELS)}; got {level!r}")
    if h.dimension is None:
        raise ValueError("to realise a hypergraph the dimension must be known; give it")
    if h.dimension < 2:
        raise ValueError(f"a representation needs dimension 2 or more; got {h.dimension}")
    if seed < 0:
        raise ValueError(f"the seed must be 0 or more; got {seed}")
    search = _Search(h, level, complex_rays, np.random.default_rng(seed))
    try:
        search.run(restarts, fresh)
    except KeyboardInterrupt:
        search.interrupted = True
        search.tried.append("interrupted")
    return search.result()


class _Search:
    """Keeps the best vectors seen while the methods are tried in turn."""

    def __init__(self, h: Hypergraph, level: str, complex_rays: bool, rng: np.random.Generator) -> None:
        self.h, self.level, self.complex_rays, self.rng = h, level, complex_rays, rng
        self.best: dict[str, np.ndarray] | None = None
        self.reached: str | None = None
        self.how = "nothing found"
        self.tried: list[str] = []
        self.interrupted = False
        self.impossible, self.certificate = impossible_level(h)

    def run(self, restarts: int, fresh: bool) -> None:
        goal = self.level
        if self.impossible is not None and LEVELS.index(self.impossible) <= LEVELS.index(goal):
            if self.impossible == "proper":
                return
            goal = LEVELS[LEVELS.index(self.impossible) - 1]  # the best that can still be shown
        if self.h.vectors is not None and not fresh:
            given = {v: x + 0j if self.complex_rays else x for v, x in self.h.vectors.items()}  # real ones bend in C^d
            if self.offer(given, "the vectors given", goal):
                return
        names = (*ray_pools.COMPLEX, *ray_pools.REAL) if self.complex_rays else ray_pools.REAL
        for name in names:
            rays = ray_pools.pool(name, self.h.dimension or 0)
            if rays is None:
                continue
            self.tried.append(f"pool {name} of {len(rays)} rays")
            found = search_pool(self.h, rays, goal, self.rng)
            if found is not None and self.offer(found, f"SAT over rays with components {name}", goal):
                return
        if len(self.h.vertices) > DESCENT_LIMIT:
            self.tried.append(f"least squares is not tried past {DESCENT_LIMIT} atoms")
            return
        for attempt in range(restarts):
            spread = goal != "proper" and attempt % 4 != 3
            found = descend(self.h, self.complex_rays, self.rng, spread)
            if found is not None and self.offer(found, f"least squares, start {attempt + 1}", goal):
                return
        self.tried.append(f"{restarts} starts of least squares")

    def offer(self, vectors: dict[str, np.ndarray], how: str, goal: str) -> bool:
        """Keep these vectors if they reach more than before; True when they reach the goal."""
        reached = check_vectors(self.h.replace(vectors=vectors)).level
        rank = -1 if reached is None else LEVELS.index(reached)
        if rank > (-1 if self.reached is None else LEVELS.index(self.reached)):
            self.best, self.reached, self.how = vectors, reached, how
        return rank >= LEVELS.index(goal)

    def result(self) -> Realization:
        top = -1 if self.reached is None else LEVELS.index(self.reached)
        bottom = len(LEVELS) if self.impossible is None else LEVELS.index(self.impossible)
        levels = {name: True if k <= top else False if k >= bottom else None for k, name in enumerate(LEVELS)}
        bend = None if self.best is None else flex(self.h.replace(vectors=self.best))
        return Realization(
            levels, self.reached, self.best, self.how, self.certificate, bend, self.tried, self.interrupted
        )


def impossible_level(h: Hypergraph) -> tuple[str | None, dict | None]:
    """The lowest level proved impossible, with a checkable certificate; (None, None) if no rule applies.

    proper     a clique of more than d atoms; or the multiplicity-weighted θ below the number of contexts m, all of d
               atoms (vectors would give every state Σ wᵢ p(i) = m ≤ θ_w)
    injective  two atoms whose common neighbours leave them one ray: d − 1 mutually exclusive ones, or in dimension 3
    any two
    """
    d = h.dimension or 0
    clique = max(nx.find_cliques(h.graph), key=len)
    if len(clique) > d:
        return "proper", {"rule": f"{len(clique)} mutually exclusive atoms in dimension {d}", "atoms": sorted(clique)}
    whole = bool(h.contexts) and all(len(c) == d for c in h.contexts)
    if whole and graph_bounds.independence_number(h, "multiplicity").value < len(h.contexts):  # else θ_w ≥ α_w = m
        try:
            theta = graph_bounds.lovasz(h, "multiplicity")
        except graph_bounds.TooLarge:
            theta = None
        if theta is not None and theta.dual < len(h.contexts) - 1e-6:
            rule = f"θ_w ≤ {theta.dual:.9g} < {len(h.contexts)} contexts of {d} atoms each"
            return "proper", {
                "rule": rule,
                "theta_dual": theta.dual,
                "dual_matrix": theta.dual_matrix.tolist(),
                "atoms": theta.atoms,
            }
    for u, v in combinations(h.vertices, 2):
        common = sorted(nx.common_neighbors(h.graph, u, v))
        if len(common) < (2 if d == 3 else d - 1):
            continue
        span: list[str] | None = (
            common[:2]
            if d == 3
            else next((q[: d - 1] for q in nx.find_cliques(h.graph.subgraph(common)) if len(q) >= d - 1), None)
        )
        if span:
            rule = f"{u} and {v} are orthogonal to all of {', '.join(span)}; in dimension {d} that leaves one ray"
            if d == 3:
                rule = (
                    f"{u} and {v} are orthogonal to {span[0]} and {span[1]}; in dimension 3 one of the pairs is one ray"
                )
            return "injective", {"rule": rule, "atoms": [u, v], "common": span}
    return None, None


def search_pool(h: Hypergraph, rays: np.ndarray, level: str, rng: np.random.Generator) -> dict[str, np.ndarray] | None:
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


def descend(
    h: Hypergraph, complex_rays: bool, rng: np.random.Generator, spread: bool = True, steps: int = 200
) -> dict[str, np.ndarray] | None:
    """One random start of Riemannian Levenberg–Marquardt on Σ|⟨u|v⟩|² over exclusive pairs; None if it does not reach
    0.

    Each step is taken in the tangent spaces of the spheres and pulled back by normalising. With ``spread``, rays of
    non-exclusive atoms closer than |⟨u|v⟩| = 0.97 also push each other apart, against coinciding rays.
    """
    n, d = len(h.vertices), h.dimension or 0
    unit = rng.normal(size=(n, d)) + (1j * rng.normal(size=(n, d)) if complex_rays else 0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    unit, error = polish(unit, edges_of(h), steps, spread)
    return dict(zip(h.vertices, unit, strict=True)) if error <= POLISHED else None


def polish(unit: np.ndarray, edges: np.ndarray, steps: int = 200, spread: bool = False) -> tuple[np.ndarray, float]:
    """Move unit rows to the nearest place where the edges' inner products vanish; the rows and the largest one left."""
    damping = 1e-2
    rows, table = _residual(unit, edges, spread)
    for _ in range(steps):
        table = _tangent(unit, table)
        gram = table.T @ table
        gradient = table.T @ rows
        move = np.linalg.solve(gram + damping * np.eye(len(gram)), -gradient)
        trial = _retract(unit, move)
        new_rows, new_table = _residual(trial, edges, spread)
        if np.linalg.norm(new_rows) < np.linalg.norm(rows):
            unit, rows, table = trial, new_rows, new_table
            damping = max(damping / 4, 1e-15)
            if np.abs(rows).max(initial=0.0) < 1e-15:
                break
        else:
            rows, table = _residual(unit, edges, spread)
            damping *= 6
            if damping > 1e8:
                break
    i, j = edges[:, 0], edges[:, 1]
    return unit, float(np.abs(np.sum(unit[i].conj() * unit[j], axis=1)).max(initial=0.0))


def _residual(unit: np.ndarray, edges: np.ndarray, spread: bool) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of the edges, and of rays that are too near each other, with their Jacobian."""
    inner = np.sum(unit[edges[:, 0]].conj() * unit[edges[:, 1]], axis=1)
    rows = np.concatenate([inner.real, inner.imag]) if np.iscomplexobj(unit) else inner
    table = jacobian(unit, edges)
    if not spread:
        return rows, table
    overlap = np.abs(unit.conj() @ unit.T)
    close = np.argwhere(np.triu(overlap, 1) > 0.97)
    if not len(close):
        return rows, table
    products = np.sum(unit[close[:, 0]].conj() * unit[close[:, 1]], axis=1)
    size = np.abs(products)
    slope = jacobian(unit, close)
    if np.iscomplexobj(unit):
        half = len(close)
        slope = (products.real / size)[:, None] * slope[:half] + (products.imag / size)[:, None] * slope[half:]
    else:
        slope = np.sign(products)[:, None] * slope
    return np.concatenate([rows, size - 0.97]), np.concatenate([table, slope])


def _tangent(unit: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Remove from each row of a Jacobian the part along each atom's own vector."""
    flat = np.concatenate([unit.real, unit.imag], axis=1) if np.iscomplexobj(unit) else unit
    blocks = table.reshape(len(table), *flat.shape)
    along = np.einsum("eni,ni->en", blocks, flat)
    return (blocks - along[:, :, None] * flat).reshape(table.shape)


def _retract(unit: np.ndarray, move: np.ndarray) -> np.ndarray:
    n, d = unit.shape
    if np.iscomplexobj(unit):
        parts = move.reshape(n, 2, d)
        moved = unit + parts[:, 0] + 1j * parts[:, 1]
    else:
        moved = unit + move.reshape(n, d)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


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
