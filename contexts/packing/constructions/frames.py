"""Equiangular tight frames from difference sets and block designs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Complex128, Float64, Inexact, Int64

from contexts.packing.constructions.designs import design_incidence
from contexts.packing.constructions.galois import galois_field, prime_power
from contexts.packing.constructions.matrices import hadamard


def simplex(d: int) -> Float64[np.ndarray, "n d"]:
    """d + 1 lines of R^d at 1/d: the vertices of a regular simplex."""
    centred = np.eye(d + 1) - 1 / (d + 1)
    _, vectors = np.linalg.eigh(centred)
    return centred @ vectors[:, 1:] * math.sqrt((d + 1) / d)


def singer_difference_set(q: int, n: int) -> tuple[int, Int64[np.ndarray, " k"]]:
    """(v, D): v = (q^{n+1}−1)/(q−1), |D| = (q^n−1)/(q−1), λ = (q^{n−1}−1)/(q−1) (Singer 1938)."""
    field = galois_field(q ** (n + 1))
    v = (q ** (n + 1) - 1) // (q - 1)
    return v, np.flatnonzero(field.trace(field.exp[:v], q) == 0)


def paley_difference_set(p: int) -> tuple[int, Int64[np.ndarray, " k"]]:
    """(p, the quadratic residues), p ≡ 3 mod 4 prime: λ = (p−3)/4 (Paley 1933). Raises ``ValueError`` for another p."""
    if prime_power(p) != (p, 1) or p % 4 != 3:
        raise ValueError(f"Paley's difference set needs a prime ≡ 3 mod 4, got {p}")
    return p, np.array(sorted({x * x % p for x in range(1, p)}))


def twin_prime_difference_set(p: int) -> tuple[int, Int64[np.ndarray, " k"]]:
    """(p(p+2), D), |D| = (v−1)/2, λ = (v−3)/4: multiples of p + 2, and where quadratic characters agree.

    Stanton & Sprott 1958. Raises ``ValueError`` where p and p + 2 are not both prime.
    """
    q = p + 2
    if prime_power(p) != (p, 1) or prime_power(q) != (q, 1) or p < 3:
        raise ValueError(f"twin primes are needed, got {p} and {q}")
    x = np.arange(p * q)
    characters = [np.isin(x % r, np.arange(1, r) ** 2 % r) for r in (p, q)]
    units = (x % p != 0) & (x % q != 0)
    return p * q, np.flatnonzero((x % q == 0) | (units & (characters[0] == characters[1])))


def quartic_difference_set(p: int) -> tuple[int, Int64[np.ndarray, " k"]]:
    """(p, the fourth powers) for a prime p = 4x² + 1, x odd; with 0 for p = 4x² + 9 (Lehmer 1953).

    Raises ``ValueError`` for another p.
    """
    kind = quartic_kind(p)
    if kind is None:
        raise ValueError(f"a prime 4x^2 + 1 or 4x^2 + 9 with x odd is needed, got {p}")
    powers = {pow(x, 4, p) for x in range(1, p)} | ({0} if kind == 9 else set())
    return p, np.array(sorted(powers))


def quartic_kind(p: int) -> int | None:
    """1 or 9 where the prime p is 4x² + 1 or 4x² + 9 with x odd, else None."""
    if prime_power(p) != (p, 1) or p < 13:
        return None
    return next((rest for rest in (1, 9) if (p - rest) % 4 == 0 and (x := math.isqrt((p - rest) // 4)) % 2 == 1
                 and 4 * x * x + rest == p), None)  # fmt: skip


def harmonic(v: int, members: Int64[np.ndarray, " k"]) -> Complex128[np.ndarray, "v k"]:
    """v lines of C^k: the characters of Z_v restricted to a set of k members, equiangular if it is a difference set.

    Coherence √(k−λ)/k. Xia, Zhou & Giannakis 2005; König 1999.
    """
    return np.exp(2j * np.pi * np.outer(np.arange(v), members) / v) / math.sqrt(len(members))


def harmonic_of(
    difference_set: Callable[[], tuple[int, Int64[np.ndarray, " members"]]], complement: bool = False
) -> Complex128[np.ndarray, "v k"]:
    """:func:`harmonic` of a difference set that is made when needed, or of what it leaves of Z_v."""
    v, members = difference_set()
    return harmonic(v, np.setdiff1d(np.arange(v), members) if complement else members)


def bent(m: int, complement: bool = False) -> Float64[np.ndarray, "n d"]:
    """4^m equiangular lines of R^d, d = 2^{m−1}(2^m − 1) at 1/(2^m − 1), or 2^{m−1}(2^m + 1) at 1/(2^m + 1).

    Characters of Z_2^{2m} on the support of a bent function, a difference set (Menon 1962; Dillon 1974), or beside it.
    """
    points = np.array(list(itertools.product((0, 1), repeat=2 * m)))
    support = (points[:, :m] * points[:, m:]).sum(axis=1) % 2 != complement
    signs = 1.0 - 2 * (points @ points[support].T % 2)
    return signs / math.sqrt(signs.shape[1])


def steiner(kind: str, order: int) -> Inexact[np.ndarray, "n d"]:
    """Steiner equiangular tight frame of a 2-(v, K, 1) design: v(r+1) lines at 1/r in b dimensions, r blocks per point.

    ``kind`` and ``order`` as in :func:`~contexts.packing.constructions.designs.design_incidence`. Real where a
    Hadamard matrix of order r + 1 is at hand, complex (Fourier) otherwise. Fickus, Mixon & Tremain 2012.
    """
    incidence = design_incidence(kind, order)
    blocks, points = incidence.shape
    r = int(incidence[:, 0].sum())
    real = hadamard(r + 1)
    flat = real if real is not None else np.exp(2j * np.pi * np.outer(np.arange(r + 1), np.arange(r + 1)) / (r + 1))
    flat = flat * flat[:, :1].conj()  # ones in the first column, which is left out: rows then meet at −1
    vectors = np.zeros((points * (r + 1), blocks), flat.dtype)
    for point in range(points):
        through = np.flatnonzero(incidence[:, point])
        vectors[point * (r + 1) : (point + 1) * (r + 1), through] = flat[:, 1:] / math.sqrt(r)
    return vectors


def tremain(v: int) -> Inexact[np.ndarray, "n d"]:
    """(v+1)(v+2)/2 equiangular lines in (v+2)(v+3)/6 dimensions at 2/(v+3), from triples of v ≡ 1, 3 mod 6 points.

    The Steiner frame of the triples with √2 e_i beside the vectors of point i, and the rows of a Hadamard (real) or
    Fourier matrix of order v + 1 beside it. Fickus, Jasper, Mixon & Peterson 2018, "Tremain equiangular tight frames".
    """
    inside = steiner("triples", v) * math.sqrt((v - 1) / 2)
    points = np.repeat(np.eye(v), (v + 1) // 2, axis=0) * math.sqrt(2)
    flat = hadamard(v + 1)
    if flat is None:
        flat = np.exp(2j * np.pi * np.outer(np.arange(v + 1), np.arange(v + 1)) / (v + 1))
    first = np.hstack([inside, points, np.zeros((len(inside), 1))])
    rest = np.hstack([np.zeros((v + 1, inside.shape[1])), flat[:, 1:] / math.sqrt(2), flat[:, :1] * math.sqrt(3 / 2)])
    return np.vstack([first, rest]) / math.sqrt((v + 3) / 2)


def complement_of_tremain(v: int) -> Inexact[np.ndarray, "n d"]:
    """:func:`naimark_complement` of :func:`tremain`."""
    return naimark_complement(tremain(v))


def naimark_complement(frame: Inexact[np.ndarray, "n d"]) -> Inexact[np.ndarray, "n rest"]:
    """n lines of dimension n − d from a unit-norm tight frame of n lines in dimension d; equiangular if that one is.

    Raises ``ValueError`` for vectors that are no unit-norm tight frame.
    """
    n, d = frame.shape
    gram = frame.conj() @ frame.T
    if n <= d or np.abs(gram @ gram - n / d * gram).max() > 1e-9 * n:
        raise ValueError("a Naimark complement needs a unit-norm tight frame of more vectors than dimensions")
    other = (np.eye(n) - d / n * gram) * (n / (n - d))
    return _from_gram(other, n - d)


def complement_of_steiner(kind: str, order: int) -> Inexact[np.ndarray, "n d"]:
    """:func:`naimark_complement` of :func:`steiner`."""
    return naimark_complement(steiner(kind, order))


def _from_gram(gram: np.ndarray, d: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    return vectors[:, -d:] * np.sqrt(values[-d:])
