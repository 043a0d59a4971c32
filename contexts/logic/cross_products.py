"""Proof that a graph has no orthogonal representation by different rays in R³: cross products, in exact algebra.

A ray of R³ orthogonal to two different rays is their cross product. Starting from one edge as the first two axes, every
atom follows from two known neighbours, or is p×q + t·q for a known neighbour p and one of p's neighbours q, with a real
parameter t (t = ∞ would make it q). The edges not used so are polynomial equations in the parameters. There is no
representation when every real zero of one of them makes two atoms one ray (Uijlen & Westerbaan, New Generation
Computing 34, 3 (2016), did the last step by quantifier elimination). Each irreducible factor is handled by one of:

collapse     it divides all components of u×v for two atoms u, v
definite     it is a sum of even monomials with coefficients of one sign, or a quadratic in one parameter whose leading
             coefficient and negative discriminant are, or it is univariate without real roots
case         its real zeros fix a parameter (t = 0, or t a polynomial of the others), and the chain is walked again

Exact integer polynomials (FLINT). Finding no proof says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, islice
from typing import Any

import networkx as nx
from flint import Ordering, fmpz_mpoly, fmpz_mpoly_ctx, fmpz_poly

CHAINS = 40
"""Chains tried for each number of parameters."""

PARAMETERS = 4
"""Most parameters of a chain."""

CHAIN_WORK, WORK = 300_000, 3_000_000
"""Products of terms in one chain, and in all, after which they are left: some seconds."""

TERMS = 200
"""Terms of an equation that is still factored."""

DEPTH = 3
"""Parameters fixed one after the other before a case is left undecided."""

Step = tuple[str, str, str, int | None]
"""An atom, its two parents, and None for their cross product, or k for p×q + tₖ·q."""

Vector = list[fmpz_mpoly]


class _TooMuch(Exception):
    """A chain outgrew ``CHAIN_WORK`` or the whole search ``WORK``."""


@dataclass
class _Work:
    """Term products left: a deterministic clock."""

    whole: int = WORK
    chain: int = CHAIN_WORK

    def pay(self, u: Vector, v: Vector) -> None:
        cost = sum(map(len, u)) * sum(map(len, v))
        self.whole -= cost
        self.chain -= cost
        if min(self.whole, self.chain) < 0:
            raise _TooMuch


def refute(graph: nx.Graph, stop: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
    """A certificate that the graph's atoms have no injective representation in R³, or None; None too when ``stop``
    says so between two chains.

    ``chain`` lists the steps (``atom``, ``parents``, and ``parameter`` where it is free), ``closing`` the edge whose
    equation cannot hold, ``polynomial`` its left side, and ``why`` an argument for each factor.
    """
    work = _Work()
    for part in nx.connected_components(graph):
        piece = nx.Graph(edge for edge in graph.edges if edge[0] in part)  # in the order of the edges, not of a set
        if piece.number_of_edges() < len(part):  # a tree has representations
            continue
        for steps in chains(piece):
            if stop() or work.whole < 0:
                return None
            work.chain = CHAIN_WORK
            try:
                found = _refute_chain(piece, steps, {}, DEPTH, work)
            except _TooMuch:
                continue
            if found is not None:
                return {"rule": "cross products in R³: an equation that has only collapsed solutions"} | found
    return None


def chains(graph: nx.Graph) -> Iterator[list[Step]]:
    """Chains from fewest parameters on, at most ``CHAINS`` of each number."""
    near = {v: list(graph[v]) for v in graph}
    for most in range(PARAMETERS + 1):
        starts = [(a, b) for edge in graph.edges for a, b in (edge, edge[::-1])]
        every = (chain for a, b in starts for chain in islice(_grow(near, {a: 0, b: 1}, [], most), 4))
        yield from islice(every, CHAINS)


def _grow(near: dict[str, list[str]], known: dict[str, int], steps: list[Step], most: int) -> Iterator[list[Step]]:
    """Chains that go on from the known atoms (with their places in the chain) with ``most`` further parameters."""
    known, steps = dict(known), list(steps)
    met: dict[str, list[str]] = {}
    todo = list(known)
    while todo:  # all that is determined by what is known
        u = todo.pop(0)
        for v in near[u]:
            if v in known:
                continue
            parents = met.setdefault(v, [])
            parents.append(u)
            if len(parents) == 2:
                known[v] = len(known)
                steps.append((v, parents[0], parents[1], None))
                todo.append(v)
    if len(known) == len(near):
        if most == 0:
            yield steps
        return
    if most == 0:
        return
    free = sum(k is not None for *_, k in steps)
    for v, parents in met.items():
        if v not in known:
            other = min((u for u in near[parents[0]] if u in known), key=known.__getitem__)
            yield from _grow(near, known | {v: len(known)}, [*steps, (v, parents[0], other, free)], most - 1)


def _refute_chain(
    graph: nx.Graph, steps: list[Step], fixed: dict[int, fmpz_mpoly], depth: int, work: _Work
) -> dict[str, Any] | None:
    """Walk the chain with some parameters fixed; why no choice of the others is a representation, or None."""
    vectors, parallel = _walk(steps, fixed, work)
    described = {"chain": [_described(step) for step in steps], "fixed": {f"t{k}": str(p) for k, p in fixed.items()}}
    if parallel is not None:
        return described | {"why": [f"{parallel[0]} and {parallel[1]} are one ray"]}
    used = {frozenset((atom, p)) for atom, p, _, _ in steps} | {frozenset(steps[0][1:3])}
    used |= {frozenset((atom, q)) for atom, _, q, k in steps if k is None}
    closing = [(u, v, dot(vectors[u], vectors[v])) for u, v in graph.edges if frozenset((u, v)) not in used]
    for u, v, equation in sorted(closing, key=lambda item: len(item[2])):
        if equation == 0 or len(equation) > TERMS:
            continue
        why = []
        for factor, _ in equation.factor()[1]:
            reason = _reason(graph, steps, fixed, depth, work, factor, vectors)
            if reason is None:
                break
            why.append(reason)
        else:
            return described | {"closing": [u, v], "polynomial": str(equation), "why": why}
    return None


def _reason(
    graph: nx.Graph,
    steps: list[Step],
    fixed: dict[int, fmpz_mpoly],
    depth: int,
    work: _Work,
    factor: fmpz_mpoly,
    vectors: dict[str, Vector],
) -> dict[str, Any] | None:
    """Why an irreducible factor vanishes at no injective representation, or None."""
    cases = real_zeros(factor)
    if cases == []:
        return {"factor": str(factor), "real_zeros": "none"}
    for u, v in combinations(vectors, 2):
        work.pay(vectors[u], vectors[v])
        if all(component % factor == 0 for component in cross(vectors[u], vectors[v])):
            return {"factor": str(factor), "one_ray": [u, v]}
    if cases is None or depth == 0:
        return None
    inner = []
    for case in cases:
        put = {k: p.compose(*_images(p, case)) for k, p in fixed.items()} | case
        found = _refute_chain(graph, steps, put, depth - 1, work)
        if found is None:
            return None
        inner.append({key: found[key] for key in found if key != "chain"})
    return {"factor": str(factor), "real_zeros": inner}


def _walk(
    steps: list[Step], fixed: dict[int, fmpz_mpoly], work: _Work
) -> tuple[dict[str, Vector], tuple[str, str] | None]:
    """The atoms' vectors as polynomials, common factors divided out; or two atoms that are one ray throughout.

    Where a common factor of a cross product vanishes its parents are parallel, so nothing is lost by dividing.
    """
    number = sum(k is not None for *_, k in steps)
    context = fmpz_mpoly_ctx.get(tuple(f"t{k}" for k in range(max(number, 1))), Ordering.degrevlex)
    zero, one = context.constant(0), context.constant(1)
    vectors: dict[str, Vector] = {steps[0][1]: [one, zero, zero], steps[0][2]: [zero, one, zero]}
    seen = {str(vector): atom for atom, vector in vectors.items()}
    for atom, p, q, k in steps:
        work.pay(vectors[p], vectors[q])
        vector = cross(vectors[p], vectors[q])
        if k is not None:
            t = fixed.get(k, context.gen(k))
            vector = [a + t * b for a, b in zip(vector, vectors[q], strict=True)]
        common = _gcd(vector)
        if common is None:
            return vectors, (p, q)
        lead = next(x for x in vector if x != 0).leading_coefficient()
        common = common if lead > 0 else -common  # now equal rays are equal vectors
        vectors[atom] = [x if common == 1 else x / common for x in vector]
        twin = seen.setdefault(str(vectors[atom]), atom)
        if twin != atom:
            return vectors, (twin, atom)
    return vectors, None


def real_zeros(p: fmpz_mpoly) -> list[dict[int, fmpz_mpoly]] | None:
    """Cases, each fixing parameters, that cover all real zeros of an irreducible polynomial; [] for none, None where
    that is not known."""
    definite = semidefinite(p)
    if definite is not None:
        return definite[1]
    for k, degree in enumerate(p.degrees()):
        if degree == 1:
            lead, rest = _coefficients(p, k)[::-1][:2]
            if lead in (1, -1):
                return [{k: -rest if lead == 1 else rest}]
    return None


def semidefinite(p: fmpz_mpoly) -> tuple[int, list[dict[int, fmpz_mpoly]]] | None:
    """The sign (1: ≥ 0 everywhere, −1: ≤ 0) of a polynomial that never changes it, with cases covering its real zeros;
    None where that is not known."""
    content, factors = p.factor()
    sign, cases = (1 if content > 0 else -1), []
    for factor, power in factors:
        part = _definite(factor)
        if part is None and power % 2:
            return None
        zeros = part[1] if part is not None else real_zeros(factor)
        if zeros is None:
            return None
        sign *= part[0] if part is not None and power % 2 else 1
        cases += zeros
    return sign, cases


def _definite(p: fmpz_mpoly) -> tuple[int, list[dict[int, fmpz_mpoly]]] | None:
    """:func:`semidefinite` of an irreducible polynomial, by one of three tests."""
    terms = p.to_dict()
    signs = {1 if c > 0 else -1 for c in terms.values()}
    zero = p.context().constant(0)
    if len(signs) == 1 and all(e % 2 == 0 for powers in terms for e in powers):
        return signs.pop(), [dict.fromkeys(c, zero) for c in _hitting_sets(terms)]
    variables = [k for k, degree in enumerate(p.degrees()) if degree]
    if len(variables) == 1:
        return _univariate(p, variables[0])
    for k in variables:
        if p.degrees()[k] != 2:
            continue
        c, b, a = _coefficients(p, k)
        lead, rest = semidefinite(a), semidefinite(4 * a * c - b * b)
        if lead is not None and rest is not None and rest[0] > 0:
            return lead[0], lead[1] + rest[1]
    return None


def _hitting_sets(terms: Iterable[tuple]) -> list[set[int]]:
    """The least sets of parameters whose vanishing makes every monomial vanish; none if one is constant."""
    supports = {frozenset(k for k, e in enumerate(powers) if e) for powers in terms}
    variables = sorted(set().union(*supports))
    found: list[set[int]] = []
    for size in range(1, len(variables) + 1):
        for chosen in map(set, combinations(variables, size)):
            if all(chosen & support for support in supports) and not any(smaller <= chosen for smaller in found):
                found.append(chosen)
    return found


def _univariate(p: fmpz_mpoly, k: int) -> tuple[int, list[dict[int, fmpz_mpoly]]] | None:
    """Certified isolation of the roots; a rational one is left to the linear case."""
    whole = fmpz_poly([int(c.leading_coefficient()) if c != 0 else 0 for c in _coefficients(p, k)])
    roots: Any = whole.complex_roots()
    if any(root.imag.contains(0) for root, _ in roots):
        return None
    return (1 if whole[0] > 0 else -1), []


def _coefficients(p: fmpz_mpoly, k: int) -> list[fmpz_mpoly]:
    """The coefficients of 1, tₖ, tₖ², …, as polynomials in the other parameters."""
    parts: list[dict[tuple[int, ...], Any]] = [{} for _ in range(int(p.degrees()[k]) + 1)]
    for powers, c in p.to_dict().items():
        parts[powers[k]][tuple(0 if i == k else int(e) for i, e in enumerate(powers))] = c
    return [p.context().from_dict(part) for part in parts]


def _images(p: fmpz_mpoly, case: dict[int, fmpz_mpoly]) -> list[fmpz_mpoly]:
    return [case.get(k, x) for k, x in enumerate(p.context().gens())]


def cross(u: Vector, v: Vector) -> Vector:
    """u × v."""
    return [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]


def dot(u: Vector, v: Vector) -> fmpz_mpoly:
    """u · v."""
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def _gcd(vector: Vector) -> fmpz_mpoly | None:
    """The greatest common factor of the components; None when all are zero."""
    nonzero = [x for x in vector if x != 0]
    return reduce(lambda a, b: a.gcd(b), nonzero) if nonzero else None


def _described(step: Step) -> dict[str, Any]:
    atom, p, q, k = step
    return {"atom": atom, "parents": [p, q]} | ({} if k is None else {"parameter": f"t{k}"})
