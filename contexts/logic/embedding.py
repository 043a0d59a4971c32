"""Copies of one hypergraph inside another: different atoms to different atoms, contexts to contexts.

Decided by SAT: a variable for "atom a becomes b" and for "context c becomes d"; where c becomes d, its atoms become
atoms of d. Vectors do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pysat.card import CardEnc, EncType
from pysat.solvers import Solver

from contexts.hypergraphs.hypergraph import Hypergraph, bits
from contexts.logic.satisfiability import SOLVER

VARIABLE_LIMIT = 2_000_000
"""Variables and pairs of the encoding past which the search is refused."""


def copies(
    small: Hypergraph, large: Hypergraph, progress: Callable[[str], None] = lambda line: None
) -> Iterator[dict[str, str]]:
    """Maps of the atoms of ``small`` to those of ``large``, one for every set of contexts (and place of atoms of
    no context) that is a copy.

    A context may only become a context of equal size, an exclusive pair any two exclusive atoms. Raises ValueError
    where the search would be too large.
    """
    search = _Search(small, large)
    found = 0
    with Solver(name=SOLVER, bootstrap_with=search.clauses()) as solver:
        while solver.solve():
            true = {x for x in solver.get_model() if x > 0}
            yield search.map_of(true)
            found += 1
            progress(f"{found} copies found")
            solver.add_clause([-x for x in search.image(true)])


class _Search:
    """The variables: atom i becomes j is ``i·N + j + 1``; context c becomes d; context d, or atom j, is used."""

    def __init__(self, small: Hypergraph, large: Hypergraph) -> None:
        self.small, self.large = small, large
        self.n, self.m = len(small.vertices), len(large.vertices)
        pairs = len(small.contexts) * len(large.contexts)
        if self.n * self.m + pairs * 8 > VARIABLE_LIMIT:
            raise ValueError(
                f"a search of {self.n} atoms among {self.m} and {len(small.contexts)} contexts among "
                f"{len(large.contexts)} is past the limit of {VARIABLE_LIMIT} variables"
            )
        self.free = [i for i, v in enumerate(small.vertices) if not small.multiplicity[v]]
        self.used_from = self.n * self.m + pairs

    def atom(self, i: int, j: int) -> int:
        """Atom i of the small hypergraph becomes atom j."""
        return i * self.m + j + 1

    def context(self, c: int, d: int) -> int:
        """Context c becomes context d."""
        return self.n * self.m + c * len(self.large.contexts) + d + 1

    def clauses(self) -> list[list[int]]:
        """What a copy is."""
        small, large = self.small, self.large
        cnf: list[list[int]] = []
        top = self.used_from + len(large.contexts)

        def exactly_one(variables: list[int]) -> None:
            nonlocal top
            cnf.append(variables)
            at_most_one(variables)

        def at_most_one(variables: list[int]) -> None:
            nonlocal top
            card = CardEnc.atmost(variables, 1, top_id=top, encoding=EncType.seqcounter)
            top = max(top, card.nv)
            cnf.extend(card.clauses)

        for i in range(self.n):
            exactly_one([self.atom(i, j) for j in range(self.m)])
        for j in range(self.m):
            at_most_one([self.atom(i, j) for i in range(self.n)])
        for c, group in enumerate(small.context_masks):
            fits = [d for d, other in enumerate(large.context_masks) if other.bit_count() == group.bit_count()]
            if not fits:
                return [[]]
            exactly_one([self.context(c, d) for d in fits])
            for d in fits:
                cnf.append([-self.context(c, d), self.used_from + d + 1])
                inside = bits(large.context_masks[d])
                cnf += [[-self.context(c, d), *(self.atom(i, j) for j in inside)] for i in bits(group)]
        for mask in small.pair_masks:
            a, b = bits(mask)
            for j, near in enumerate(large.neighbour_masks):
                cnf.append([-self.atom(a, j), *(self.atom(b, k) for k in bits(near))])
        return cnf

    def map_of(self, true: set[int]) -> dict[str, str]:
        """The atoms' map of a model."""
        return {
            v: self.large.vertices[next(j for j in range(self.m) if self.atom(i, j) in true)]
            for i, v in enumerate(self.small.vertices)
        }

    def image(self, true: set[int]) -> list[int]:
        """What tells one copy from another: the contexts used, and where atoms of no context went."""
        place = {i: next(j for j in range(self.m) if self.atom(i, j) in true) for i in range(self.n)}
        images = {sum(1 << place[i] for i in bits(mask)) for mask in self.small.context_masks}
        used = [self.used_from + d + 1 for d, mask in enumerate(self.large.context_masks) if mask in images]
        return used + [self.atom(i, place[i]) for i in self.free]
