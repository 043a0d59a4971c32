"""Kochen–Specker sets that are better built than stored: from number fields, reflection groups, Pauli words, diagrams.

Rays are exact (:mod:`contexts.hypergraphs.surds`), and contexts are all orthonormal bases among them, unless said
otherwise. The published numbers of each are tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np

from contexts.hypergraphs import exact_rays, surds
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.surds import Number

PAULI = {
    "I": np.eye(2, dtype=complex),
    "X": np.array([[0, 1], [1, 0]], dtype=complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1.0 + 0j, -1]),
}


BUG = ("a1 a2 a3", "a3 a4 a5", "a5 a6 a7", "a7 a8 a9", "a9 a10 a11", "a11 a12 a1", "a4 a13 a10")
"""Specker's bug: if a1 is true, a7 is false."""


def kochen_specker() -> Hypergraph:
    """The original set, Γ₂ of Kochen & Specker, J. Math. Mech. 17, 59 (1967), its triads completed: 192 atoms, 118
    contexts.

    Fifteen copies of the diagram Γ₁ (a Specker bug with the ends a1 and a7, and a triad on one end) in a ring through
    three mutually orthogonal rays p, q, r: in each copy, if its first ray is true, so is its last. Vectors are not
    given; ``realize`` finds some.
    """
    corners = "pqr"
    contexts: list[list[str]] = []
    for side, step in product(range(3), range(5)):
        start, end, third = (corners[(side + k) % 3] for k in range(3))
        names = {"a1": start if step == 0 else f"{start}{step}", "a7": start if step == 4 else f"{start}{step}'"}
        last = end if step == 4 else f"{start}{step + 1}"
        contexts += [[names.get(v, f"{start}{step}_{v[1:]}") for v in context.split()] for context in BUG]
        if step < 4:
            contexts.append([names["a7"], third, last])
    contexts.append(list(corners))
    return Hypergraph(dict.fromkeys(v for c in contexts for v in c), contexts, (), 3)


def lisonek() -> Hypergraph:
    """21 rays of C⁶ in 7 contexts, each ray in two of them: the fewest contexts of a Kochen–Specker set known.

    Lisoněk, Badziąg, Portillo & Cabello, PRA 89, 042101 (2014): with rows hᵢ of a Hadamard matrix of cube roots of
    unity, the ray ij is the product of hᵢ and hⱼ, component by component. Here the seven contexts alone, as published.
    """
    powers = ("000000", "001122", "010221", "012012", "022101", "021210")
    root = [(surds.rational(1), surds.Surd()), surds.root_of_unity(3), surds.product(*[surds.root_of_unity(3)] * 2)]
    rays = {
        f"{i}{j}": tuple(root[(int(a) + int(b)) % 3] for a, b in zip(powers[i - 1], powers[j - 1], strict=True))
        for i in range(1, 7)
        for j in range(i, 7)
    }
    contexts = [[f"{min(i, j)}{max(i, j)}" for j in range(1, 7)] for i in range(1, 7)]
    contexts.append([f"{i}{i}" for i in range(1, 7)])
    return Hypergraph(rays, contexts, (), 6, exact=rays)


def six_hundred_cell() -> Hypergraph:
    """The 60 diameters of the 600-cell in 75 bases (Waegell & Aravind, J. Phys. A 43, 105304 (2010))."""
    one, half, zero = (surds.parse(text) for text in ("1", "1/2", "0"))
    golden, small = surds.parse("phi/2"), surds.parse("(phi-1)/2")
    points = [tuple(one if k == i else zero for k in range(4)) for i in range(4)]
    points += [_signed((half,) * 4, (1, *signs)) for signs in product((1, -1), repeat=3)]
    for order in permutations(range(4)):
        if sum(order[i] > order[j] for i, j in combinations(range(4), 2)) % 2 == 0:
            for a, b in product((1, -1), repeat=2):
                vector = _signed((golden, half, small, zero), (1, a, b, 1))
                points.append(tuple(vector[order.index(k)] for k in range(4)))
    return _numbered(points)


def e8() -> Hypergraph:
    """The 120 diameters of the roots of E₈ in 2025 bases (Waegell & Aravind, J. Phys. A 48, 225301 (2015))."""
    one, zero = surds.parse("1"), surds.parse("0")
    points = [
        tuple(_signed([one if k in (i, j) else zero for k in range(8)], [sign if k == j else 1 for k in range(8)]))
        for i, j in combinations(range(8), 2)
        for sign in (1, -1)
    ]
    signs = [s for s in product((1, -1), repeat=8) if s[0] == 1 and math.prod(s) == 1]
    return _numbered([*points, *(_signed((one,) * 8, s) for s in signs)])


def kernaghan_peres() -> Hypergraph:
    """40 rays of R⁸ in 25 bases: the joint eigenvectors of Mermin's pentagram of three-qubit Pauli words.

    Kernaghan & Peres, Phys. Lett. A 198, 1 (1995); its smallest critical subsets have 11 contexts.
    """
    lines = ("ZZZ ZXX XZX XXZ", "ZZZ ZII IZI IIZ", "ZXX ZII IXI IIX", "XZX XII IZI IIX", "XXZ XII IXI IIZ")
    return _numbered([ray for line in lines for ray in joint_eigenvectors(line.split())])


def two_qubits() -> Hypergraph:
    """The joint eigenvectors of all commuting two-qubit Pauli words: 60 rays of C⁴ in 105 bases.

    Waegell & Aravind, J. Phys. A 44, 505303 (2011).
    """
    words = ["".join(w) for w in product("IXYZ", repeat=2)][1:]
    matrix = {w: np.kron(PAULI[w[0]], PAULI[w[1]]) for w in words}
    commute = {(a, b) for a, b in combinations(words, 2) if np.allclose(matrix[a] @ matrix[b], matrix[b] @ matrix[a])}
    triples = [t for t in combinations(words, 3) if set(combinations(t, 2)) <= commute]
    triples = [t for t in triples if abs(np.trace(matrix[t[0]] @ matrix[t[1]] @ matrix[t[2]])) > 1]
    return _numbered([ray for triple in triples for ray in joint_eigenvectors(triple)])


def heegner_7() -> Hypergraph:
    """The 145 rays of C³ with components 0, ±1, ±α, ±α*, where α = (1 + √−7)/2 and αα* = 2: a pool without states.

    Kernaghan, "The Algebraic Landscape of Kochen–Specker Sets in Dimension Three" (2026).
    """
    alpha = ["1/2+sqrt(7)/2*i", "-1/2-sqrt(7)/2*i", "1/2-sqrt(7)/2*i", "-1/2+sqrt(7)/2*i"]
    return _numbered(list(exact_rays.of_components(["0", "1", "-1", *alpha], 3).values()))


def rational(height: int) -> Hypergraph:
    """The rays of R³ through rational points of the unit sphere: whole numbers up to ``height`` whose squares sum to a
    square.

    Three colours are enough for all of them (Godsil & Zaks 1988), so that they have states: exact rays need a root to
    be a Kochen–Specker set. Raises ValueError unless 1 ≤ height ≤ 20.
    """
    if not 1 <= height <= 20:
        raise ValueError(f"the height must be from 1 to 20; got {height}")
    rays = {}
    for vector in product(range(-height, height + 1), repeat=3):
        first = next((x for x in vector if x), 0)
        size = sum(x * x for x in vector)
        if first > 0 and math.gcd(*vector) == 1 and math.isqrt(size) ** 2 == size:
            rays[" ".join(map(str, vector))] = tuple((surds.rational(x), surds.Surd()) for x in vector)
    return exact_rays.spanned(rays)


def joint_eigenvectors(words: Sequence[str]) -> list[tuple[Number, ...]]:
    """The joint eigenvectors of commuting Pauli words that have simple joint eigenvalues, with components 0, ±1, ±i.

    Columns of the projector Π(1 + sᵢPᵢ), for every choice of signs that some vector has: exact in float64, its entries
    being Gaussian integers.
    """
    matrices = []
    for word in words:
        matrix = np.eye(1, dtype=complex)
        for letter in word:
            matrix = np.kron(matrix, PAULI[letter])
        matrices.append(matrix)
    found = []
    for signs in product((1, -1), repeat=len(words)):
        projector = np.eye(len(matrices[0]), dtype=complex)
        for sign, matrix in zip(signs, matrices, strict=True):
            projector = projector @ (np.eye(len(matrix)) + sign * matrix)
        column = next((c for c in projector.T if c.any()), None)
        if column is not None:
            whole = column / column[np.flatnonzero(column)[0]]
            found.append(tuple((surds.rational(round(x.real)), surds.rational(round(x.imag))) for x in whole))
    return found


def _signed(vector: Sequence[Number], signs: Sequence[int]) -> tuple[Number, ...]:
    return tuple((-a, -b) if s < 0 else (a, b) for (a, b), s in zip(vector, signs, strict=True))


def _numbered(points: Sequence[tuple[Number, ...]]) -> Hypergraph:
    """The hypergraph of rays named 1, 2, …"""
    return exact_rays.spanned({str(k): point for k, point in enumerate(points, start=1)})


@dataclass(frozen=True)
class RaySet:
    """A construction with its size, which is known without building it, and its source."""

    build: Callable[[], Hypergraph]
    atoms: int
    contexts: int
    dimension: int
    source: str


SETS = {
    "kochen_specker_192_118": RaySet(kochen_specker, 192, 118, 3, "Kochen & Specker, J. Math. Mech. 17, 59 (1967)"),
    "lisonek_21_7": RaySet(lisonek, 21, 7, 6, "Lisoněk, Badziąg, Portillo & Cabello, PRA 89, 042101 (2014)"),
    "six_hundred_cell_60_75": RaySet(six_hundred_cell, 60, 75, 4, "Waegell & Aravind, J. Phys. A 43, 105304 (2010)"),
    "kernaghan_peres_40_25": RaySet(kernaghan_peres, 40, 25, 8, "Kernaghan & Peres, Phys. Lett. A 198, 1 (1995)"),
    "two_qubit_60_105": RaySet(two_qubits, 60, 105, 4, "Waegell & Aravind, J. Phys. A 44, 505303 (2011)"),
    "e8_120_2025": RaySet(e8, 120, 2025, 8, "Waegell & Aravind, J. Phys. A 48, 225301 (2015)"),
    "heegner_7_pool": RaySet(heegner_7, 145, 42, 3, "Kernaghan 2026, the integers of the field of √−7"),
}
"""Constructions by name."""
