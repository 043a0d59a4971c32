"""A hypergraph to look at: force atoms to be true or false and see what follows for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.errors import UserError, blame

if TYPE_CHECKING:
    from contexts.hypergraphs.hypergraph import Hypergraph

MOST_ATOMS = 200
LONGEST = 20_000
"""Characters of a pasted MMP string."""


def hypergraph(name: str, mmp: str) -> Hypergraph:
    """The one that was pasted, or else one of the library.

    Raises :class:`UserError` for a string that is no hypergraph, an unknown name and one too large to show.
    """
    from contexts.hypergraphs import library
    from contexts.hypergraphs.formats import read_mmp

    if len(mmp) > LONGEST:
        raise UserError(f"the MMP string has {len(mmp):,} characters; expected at most {LONGEST:,}")
    with blame("MMP" if mmp.strip() else "name"):
        h = read_mmp(mmp) if mmp.strip() else library.load(name)
    if len(h.vertices) > MOST_ATOMS:
        raise UserError(f"{h.name or 'the hypergraph'} has {len(h.vertices)} atoms; up to {MOST_ATOMS} are shown here")
    return h


def forced(h: Hypergraph, true: Sequence[str], false: Sequence[str]) -> dict[str, Any]:
    """``state``: a two-valued state with these atoms true and those false (a bitmask; None: there is none), and by
    atom ``values``: "true" or "false" where every such state agrees, "open" where they differ.

    Raises :class:`UserError` for atoms that are not in the hypergraph.
    """
    from contexts.logic.satisfiability import find_state

    for atom in (*true, *false):
        if atom not in h.index:
            raise UserError(f"{atom!r}: expected an atom of the hypergraph, such as {h.vertices[0]!r}")
    state = find_state(h, true, false)
    values: dict[str, str] = {}
    if state is None:
        return {"state": None, "values": values}
    for atom in h.vertices:
        is_true = bool(state >> h.index[atom] & 1)
        other = find_state(h, true, [*false, atom]) if is_true else find_state(h, [*true, atom], false)
        values[atom] = "open" if other is not None else "true" if is_true else "false"
    return {"state": state, "values": values}


def picture(h: Hypergraph, state: int | None) -> Any:
    """The Greechie diagram as inline SVG, true atoms filled."""
    from markupsafe import Markup

    from contexts.hypergraphs.drawing import greechie
    from experiments.report.canvas import inline, svg

    return Markup(inline(svg(greechie(h, state)), "greechie", f"Greechie diagram of {h.name or 'the hypergraph'}"))
