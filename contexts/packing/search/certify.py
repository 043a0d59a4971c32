"""A certificate of a packing: its coherence recomputed in float64 and exactly, from the very numbers that are saved.

The saved coordinates are float64, hence rationals: |⟨u,v⟩|² / (|u|²|v|²) of a pair is an exact fraction. It is computed
for the pairs within 1e-9 of the largest; float64 error (below 1e-12) cannot lift any other pair above them. The
coherence is quoted rounded *up* to 25 digits, the bound beside it down.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Inexact, Shaped

from contexts.packing.best_known import best_known
from contexts.packing.bounds.delsarte import best_proved_bound
from contexts.packing.measure.gram import coherence, normalise, upper_blocks
from contexts.packing.record_tables import TABLES, record

DIGITS = 25
MOST_PAIRS, MOST_ENTRIES = 5000, 400_000  # recomputed exactly: so many pairs, and numbers in them
MATCH = 1e-9  # a coherence this close to a proved bound, relatively, is called equal to it


def certify(vectors: Shaped[np.ndarray, ...]) -> dict[str, Any]:
    """The certificate of an (n, d) matrix, as a dictionary for JSON.

    ``optimal`` is True only where a proved bound equals the coherence to 1e-9 (or n ≤ d and the coherence is 0), and
    None otherwise: then nothing is claimed. ``known`` is the lowest coherence known here, of the tables and of all
    constructions; ``below_record``: lower than that by more than 1e-9, perhaps the same packing with more digits;
    ``below_table``: lower in the eighth decimal, which is when Game of Sloanes counts an improvement, than a table of
    the date ``table``, which others may have improved since. Raises
    ValueError as :func:`~contexts.packing.measure.coherence.normalise`.
    """
    unit = normalise(vectors)
    n, d = unit.shape
    field = "complex" if np.iscomplexobj(vectors) else "real"
    value = coherence(vectors)
    pairs, within = _largest_pairs(unit, value - 1e-9)
    squares = [exact_square(vectors[i], vectors[j]) for i, j in pairs[: max(1, MOST_ENTRIES // d)]]
    exact = max(squares, default=Fraction(0))
    bound, name, proof = best_proved_bound(d, n, field, value)
    row, known = record(d, n, field), best_known(d, n, field)
    return {
        "n": n,
        "d": d,
        "field": field,
        "coherence": value,
        "coherence_extended": sqrt_up(exact),
        "pair": list(pairs[squares.index(exact)]) if squares else None,
        "pairs_recomputed_exactly": len(squares),
        "pairs_within_1e-9": within,
        "bound": bound,
        "bound_name": name,
        "bound_certificate": proof,
        "optimal": True if value <= bound * (1 + MATCH) + (1e-12 if n <= d else 0) else None,
        "record": row.coherence if row else None,
        "record_rounding": row.rounding if row else None,
        "table": f"{TABLES[field].name}, {TABLES[field].date}",
        "known": known.coherence if known else None,
        "known_source": known.source if known else None,
        "below_record": bool(row and known and value < known.coherence * (1 - 1e-9) - known.rounding),
        "below_table": bool(row and known and value < known.coherence - 1e-8),
        "sha256": hashlib.sha256(np.ascontiguousarray(vectors).tobytes()).hexdigest(),
    }


def exact_square(u: Inexact[np.ndarray, " d"], v: Inexact[np.ndarray, " d"]) -> Fraction:
    """|⟨u,v⟩|² / (|u|² |v|²) of two float64 vectors as an exact fraction."""
    a, b = _rational(u), _rational(v)
    real = sum(x * p + y * q for (x, y), (p, q) in zip(a, b, strict=True))
    imaginary = sum(x * q - y * p for (x, y), (p, q) in zip(a, b, strict=True))
    norms = sum(x * x + y * y for x, y in a) * sum(p * p + q * q for p, q in b)
    return Fraction(real * real + imaginary * imaginary, norms)


def sqrt_up(square: Fraction) -> str:
    """√ of a fraction in [0, 1], rounded up to 25 decimals, as text."""
    scaled = square.numerator * 10 ** (2 * DIGITS)
    root = math.isqrt(scaled // square.denominator)
    while root * root * square.denominator < scaled:
        root += 1
    return f"{root // 10**DIGITS}.{root % 10**DIGITS:0{DIGITS}d}"


def _rational(u: np.ndarray) -> list[tuple[int, int]]:
    """Whole numbers proportional to the entries: floats are multiples of 2^-1074."""
    fractions = [(Fraction(float(z.real)), Fraction(float(z.imag))) for z in u]
    scale = math.lcm(*(part.denominator for pair in fractions for part in pair))
    return [(int(x * scale), int(y * scale)) for x, y in fractions]


def _largest_pairs(unit: np.ndarray, threshold: float) -> tuple[list[tuple[int, int]], int]:
    """The pairs above the threshold, largest first, at most :data:`MOST_PAIRS` of them; and how many there are."""
    kept, count = np.empty((0, 3)), 0
    for rows, columns in upper_blocks(len(unit)):
        gram = np.abs(unit[rows] @ unit[columns].conj().T)
        i, j = np.nonzero(gram > threshold)
        later = i + rows.start < j + columns.start
        i, j = i[later], j[later]
        count += len(i)
        kept = np.concatenate([kept, np.column_stack([gram[i, j], i + rows.start, j + columns.start])])
        kept = kept[np.argsort(-kept[:, 0], kind="stable")[:MOST_PAIRS]]
    return [(int(i), int(j)) for _, i, j in kept], count
