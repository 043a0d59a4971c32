"""Contextuality by default of any system of yes–no measurements, and its measures CNT₁, CNT₂ and NCNT₂.

Every measurement is another random variable in every context. A coupling is a distribution over the values of all of
them together, written as a vector of three parts: l, Pr[R = 1] of every variable; b, Pr[all = 1] for every two or more
variables of one context; c, Pr[R = R' = 1] for every two variables of one measurement in different contexts. A system
is noncontextual when some coupling has the observed l and b and the largest c that l allows, min(Pr[R = 1],
Pr[R' = 1]).
Kujala & Dzhafarov, Phil. Trans. R. Soc. A 377, 20190149 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog

from contexts.logic.contextuality import EmpiricalTable

VARIABLE_LIMIT = 14
"""Random variables (measurements, each counted in every context) past which the linear programs are refused."""

CONTEXTUAL = 1e-8
"""Least value of CNT₁ or CNT₂ that counts as positive: linear programs end with errors of some 1e-10."""


@dataclass(frozen=True)
class Measures:
    """How contextual a system is, in units of probability.

    ``cnt1``   smallest Σ|c − c*| over couplings with the observed l and b: how far connections are from the largest
    ``cnt2``   smallest Σ|b − b*| over couplings with the observed l and the largest c*: how far contexts are
    ``ncnt2``  smallest Σ|b − b*| from a noncontextual system to the border of those with its l and c*; else None
    """

    cnt1: float
    cnt2: float
    ncnt2: float | None

    @property
    def contextual(self) -> bool:
        """Whether no coupling exists as the definition asks."""
        return self.cnt2 > CONTEXTUAL


@dataclass(frozen=True)
class _System:
    """Rows of the three parts over the 2^N values of all N variables, and what is observed (c: the largest)."""

    rows: tuple[Float[np.ndarray, "l values"], Float[np.ndarray, "b values"], Float[np.ndarray, "c values"]]
    observed: tuple[Float[np.ndarray, " l"], Float[np.ndarray, " b"], Float[np.ndarray, " c"]]


def measures(table: EmpiricalTable) -> Measures:
    """CNT₁, CNT₂ and NCNT₂ of a table whose measurements have two outcomes (the first one is 1).

    Of a cyclic system CNT₁ = CNT₂ = excess / 4 (Dzhafarov, Kujala & Cervantes, PRA 101, 042119 (2020)). Raises
    ValueError for other numbers of outcomes, and for more than ``VARIABLE_LIMIT`` variables.
    """
    if wrong := [m for m, values in table.outcomes.items() if len(values) != 2]:
        raise ValueError(f"measurement {wrong[0]!r} has {len(table.outcomes[wrong[0]])} outcomes; two are needed")
    variables = sum(map(len, table.contexts))
    if variables > VARIABLE_LIMIT:
        raise ValueError(f"there are {variables} random variables, more than the limit of {VARIABLE_LIMIT}")
    system = _system(table)
    cnt1, cnt2 = _distance(system, 2), _distance(system, 1)
    return Measures(cnt1, cnt2, None if cnt2 > CONTEXTUAL else _to_the_border(system))


def _system(table: EmpiricalTable) -> _System:
    variables = [(m, k) for k, context in enumerate(table.contexts) for m in context]
    number = len(variables)
    value = (np.arange(2**number)[None, :] >> np.arange(number)[:, None] & 1).astype(float)
    place = {variable: i for i, variable in enumerate(variables)}
    low = np.array([_all_first(table, k, (m,)) for m, k in variables])
    b_rows, bunches = [], []
    for k, context in enumerate(table.contexts):
        for size in range(2, len(context) + 1):
            for chosen in combinations(context, size):
                b_rows.append(np.prod([value[place[m, k]] for m in chosen], axis=0))
                bunches.append(_all_first(table, k, chosen))
    pairs = [(i, j) for i, j in combinations(range(number), 2) if variables[i][0] == variables[j][0]]
    c_rows = [value[i] * value[j] for i, j in pairs]
    connections = [min(low[i], low[j]) for i, j in pairs]
    empty = np.zeros((0, 2**number))
    rows = (value, np.stack(b_rows) if b_rows else empty, np.stack(c_rows) if c_rows else empty)
    return _System(rows, (low, np.array(bunches, dtype=float), np.array(connections, dtype=float)))


def _all_first(table: EmpiricalTable, k: int, chosen: tuple[str, ...]) -> float:
    """The probability that all chosen measurements of context k have their first outcome."""
    return float(table.tables[k][tuple(0 if m in chosen else slice(None) for m in table.contexts[k])].sum())


def _distance(system: _System, loose: int) -> float:
    """The least L1 distance in one part (1: b, 2: c) over couplings that have the other parts exactly."""
    n, size = system.rows[0].shape[1], len(system.observed[loose])
    fixed = [part for part in range(3) if part != loose]
    exact = np.concatenate([np.ones((1, n)), *(system.rows[part] for part in fixed)])
    equal = np.block(
        [
            [exact, np.zeros((len(exact), 2 * size))],
            [system.rows[loose], np.eye(size), -np.eye(size)],  # distance = Σ (up + down)
        ]
    )
    target = np.concatenate([[1.0], *(system.observed[part] for part in fixed), system.observed[loose]])
    cost = np.concatenate([np.zeros(n), np.ones(2 * size)])
    return max(0.0, float(_solved(cost, equal, target)))


def _to_the_border(system: _System) -> float:
    """The least distance from b to the border: of a convex body it is reached along an axis of the L1 ball."""
    n, size = system.rows[0].shape[1], len(system.observed[1])
    exact = np.concatenate([np.ones((1, n)), *system.rows])
    target = np.concatenate([[1.0], *system.observed])
    best = np.inf
    for axis in range(size):
        for sign in (1.0, -1.0):
            step = np.zeros((len(exact), 1))
            step[1 + len(system.observed[0]) + axis] = -sign
            cost = np.append(np.zeros(n), -1.0)
            best = min(best, -_solved(cost, np.hstack([exact, step]), target))
    return float(max(best, 0.0))


def _solved(cost: np.ndarray, equal: np.ndarray, target: np.ndarray) -> float:
    answer = linprog(cost, A_eq=equal, b_eq=target, method="highs")
    if answer.status != 0:
        raise ArithmeticError(f"the linear program of a coupling was not solved: {answer.message}")
    return float(answer.fun)
