"""Real packings from binary codes: a word c is the unit vector (−1)^c / √d; |⟨u,v⟩| follows from distances."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Complex128, Float64, Int64, Shaped

from contexts.packing.constructions.galois import galois_field, quaternary_trace


def walsh_hadamard(x: Shaped[np.ndarray, "*batch size"]) -> Float64[np.ndarray, "*batch size"]:
    """Σ_x (−1)^{a·x} f(x) for all a, along the last axis (length 2^m); not normalised."""
    out = x.astype(float)
    step = 1
    while step < out.shape[-1]:
        pairs = out.reshape(*out.shape[:-1], -1, 2, step)
        out = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2)
        out = out.reshape(x.shape)
        step *= 2
    return out


def kerdock(d: int) -> Float64[np.ndarray, "n d"]:
    """d(d/2 + 1) lines of R^d at coherence 1/√d, d = 4^k, k ≥ 2: the Kerdock code and the standard basis.

    As line sets: Cameron & Seidel 1973. It is :func:`delsarte_goethals` with r = 0.
    """
    return delsarte_goethals(d, 0)


def delsarte_goethals(d: int, r: int) -> Float64[np.ndarray, "n d"]:
    """(d/2)^{r+1} d + d lines of R^d at coherence 2^r/√d, d = 4^k, 0 ≤ r ≤ k − 2: a code and the standard basis.

    The Gray image of {ε + Tr(λx) + 2 Tr(Σ_{j≤r} b_j x^{1+2^j})}, λ in GR(4, m), b_j and x in its Teichmüller set,
    2^{m+1} = d (Hammons, Kumar, Calderbank, Sloane & Solé 1994, Sec. VI; as binary codes Delsarte & Goethals 1975, r =
    0: Kerdock 1972). Raises ``ValueError`` for another d or r.
    """
    m = d.bit_length() - 2
    if d < 16 or d != 2 ** (m + 1) or m % 2 == 0 or not 0 <= r <= (m - 1) // 2:
        raise ValueError(f"Kerdock sets exist here for d = 4^k = 16, 64, 256, … and r ≤ k − 2, got d={d}, r={r}")
    words = (quaternary_words(m, r)[:, None, :] + np.array([0, 1])[:, None]) % 4
    gray = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])  # 0 → 00, 1 → 01, 2 → 11, 3 → 10
    return np.vstack([gray[words].reshape(-1, d) / math.sqrt(d), np.eye(d)])


def delsarte_goethals_phases(d: int, r: int) -> Complex128[np.ndarray, "n d"]:
    """d^{r+2} + d lines of C^d at coherence 2^r/√d, d = 2^m: i^w of the words of :func:`quaternary_words`, and axes.

    r = 0 are unbiased bases; Calderbank, Howard & Jafarpour 2010, "Delsarte-Goethals frames". Raises ``ValueError`` for
    another d or r.
    """
    m = d.bit_length() - 1
    if d < 4 or d != 2**m or not 0 <= r <= (m - 1) // 2:
        raise ValueError(f"Delsarte-Goethals frames need d = 2^m ≥ 4 and 0 ≤ r ≤ (m − 1)/2, got d={d}, r={r}")
    return np.vstack([(1j ** np.arange(4))[quaternary_words(m, r)] / math.sqrt(d), np.eye(d)])


def quaternary_words(m: int, r: int) -> Int64[np.ndarray, "words size"]:
    """Tr(λx) + 2 Tr(Σ_{j=1}^r b_j x^{1+2^j}) mod 4 for x in the Teichmüller set (0 first) of GR(4, m), size 2^m.

    Rows: λ = a + 2b and b_1 … b_r, all in lexicographic order.
    """
    size = 2**m
    trace, index = quaternary_trace(m), np.arange(size - 1)

    def table(power: int) -> np.ndarray:  # Tr(t x^power) for t, x in the Teichmüller set
        out = np.zeros((size, size), int)
        out[1:, 1:] = trace[(index[:, None] + power * index) % (size - 1)]
        return out

    words = (table(1)[:, None, :] + 2 * table(1)[None, :, :]).reshape(-1, size)
    for j in range(1, r + 1):
        words = (words[:, None, :] + 2 * table(1 + 2**j)[None, :, :]).reshape(-1, size)
    return words % 4


def quadratic_forms(d: int, r: int) -> Float64[np.ndarray, "n d"]:
    """d^{r+2} + d lines of R^d at coherence 2^r √(2/d), d = 2^m with m odd: (−1)^{tr(ax + Σ b_j x^{1+2^j})} and axes.

    The sums run over j = 1 … r + 1. The radical of the form has dimension at most 2r + 2, and an odd one as m is odd:
    so ranks are at least m − 1 − 2r (Delsarte & Goethals 1975; r = 0: Gold 1968, Kasami 1966). Raises ``ValueError``
    for another d or r.
    """
    m = d.bit_length() - 1
    if d < 8 or d != 2**m or m % 2 == 0 or not 0 <= r <= (m - 3) // 2:
        raise ValueError(f"these forms need d = 2^m ≥ 8, m odd, and 0 ≤ r ≤ (m − 3)/2, got d={d}, r={r}")
    field, everything = galois_field(d), np.arange(d)
    words = np.zeros((1, d), int)
    for power in (1, *(1 + 2**j for j in range(1, r + 2))):
        table = field.trace(field.product(everything[:, None], field.power(everything, power)[None, :]))
        words = (words[:, None, :] ^ table[None, :, :]).reshape(-1, d)
    return np.vstack([(1 - 2 * words) / math.sqrt(d), np.eye(d)])


def dual_bch(d: int, t: int) -> Float64[np.ndarray, "n d"]:
    """d^t lines of R^d, d = 2^m, at coherence at most (2t−2)/√d: words tr(a_1 x + a_3 x³ + … + a_{2t−1} x^{2t−1}).

    The dual of the extended t-error-correcting BCH code; the bound is Weil's, Carlitz & Uchiyama 1957.
    """
    field = _binary_field(d, t)
    powers, everything = _odd_powers(field, t), np.arange(d)
    # tr(a x^k) for all a (rows) and x (columns), one table per exponent
    tables = [field.trace(field.product(everything[:, None], p[None, :])) for p in powers]
    words = tables[0]
    for table in tables[1:]:
        words = (words[:, None, :] ^ table[None, :, :]).reshape(-1, d)
    return (1 - 2 * words) / math.sqrt(d)


def dual_bch_coherence(d: int, t: int) -> float:
    """The exact coherence of :func:`dual_bch` without making its d^t vectors: the code is linear, so weights suffice.

    One Walsh-Hadamard transform for each choice of (a_3, …, a_{2t−1}) covers all a_1.
    """
    field = _binary_field(d, t)
    powers, everything = _odd_powers(field, t), np.arange(d)
    signs = np.zeros((1, d), int)
    for p in powers[1:]:
        table = field.trace(field.product(everything[:, None], p[None, :]))
        signs = (signs[:, None, :] ^ table[None, :, :]).reshape(-1, d)
    top = 0.0
    for start in range(0, len(signs), 4096):
        sums = np.abs(walsh_hadamard(1 - 2 * signs[start : start + 4096]))
        if start == 0:
            sums[0, 0] = 0  # the zero word
        top = max(top, float(sums.max()))
    return top / d


def _binary_field(d: int, t: int):
    m = d.bit_length() - 1
    if d < 4 or d != 2**m or t < 1 or 2 * t - 1 > 2 ** ((m + 1) // 2):
        raise ValueError(f"dual BCH codes need d = 2^m ≥ 4 and 2t − 1 ≤ 2^⌈m/2⌉, got d={d}, t={t}")
    return galois_field(d)


def _odd_powers(field, t: int) -> list[np.ndarray]:
    everything = np.arange(field.q)
    return [field.power(everything, 2 * i + 1) for i in range(t)]
