"""All that is known of a hypergraph's two-valued states, as one dictionary of plain data: what ``states`` answers.

In order: whether there is a state at all (SAT, milliseconds), how many, in how many each atom is true, the states
themselves if asked, what they imply, the strong chromatic number, and, where there is none, a critical subset. Each
answer is put into the dictionary as soon as it is there, so that Ctrl-C leaves what was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.logic import satisfiability, state_counting, valuations

RELATION_LIMIT = 2_000
"""Atoms past which implications between all pairs are not asked."""

CONFLICT_LIMIT = 500_000
"""Conflicts of the SAT solver after which the chromatic number is left undecided."""

MARGINAL_DIGITS = 20_000_000
"""Digits of all marginals together past which they are left out: 20 MB of text."""

RELATIONS = ("unital", "separating", "never_true", "not_separated", "true_implies_false", "true_implies_true")


def state_report(
    h: Hypergraph, limit: int, listed: bool, progress: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """The answers of :func:`contexts.notebook.states`, which describes them; ``progress`` is told what is known."""
    result: dict[str, Any] = {
        "definition": "one true atom in every context, at most one in every exclusive pair",
        "assumed": h.notes.get("assumed"),
        "exists": None,
        "count": None,
        "count_log10": None,
        "complete": False,
        "marginals": None,
        "interrupted": False,
    }
    doing = ["asking whether there is a state"]
    try:
        _fill(h, limit, listed, result, doing, progress)
    except KeyboardInterrupt:
        missing = (*RELATIONS, "strong_chromatic_number")
        result = dict.fromkeys(missing) | result | {"interrupted": True, "interrupted_while": doing[-1]}
    return result


def _fill(
    h: Hypergraph,
    limit: int,
    listed: bool,
    result: dict[str, Any],
    doing: list[str],
    progress: Callable[[str], None],
) -> None:
    """The questions in turn; ``doing`` takes what is being done, for a person who presses Ctrl-C."""
    result["exists"] = satisfiability.find_state(h) is not None
    known = "a two-valued state exists" if result["exists"] else "no two-valued state exists"

    def tell(line: str) -> None:
        progress(f"{known}; {line}")

    doing.append("counting, which has no partial answer")
    listing = _count(h, limit, result, doing, tell)
    if result["complete"]:
        known = f"{_short(result['count'])} two-valued states"
    if listed:
        doing.append("listing")
        listing = listing or valuations.list_states(h, limit)
        result["states"] = valuations.true_atoms_of_all(h, listing.states)
        result["states_complete"] = listing.complete
        if not listing.complete:
            result["states_reason"] = listing.reason
    if listing and listing.interrupted:
        raise KeyboardInterrupt
    if listed and listing:
        doing.append("making the partition logic")
        result |= _partitions(h, listing)
        if listing.complete and len(h.vertices) <= RELATION_LIMIT:
            negations, conjunctions = valuations.compound_relations(h, listing.states)
            result |= {"negations": [list(p) for p in negations], "conjunctions": [list(t) for t in conjunctions]}
    doing.append("asking what the states imply")
    result |= _relations(h, tell)
    doing.append("searching for the strong chromatic number")
    tell("searching for the strong chromatic number")
    result |= _colours(h)
    if not result["exists"]:
        doing.append("searching for a critical subset")
        tell("searching for a critical subset")
        subset = satisfiability.critical_contexts(h) or []
        result["critical"] = len(subset) == len(h.contexts)
        result["critical_subset"] = [list(h.contexts[i]) for i in subset]


def _count(
    h: Hypergraph, limit: int, result: dict[str, Any], doing: list[str], tell: Callable[[str], None]
) -> valuations.Listing | None:
    """Put the exact count into ``result``, or how many a listing finds, which is then returned."""
    if not result["exists"]:
        result |= {"count": "0", "complete": True, "marginals": dict.fromkeys(h.vertices, "0")}
        return None
    try:
        total = state_counting.count_states(h, progress=tell)
    except (state_counting.TooWide, MemoryError) as error:
        tell("too many frontier states to count: listing states instead")
        listing = valuations.list_states(h, limit)
        result |= {"count": str(len(listing.states)), "complete": listing.complete}
        result |= {} if listing.complete else {"reason": f"{error}; {listing.reason}"}
        return listing
    result |= {"count": digits(total), "count_log10": math.log10(total), "complete": True}
    doing.append("counting each atom's share of the states")
    if len(result["count"]) * len(h.vertices) > MARGINAL_DIGITS:
        result["marginals_reason"] = f"the marginals would have more than {MARGINAL_DIGITS} digits together"
        return None
    try:
        counts = state_counting.count_with_marginals(h, progress=tell)
    except (state_counting.TooWide, MemoryError) as error:
        result["marginals_reason"] = str(error)
        return None
    result["marginals"] = {v: digits(n) for v, n in counts.marginals.items()}
    return None


def digits(number: int) -> str:
    """A whole number in decimal, however long: ``str`` stops at 4,300 digits, to protect servers."""
    return format(Decimal(number), "f")


def _short(count: str) -> str:
    return count if len(count) <= 30 else f"about {count[0]}.{count[1:4]}e{len(count) - 1}"


def _colours(h: Hypergraph) -> dict[str, Any]:
    try:
        return {"strong_chromatic_number": satisfiability.strong_chromatic_number(h, CONFLICT_LIMIT)}
    except satisfiability.Undecided as error:
        return {"strong_chromatic_number": None, "strong_chromatic_number_reason": str(error)}


def _partitions(h: Hypergraph, listing: valuations.Listing) -> dict[str, Any]:
    """The partition logic of a small separating set of the listed states, or None with the reason."""
    try:
        few = valuations.separating_subset(h, listing.states)
        logic = valuations.partition_logic(h, few)
    except ValueError as error:
        return {"partition_logic": None, "partition_logic_reason": str(error)}
    return {
        "partition_logic": {v: list(numbers) for v, numbers in logic.items()},
        "partition_logic_states": [list(valuations.true_atoms(h, s)) for s in few],
    }


def _relations(h: Hypergraph, tell: Callable[[str], None]) -> dict[str, Any]:
    if len(h.vertices) > RELATION_LIMIT:
        return {**dict.fromkeys(RELATIONS), "relations_reason": f"not asked past {RELATION_LIMIT} atoms"}
    found = satisfiability.relations(h, tell)
    listed = {key: getattr(found, key) for key in RELATIONS}
    return {k: [list(p) for p in v] if "_" in k and k != "never_true" else v for k, v in listed.items()}
