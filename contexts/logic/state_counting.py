"""Two-valued states counted exactly, without listing them: dynamic programming over a moving frontier.

Contexts and exclusive pairs are taken one at a time. After each, all that matters of a partial assignment is which
atoms of the *frontier* are true (atoms met already that later constraints still ask about), so partial states are
merged by that and counted with Python's big integers. Time and memory grow with the number of different frontier states
(the width), not with the number of two-valued states. Read backwards, the same tables give each atom's number of states
in which it is true, and uniform samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from contexts.hypergraphs.hypergraph import Hypergraph, bits

WIDTH_LIMIT = 500_000
"""Frontier states after one step at which counting gives up (about 100 MB); marginals keep at most four times as
many."""


class TooWide(ValueError):
    """The frontier passed the stated limit: the hypergraph is too entangled for this method."""


@dataclass(frozen=True)
class Counts:
    """``total`` states, and for each atom in how many it is true (exact integers)."""

    total: int
    marginals: dict[str, int]


Progress = Callable[[str], None]


def count_states(h: Hypergraph, width_limit: int = WIDTH_LIMIT, progress: Progress = lambda line: None) -> int:
    """The exact number of two-valued states. Raises :class:`TooWide` past ``width_limit`` frontier states."""
    table = {0: 1}
    steps = len(h.context_masks) + len(h.pair_masks)
    for number, step in enumerate(plan(h), start=1):
        table = step.forward(table)
        progress(f"counting: {number} of {steps} constraints, {len(table)} frontier states")
        if len(table) > width_limit:
            raise TooWide(f"counting needs more than {width_limit} frontier states; list states up to a limit instead")
    return sum(table.values()) << len(_free_atoms(h))


def count_with_marginals(
    h: Hypergraph, width_limit: int = WIDTH_LIMIT, progress: Progress = lambda line: None
) -> Counts:
    """The number of states and each atom's share of them, exactly. Raises :class:`TooWide` as :func:`count_states`, or
    past four times so many in all steps together, which are kept."""
    steps, before, after = _tables(h, width_limit, progress)
    factor = 1 << len(_free_atoms(h))
    total = after[0].get(0, 0) * factor
    marginals = {h.vertices[i]: total // 2 for i in _free_atoms(h)}
    for step, table, rest in zip(steps, before, after[1:], strict=True):
        true = dict.fromkeys(step.new, 0)
        for state, number in table.items():
            for atom, target in step.choices(state):
                if atom is not None:
                    true[atom] += number * rest.get(target, 0)
        for atom, number in true.items():
            for twin in step.leaves if atom == step.leaf else (atom,):
                marginals[h.vertices[twin]] = number * factor
    return Counts(total, {v: marginals[v] for v in h.vertices})


def sample_states(h: Hypergraph, size: int, rng: np.random.Generator, width_limit: int = WIDTH_LIMIT) -> list[int]:
    """``size`` independent two-valued states, each uniform over all of them, as bitmasks.

    Raises ValueError when there is no state. Uniform to the 53 bits of the generator's floats.
    """
    steps, _, after = _tables(h, width_limit)
    if not after[0]:
        raise ValueError("there is no two-valued state to sample")
    free = _free_atoms(h)
    drawn = []
    for _ in range(size):
        state = ones = 0
        for step, rest in zip(steps, after[1:], strict=True):
            options = [(a, t, w) for a, t in step.choices(state) if (w := rest.get(t, 0) * step.weight(a))]
            pick = rng.random() * sum(w for _, _, w in options)
            atom, target = _draw(options, pick)
            if atom is not None:
                atom = step.leaves[int(rng.integers(len(step.leaves)))] if atom == step.leaf else atom
                ones |= 1 << atom
            state = target
        drawn.append(ones | sum(1 << i for i in free if rng.random() < 0.5))
    return drawn


@dataclass(frozen=True)
class Step:
    """One constraint. ``leaves`` are atoms of no other constraint; they are interchangeable, so ``leaf`` stands for
    all."""

    group: int
    exact: bool
    new: tuple[int, ...]
    leaves: tuple[int, ...]
    keep: int
    neighbours: tuple[int, ...]

    @property
    def leaf(self) -> int | None:
        """The atom that stands for all ``leaves``; None without any."""
        return self.leaves[0] if self.leaves else None

    def weight(self, atom: int | None) -> int:
        """How many atoms an atom stands for: all ``leaves``, or itself alone."""
        return len(self.leaves) if atom is not None and atom == self.leaf else 1

    def choices(self, state: int) -> Iterator[tuple[int | None, int]]:
        """The atom made true by this step (None for none) and the frontier state that follows."""
        inside = state & self.group
        if inside:
            if not inside & (inside - 1):
                yield None, state & self.keep
            return
        if not self.exact:
            yield None, state & self.keep
        for atom, neighbours in zip(self.new, self.neighbours, strict=True):
            if not state & neighbours:
                yield atom, (state | 1 << atom) & self.keep

    def forward(self, table: dict[int, int]) -> dict[int, int]:
        """Counts after this step; :meth:`choices` written out flat, since all the time goes here."""
        group, keep, exact = self.group, self.keep, self.exact
        moves = [(1 << a & keep, n, self.weight(a)) for a, n in zip(self.new, self.neighbours, strict=True)]
        result: dict[int, int] = {}
        get = result.get
        for state, number in table.items():
            inside = state & group
            rest = state & keep
            if inside:
                if not inside & (inside - 1):
                    result[rest] = get(rest, 0) + number
                continue
            if not exact:
                result[rest] = get(rest, 0) + number
            for bit, neighbours, weight in moves:
                if not state & neighbours:
                    target = rest | bit
                    result[target] = get(target, 0) + number * weight
        return result

    def backward(self, table: dict[int, int], rest: dict[int, int]) -> dict[int, int]:
        """For each state before the step, in how many ways it can be finished."""
        result = {}
        for state in table:
            ways = sum(self.weight(atom) * rest.get(target, 0) for atom, target in self.choices(state))
            if ways:
                result[state] = ways
        return result


def _tables(
    h: Hypergraph, width_limit: int, progress: Progress = lambda line: None
) -> tuple[list[Step], list[dict[int, int]], list[dict[int, int]]]:
    """Steps, forward counts before each step, and the ways to finish before each step and at the end."""
    steps = list(plan(h))
    before = [{0: 1}]
    kept = 0
    for number, step in enumerate(steps, start=1):
        progress(f"marginals: {number} of {len(steps)} constraints forward")
        before.append(step.forward(before[-1]))
        kept += len(before[-1])
        if len(before[-1]) > width_limit or kept > 4 * width_limit:
            raise TooWide(f"counting needs more than {width_limit} frontier states; list states up to a limit instead")
    after = [dict.fromkeys(before.pop(), 1)]
    for step, table in zip(reversed(steps), reversed(before), strict=True):
        progress(f"marginals: {len(after)} of {len(steps)} constraints backward")
        after.append(step.backward(table, after[-1]))
    return steps, before, after[::-1]


def _draw(options: list[tuple[int | None, int, int]], pick: float) -> tuple[int | None, int]:
    """The option in whose interval ``pick`` lies when their weights are laid end to end."""
    for option in options:
        pick -= option[2]
        if pick < 0:
            break
    return option[:2]


def _free_atoms(h: Hypergraph) -> list[int]:
    used = 0
    for group in (*h.context_masks, *h.pair_masks):
        used |= group
    return bits(((1 << len(h.vertices)) - 1) & ~used)


def plan(h: Hypergraph) -> Iterator[Step]:
    """The constraints in an order that keeps the frontier small (greedy), with what each step meets and forgets."""
    todo = {i: (g, True) for i, g in enumerate(h.context_masks)}
    todo |= {len(todo) + i: (g, False) for i, g in enumerate(h.pair_masks)}
    left = [0] * len(h.vertices)  # constraints still to come, by atom
    at: list[list[int]] = [[] for _ in h.vertices]
    for key, (group, _) in todo.items():
        for i in bits(group):
            left[i] += 1
            at[i].append(key)
    frontier = met = 0
    cost: dict[int, tuple[int, int]] = {}

    def price(key: int) -> tuple[int, int]:
        """Growth of the frontier, then how many atoms of the constraint are not met yet."""
        group = todo[key][0]
        new = group & ~met
        retired = sum(1 for i in bits(group) if left[i] == 1)
        return new.bit_count() - retired, new.bit_count()

    while todo:
        key = min(cost, key=cost.__getitem__) if cost else min(todo, key=price)  # no cost: a new component
        group, exact = todo.pop(key)
        cost.pop(key, None)
        new = [i for i in bits(group) if not met >> i & 1]
        leaves = tuple(i for i in new if left[i] == 1)
        met |= group
        frontier |= group
        touched: set[int] = set()
        for i in bits(group):
            left[i] -= 1
            if not left[i]:
                frontier &= ~(1 << i)
            touched.update(k for k in at[i] if k in todo)
        if not frontier:
            cost.clear()
        for k in touched:
            cost[k] = price(k)
        choose = tuple(i for i in new if i not in leaves) + leaves[:1]
        yield Step(group, exact, choose, leaves, frontier, tuple(h.neighbour_masks[i] for i in choose))
