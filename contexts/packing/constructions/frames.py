"""Packings from finite fields and combinatorial designs: unbiased bases and equiangular tight frames."""

from __future__ import annotations

import itertools
import math

import numpy as np

from contexts.logic.observables import maximal_observable
from contexts.packing.constructions.galois import galois_field, prime_power, quaternary_trace
from contexts.packing.constructions.matrices import conference, hadamard


def simplex(d: int) -> np.ndarray:
    """d + 1 lines of R^d at 1/d: the vertices of a regular simplex."""
    centred = np.eye(d + 1) - 1 / (d + 1)
    _, vectors = np.linalg.eigh(centred)
    return centred @ vectors[:, 1:] * math.sqrt((d + 1) / d)


def unbiased_bases(q: int) -> list[np.ndarray]:
    """q + 1 mutually unbiased orthonormal bases of C^q, q a prime power: |⟨u,v⟩| = 1/√q between different bases.

    Rows are vectors, the standard basis last. Odd q: ω^{tr(a x² + b x)}/√q (Wootters & Fields 1989); even q:
    i^{Tr((a + 2b) x)}/√q over the Teichmüller set of GR(4, m) (Klappenecker & Rötteler 2004). As observables, the
    bases are maximally incompatible: knowing one makes the outcomes of any other uniformly random.
    """
    found = prime_power(q)
    if found is None:
        raise ValueError(f"q + 1 mutually unbiased bases are known for prime powers q only, got {q}")
    p, m = found
    if p == 2:
        table = np.zeros((q, q), int)
        index = np.arange(q - 1)
        table[1:, 1:] = quaternary_trace(m)[(index[:, None] + index) % (q - 1)]
        phases = 1j ** np.arange(4)
        bases = [phases[(table[a][None, :] + 2 * table) % 4] / math.sqrt(q) for a in range(q)]
    else:
        field, everything = galois_field(q), np.arange(q)
        omega = np.exp(2j * np.pi * np.arange(p) / p)
        linear = field.trace(field.product(everything[:, None], everything[None, :]))
        square = field.power(everything, 2)
        bases = [omega[(field.trace(field.product(np.array(a), square)) + linear) % p] / math.sqrt(q) for a in range(q)]
    return [*bases, np.eye(q, dtype=complex)]


def unbiased_observables(q: int) -> np.ndarray:
    """The q + 1 maximal observables of the unbiased bases, (q + 1, q, q), eigenvalues 1 … q: maximally incompatible.

    Any pair meets Maassen and Uffink's entropic bound: the outcomes' entropies sum to at least ln q in every state.
    """
    return np.array([maximal_observable(basis.T) for basis in unbiased_bases(q)])


def alltop(p: int) -> np.ndarray:
    """p² + p lines of C^p at 1/√p, p ≥ 5 prime: the Gabor frame of ω^{x³}, and the standard basis (Alltop 1980)."""
    if prime_power(p) != (p, 1) or p < 5:
        raise ValueError(f"Alltop's sequence needs a prime of at least 5, got {p}")
    x, shift, modulation = np.arange(p), np.arange(p)[:, None, None], np.arange(p)[None, :, None]
    phase = ((x + shift) ** 3 + modulation * x) % p
    return np.vstack([(np.exp(2j * np.pi * phase / p) / math.sqrt(p)).reshape(-1, p), np.eye(p)])


def weil(p: int, degree: int) -> np.ndarray:
    """p^D lines of C^p at coherence at most (D−1)/√p: ω^{f(x)}, f of degree ≤ D < p, f(0) = 0 (Weil 1948)."""
    if prime_power(p) != (p, 1) or not 1 <= degree < p:
        raise ValueError(f"Weil's bound here needs a prime p and a degree 1 ≤ D < p, got p={p}, D={degree}")
    x = np.arange(p)
    phase = np.zeros((1, p), int)
    for k in range(1, degree + 1):
        monomial = np.array([pow(int(v), k, p) for v in x])
        phase = ((phase[:, None, :] + np.arange(p)[None, :, None] * monomial) % p).reshape(-1, p)
    return np.exp(2j * np.pi * phase / p) / math.sqrt(p)


def singer_difference_set(q: int, n: int) -> tuple[int, np.ndarray]:
    """(v, D): v = (q^{n+1}−1)/(q−1), |D| = (q^n−1)/(q−1), λ = (q^{n−1}−1)/(q−1) (Singer 1938)."""
    field = galois_field(q ** (n + 1))
    v = (q ** (n + 1) - 1) // (q - 1)
    return v, np.flatnonzero(field.trace(field.exp[:v], q) == 0)


def paley_difference_set(p: int) -> tuple[int, np.ndarray]:
    """(p, the quadratic residues), p ≡ 3 mod 4 prime: λ = (p−3)/4 (Paley 1933)."""
    if prime_power(p) != (p, 1) or p % 4 != 3:
        raise ValueError(f"Paley's difference set needs a prime ≡ 3 mod 4, got {p}")
    return p, np.array(sorted({x * x % p for x in range(1, p)}))


def harmonic(v: int, members: np.ndarray) -> np.ndarray:
    """v lines of C^k: the characters of Z_v restricted to a set of k members, equiangular if it is a difference set.

    Coherence √(k−λ)/k. Xia, Zhou & Giannakis 2005; König 1999.
    """
    return np.exp(2j * np.pi * np.outer(np.arange(v), members) / v) / math.sqrt(len(members))


def conference_frame(q: int) -> np.ndarray:
    """q + 1 = 2d equiangular lines at 1/√q: in R^d for q ≡ 1 mod 4, in C^d for q ≡ 3 (van Lint & Seidel 1966)."""
    matrix = conference(q)
    if matrix is None:
        raise ValueError(f"Paley's conference matrices need an odd prime power, got {q}")
    gram = np.eye(q + 1) + (matrix if q % 4 == 1 else 1j * matrix) / math.sqrt(q)
    return _from_gram(gram, (q + 1) // 2)


def steiner(kind: str, order: int) -> np.ndarray:
    """Steiner equiangular tight frame of a 2-(v, K, 1) design: v(r+1) lines at 1/r in b dimensions, r blocks a point.

    ``kind``: "pairs" (of ``order`` points), "affine" or "projective" (plane of prime-power ``order``). Real where a
    Hadamard matrix of order r + 1 is at hand, complex (Fourier) otherwise. Fickus, Mixon & Tremain 2012.
    """
    incidence = design_incidence(kind, order)
    blocks, points = incidence.shape
    r = int(incidence[:, 0].sum())
    real = hadamard(r + 1)
    flat = real if real is not None else np.exp(2j * np.pi * np.outer(np.arange(r + 1), np.arange(r + 1)) / (r + 1))
    vectors = np.zeros((points * (r + 1), blocks), flat.dtype)
    for point in range(points):
        through = np.flatnonzero(incidence[:, point])
        vectors[point * (r + 1) : (point + 1) * (r + 1), through] = flat[:, 1:] / math.sqrt(r)
    return vectors


def naimark_complement(frame: np.ndarray) -> np.ndarray:
    """n lines of dimension n − d from a unit-norm tight frame of n lines in dimension d; equiangular if that one is."""
    n, d = frame.shape
    gram = frame.conj() @ frame.T
    if n <= d or np.abs(gram @ gram - n / d * gram).max() > 1e-9 * n:
        raise ValueError("a Naimark complement needs a unit-norm tight frame of more vectors than dimensions")
    other = (np.eye(n) - d / n * gram) * (n / (n - d))
    return _from_gram(other, n - d)


def _from_gram(gram: np.ndarray, d: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    return vectors[:, -d:] * np.sqrt(values[-d:])


def design_incidence(kind: str, order: int) -> np.ndarray:
    """Block-point incidence, with every point in the same number of blocks and two points in exactly one."""
    if kind == "pairs":
        rows = [[int(k in pair) for k in range(order)] for pair in itertools.combinations(range(order), 2)]
        return np.array(rows)
    field, e = galois_field(order), np.arange(order)
    x, y = np.repeat(e, order), np.tile(e, order)
    lines = [field.sum(field.product(np.array(a), x), np.array(b)) == y for a in e for b in e] + [x == c for c in e]
    affine = np.array(lines, int)
    if kind == "affine":
        return affine
    if kind != "projective":
        raise ValueError(f"a design here is 'pairs', 'affine' or 'projective', got {kind!r}")
    classes = np.repeat(np.eye(order + 1, dtype=int), order, axis=0)  # a point at infinity for each parallel class
    infinity = np.concatenate([np.zeros(order * order, int), np.ones(order + 1, int)])
    return np.vstack([np.hstack([affine, classes]), infinity])
