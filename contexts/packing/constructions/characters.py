"""Complex packings from characters of finite fields: unbiased bases, and phases of polynomials (Weil's sums)."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from jaxtyping import Complex128

from contexts.logic.observables import maximal_observable
from contexts.packing.constructions.galois import GF, galois_field, prime_power, prime_powers_of, quaternary_trace


def unbiased_bases(q: int) -> list[Complex128[np.ndarray, "q q"]]:
    """q + 1 mutually unbiased orthonormal bases of C^q, q a prime power: |⟨u,v⟩| = 1/√q between different bases.

    Rows are vectors, the standard basis last. Odd q: ω^{tr(a x² + b x)}/√q (Wootters & Fields 1989); even q: i^{Tr((a +
    2b) x)}/√q over the Teichmüller set of GR(4, m) (Klappenecker & Rötteler 2004). As observables, the bases are
    maximally incompatible: knowing one makes the outcomes of any other uniformly random. Raises ``ValueError`` unless q
    is a prime power.
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


def products_of_bases(d: int) -> Complex128[np.ndarray, "n d"]:
    """(q + 1) d lines of C^d at 1/√d, q the smallest of the prime powers that d is a product of: unbiased bases.

    The k-th basis is the product of the k-th ones of the factors (Zauner 1999; Klappenecker & Rötteler 2004).
    """
    factors = [unbiased_bases(q) for q in prime_powers_of(d)]
    return np.vstack([reduce(np.kron, bases) for bases in zip(*factors, strict=False)])


def unbiased_observables(q: int) -> Complex128[np.ndarray, "bases q q"]:
    """The q + 1 maximal observables of the unbiased bases, (q + 1, q, q), eigenvalues 1 … q: maximally incompatible.

    Any pair meets Maassen and Uffink's entropic bound: the outcomes' entropies sum to at least ln q in every state.
    """
    return np.array([maximal_observable(basis.T) for basis in unbiased_bases(q)])


def alltop(p: int) -> Complex128[np.ndarray, "n p"]:
    """p² + p lines of C^p at 1/√p, p ≥ 5 prime: the Gabor frame of ω^{x³}, and the standard basis (Alltop 1980).

    Raises ``ValueError`` for another p.
    """
    if prime_power(p) != (p, 1) or p < 5:
        raise ValueError(f"Alltop's sequence needs a prime of at least 5, got {p}")
    x, shift, modulation = np.arange(p), np.arange(p)[:, None, None], np.arange(p)[None, :, None]
    phase = ((x + shift) ** 3 + modulation * x) % p
    return np.vstack([(np.exp(2j * np.pi * phase / p) / math.sqrt(p)).reshape(-1, p), np.eye(p)])


def coprime_exponents(p: int, degree: int) -> list[int]:
    """1 … D without multiples of p: x^{jp} has the traces of a lower power, and Weil's bound leaves it out."""
    return [k for k in range(1, degree + 1) if k % p]


def weil(q: int, degree: int) -> Complex128[np.ndarray, "n q"]:
    """ω^{tr f(x)}/√q over x ∈ GF(q) and the standard basis: q^m + q lines of C^q at coherence at most (D−1)/√q.

    f runs over the polynomials of degree ≤ D with exponents not divisible by p, of which there are m (Weil 1948).
    Raises ``ValueError`` for another p or degree.
    """
    found = prime_power(q)
    if found is None or not 1 <= degree < q or degree % found[0] == 0:
        raise ValueError(
            f"Weil's bound needs a prime power q and a degree 1 ≤ D < q prime to it, got q={q}, D={degree}"
        )
    field = galois_field(q)
    phase = _traces(field, np.arange(q), degree)
    omega = np.exp(2j * np.pi * np.arange(field.p) / field.p)
    return np.vstack([omega[phase] / math.sqrt(q), np.eye(q)])


def mixed_characters(q: int, degree: int = 1) -> Complex128[np.ndarray, "n d"]:
    """χ(x) ω^{tr f(x)}/√(q−1) over x ≠ 0, and the standard basis: (q−1)(q^m + 1) lines of C^{q−1} at D√q/(q−1) at most.

    χ runs over the multiplicative characters, f over polynomials as in :func:`weil`. D = 1: q² − 1 lines, whose inner
    products are 0, 1/(q−1) or Gauss sums, exactly √q/(q−1). D > 1: |Σ χ(x) ψ(f(x))| ≤ D√q (Weil 1948; Schmidt,
    "Equations over Finite Fields", 1976, Theorem II.2G). Raises ``ValueError`` for parameters that do not fit.
    """
    found = prime_power(q)
    if found is None or q < 3 or degree % found[0] == 0:
        raise ValueError(f"mixed characters need a prime power q ≥ 3 and a degree prime to it, got q={q}, D={degree}")
    field, j = galois_field(q), np.arange(q - 1)
    multiplicative = np.exp(2j * np.pi * (np.outer(j, j) % (q - 1)) / (q - 1))  # χ_k(g^j)
    phase = _traces(field, field.exp, degree)
    additive = np.exp(2j * np.pi * np.arange(field.p) / field.p)[phase]
    flat = (additive[:, None, :] * multiplicative[None, :, :]).reshape(-1, q - 1)
    return np.vstack([flat / math.sqrt(q - 1), np.eye(q - 1)])


def _traces(field: GF, x: np.ndarray, degree: int) -> np.ndarray:
    """tr f(x) for all polynomials f (rows) of :func:`coprime_exponents`."""
    out = np.zeros((1, len(x)), int)
    everything = np.arange(field.q)
    for k in coprime_exponents(field.p, degree):
        table = field.trace(field.product(everything[:, None], field.power(x, k)[None, :]))
        out = ((out[:, None, :] + table[None, :, :]) % field.p).reshape(-1, len(x))
    return out
