"""Two-valued states (noncontextual truth assignments) listed one by one, and what can be read off a list.

A two-valued state makes exactly one atom of every context true and at most one of every exclusive pair. States are
integers: bit i is the value of atom i of ``h.vertices``. To *count* states use :mod:`contexts.logic.state_counting`,
to decide questions about them without a list :mod:`contexts.logic.satisfiability`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool

from contexts.hypergraphs.hypergraph import Hypergraph, bits
from contexts.logic.state_counting import plan

LIST_LIMIT = 1_000_000
"""States after which listing stops and says so."""


FIRST_TRY = 2_000
"""So many of the listed states, evenly chosen, are first searched for a separating set."""


@dataclass(frozen=True)
class Listing:
    """``states`` found; ``complete`` when there are no others, otherwise ``reason`` says why the search stopped."""

    states: list[int]
    complete: bool
    reason: str = ""
    interrupted: bool = False


def states(h: Hypergraph) -> Iterator[int]:
    """All two-valued states, lazily: depth-first on bitmasks, forced atoms first, then the context of fewest
    choices."""
    atoms = len(h.vertices)
    contexts = [step.group for step in plan(h) if step.exact]
    neighbours = {1 << i: mask for i, mask in enumerate(h.neighbour_masks)}
    covered = 0
    for mask in contexts:
        covered |= mask
    # An atom of no context may be true or false: a private twin ("it is false") makes a two-atom context of that
    # choice.
    for twin, i in enumerate(bits(((1 << atoms) - 1) & ~covered), start=atoms):
        contexts.append(1 << i | 1 << twin)
        neighbours[1 << twin] = 1 << i
        neighbours[1 << i] |= 1 << twin
    real = (1 << atoms) - 1
    stack = [(0, 0, contexts)]
    while stack:
        ones, dead, todo = stack.pop()
        forced = True
        while forced:
            forced, rest, narrow, fewest = False, [], 0, 1 << 30
            for context in todo:
                if context & ones:
                    continue
                candidates = context & ~dead
                if candidates & (candidates - 1):
                    rest.append(context)
                    number = candidates.bit_count()
                    if number < fewest:
                        fewest, narrow = number, candidates
                elif candidates:
                    ones |= candidates
                    dead |= neighbours[candidates]
                    forced = True
                else:
                    break
            else:
                todo = rest
                continue
            break
        else:
            if not todo:
                yield ones & real
                continue
            while narrow:
                choice = narrow & -narrow
                narrow ^= choice
                stack.append((ones | choice, dead | neighbours[choice], todo))


def list_states(h: Hypergraph, limit: int = LIST_LIMIT) -> Listing:
    """Up to ``limit`` states. Interrupted by Ctrl-C it returns what was found, marked incomplete."""
    found: list[int] = []
    try:
        for state in states(h):
            if len(found) == limit:
                return Listing(found, False, f"stopped at the limit of {limit} states")
            found.append(state)
    except KeyboardInterrupt:
        return Listing(found, False, f"interrupted after {len(found)} states", interrupted=True)
    return Listing(found, True)


def is_state(h: Hypergraph, ones: int | Iterable[str]) -> bool:
    """Whether a bitmask, or the set of true atoms, is a two-valued state."""
    mask = ones if isinstance(ones, int) else sum(1 << h.index[v] for v in set(ones))
    exact = all((mask & c).bit_count() == 1 for c in h.context_masks)
    return exact and all((mask & p).bit_count() <= 1 for p in h.pair_masks)


def true_atoms(h: Hypergraph, state: int) -> tuple[str, ...]:
    """Names of the atoms a state makes true."""
    return tuple(h.vertices[i] for i in bits(state))


def true_atoms_of_all(h: Hypergraph, found: Sequence[int]) -> list[list[str]]:
    """:func:`true_atoms` of many states, from their table at once."""
    if not found:
        return []
    rows, columns = np.nonzero(as_table(h, found))
    names = [h.vertices[i] for i in columns.tolist()]
    ends = np.cumsum(np.bincount(rows, minlength=len(found))).tolist()
    return [names[a:b] for a, b in pairwise([0, *ends])]


def as_table(h: Hypergraph, found: Sequence[int]) -> Bool[np.ndarray, "states atoms"]:
    """States as a boolean table, (states, atoms)."""
    size = (len(h.vertices) + 7) // 8
    raw = np.frombuffer(b"".join(s.to_bytes(size, "little") for s in found), dtype=np.uint8)
    return np.unpackbits(raw.reshape(len(found), size), axis=1, bitorder="little")[:, : len(h.vertices)].astype(bool)


def compound_relations(h: Hypergraph, found: Sequence[int]) -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    """Atoms that are others' negation or conjunction in every one of ``found``, which should be all states.

    Pairs (u, v) with v = ¬u and no context in common, each once; triples (u, v, w) with w = u ∧ v, where w is true
    sometimes and differs from u and from v. The program of Shekarriz & Svozil (J. Math. Phys. 63, 032104
    (2022)) lists such pairs and triples.
    """
    table = as_table(h, found) if found else np.zeros((0, len(h.vertices)), bool)
    columns = [int.from_bytes(np.packbits(table[:, i]).tobytes(), "big") for i in range(len(h.vertices))]
    every = int.from_bytes(np.packbits(np.ones(len(found), bool)).tobytes(), "big")
    places: dict[int, list[int]] = {}
    for i, column in enumerate(columns):
        places.setdefault(column, []).append(i)
    negations, conjunctions = [], []
    for i, a in enumerate(columns):
        apart = [j for j in places.get(every ^ a, []) if j > i]
        together = [j for j in apart if any(c >> i & c >> j & 1 for c in h.context_masks)]
        negations += [(h.vertices[i], h.vertices[j]) for j in apart if j not in together]
        for j in range(i + 1, len(columns)):
            both = a & columns[j]
            if both and both not in (a, columns[j]):
                conjunctions += [(h.vertices[i], h.vertices[j], h.vertices[k]) for k in places.get(both, [])]
    return negations, conjunctions


def partition_logic(h: Hypergraph, found: Sequence[int] | None = None) -> dict[str, tuple[int, ...]]:
    """Each atom as the set of (1-based numbers of) states that make it true: contexts become partitions of {1, …, n}.

    Svozil, "Logical equivalence between generalized urn models and finite automata" (2005). ``found`` may be any
    separating set of states; by default all of them. Raises ValueError when two atoms coincide (the set does not
    separate them), naming them, or when a given mask is no state.
    """
    if found is None:
        listing = list_states(h)
        if not listing.complete:
            raise ValueError(f"there are more than {len(listing.states)} states: give a separating set of them")
        found = listing.states
    for state in found:
        if not is_state(h, state):
            raise ValueError(f"{true_atoms(h, state)} is not a two-valued state")
    table = as_table(h, found) if found else np.zeros((0, len(h.vertices)), bool)
    logic = {v: tuple(int(k) + 1 for k in np.flatnonzero(table[:, i])) for i, v in enumerate(h.vertices)}
    if never := [v for v, numbers in logic.items() if not numbers]:
        raise ValueError(
            f"atom {never[0]!r} is true in none of the {len(found)} states: a part of a partition cannot be empty"
        )
    first: dict[tuple[int, ...], str] = {}
    for v, numbers in logic.items():
        if numbers in first:
            raise ValueError(
                f"the {len(found)} states do not separate atoms {first[numbers]!r} and {v!r}: there "
                "is no partition logic"
            )
        first[numbers] = v
    return logic


def separating_subset(h: Hypergraph, found: Sequence[int]) -> list[int]:
    """A small set of the given states that still separates all atoms and makes each true at least once (greedy, then
    pruned).

    Raises ValueError when even all of them do not.
    """
    names = (*h.vertices, "the always false atom")
    if len(found) > FIRST_TRY:
        try:
            return separating_subset(h, found[:: -(-len(found) // FIRST_TRY)])
        except ValueError:
            pass  # the few do not separate; all of them may
    table = np.pad(as_table(h, found), ((0, 0), (0, 1)))  # to be told from the last column is to be true sometimes
    groups = [list(range(len(names)))]
    chosen: list[int] = []
    while any(len(g) > 1 for g in groups):
        label = np.empty(len(names), dtype=np.int64)
        for k, group in enumerate(groups):
            label[group] = k
        sizes = np.bincount(label)
        member = np.eye(len(sizes), dtype=np.float32)[label]
        parts = [table[k : k + 65_536].astype(np.float32) @ member for k in range(0, len(table), 65_536)]
        ones = np.concatenate(parts)  # (states, groups): how many atoms of each group are true
        split = np.sum(ones * (sizes - ones), axis=1)  # pairs of atoms that the state would newly separate
        best = int(np.argmax(split))
        if split[best] == 0:
            a, b = next(g for g in groups if len(g) > 1)[:2]
            raise ValueError(f"the states do not separate {names[a]!r} and {names[b]!r}")
        chosen.append(best)
        groups = [part for g in groups for bit in (True, False) if (part := [i for i in g if table[best, i] == bit])]
    for k in list(chosen):
        rest = [c for c in chosen if c != k]
        if np.unique(table[rest], axis=1).shape[1] == len(names):
            chosen = rest
    return [found[k] for k in chosen]
