"""Real packings from binary codes: a word c is the unit vector (−1)^c / √d; |⟨u,v⟩| follows from distances."""

from __future__ import annotations

import math

import numpy as np

from contexts.packing.constructions.galois import galois_field, quaternary_trace


def walsh_hadamard(x: np.ndarray) -> np.ndarray:
    """Σ_x (−1)^{a·x} f(x) for all a, along the last axis (length 2^m); not normalised."""
    out = x.astype(float)
    step = 1
    while step < out.shape[-1]:
        pairs = out.reshape(*out.shape[:-1], -1, 2, step)
        out = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2)
        out = out.reshape(x.shape)
        step *= 2
    return out


def kerdock(d: int) -> np.ndarray:
    """d(d/2 + 1) lines of R^d at coherence 1/√d, d = 4^k, k ≥ 2: the Kerdock code and the standard basis.

    The Gray image of {ε + Tr((a + 2b)x)}, a, b in the Teichmüller set of GR(4, m), 2^{m+1} = d (Hammons, Kumar,
    Calderbank, Sloane & Solé 1994, Sec. IV). As line sets: Cameron & Seidel 1973.
    """
    m = d.bit_length() - 2
    if d < 16 or d != 2 ** (m + 1) or m % 2 == 0:
        raise ValueError(f"Kerdock sets exist here for d = 16, 64, 256, …, got {d}")
    size = 2**m
    trace = quaternary_trace(m)
    table = np.zeros((size, size), int)  # Tr(t x) for t, x in the Teichmüller set, 0 first
    index = np.arange(size - 1)
    table[1:, 1:] = trace[(index[:, None] + index) % (size - 1)]
    words = (table[:, None, None, :] + 2 * table[None, :, None, :] + np.array([0, 1])[:, None]) % 4
    words = words.reshape(-1, size)
    gray = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])  # 0 → 00, 1 → 01, 2 → 11, 3 → 10
    return np.vstack([gray[words].reshape(len(words), d) / math.sqrt(d), np.eye(d)])


def dual_bch(d: int, t: int) -> np.ndarray:
    """d^t lines of R^d, d = 2^m, at coherence at most (2t−2)/√d: words tr(a_1 x + a_3 x³ + … + a_{2t−1} x^{2t−1}).

    The dual of the extended t-error-correcting BCH code; the bound is Weil's, Carlitz & Uchiyama 1957.
    """
    field = _binary_field(d, t)
    powers, everything = _odd_powers(field, t), np.arange(d)
    # tr(a x^k) for all a (rows) and x (columns), one table an exponent
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
