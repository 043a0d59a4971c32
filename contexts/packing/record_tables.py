"""The best known coherences: Game of Sloanes (C^d) and the tables of Sloane and Cohn (R^d), shipped in ``data/``."""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from contexts.packing.validation import check_field, check_size


class Table(NamedTuple):
    """A shipped table: what it is called and of when it is. Later finds are in neither."""

    name: str
    date: str


TABLES = {
    "complex": Table("Game of Sloanes", "January 2026"),
    "real": Table("tables of Sloane and Cohn", "as copied in November 2026"),
}


class Record(NamedTuple):
    """A best known coherence; ``rounding`` is how far the printed number may lie from the true one."""

    coherence: float
    rounding: float
    source: str


@lru_cache(maxsize=2)
def records(field: str) -> dict[tuple[int, int], Record]:
    """All shipped records of a field, by (d, n). Complex values are those recomputed from the published vectors."""
    check_field(field)
    table = {}
    with (files("contexts.packing") / "data" / f"packing_records_{field}.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if field == "complex":
                exact = row["mu_from_vectors"]
                value, rounding = (float(exact), 1e-12) if exact else (float(row["mu_listed"]), 5e-9)
                source = f"Game of Sloanes ({row['creator']})"
            elif row["squared_chordal_distance"]:
                value = math.sqrt(1 - float(row["squared_chordal_distance"]))
                rounding, source = 5e-11 / value, row["source"]
            else:
                value, rounding, source = float(row["mu"]), 5e-9, row["source"]
            table[int(row["d"]), int(row["n"])] = Record(value, rounding, source)
    return table


def record(d: int, n: int, field: str) -> Record | None:
    """The shipped record at (d, n), or None: a fifth of the published tables is not shipped."""
    check_size("d", d)
    check_size("n", n)
    return records(field).get((d, n))
