"""How contextual a table of measured probabilities is: contextual fraction, signalling fraction, contextuality by
default.

A table gives, for each context (a set of measurements made together), the probabilities of their joint outcomes. The
linear programs run over deterministic global assignments, which are the two-valued states of the table's hypergraph.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.parsing import check_keys, is_name, is_number, parse_json, shown
from contexts.logic.valuations import as_table, list_states

ASSIGNMENT_LIMIT = 2_000_000
"""Global assignments (or two-valued states) after which the linear program is refused."""


@dataclass(frozen=True)
class EmpiricalTable:
    """``outcomes`` of each measurement; for each context its measurements and an array of probabilities, one axis each.

    ``counts`` are those that the probabilities were made of, if all were.

    Raises ValueError for probabilities that are negative, not finite, or do not sum to 1 within 1e-6.
    """

    outcomes: dict[str, tuple[str, ...]]
    contexts: tuple[tuple[str, ...], ...]
    tables: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...] = ()

    def __post_init__(self) -> None:
        for context, table in zip(self.contexts, self.tables, strict=True):
            where = f"context ({', '.join(context)})"
            shape = tuple(len(self.outcomes[m]) for m in context)
            if table.shape != shape:
                raise ValueError(f"{where} needs {' × '.join(map(str, shape))} probabilities; got shape {table.shape}")
            if not np.all(np.isfinite(table)) or table.min() < 0:
                raise ValueError(f"{where} has a probability that is negative or not a number")
            if abs(table.sum() - 1) > 1e-6:
                raise ValueError(
                    f"the probabilities of {where} sum to {table.sum():.6g}, not 1; take rounded ones "
                    "with --round, or give 'counts' instead"
                )


def table_from_dict(data: Any, rounded: bool = False) -> EmpiricalTable:
    """From ``{"contexts": [{"measurements": ["A", "B"], "probabilities": {"0,0": 0.5, …} or nested lists}],
    "outcomes"?}``.

    Outcomes default to 0 and 1 for every measurement; a missing entry of a dictionary is probability 0. In place of
    ``probabilities`` a context may have ``counts`` (whole numbers, laid out alike), which are divided by their sum.
    With ``rounded`` the probabilities of a context are scaled to sum to 1, provided that half a unit of the last
    decimal in every entry accounts for the difference. Raises ValueError for anything else.
    """
    if not isinstance(data, Mapping):
        raise ValueError("an empirical table is an object with 'contexts', each of 'measurements' and 'probabilities'")
    check_keys(data, ("contexts", "outcomes"))
    if not isinstance(data.get("contexts"), list) or not data["contexts"]:
        raise ValueError("an empirical table needs a list 'contexts', each with 'measurements' and 'probabilities'")
    named = {} if data.get("outcomes") is None else data["outcomes"]
    if not isinstance(named, Mapping):
        raise ValueError(f"'outcomes' must map measurements to lists of their outcomes; got {shown(named)}")
    outcomes = {str(m): _names(values, "outcomes", f"measurement {m!r}") for m, values in named.items()}
    parts = [_context(entry, f"context {k}", outcomes, rounded) for k, entry in enumerate(data["contexts"], start=1)]
    contexts, tables = zip(*((measured, table) for measured, table, _ in parts), strict=True)
    counts = tuple(counted for _, _, counted in parts if counted is not None)
    if unused := set(outcomes).difference(*contexts):
        raise ValueError(f"'outcomes' names {min(unused)!r}, which no context measures")
    return EmpiricalTable(outcomes, contexts, tables, counts if len(counts) == len(parts) else ())


def _context(
    entry: Any, where: str, outcomes: dict[str, tuple[str, ...]], rounded: bool
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray | None]:
    """Measurements, probabilities and, if given, counts of one context; without ``outcomes`` they are 0 and 1."""
    if isinstance(entry, Mapping):
        check_keys(entry, ("measurements", "probabilities", "counts"), f"{where}: ")
    if (
        not isinstance(entry, Mapping)
        or "measurements" not in entry
        or ("counts" in entry) == ("probabilities" in entry)
    ):
        raise ValueError(f"{where} needs 'measurements' and either 'probabilities' or 'counts'")
    measured = _names(entry["measurements"], "measurements", where)
    for m in measured:
        outcomes.setdefault(m, ("0", "1"))
    shape = [len(outcomes[m]) for m in measured]
    if math.prod(shape) > ASSIGNMENT_LIMIT or len(shape) > 30:  # numpy has at most 64 axes
        raise ValueError(f"{where} has {math.prod(shape)} joint outcomes, more than the limit of {ASSIGNMENT_LIMIT}")
    given = entry["counts"] if "counts" in entry else entry["probabilities"]
    table = _sparse(given, measured, outcomes, where) if isinstance(given, Mapping) else _dense(given, shape, where)
    if "counts" in entry:
        return measured, _frequencies(table, where), table
    return measured, _scaled(table, where) if rounded else table, None


def _names(values: Any, kind: str, where: str) -> tuple[str, ...]:
    """A list of one or more different names; commas separate outcomes, so that no name may have one."""
    if not isinstance(values, list) or not values or not all(map(is_name, values)):
        raise ValueError(f"{where} needs a list of {kind} (texts or whole numbers), one or more; got {shown(values)}")
    names = tuple(str(v).strip() for v in values)
    if len(set(names)) < len(names) or not all(names) or any("," in name for name in names):
        raise ValueError(f"{where} needs different {kind}, their names without commas; got {shown(values)}")
    return names


def _sparse(
    given: Mapping[str, Any], measured: tuple[str, ...], outcomes: Mapping[str, tuple[str, ...]], where: str
) -> np.ndarray:
    """Probabilities from ``{"0,1": 0.5}``: one outcome a measurement, in their order."""
    table = np.zeros([len(outcomes[m]) for m in measured])
    seen: set[tuple[int, ...]] = set()
    for key, value in given.items():
        place = [x.strip() for x in str(key).split(",")]
        if len(place) != len(measured):
            raise ValueError(f"outcome {key!r} of {where} must name {len(measured)} outcomes, with commas between")
        for m, x in zip(measured, place, strict=True):
            if x not in outcomes[m]:
                raise ValueError(
                    f"outcome {key!r} of {where}: {x!r} is no outcome of {m!r}, which has {', '.join(outcomes[m])}"
                )
        at = tuple(outcomes[m].index(x) for m, x in zip(measured, place, strict=True))
        if at in seen:
            raise ValueError(f"outcome {key!r} of {where} is given twice")
        seen.add(at)
        table[at] = _probability(value, where)
    return table


def _dense(given: Any, shape: Sequence[int], where: str) -> np.ndarray:
    """Probabilities from lists within lists, one level a measurement."""

    def flat(part: Any, sizes: Sequence[int]) -> list[float]:
        if not sizes:
            return [_probability(part, where)]
        if not isinstance(part, list) or len(part) != sizes[0]:
            raise ValueError(
                f"{where} needs {' × '.join(map(str, shape))} probabilities as lists within lists, or an "
                f'object such as {{"0,1": 0.5}}; got {shown(given)}'
            )
        return [x for inner in part for x in flat(inner, sizes[1:])]

    return np.array(flat(given, shape)).reshape(shape)


def _probability(value: Any, where: str) -> float:
    if not is_number(value):
        raise ValueError(f"{where} has the probability {shown(value)}, which is not a number")
    return float(value)


def _frequencies(counts: np.ndarray, where: str) -> np.ndarray:
    if counts.min() < 0 or counts.sum() == 0 or np.any(counts != np.round(counts)):
        raise ValueError(f"the counts of {where} must be whole numbers, none negative and not all zero")
    return counts / counts.sum()


def _scaled(table: np.ndarray, where: str) -> np.ndarray:
    """Probabilities as printed, divided by their sum: 0.9999 where four entries of four decimals were rounded."""
    decimals = max(-int(Decimal(repr(float(p))).as_tuple().exponent) for p in table.flat)
    most = table.size * 0.5 * 10.0**-decimals
    if abs(table.sum() - 1) > most * (1 + 1e-9):
        raise ValueError(
            f"the probabilities of {where} sum to {table.sum():.6g}; rounding to {decimals} decimals explains at most "
            f"{most:.2g} of difference from 1: correct the table"
        )
    return table / table.sum()


def read_table(text: str, rounded: bool = False) -> EmpiricalTable:
    """Parse the JSON form of :func:`table_from_dict`."""
    return table_from_dict(parse_json(text), rounded)


def resampled(table: EmpiricalTable, rng: np.random.Generator) -> EmpiricalTable:
    """The table of as many answers drawn anew from each context's frequencies. Raises ValueError without counts."""
    if not table.counts:
        raise ValueError("the table has no counts to resample")
    drawn = [
        rng.multinomial(int(n.sum()), p.ravel()).reshape(p.shape)
        for n, p in zip(table.counts, table.tables, strict=True)
    ]
    frequencies = tuple(counts / counts.sum() for counts in drawn)
    return EmpiricalTable(table.outcomes, table.contexts, frequencies, tuple(counts.astype(float) for counts in drawn))


def contextual_fraction(table: EmpiricalTable) -> float:
    """1 − the largest weight of a noncontextual part (Abramsky, Barbosa & Mansfield, arXiv:1705.07918): an LP in [0,
    1].

    Read it beside :func:`signalling_fraction`: a table that signals has a positive fraction for that reason alone.
    Raises ValueError for more global assignments than can be listed.
    """
    measurements = list(table.outcomes)
    number = math.prod(len(table.outcomes[m]) for m in measurements)
    if number > ASSIGNMENT_LIMIT:
        raise ValueError(f"there are {number} global assignments, more than the limit of {ASSIGNMENT_LIMIT}")
    grid = np.array(list(product(*[range(len(table.outcomes[m])) for m in measurements])))
    rows = []
    for context, probabilities in zip(table.contexts, table.tables, strict=True):
        seen = grid[:, [measurements.index(m) for m in context]]
        flat = np.ravel_multi_index(tuple(seen.T), probabilities.shape)
        rows.append(flat[None, :] == np.arange(probabilities.size)[:, None])
    return _fraction(np.concatenate(rows), np.concatenate([t.ravel() for t in table.tables]))


def contextual_fraction_of(h: Hypergraph, probabilities: Mapping[str, float | int]) -> float:
    """The same for one probability an atom: 1 − the largest weight of a mixture of two-valued states below them.

    1 when there is no two-valued state. Raises ValueError for a missing atom or a context whose sum is not 1.
    """
    if missing := [v for v in h.vertices if v not in probabilities]:
        raise ValueError(f"no probability is given for atom {missing[0]!r}")
    p = np.array([float(probabilities[v]) for v in h.vertices])
    if not np.all(np.isfinite(p)) or p.min() < -1e-9:
        raise ValueError("a probability is negative or not a number")
    for context in h.contexts:
        total = sum(float(probabilities[v]) for v in context)
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the probabilities of context ({', '.join(context)}) sum to {total:.6g}, not 1")
    listing = list_states(h, ASSIGNMENT_LIMIT)
    if not listing.complete:
        raise ValueError(f"there are more than {ASSIGNMENT_LIMIT} two-valued states")
    return _fraction(as_table(h, listing.states).T, p) if listing.states else 1.0


def signalling_fraction(table: EmpiricalTable) -> float:
    """1 − the largest weight of a no-signalling part of the table: 0 exactly when shared measurements agree in all
    contexts."""
    starts = np.cumsum([0, *(t.size for t in table.tables)])
    rows: list[np.ndarray] = []
    for a in range(len(table.contexts)):
        for b in range(a):
            shared = [m for m in table.contexts[a] if m in table.contexts[b]]
            for values in product(*[range(len(table.outcomes[m])) for m in shared]):
                row = np.zeros(starts[-1])
                for c, sign in ((a, 1), (b, -1)):
                    keep = np.ones(table.tables[c].shape, dtype=bool)
                    for m, value in zip(shared, values, strict=True):
                        axis = table.contexts[c].index(m)
                        at = np.arange(keep.shape[axis]) == value
                        keep &= at.reshape([-1 if k == axis else 1 for k in range(keep.ndim)])
                    row[starts[c] : starts[c + 1]] += sign * keep.ravel()
                rows.append(row)
    if not rows:
        return 0.0
    probabilities = np.concatenate([t.ravel() for t in table.tables])
    cost = np.zeros(starts[-1])
    cost[: starts[1]] = -1.0  # all contexts keep the same weight, so count the first one's
    result = linprog(
        cost, A_eq=np.stack(rows), b_eq=np.zeros(len(rows)), bounds=np.stack([0 * probabilities, probabilities], 1)
    )
    return float(np.clip(1 + result.fun, 0, 1))


@dataclass(frozen=True)
class ByDefault:
    """Cyclic system: contextual exactly when ``excess`` = s_odd − (n − 2) − inconsistency > 0.

    ``s_odd``          max Σ ±⟨RᵢRᵢ₊₁⟩ over signs with an odd number of minuses
    ``inconsistency``  Σ |⟨Rᵢ⟩ in one context − ⟨Rᵢ⟩ in the other|, the direct influences
    Kujala, Dzhafarov & Larsson, PRL 115, 150401 (2015); Kujala & Dzhafarov (2016).
    """

    rank: int
    s_odd: float
    inconsistency: float
    excess: float

    @property
    def contextual(self) -> bool:
        """Whether the excess over the noncontextual bound is positive beyond rounding (1e-9)."""
        return self.excess > 1e-9


def by_default(table: EmpiricalTable) -> ByDefault:
    """Contextuality by default of a cyclic system of binary measurements (first outcome +1, second −1).

    Raises ValueError when a context has not two measurements, a measurement not two contexts or not two outcomes, or
    the contexts make no single ring.
    """
    where: dict[str, list[int]] = {m: [] for m in table.outcomes}
    for c, context in enumerate(table.contexts):
        for m in context:
            where[m].append(c)
    if any(len(c) != 2 for c in table.contexts) or any(len(w) != 2 for w in where.values()):
        raise ValueError(
            "contextuality by default is computed for cyclic systems: two measurements a context, "
            "two contexts a measurement"
        )
    if wrong := [m for m, values in table.outcomes.items() if len(values) != 2]:
        raise ValueError(
            f"measurement {wrong[0]!r} has {len(table.outcomes[wrong[0]])} outcomes; a cyclic system's have two"
        )
    ring, here = {0}, 0
    while True:
        step = [c for m in table.contexts[here] for c in where[m] if c not in ring]
        if not step:
            break
        here = step[0]
        ring.add(here)
    if len(ring) < len(table.contexts):
        raise ValueError("the contexts make more than one ring; give one cyclic system at a time")
    sign = np.array([1.0, -1.0])
    joint = [float(sign @ t @ sign) for t in table.tables]
    alone: Sequence[dict[str, float]] = [
        {a: float(sign @ t.sum(1)), b: float(sign @ t.sum(0))}
        for (a, b), t in zip(table.contexts, table.tables, strict=True)
    ]
    size = np.abs(joint)
    odd = sum(x < 0 for x in joint) % 2 == 1 or size.min() == 0
    s_odd = float(size.sum() - (0 if odd else 2 * size.min()))
    inconsistency = sum(abs(alone[w[0]][m] - alone[w[1]][m]) for m, w in where.items())
    n = len(joint)
    return ByDefault(n, s_odd, inconsistency, s_odd - (n - 2) - inconsistency)


def _fraction(incidence: np.ndarray, probabilities: np.ndarray) -> float:
    """1 − max Σ b with incidence · b ≤ probabilities, b ≥ 0."""
    result = linprog(-np.ones(incidence.shape[1]), A_ub=incidence.astype(float), b_ub=probabilities, method="highs")
    return float(np.clip(1 + result.fun, 0, 1))
