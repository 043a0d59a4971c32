"""The best packing at hand for (d, n): explicit constructions and the optimiser side by side, whichever is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Inexact

from contexts.packing.best_known import best_known
from contexts.packing.bounds.capacity import random_coherence
from contexts.packing.bounds.coherence_bounds import best_bound
from contexts.packing.constructions.catalogue import catalogue
from contexts.packing.constructions.combine import best_construction
from contexts.packing.measure.gram import coherence, normalise
from contexts.packing.record_tables import record
from contexts.packing.search.optimize import check_workable, optimize
from contexts.packing.search.search_state import State
from contexts.packing.validation import Number

MATCH = 1e-9  # relative: a packing this close to a proved bound meets it


@dataclass
class Solution:
    """n unit rows, their coherence, and where they come from ("construction: …" or "optimised: …")."""

    vectors: Inexact[np.ndarray, "n d"]
    coherence: float
    how: str
    state: State


def solve(
    d: int,
    n: int,
    field: str,
    *,
    seed: int = 0,
    seconds: Number = 60.0,
    rounds: int | None = None,
    constructions: bool = True,
    beat_record: bool = False,
    patience: int = 2000,
    state: State | None = None,
    progress: Callable[[State], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Solution:
    """Look in the catalogue, then run ``optimize``; the lower coherence wins.

    Any n lines of a larger construction count as one. The search is left out where that meets a proved bound or the
    lowest coherence known here, starts from parts of constructions too where it does not, and stops at the lowest
    coherence known (without ``constructions``: at the table's row) within its rounding unless ``beat_record``. A search
    resumed with a newer table goes by that table.
    """
    check_workable(d, n)
    if state is not None:
        state.check_belongs(d, n, field)
    bound, _ = best_bound(d, n, field)
    known = best_known(d, n, field) if constructions else record(d, n, field)
    target = 0.0 if known is None or beat_record else known.coherence * (1 + 1e-10) + known.rounding
    built: tuple[float, np.ndarray, str] | None = None
    entry = best_construction(d, n, field) if constructions else None
    if entry is not None and entry.coherence < random_coherence(d, n, field):  # else random lines do as well
        vectors = normalise(entry.build()[:n].astype(complex if field == "complex" else float))
        part = f", {n} of its {entry.n} lines" if entry.n > n else ""
        built = (coherence(vectors), vectors, f"construction: {entry.name}{part}")
        if built[0] <= max(bound * (1 + MATCH), target) or n <= d:
            return Solution(vectors, built[0], built[2], state or State(d, n, field, seed))
    limits: dict[str, Any] = {"seconds": seconds, "rounds": rounds, "target": target, "patience": patience}
    structures = catalogue(d, field) if constructions else []
    state = optimize(d, n, field, seed=seed, state=state, structures=structures, progress=progress, stop=stop, **limits)
    if built is not None and built[0] <= state.coherence:
        return Solution(built[1], built[0], built[2], state)
    return Solution(state.vectors, state.coherence, f"optimised: {state.how}", state)
