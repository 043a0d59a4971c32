"""Questions about two-valued states decided by SAT, for hypergraphs with too many states to list, or none.

Clauses: each context has a true atom; no two exclusive atoms are true. Solvers are python-sat's (CaDiCaL, Glucose).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, islice

import networkx as nx
from pysat.solvers import Solver

from contexts.hypergraphs.hypergraph import Hypergraph, bits

SOLVER = "glucose4"  # incremental, and gives cores under assumptions


def clauses(h: Hypergraph) -> list[list[int]]:
    """The two-valued states as CNF; variable i + 1 is atom i of ``h.vertices``."""
    cnf = [[h.index[v] + 1 for v in context] for context in h.contexts]
    cnf += [[-i - 1, -j - 1] for i, mask in enumerate(h.neighbour_masks) for j in bits(mask >> (i + 1) << (i + 1))]
    return cnf


def find_state(h: Hypergraph, true: Sequence[str] = (), false: Sequence[str] = ()) -> int | None:
    """A two-valued state (as a bitmask) with these atoms true and those false, or None if there is none."""
    with _solver(h) as solver:
        assumptions = [h.index[v] + 1 for v in true] + [-h.index[v] - 1 for v in false]
        return _mask(solver.get_model(), len(h.vertices)) if solver.solve(assumptions=assumptions) else None


def enumerate_states(h: Hypergraph) -> Iterator[int]:
    """All two-valued states by blocking clauses: slow, kept as an independent check of the other two methods."""
    with _solver(h) as solver:
        for model in solver.enum_models():
            yield _mask(model, len(h.vertices))


@dataclass(frozen=True)
class Relations:
    """What the two-valued states say about the atoms, without a list of the states.

    unital               every atom is true in some state (``never_true`` names the others)
    separating           any two atoms differ in some state (``not_separated`` names pairs that do not)
    true_implies_false   non-adjacent u, v, u possible: v is false whenever u is true (symmetric; each pair once)
    true_implies_true    ordered non-adjacent (u, v), u possible: v is true whenever u is (directed: both orders are
                         asked)
    """

    exists: bool
    unital: bool
    separating: bool
    never_true: list[str]
    not_separated: list[tuple[str, str]]
    true_implies_false: list[tuple[str, str]]
    true_implies_true: list[tuple[str, str]]


def relations(h: Hypergraph, progress: Callable[[str], None] = lambda line: None) -> Relations:
    """Decide :class:`Relations` exactly. Each model found settles many pairs at once; SAT is asked about the rest.

    Where no state exists, nothing is unital or separating and, no atom being possible, no implication is reported.
    An implication from an atom that is never true is vacuous and not reported; "false" is also implied of such an atom.
    """
    n = len(h.vertices)
    with _solver(h) as solver:
        if not solver.solve():
            return Relations(False, False, False, list(h.vertices), [], [], [])
        columns = [0] * n  # columns[i]: bit k is the value of atom i in the k-th model seen
        seen = 0

        def possible(*literals: int) -> bool:
            """Is there a state with these literals? Its model, if any, joins the pool."""
            nonlocal seen
            if not solver.solve(assumptions=list(literals)):
                return False
            for literal in solver.get_model()[:n]:
                if literal > 0:
                    columns[literal - 1] |= 1 << seen
            seen += 1
            return True

        never = {i for i in range(n) if not columns[i] and not possible(i + 1)}
        possible_atoms = [i for i in range(n) if columns[i]]
        for i in possible_atoms:  # more models make the pool richer before pairs are asked
            possible(-i - 1)
        tits, tifs = [], []
        for i in possible_atoms:
            progress(f"asking what the states imply: atom {i + 1} of {n}")
            apart = ~h.neighbour_masks[i]
            for j in range(n):
                if i == j or not apart >> j & 1:
                    continue
                if (j > i or j in never) and not columns[i] & columns[j] and not possible(i + 1, j + 1):
                    tifs.append((i, j))
                if not columns[i] & ~columns[j] and not possible(i + 1, -j - 1):
                    tits.append((i, j))
        implied = set(tits)
        same = [(i, j) for i, j in combinations(possible_atoms, 2) if (i, j) in implied and (j, i) in implied]
        same += list(combinations(sorted(never), 2))

    def named(pairs: list[tuple[int, int]]) -> list[tuple[str, str]]:
        return [(h.vertices[i], h.vertices[j]) for i, j in pairs]

    return Relations(
        True, not never, not same, [h.vertices[i] for i in sorted(never)], named(same), named(tifs), named(tits)
    )


def critical_contexts(h: Hypergraph, keep_exclusivity: bool = False) -> list[int] | None:
    """Positions of a critical subset: contexts that together admit no two-valued state, though any fewer of them do.

    A dropped context takes along its exclusivities, unless they also stand in a kept context or in the exclusive pairs
    (the sub-hypergraphs of the Kochen–Specker literature). With ``keep_exclusivity`` all exclusivities stay, as those
    of fixed vectors do, and only the demand "one of these is true" is dropped: subsets are then smaller.
    None when ``h`` has a state. A deletion-based minimal unsatisfiable subset, cut down to a core after each answer.
    """
    with selected(h, keep_exclusivity) as solver:
        first = len(h.vertices) + 1
        core = [first + i for i in range(len(h.contexts))]
        if solver.solve(assumptions=core):
            return None
        core = sorted(solver.get_core() or [])
        for selector in list(core):
            if selector in core and not solver.solve(assumptions=[s for s in core if s != selector]):
                core = sorted(solver.get_core() or [])
        return [s - first for s in core]


def is_critical(h: Hypergraph) -> bool:
    """No two-valued state, and deleting any one context (with its exclusivities) leaves some: the only critical subset
    is then the whole."""
    subset = critical_contexts(h)
    return subset is not None and len(subset) == len(h.contexts)


def colouring(h: Hypergraph, colours: int, conflicts: int | None = None) -> dict[str, int] | None:
    """A strong colouring with at most so many colours (exclusive atoms, so all of a context, differ), or None.

    Raises :class:`Undecided` after ``conflicts`` conflicts of the solver (no limit by default).
    """
    clique = _large_clique(h)
    if len(clique) > colours:
        return None
    n = len(h.vertices)
    with Solver(name=SOLVER) as solver:
        for i in range(n):
            solver.add_clause([i * colours + c + 1 for c in range(colours)])
            for j in bits(h.neighbour_masks[i] >> (i + 1) << (i + 1)):
                for c in range(colours):
                    solver.add_clause([-(i * colours + c + 1), -(j * colours + c + 1)])
        for c, v in enumerate(clique):  # colours are interchangeable: fix those of one clique
            solver.add_clause([h.index[v] * colours + c + 1])
        if conflicts is not None:
            solver.conf_budget(conflicts)
        answer = solver.solve_limited() if conflicts is not None else solver.solve()
        if answer is None:
            raise Undecided(f"whether {colours} colours suffice was not decided within {conflicts} conflicts")
        if not answer:
            return None
        true = {x for x in solver.get_model() if x > 0}
    return {v: next(c for c in range(colours) if i * colours + c + 1 in true) for i, v in enumerate(h.vertices)}


def strong_chromatic_number(h: Hypergraph, conflicts: int | None = None) -> int:
    """Fewest colours of a strong colouring: the chromatic number of the orthogonality graph.

    Unital and separating states do not make it equal the dimension. Raises :class:`Undecided` as :func:`colouring`.
    """
    colours = len(_large_clique(h))
    while colouring(h, colours, conflicts) is None:
        colours += 1
    return colours


class Undecided(ValueError):
    """A search was stopped at its stated limit before it had the answer."""


def _large_clique(h: Hypergraph) -> list[str]:
    """A clique of the orthogonality graph: the largest among the first few thousand maximal ones."""
    return max(islice(nx.find_cliques(h.graph), 5_000), key=len)


@contextmanager
def _solver(h: Hypergraph) -> Iterator[Solver]:
    """A solver loaded with the two-valued states of ``h``."""
    with _loaded(h, clauses(h)) as solver:
        yield solver


@contextmanager
def selected(h: Hypergraph, keep_exclusivity: bool = False) -> Iterator[Solver]:
    """A solver in which context i holds only while variable n + 1 + i is true, of n atoms.

    A context that does not hold has no exclusivities either, unless ``keep_exclusivity``; exclusive pairs always hold.
    """
    n = len(h.vertices)
    if keep_exclusivity:
        cnf = clauses(h)
        cnf = [[*c, -(n + 1 + i)] for i, c in enumerate(cnf[: len(h.contexts)])] + cnf[len(h.contexts) :]
    else:
        cnf = [[-h.index[a] - 1, -h.index[b] - 1] for a, b in h.exclusive_pairs]
        for i, context in enumerate(h.contexts):
            atoms = [h.index[v] + 1 for v in context]
            cnf += [[*atoms, -(n + 1 + i)], *([-a, -b, -(n + 1 + i)] for a, b in combinations(atoms, 2))]
    with _loaded(h, cnf) as solver:
        yield solver


@contextmanager
def _loaded(h: Hypergraph, cnf: list[list[int]]) -> Iterator[Solver]:
    n = len(h.vertices)
    cnf.append([n, -n])  # so that an atom in no clause still gets a value
    with Solver(name=SOLVER, bootstrap_with=cnf) as solver:
        yield solver


def _mask(model: Sequence[int], atoms: int) -> int:
    return sum(1 << (x - 1) for x in model[:atoms] if x > 0)
