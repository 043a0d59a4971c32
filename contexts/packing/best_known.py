"""The lowest coherence known here for (d, n): the record tables, larger packings of them, and all constructions."""

from __future__ import annotations

from typing import NamedTuple

from contexts.packing.constructions.combine import best_construction
from contexts.packing.record_tables import TABLES, records
from contexts.packing.validation import check_size


class BestKnown(NamedTuple):
    """A coherence that some known packing has, up to the ``rounding`` of where it is printed; ``source`` names it."""

    coherence: float
    rounding: float
    source: str


def best_known(d: int, n: int, field: str) -> BestKnown | None:
    """The lowest of the table's rows with at least n lines in at most d dimensions and of the constructions; or None.

    n of the lines of a larger packing, or lines of a smaller dimension, will do; real ones are complex too.
    """
    check_size("d", d)
    check_size("n", n)
    found = [
        BestKnown(row.coherence, row.rounding, f"{TABLES[kind].name}, {TABLES[kind].date}, for d = {rd}, n = {rn}")
        for kind in (("real",) if field == "real" else ("real", "complex"))
        for (rd, rn), row in records(kind).items()
        if rd <= d and rn >= n
    ]
    entry = best_construction(d, n, field)
    if entry is not None:
        found.append(BestKnown(entry.coherence, 1e-15, f"{entry.name}{f' ({entry.source})' if entry.source else ''}"))
    return min(found, key=lambda known: known.coherence + known.rounding, default=None)
