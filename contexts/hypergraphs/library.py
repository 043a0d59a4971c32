"""Named hypergraphs: the standard examples of quantum logic and of Kochen–Specker research, and the paper's own.

Most come from ``data/hypergraphs.json``, where each has its source and numbers recomputed by independent programs
(returned in ``notes``), or are built by :mod:`contexts.hypergraphs.ray_sets`. The families (cycles, fireflies, chains
of bugs) and the paper's two examples are built here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

import numpy as np

from contexts.hypergraphs import ray_sets
from contexts.hypergraphs.formats import from_dict
from contexts.hypergraphs.hypergraph import Hypergraph

ALIASES = {
    "firefly": "firefly_L12",
    "pentagon": "pentagon_house_pentagram",
    "bug": "specker_bug",
    "tits": "specker_bug_TITS_extension",
    "yu_oh": "yu_oh_13_rays",
    "yu_oh_25": "yu_oh_completed_25_16",
    "cabello": "cabello_18_9",
    "peres_24": "peres_24_24",
    "peres_57": "peres_57_40",
    "conway_kochen": "conway_kochen_31",
    "witting": "witting_penrose_40_40",
    "penrose": "witting_penrose_40_40",
    "kcbs": "kcbs_pentagram",
    "chsh": "chsh_exclusivity_graph",
    "mermin": "mermin_square",
    "kochen_specker": "kochen_specker_192_118",
    "lisonek": "lisonek_21_7",
    "600_cell": "six_hundred_cell_60_75",
    "kernaghan_peres": "kernaghan_peres_40_25",
    "e8": "e8_120_2025",
}


ENTRY_POINTS = "qattn.hypergraphs"
"""The entry-point group in which other packages declare hypergraphs, or functions that make one, by name."""


def names() -> list[str]:
    """All names :func:`load` knows, without the aliases and the families ``cycle_N``, ``firefly_N``, ``bugs_N`` and
    ``rational_N``."""
    return sorted({*_stored(), *_BUILT, *ray_sets.SETS, *(point.name for point in entry_points(group=ENTRY_POINTS))})


def load(name: str) -> Hypergraph:
    """A hypergraph by name, alias, or family: ``cycle_24`` (3 atoms per context), ``firefly_4``, ``bugs_50``,
    ``rational_7``; or one that an installed package declares.

    Raises ValueError that lists the nearest names, or that says why a package's hypergraph cannot be used.
    """
    key = ALIASES.get(name, name)
    if key in _BUILT:
        return _BUILT[key]()
    if key in _stored():
        return _from_entry(_stored()[key])
    if key in ray_sets.SETS:
        made = ray_sets.SETS[key]
        return made.build().replace(name=key, notes={"source": made.source})
    family, _, number = key.rpartition("_")
    if family in _FAMILIES and number.isdigit():
        return _FAMILIES[family](int(number))
    for point in entry_points(group=ENTRY_POINTS, name=name):
        return _declared(point)
    from difflib import get_close_matches

    near = get_close_matches(name, [*names(), *ALIASES], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names())}"
    file = "; a string of contexts goes into a file that ends in .mmp" if "," in name else ""
    raise ValueError(f"no hypergraph is called {name!r}; {hint}{file}")


@cache
def catalogue() -> dict[str, Any]:
    """The whole data file: definitions, entries with sources and recomputed numbers, also those that are no
    hypergraph."""
    return json.loads(files("contexts.hypergraphs").joinpath("data/hypergraphs.json").read_text(encoding="utf-8"))


def cycle(n: int, size: int = 3) -> Hypergraph:
    """n contexts in a ring, neighbours sharing one atom, ``size`` atoms each: L_n (Lucas) two-valued states for size 3.

    n = 2 would share two atoms, so n ≥ 3; Wright's pentagon is n = 5. Raises ValueError for fewer contexts or atoms.
    """
    if n < 3 or size < 2:
        raise ValueError(f"a cycle needs at least 3 contexts of at least 2 atoms; got {n} of {size}")
    step = size - 1
    atoms = [f"a{i + 1}" for i in range(n * step)]
    contexts = [[atoms[(k * step + j) % len(atoms)] for j in range(size)] for k in range(n)]
    return Hypergraph(atoms, contexts, (), size, name=f"cycle_{n}")


def firefly(n: int = 2, size: int = 3) -> Hypergraph:
    """n contexts that all share one atom ``c`` (a star); n = 2, size 3 is the firefly logic L12.

    Raises ValueError for fewer than one context of two atoms.
    """
    if n < 1 or size < 2:
        raise ValueError(f"a firefly needs at least 1 context of at least 2 atoms; got {n} of {size}")
    contexts = [["c", *[f"a{k * (size - 1) + j + 1}" for j in range(size - 1)]] for k in range(n)]
    return Hypergraph(list(dict.fromkeys(v for c in contexts for v in c)), contexts, (), size, name=f"firefly_{n}")


def bug_chain(n: int) -> Hypergraph:
    """n Specker bugs in a row, each sharing its second end atom (a7) with the next one's first (a1): 12n + 1 atoms.

    Raises ValueError for fewer than one bug.
    """
    if n < 1:
        raise ValueError(f"a chain needs at least one bug; got {n}")
    bug = _stored()["specker_bug"]

    def atom(copy: int, v: str) -> str:
        ends = {"a1": f"e{copy}", "a7": f"e{copy + 1}"}  # a7 of one bug is a1 of the next
        return ends.get(v, f"b{copy}_{v[1:]}")

    contexts = [[atom(k, v) for v in context] for k in range(n) for context in bug["contexts"]]
    return Hypergraph(dict.fromkeys(v for c in contexts for v in c), contexts, (), 3, name=f"bugs_{n}")


def bank() -> Hypergraph:
    """The paper's polysemy example (section VIII.2, Fig. 1): three bases that share the vector of ``bank``.

    Realised in R³: v(bank) along z and each context turned about it, by 0, π/6 and π/3.
    """
    senses = ("economy", "river", "seat")
    vectors = {"bank": np.array([0.0, 0.0, 1.0])}
    for k, sense in enumerate(senses):
        angle = k * np.pi / 6
        vectors[sense] = np.array([np.cos(angle), np.sin(angle), 0])
        vectors[f"{sense}'"] = np.array([-np.sin(angle), np.cos(angle), 0])
    return Hypergraph(vectors, [["bank", s, f"{s}'"] for s in senses], (), 3, vectors, name="bank")


def paper_pair() -> Hypergraph:
    """The two contexts of Svozil's Eqs. 2–5: the Cartesian basis and the one turned by π/4 about their shared e₃."""
    vectors = {"e1": [1, 0, 0], "e2": [0, 1, 0], "e3": [0, 0, 1], "f1": [1, -1, 0], "f2": [1, 1, 0]}
    return Hypergraph(vectors, [["e1", "e2", "e3"], ["f1", "f2", "e3"]], (), 3, vectors, name="paper_pair")


def mermin_square() -> Hypergraph:
    """The six contexts of the Peres–Mermin square as bases: the joint eigenvectors of each row and column (24 rays in
    C⁴).

    Rows and columns of commuting two-qubit Pauli operators (Mermin 1990); atom names are the context's operators with
    the signs of their values, as ``ZI+ IZ- ZZ-``.
    """
    from contexts.logic.observables import pauli_context

    rows = _entry("peres_mermin_square")["operators"]
    vectors: dict[str, np.ndarray] = {}
    contexts: list[list[str]] = []
    for operators in [*rows, *map(list, zip(*rows, strict=True))]:
        signs, basis = pauli_context(operators)
        contexts.append(
            [" ".join(p + ("+" if s > 0 else "-") for p, s in zip(operators, row, strict=True)) for row in signs]
        )
        vectors |= dict(zip(contexts[-1], basis.T, strict=True))
    from contexts.hypergraphs.rays import expand_pairs

    return expand_pairs(Hypergraph(vectors, contexts, (), 4, vectors, name="mermin_square"))


def _declared(point: Any) -> Hypergraph:
    try:
        found = point.load()
        made = found if isinstance(found, Hypergraph) else found()
        if not isinstance(made, Hypergraph):
            raise TypeError(f"expected a Hypergraph, got {made!r}")
    except Exception as error:  # another's code may fail in any way
        package = point.dist.name if point.dist else "a package"
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"the hypergraph {point.name!r} of {package} ({point.value}) cannot be used: {reason}"
        ) from error
    return made


def _from_entry(entry: dict[str, Any]) -> Hypergraph:
    data = {key: entry[key] for key in ("name", "dimension", "vertices", "contexts")}
    data["exclusive_pairs"] = entry.get("pairs_exclusive_but_not_a_context", [])
    if entry.get("vectors"):
        data["vectors"] = entry["vectors"]
    data["notes"] = {k: entry[k] for k in ("source", "note", "published", "recomputed", "mmp") if entry.get(k)}
    return from_dict(data)


def _entry(name: str) -> dict[str, Any]:
    return next(e for e in catalogue()["entries"] if e["name"] == name)


@cache
def _stored() -> dict[str, dict[str, Any]]:
    return {e["name"]: e for e in catalogue()["entries"] if "vertices" in e}


_BUILT: dict[str, Callable[[], Hypergraph]] = {"bank": bank, "paper_pair": paper_pair, "mermin_square": mermin_square}
_FAMILIES: dict[str, Callable[[int], Hypergraph]] = {
    "cycle": cycle,
    "firefly": firefly,
    "bugs": bug_chain,
    "rational": ray_sets.rational,
}
