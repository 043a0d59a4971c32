"""Independence number α, Lovász number θ and fractional packing number α*, with weights, each with a certificate.

They bound what a sum of probabilities Σ wᵢ p(i) of exclusive events can reach: α classically (two-valued states), θ in
quantum theory (vectors), α* if only exclusivity is respected (Cabello, Severini & Winter, PRL 112, 040401 (2014)); so
α ≤ θ ≤ α*. "No two-valued state" and "θ > α" are different statements: unweighted, Peres' 33 rays have α = θ = 12.
With the multiplicity of each atom as its weight, an orthogonal representation by m full bases reaches θ_w ≥ m, while
α_w = m exactly if a two-valued state exists.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import networkx as nx
import numpy as np

from contexts.hypergraphs.hypergraph import Hypergraph

CLIQUE_LIMIT = 200_000
"""Maximal cliques after which α and α* stop with an error."""

THETA_LIMIT = 150
"""Atoms after which θ is refused: the semidefinite program has n² unknowns."""

INTERIOR_LIMIT = 70
"""Atoms up to which Clarabel's interior point method solves for θ (seconds); SCS, less exact, takes the larger ones."""


LIGHTEST, HEAVIEST = 1e-6, 1e6
"""Weights other than 0 lie between these, so that light ones are not lost beside heavy ones in float64."""

HEAVIEST_SOLVED = 1e6
"""The largest weight as HiGHS sees it, whatever it was: its absolute gap of 1e-6 is then 1e-12 of α."""


class TooLarge(ValueError):
    """More atoms than θ is computed for."""


@dataclass(frozen=True)
class Alpha:
    """``value`` = the weight of ``independent_set``, which shows α ≥ value; HiGHS's branch and bound shows α ≤
    ``upper``."""

    value: float
    independent_set: list[str]
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the two agree to 1e-11 of α, which is rounding."""
        return self.upper <= self.value * (1 + 1e-11)


@dataclass(frozen=True)
class AlphaStar:
    """``value`` = Σ wᵢxᵢ of a feasible ``assignment``; ``dual`` = Σ of ``cover`` weights on cliques, an upper bound."""

    value: float
    assignment: dict[str, float]
    dual: float
    cover: list[tuple[list[str], float]]


@dataclass(frozen=True)
class Theta:
    """``value`` ≤ θ ≤ ``dual``, both rigorous up to rounding whatever the solver did, from the two matrices.

    ``primal_matrix``  X ⪰ 0, tr X = 1, Xᵢⱼ = 0 for exclusive i, j; value = Σ √(wᵢwⱼ) Xᵢⱼ
    ``dual_matrix``    M with Mᵢⱼ = √(wᵢwⱼ) unless i, j are exclusive; dual = its largest eigenvalue
    Rows and columns are the atoms ``atoms`` (those of positive weight).
    """

    value: float
    dual: float
    atoms: list[str]
    primal_matrix: np.ndarray
    dual_matrix: np.ndarray


def weights_of(h: Hypergraph, weights: str | Mapping[str, float | int] | None = None) -> dict[str, float]:
    """One weight per atom: 1 each (None), ``"multiplicity"`` (number of contexts), or the user's (missing atoms: 0).

    Raises ValueError for an unknown atom or word, a negative or non-finite weight, or all weights zero.
    """
    if weights is None:
        return dict.fromkeys(h.vertices, 1.0)
    if isinstance(weights, str):
        if weights != "multiplicity":
            raise ValueError(f"weights must be 'multiplicity' or a number for each atom; got {weights!r}")
        given: Mapping[str, float | int] = h.multiplicity
    else:
        given = weights
    if unknown := [v for v in given if v not in h.index]:
        near = get_close_matches(str(unknown[0]), h.vertices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"a weight is given for {unknown[0]!r}, which is not among the vertices{hint}")
    full = {v: float(given.get(v, 0.0)) for v in h.vertices}
    if bad := [v for v, w in full.items() if not np.isfinite(w) or w < 0]:
        raise ValueError(f"the weight of {bad[0]!r} must be a finite number, not negative; got {full[bad[0]]}")
    if far := [v for v, w in full.items() if w and not LIGHTEST <= w <= HEAVIEST]:
        raise ValueError(
            f"the weight of {far[0]!r} must be 0 or between {LIGHTEST:g} and {HEAVIEST:g}, where the solvers are exact;"
            f" got {full[far[0]]:g}: rescale all weights"
        )
    if not any(full.values()):
        raise ValueError("all weights are zero" + (" (no atom lies in a context)" if given is h.multiplicity else ""))
    return full


def independence_number(h: Hypergraph, weights: str | Mapping[str, float | int] | None = None) -> Alpha:
    """The largest weight of pairwise non-exclusive atoms, by mixed-integer programming over maximal cliques (HiGHS).

    Searched without a gap. Whole weights have a whole α, so that its upper bound is rounded down. Raises ValueError as
    :func:`weights_of`, past ``CLIQUE_LIMIT`` cliques, or where HiGHS gives up.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # a second to load: only where it is needed

    w = weights_of(h, weights)
    scale = HEAVIEST_SOLVED / max(w.values())
    cost = -scale * np.array([w[v] for v in h.vertices])
    constraint = LinearConstraint(_clique_matrix(h, _cliques(h)), ub=1)
    gap = {"mip_rel_gap": 0.0}
    result = milp(cost, integrality=np.ones(len(cost)), bounds=Bounds(0, 1), constraints=constraint, options=gap)
    if result.x is None:
        raise ValueError(f"HiGHS found no independent set: {result.message}")
    chosen = [v for v, x in zip(h.vertices, result.x, strict=True) if x > 0.5]
    value = math.fsum(w[v] for v in chosen)
    upper = -(result.mip_dual_bound if result.mip_dual_bound is not None else result.fun) / scale
    if all(x.is_integer() for x in w.values()):
        upper = math.floor(upper * (1 + 1e-9))
    return Alpha(value, chosen, max(value, float(upper)))


def fractional_packing(h: Hypergraph, weights: str | Mapping[str, float | int] | None = None) -> AlphaStar:
    """α*: max Σ wᵢxᵢ with Σ_{i∈Q} xᵢ ≤ 1 on every maximal clique Q, x ≥ 0, and the dual clique cover (HiGHS).

    Raises ValueError where HiGHS finds no solution.
    """
    from scipy.optimize import linprog

    w = weights_of(h, weights)
    scale = max(w.values())
    cost = np.array([w[v] for v in h.vertices]) / scale
    cliques = _cliques(h)
    matrix = _clique_matrix(h, cliques)
    primal = linprog(-cost, A_ub=matrix, b_ub=np.ones(len(cliques)), method="highs")
    dual = linprog(np.ones(len(cliques)), A_ub=-matrix.T, b_ub=-cost, method="highs")
    if primal.x is None or dual.x is None:
        raise ValueError(f"HiGHS could not solve for α*: {primal.message}")
    used = [(c, float(y) * scale) for c, y in zip(cliques, dual.x, strict=True) if y > 1e-9]
    cover = [(sorted(c, key=h.index.__getitem__), y) for c, y in used]
    assignment = dict(zip(h.vertices, (float(x) for x in primal.x), strict=True))
    return AlphaStar(_tidy(-primal.fun * scale), assignment, _tidy(dual.fun * scale), cover)


def lovasz(h: Hypergraph, weights: str | Mapping[str, float | int] | None = None) -> Theta:
    """θ of the orthogonality graph (Lovász 1979; weighted as in Grötschel, Lovász & Schrijver), by an SDP in cvxpy.

    max Σ √(wᵢwⱼ) Xᵢⱼ with X ⪰ 0, tr X = 1, Xᵢⱼ = 0 on exclusive pairs. The answer of an open solver (Clarabel or SCS)
    is then made exactly feasible on both sides, so that the two returned numbers enclose θ however well it did. Raises
    TooLarge past ``THETA_LIMIT`` atoms.
    """
    w = weights_of(h, weights)
    atoms = [v for v in h.vertices if w[v] > 0]
    if len(atoms) > THETA_LIMIT:
        raise TooLarge(f"θ is computed for at most {THETA_LIMIT} atoms of positive weight; got {len(atoms)}")
    edges = np.array(
        [(i, j) for i in range(len(atoms)) for j in range(i) if h.graph.has_edge(atoms[i], atoms[j])], dtype=int
    ).reshape(-1, 2)
    scale = max(w.values())
    root = np.sqrt([w[v] / scale for v in atoms])
    target = np.outer(root, root)
    x, multipliers = _solve_theta(target, edges)
    value, dual, x, m = _feasible(target, edges, x, multipliers)
    return Theta(value * scale, dual * scale, atoms, x, m * scale)


def at_least_alpha(theta: Theta, alpha: Alpha, weights: Mapping[str, float | int]) -> Theta:
    """The better primal side of the two: the independent set is feasible for θ too, as X = √w√wᵀ / Σw on its atoms.

    So no θ is returned below α for want of the solver's last digits.
    """
    if alpha.value <= theta.value:
        return theta
    root = np.array([math.sqrt(weights[v]) if v in alpha.independent_set else 0.0 for v in theta.atoms])
    x = np.outer(root, root) / alpha.value
    return replace(theta, value=alpha.value, dual=max(theta.dual, alpha.value), primal_matrix=x)


def _solve_theta(target: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The SDP's primal matrix and the multipliers of the zero entries."""
    import cvxpy as cp

    n = len(target)
    if n == 1:
        return np.ones((1, 1)), np.zeros(0)
    x = cp.Variable((n, n), PSD=True)
    zero = x[edges[:, 0], edges[:, 1]] == 0 if len(edges) else None
    constraints = [cp.trace(x) == 1] + ([zero] if zero is not None else [])
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(target, x))), constraints)
    if n <= INTERIOR_LIMIT:
        problem.solve(solver=cp.CLARABEL)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": the two bounds will show by how much
            problem.solve(solver=cp.SCS, eps=1e-6, max_iters=5_000)
    if x.value is None:
        raise ValueError(f"the semidefinite program for θ was not solved: {problem.status}")
    return x.value, zero.dual_value if zero is not None else np.zeros(0)


def _feasible(
    target: np.ndarray, edges: np.ndarray, x: np.ndarray, multipliers: np.ndarray
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Turn approximate answers into feasible ones: zero the exclusive entries, lift to positive, take the
    eigenvalue."""
    i, j = edges[:, 0], edges[:, 1]
    x = (x + x.T) / 2
    x[i, j] = x[j, i] = 0
    x += np.eye(len(x)) * max(0.0, 1e-15 - float(np.linalg.eigvalsh(x)[0]))
    x /= np.trace(x)
    best = target.copy()
    for factor in (-0.5, 0.5):  # the multiplier's sign and share between (i, j) and (j, i) are the modelling tool's
        m = target.copy()
        m[i, j] += factor * multipliers
        m[j, i] += factor * multipliers
        if np.linalg.eigvalsh(m)[-1] < np.linalg.eigvalsh(best)[-1]:
            best = m
    return float(np.sum(target * x)), float(np.linalg.eigvalsh(best)[-1]), x, best


def _cliques(h: Hypergraph) -> list[list[str]]:
    cliques = []
    for clique in nx.find_cliques(h.graph):
        cliques.append(clique)
        if len(cliques) > CLIQUE_LIMIT:
            raise ValueError(f"the orthogonality graph has more than {CLIQUE_LIMIT} maximal cliques")
    return cliques


def _clique_matrix(h: Hypergraph, cliques: list[list[str]]) -> Any:
    """Cliques by atoms, 1 where the atom is in the clique, as a scipy csr_array."""
    from scipy.sparse import csr_array

    rows = [k for k, clique in enumerate(cliques) for _ in clique]
    columns = [h.index[v] for clique in cliques for v in clique]
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(cliques), len(h.vertices)))


def _tidy(x: float) -> float:
    """Whole numbers that came out of an LP as 4.999999999 are whole."""
    return float(round(x)) if abs(x - round(x)) < 1e-9 else float(x)
