"""Proof that near given float vectors there are exact ones: rays whose listed orthogonalities hold, and are different.

That inner products are small proves nothing: near a collapsed configuration, in which different atoms share a ray,
there are float vectors as good as one likes. The proof is Brouwer's fixed point theorem with an approximate right
inverse (Newton–Kantorovich for an underdetermined system; Rump, Acta Numerica 19, 287 (2010), for the rounding bounds):

Let F be the inner products of the m exclusive pairs, J its Jacobian at x and A ≈ J⁺ a matrix of floats. Put
η ≥ ‖F(x)‖, ε ≥ ‖1 − JA‖, α ≥ ‖A‖. F is bilinear, so F(x + δ) = F(x) + Jδ + B(δ) with ‖B(δ)‖ ≤ ‖δ‖²/√2, and
y ↦ y − F(x + Ay) maps the ball ‖y‖ ≤ r into itself when η + εr + α²r²/√2 ≤ r. Then F vanishes within αr of x.

Where the equations depend on each other (Kochen–Specker sets have more orthogonalities than freedom) J has no right
inverse. Rays whose components are simple surds are then taken exactly (:mod:`contexts.hypergraphs.surds`),
orthogonality among them is checked in exact arithmetic, and only the others move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from contexts.hypergraphs import surds
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.rays import exactly_orthogonal, unit_matrix
from contexts.logic.least_squares import POLISHED, Edges, Rays, polish
from contexts.logic.rigidity import edges_of, jacobian

EPS = float(np.finfo(np.float64).eps)

COINCIDE = 1e-3
"""Sine below which two rays of a failed proof are tried as one."""


@dataclass(frozen=True)
class Proof:
    """Exact rays exist, each within ``radius`` of the given unit vector (0: exactly those recognised).

    ``sine`` and ``product`` are lower bounds: on the sine between any two of them, and on |⟨u|v⟩| over atoms that are
    not exclusive. A bound of 0 says that nothing is proved. ``how`` says by which argument.
    """

    how: str
    radius: float
    sine: float
    product: float

    @property
    def level(self) -> str:
        """The highest level proved: proper, injective (sine > 0) or faithful (and product > 0)."""
        if self.sine <= 0:
            return "proper"
        return "faithful" if self.product > 0 else "injective"


def prove(h: Hypergraph) -> Proof | None:
    """Prove that near ``h.vectors`` there are exact rays whose exclusive atoms are orthogonal; None if that fails.

    In turn: simple surds and moving rays as described above; the vectors polished; and, which shows a proper
    representation only, with rays that nearly coincide taken as one. None says nothing about the hypergraph: other
    vectors may do. Raises ValueError when there are no vectors.
    """
    unit = unit_matrix(h)
    if np.iscomplexobj(unit) and not unit.imag.any():
        unit = unit.real
    edges = edges_of(h)
    apart = ~_adjacent(edges, len(unit))
    if h.exact is not None and exactly_orthogonal(h)[edges[:, 0], edges[:, 1]].all():
        return Proof("exact arithmetic with the vectors as given", 0.0, *_bounds(unit, apart, 0.0))
    error = float(np.abs(_inner(unit, edges)).max(initial=0.0))
    found = _prove_rows(unit, edges) if error <= POLISHED else None
    if found is None:
        polished, error = polish(unit, edges)
        found = _prove_rows(polished, edges) if error <= POLISHED else None
    if found is not None:
        how, rows, radius = found
        return Proof(how, radius + _farthest(unit, rows), *_bounds(rows, apart, radius))
    return _prove_merged(unit, edges)


def _prove_rows(unit: Rays, edges: Edges) -> tuple[str, Rays, float] | None:
    """The argument, the rows it is about, and the radius around them; None if it fails."""
    radius = zero_nearby(unit, edges, np.ones(len(unit), dtype=bool))
    if radius is not None:
        return "an exact solution beside the vectors (fixed point theorem)", unit, radius
    exact = {i: ray for i in range(len(unit)) if (ray := surds.recognise_ray(unit[i])) is not None}
    among = np.array([i in exact and j in exact for i, j in edges.tolist()], dtype=bool)
    if not exact or any(any(surds.inner(exact[i], exact[j])) for i, j in edges[among].tolist()):
        return None
    rows = unit.astype(complex)
    for i, ray in exact.items():
        row = np.array([complex(float(a), float(b)) for a, b in ray])
        rows[i] = row / np.linalg.norm(row)
    rows = rows if np.iscomplexobj(unit) else rows.real
    free = np.array([i not in exact for i in range(len(unit))])
    radius = zero_nearby(rows, edges[~among], free)
    how = "exact arithmetic with the vectors' square roots"
    if free.any():
        how = f"{how}, and an exact solution beside the {free.sum()} other vectors (fixed point theorem)"
    return None if radius is None else (how, rows, radius)


def _prove_merged(unit: Rays, edges: Edges) -> Proof | None:
    """A proper representation in which the rays nearer than ``COINCIDE`` to each other are one ray."""
    close = np.sqrt(np.maximum(0, 1 - np.abs(unit.conj() @ unit.T) ** 2)) < COINCIDE
    number, label = connected_components(csr_array(close), directed=False)
    merged = np.unique(np.sort(label[edges], axis=1), axis=0)
    if number == len(unit) or (merged[:, 0] == merged[:, 1]).any():
        return None
    first = np.array([int(np.argmax(label == k)) for k in range(number)])
    rows, error = polish(unit[first], merged)
    found = _prove_rows(rows, merged) if error <= POLISHED else None
    if found is None:
        return None
    how, rows, radius = found
    return Proof(f"{how}, where different atoms share a ray", radius + _farthest(unit, rows[label]), 0.0, 0.0)


def _farthest(unit: Rays, rows: Rays) -> float:
    """The largest sine between a ray and its proved neighbour; 0 when they agree to rounding."""
    inner = np.sum(unit.conj() * rows, axis=1)
    sine = float(np.linalg.norm(rows - inner[:, None] * unit, axis=1).max())
    return sine if sine > 1e-14 else 0.0


def zero_nearby(unit: Rays, edges: Edges, free: Bool[np.ndarray, " atoms"]) -> float | None:
    """A radius within which exact rays have ⟨u|v⟩ = 0 on all edges, only those of ``free`` atoms moving; None if the
    proof fails.

    The bounds are rigorous: every sum of n products in float64 is off by at most nε times the sum of their sizes.
    """
    if not len(edges):
        return 0.0
    table = jacobian(unit, edges)
    moves = np.repeat(free, table.shape[1] // len(unit))
    table = table[:, moves]
    if table.shape[0] > table.shape[1]:
        return None
    left, singular, right = np.linalg.svd(table, full_matrices=False)
    if singular[-1] < 1e-9 * singular[0]:
        return None
    inverse = right.T @ (left.T / singular[:, None])
    inner = _inner(unit, edges)
    n = table.shape[1] + unit.shape[1]
    rounding = 8 * n * EPS  # of the entries of unit, of products and of their sums, generously
    eta = float(np.linalg.norm(inner)) * (1 + rounding) + rounding * len(edges) ** 0.5
    alpha = float(np.linalg.norm(inverse)) * (1 + rounding)
    epsilon = float(np.linalg.norm(np.eye(len(table)) - table @ inverse))
    epsilon += rounding * float(np.linalg.norm(np.abs(table) @ np.abs(inverse))) * 2
    r = 2 * eta
    if epsilon < 0.25 and eta + epsilon * r + alpha**2 * r**2 / 2**0.5 <= r * (1 - 1e-6):
        return alpha * r * (1 + 1e-6)
    return None


def _inner(unit: Rays, edges: Edges) -> np.ndarray:
    """⟨u|v⟩ of every edge."""
    return np.sum(unit[edges[:, 0]].conj() * unit[edges[:, 1]], axis=1)


def _adjacent(edges: Edges, n: int) -> Bool[np.ndarray, "atoms atoms"]:
    """Which two of n atoms are exclusive, or the same."""
    table = np.eye(n, dtype=bool)
    table[edges[:, 0], edges[:, 1]] = table[edges[:, 1], edges[:, 0]] = True
    return table


def _bounds(unit: Rays, apart: Bool[np.ndarray, "atoms atoms"], radius: float) -> tuple[float, float]:
    """Lower bounds on the smallest sine, and on the smallest |⟨u|v⟩| of atoms that are ``apart`` (not exclusive)."""
    n, d = unit.shape
    slack = 4 * radius + 64 * d * EPS  # each end of an angle moves by at most the radius; rounding
    gram = unit.conj() @ unit.T
    across = unit[None, :, :] - gram[:, :, None] * unit[:, None, :]  # v − ⟨u|v⟩u, whose length is the sine
    sine = float(np.linalg.norm(across, axis=2)[~np.eye(n, dtype=bool)].min(initial=1.0)) - slack
    product = float(np.abs(gram)[apart].min(initial=1.0)) - slack
    return max(sine, 0.0), max(product, 0.0)
