"""Critical subsets of a hypergraph without two-valued states: smallest first, with a proof that none is smaller.

A set of contexts is critical when it admits no two-valued state and every proper part of it admits one, where a dropped
context takes its exclusivities along (:func:`contexts.logic.satisfiability.critical_contexts`). Smallest ones come from
the duality of minimal hitting sets: a set of contexts has no state exactly if it meets the complement of every set that
has one (Reiter 1987; Ignatiev, Previti, Liffiton & Marques-Silva, CP 2015, 173).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pysat.examples.hitman import Hitman
from pysat.solvers import Solver

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.logic.satisfiability import critical_contexts, selected


@dataclass(frozen=True)
class CriticalSets:
    """``found``: critical subsets as positions of contexts, every one of the sizes below ``at_least`` among them.

    ``smallest``: the size of a smallest one, None where not decided; it is at least ``at_least`` and at most the size
    of ``example``. ``complete``: there are no others. ``sizes``: how many of each size were found.
    """

    found: list[list[int]]
    example: list[int]
    at_least: int
    complete: bool
    reason: str

    @property
    def smallest(self) -> int | None:
        """The size of a smallest critical subset, where it is decided."""
        return len(self.found[0]) if self.found else None

    @property
    def sizes(self) -> dict[int, int]:
        """How many critical subsets of each size were found."""
        return dict(sorted(Counter(map(len, self.found)).items()))


def critical_sets(
    h: Hypergraph,
    most: int = 1,
    seconds: float = 60.0,
    progress: Callable[[str], None] = lambda line: None,
) -> CriticalSets | None:
    """Up to ``most`` critical subsets in the order of their sizes; None where the hypergraph has a state.

    Stops after ``seconds`` (a single step is not interrupted) or by Ctrl-C, with what is known by then.
    """
    example = critical_contexts(h)
    if example is None:
        return None
    found: list[list[int]] = []
    at_least, reason, end = 1, "", time.monotonic() + seconds
    try:
        for candidate, is_critical in _in_order(h):
            at_least = max(at_least, len(candidate))
            if is_critical:
                found.append(candidate)
            progress(f"{len(found)} critical subsets found; any other has at least {at_least} contexts")
            if len(found) == most:
                reason = f"stopped at the limit of {most}"
            elif time.monotonic() > end:
                reason = f"stopped at the limit of {seconds:g} seconds"
            if reason:
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    best = found[0] if found else example
    return CriticalSets(found, best, at_least, not reason, reason)


def _in_order(h: Hypergraph) -> Iterator[tuple[list[int], bool]]:
    """Candidates of sizes that never fall: positions of contexts, and whether they are a critical subset."""
    first = len(h.vertices) + 1
    with selected(h) as solver, Hitman(solver="g4", htype="sorted") as hitting:
        while (candidate := hitting.get()) is not None:
            contexts = sorted(candidate)
            admits = solver.solve(assumptions=[first + i for i in contexts])
            yield contexts, not admits
            if admits:
                hitting.hit(_correction(h, solver, contexts))
            else:
                hitting.block(candidate)


def _correction(h: Hypergraph, solver: Solver, contexts: list[int]) -> list[int]:
    """The complement of a maximal set of contexts that holds these and admits a state."""
    first, kept, dropped = len(h.vertices) + 1, set(contexts), []
    for i in range(len(h.contexts)):
        if i in kept:
            continue
        if _holds(h, solver.get_model(), i) or solver.solve(assumptions=[first + k for k in (*sorted(kept), i)]):
            kept.add(i)
        else:
            dropped.append(i)
            solver.solve(assumptions=[first + k for k in sorted(kept)])  # the model of the kept ones again
    return dropped


def _holds(h: Hypergraph, model: list[int], position: int) -> bool:
    """Whether exactly one atom of a context is true in a model."""
    mask = h.context_masks[position]
    return sum(1 for x in model[: len(h.vertices)] if x > 0 and mask >> (x - 1) & 1) == 1
