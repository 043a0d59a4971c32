"""What ``qattn packing measure`` reports of a matrix, with the null model beside every figure."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from contexts.packing.bounds.capacity import log_tail, null_model, upper_capacity
from contexts.packing.bounds.delsarte import best_proved_bound
from contexts.packing.measure.anisotropy import centring, effective_dimension, removing_the_top
from contexts.packing.measure.coherence import Measurement, greedy_subset, measure
from experiments.studies.packing.formatting import power_of_ten
from experiments.studies.packing.vectors import Vectors

GREEDY_ROWS = 20_000
STEPS = 12  # halvings of the gap above the closed bounds, by the linear programme: three digits of it


def describe(
    vectors: Vectors,
    top: int,
    eps: tuple[float, ...],
    variants: bool,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The report as a dictionary for JSON, and samples of |cos| by variant for a figure.

    ``eps`` defaults to the measured median nearest neighbour and the null model's coherence. Raises ValueError for
    vectors that are zero or not finite (the row is named).
    """
    start = time.process_time()
    found = measure(vectors.matrix, top, seed, progress)
    null = null_model(found.n, found.d, found.field)
    bound, bound_name, _ = best_proved_bound(found.d, found.n, found.field, found.coherence, STEPS)
    samples = {"as given": found.sample}
    result: dict[str, Any] = {
        "source": vectors.source,
        "n": found.n,
        "d": found.d,
        "field": found.field,
        "coherence": found.coherence,
        "quantiles": {str(q): value for q, value in found.quantiles.items()},
        "sampled_pairs": found.sampled_pairs,
        "mean_nearest": found.mean_nearest,
        "nearest_pair": [found.pairs[0].i, found.pairs[0].j] if found.pairs else None,
        "nearest_pairs": [
            {
                "rows": [p.i, p.j],
                "names": [vectors.name(p.i), vectors.name(p.j)],
                "coherence": p.coherence,
                "kind": p.kind,
            }
            for p in found.pairs
        ],
        "duplicates": found.duplicates,
        "effective_dimension": effective_dimension(vectors.matrix),
        "bound": bound,
        "bound_name": bound_name,
        "null": null,
        "capacity": _capacity(vectors.matrix, found, eps, null, seed),
        "variants": {},
        "variants_reason": None,
        "search_cpu_seconds": found.seconds,
        "gflops": found.gflops,
        "fraction_of_peak": found.gflops / found.gemm_peak_gflops if found.gemm_peak_gflops else 0.0,
    }
    if not found.pairs:
        result["nearest_pair_reason"] = "a single vector has no pairs"
    if variants and found.n > 1:
        _add_variants(result, samples, vectors.matrix, found, seed)
    result["cpu_seconds"] = time.process_time() - start
    return result, samples


def _add_variants(
    result: dict[str, Any], samples: dict[str, np.ndarray], matrix: np.ndarray, found: Measurement, seed: int
) -> None:
    """The same vectors centred and without leading components, into ``result`` and ``samples``."""
    for name, change in (("centred", centring), ("all but the top", removing_the_top)):
        if name == "all but the top" and found.d < 2:
            continue
        try:
            changed = change(matrix)  # computed one block at a time: no second copy of the matrix
            other = measure(changed, 1, seed)
        except ValueError as error:  # centring may leave a zero vector: two equal rows, or one direction in all
            result["variants_reason"] = f"{name}: {error}"
            continue
        samples[name] = other.sample
        result["variants"][name] = {
            "coherence": other.coherence,
            "mean_nearest": other.mean_nearest,
            "quantiles": {str(q): value for q, value in other.quantiles.items()},
            "effective_dimension": effective_dimension(changed),
            # as many random vectors, in the dimensions that are left
            "null": null_model(found.n, found.d - changed.leading.shape[1], found.field),
        }


def _capacity(
    matrix: np.ndarray, found: Measurement, eps: tuple[float, ...], null: dict[str, Any], seed: int
) -> list[dict[str, Any]]:
    """How many of the first rows a greedy choice keeps at each ε, of the vectors and of as many random ones."""
    if not eps and found.n > 1:
        chosen = {round(float(np.median(found.nearest)), 3), round(null["coherence"], 3), 0.5}
        eps = tuple(sorted(value for value in chosen if 0 < value < 1))
    rows = []
    of = min(found.n, GREEDY_ROWS)
    random = _random(of, found.d, found.field, seed)
    for value in eps:
        limit = upper_capacity(found.d, value, found.field)
        pairs = of * (of - 1) / 2 * np.exp(log_tail(found.d, value, found.field))  # expected above ε of random vectors
        rows.append(
            {
                "eps": value,
                "kept": len(greedy_subset(matrix, value, GREEDY_ROWS)),
                "null_kept": of if pairs < 1e-3 else len(greedy_subset(random, value, GREEDY_ROWS)),
                "of": of,
                "upper_log10": None if limit is None else limit[0] / np.log(10),
                "upper_text": power_of_ten(None if limit is None else limit[0]),
            }
        )
    return rows


def _random(n: int, d: int, field: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, n, d])
    if field == "real":
        return rng.standard_normal((n, d), np.float32)
    parts: np.ndarray = rng.standard_normal((n, d, 2), np.float32)
    return parts.view(np.complex64)[..., 0]
