"""The verbs of ``qattn contexts`` for a notebook: the same names, the same dictionaries that ``--json`` prints.

    from contexts import notebook
    notebook.states("peres_57")["count"]     # '0'
    notebook.bounds("kcbs")["theta"]         # 2.236…

Every verb takes a :class:`~contexts.hypergraphs.hypergraph.Hypergraph`, the path of a file, or a name of the library.
Results are plain data: numbers, strings, lists, None with a reason beside it; never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from contexts.hypergraphs import entries, exact_rays, formats, library, parsing
from contexts.hypergraphs.hypergraph import TOLERANCE, Hypergraph, as_tolerance
from contexts.hypergraphs.rays import check_vectors
from contexts.logic import existence, satisfiability, set_report, valuations
from contexts.logic.bounds_report import bounds_report
from contexts.logic.state_report import state_report


def get(source: Hypergraph | str | Path, dimension: int | None = None) -> Hypergraph:
    """A hypergraph from itself, a file (by its ending) or a library name. Raises ValueError or OSError."""
    if isinstance(source, Hypergraph):
        return source if dimension is None else source.replace(dimension=dimension)
    if is_path(source):
        return formats.read(source, dimension)
    try:
        h = library.load(str(source))
    except ValueError:
        if Path(source).exists():
            return formats.read(source, dimension)  # which says what is wrong with it
        raise
    return h if dimension is None else h.replace(dimension=dimension)


def is_path(source: str | Path) -> bool:
    """Whether a source is meant as a file and not as a library name: it has an ending or a folder, or is empty."""
    text = str(source)
    return isinstance(source, Path) or not text.strip() or bool(Path(text).suffix) or "/" in text


def check(source: Hypergraph | str | Path, tolerance: float = TOLERANCE) -> dict[str, Any]:
    """Structure of a hypergraph, and whether its vectors, if any, represent it: ``ok`` is True, False or None.

    True: exact rays with these orthogonalities, different for different atoms, are proved to exist within ``radius`` of
    the vectors. None: the vectors are orthogonal within the tolerance, and that could not be proved.
    """
    h, tolerance = get(source), as_tolerance(tolerance)
    counts = h.multiplicity
    result: dict[str, Any] = {
        "name": h.name,
        "ok": True,
        "atoms": len(h.vertices),
        "contexts": len(h.contexts),
        "exclusive_pairs": len(h.pair_masks),
        "dimension": h.dimension,
        "context_sizes": sorted({len(c) for c in h.contexts}),
        "partial_contexts": [list(c) for c in h.contexts if h.dimension and len(c) < h.dimension],
        "intertwining": list(h.intertwining),
        "leaves": [v for v in h.vertices if counts[v] == 1],
        "in_no_context": [v for v in h.vertices if counts[v] == 0],
        "components": nx.number_connected_components(h.graph),
        "vectors": None,
        "problems": [],
        "assumed": h.notes.get("assumed"),
    }
    if h.vectors is not None:
        found = check_vectors(h, tolerance)
        proof = existence.prove(h) if found.proper else None
        result["vectors"] = {
            "exact": h.exact is not None,
            "field": "complex" if any(map(np.iscomplexobj, h.vectors.values())) else "real",
            "level": None if proof is None else proof.level,
            "proof": None if proof is None else asdict(proof),
            "level_within_tolerance": found.level,
            "tolerance": tolerance,
            "not_orthogonal": found.not_orthogonal,
            "parallel": found.parallel,
            "orthogonal_but_not_listed": found.extra_orthogonal,
        }
        for a, b, size in found.not_orthogonal:
            result["problems"].append(f"{a} and {b} should be orthogonal but |⟨{a}|{b}⟩| = {size:.3g}")
        for a, b, _ in found.parallel:
            result["problems"].append(f"{a} and {b} are the same ray")
        proved = proof is not None and proof.level != "proper"
        result["ok"] = False if result["problems"] else True if proved else None
    return result


def states(
    source: Hypergraph | str | Path,
    limit: int = valuations.LIST_LIMIT,
    listed: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Two-valued states: exact count (a decimal string), marginals, relations between atoms, colours, criticality.

    ``listed`` adds up to ``limit`` states as lists of true atoms and, where these are all, ``negations`` [u, v] (v = ¬u
    in every state) and ``conjunctions`` [u, v, w] (w = u ∧ v). Where the count is out of reach, ``count`` is how
    many were found, ``complete`` is False and ``reason`` says why. Ctrl-C returns what was found by then: with
    ``interrupted`` True and None for what was not (counting has no partial answer). ``progress`` is told, many times
    per second, what is known and what is being done.
    """
    return state_report(get(source), limit, listed, progress)


def batch(source: Iterable[Hypergraph] | str | Path, dimension: int | None = None) -> Iterator[dict[str, Any]]:
    """Of every hypergraph of a file (``.g6`` or ``.mmp`` with one per line, ``.json``), or of those given: name, sizes,
    whether a two-valued state exists, and how many.

    ``count`` is a decimal string, None where counting is out of reach within 20,000 frontier states.
    """
    from contexts.logic import state_counting
    from contexts.logic.state_report import digits

    for h in formats.read_many(source, dimension) if isinstance(source, str | Path) else source:
        exists = satisfiability.find_state(h) is not None
        count: str | None = "0"
        if exists:
            try:
                count = digits(state_counting.count_states(h, 20_000))
            except state_counting.TooWide:
                count = None
        sizes = {"atoms": len(h.vertices), "contexts": len(h.contexts), "exclusive_pairs": len(h.pair_masks)}
        yield {"name": h.name, **sizes, "dimension": h.dimension, "exists": exists, "count": count}


def from_rays(
    components: str,
    dimension: int | None = None,
    bases: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> Hypergraph:
    """The hypergraph of all orthonormal bases among the rays with these components, such as ``"0,1,-1,sqrt(2)"``.

    Or among the rays of a text file with one per line. ``bases`` drops what is in no basis. Exact. Raises ValueError
    for what is no number, and for too many rays.
    """
    path = Path(components)
    if path.suffix.lower() in (".txt", ".csv") or path.is_file():
        return exact_rays.spanned(exact_rays.read(parsing.read_text(path)), path.stem, bases)
    texts = components.split(",")
    if dimension is None:
        raise ValueError("components need the dimension of the vectors")
    rays = exact_rays.of_components(texts, dimension)
    progress(f"{len(rays)} rays; asking which are orthogonal")
    return exact_rays.spanned(rays, "{" + ", ".join(x.strip() for x in texts) + f"}}^{dimension}", bases)


def symmetry(source: Hypergraph | str | Path) -> dict[str, Any]:
    """The automorphism group: ``order``, ``generators`` and ``orbits`` of atoms and contexts (needs pynauty)."""
    return set_report.symmetry(get(source))


def isomorphic(first: Hypergraph | str | Path, second: Hypergraph | str | Path) -> dict[str, Any]:
    """Whether two hypergraphs are the same up to names, with the map of the atoms (needs pynauty)."""
    return set_report.isomorphic(get(first), get(second))


def parity(source: Hypergraph | str | Path, seconds: float = 10.0) -> dict[str, Any]:
    """A smallest parity proof that there is no two-valued state, or the set of atoms that excludes such proofs."""
    return set_report.parity(get(source), seconds)


def critical(
    source: Hypergraph | str | Path,
    most: int = 1,
    seconds: float = 60.0,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Up to ``most`` critical subsets of contexts, smallest first, and how many of each size were found."""
    return set_report.critical(get(source), most, seconds, progress)


def contains(
    large: Hypergraph | str | Path,
    small: Hypergraph | str | Path,
    most: int = 1,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Up to ``most`` copies of ``small`` inside ``large``: its contexts as contexts, different atoms as different
    ones."""
    return set_report.contains(get(large), get(small), most, progress)


def commute(
    source: Hypergraph | str | Path, eigenvalues: Sequence[float | int] | None = None, tolerance: float = TOLERANCE
) -> dict[str, Any]:
    """Which pairs of contexts, as maximal observables, commute; ``source`` may also be a file of observables.

    Such a file is JSON ``{"observables": {name: matrix or Pauli word}}``; complex entries are written [re, im]. The
    tolerance is relative to the traceless parts of the observables, and holds for the vectors' orthogonality too. Where
    all are Pauli words (``XIZ`` or ``X0 Z2``) the answers are exact, for any number of qubits.
    """
    from contexts.logic import commutation_report, observables

    tolerance = as_tolerance(tolerance)
    if not isinstance(source, Hypergraph) and Path(source).suffix.lower() == ".json":
        named = entries.read_observables(Path(source))
        if named is not None and all(isinstance(given, str) for given in named.values()):
            return commutation_report.of_pauli_words(named)
        if named is not None:
            return commutation_report.of_matrices(*_matrices(named), None, tolerance)
    h = get(source)
    bases = observables.context_bases(h, tolerance)
    labels = ["{" + ",".join(c) + "}" for c in h.contexts]
    if eigenvalues is not None:  # about their mean, which no commutator sees: else it would cost digits
        eigenvalues = list(np.asarray(eigenvalues, dtype=float) - np.mean(eigenvalues))
    stack = np.stack([observables.maximal_observable(b, eigenvalues) for b in bases])
    return commutation_report.of_matrices(labels, stack, bases, tolerance)


def _matrices(named: dict[str, Any]) -> tuple[list[str], np.ndarray]:
    """Names and Hermitian matrices of one size, Pauli words among them made matrices."""
    from contexts.logic import observables

    first = next(iter(named.values()))
    side = 2 ** min(len(first.lstrip("+-")), observables.QUBIT_LIMIT) if isinstance(first, str) else len(first)
    observables.check_entries(len(named) * side**2)
    checked = {}
    for name, given in named.items():
        try:
            checked[name] = observables.hermitian(observables.pauli(given) if isinstance(given, str) else given)
        except ValueError as error:
            raise ValueError(f"observable {name!r}: {error}") from None
        if len(checked[name]) != side:
            raise ValueError(
                f"all observables must have one size; the first is {side} × {side} and {name!r} is "
                f"{len(checked[name])} × {len(checked[name])}"
            )
    return list(checked), np.stack(list(checked.values()))


def bounds(source: Hypergraph | str | Path, weights: str | dict[str, float | int] | None = None) -> dict[str, Any]:
    """α, θ and α* with their certificates, and a verdict that says which definition it used.

    ``weights`` is None (1 each), ``"multiplicity"`` (contexts an atom lies in) or a number for each atom. α lies
    between ``alpha`` and the certificate's ``alpha_upper``, equal but for rounding where it was decided. θ is given by
    a feasible primal value ``theta``, never below ``alpha``, and a dual one ``theta_dual``: the true θ lies between
    them, up to rounding.
    """
    return bounds_report(get(source), weights)


def realize(
    source: Hypergraph | str | Path,
    level: str = "injective",
    complex_rays: bool = False,
    seed: int = 0,
    restarts: int = 20,
    fresh: bool = False,
    seconds: float | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Vectors for the atoms, or a certificate that there are none; ``realizable`` answers for the asked ``level``.

    ``levels`` answers for proper, injective and faithful apart: True (``proof`` says how), False (``certificate``) or
    None (nothing proved, for a ``reason``). The ``vectors`` are float64; exact ones lie within the proof's ``radius``.
    """
    from contexts.logic import realization

    h = get(source)
    found = realization.realize(h, level, complex_rays, seed, restarts, fresh, seconds, progress)
    result: dict[str, Any] = {
        "realizable": found.levels[level],
        "asked": level,
        "level": found.level,
        "levels": found.levels,
        "vectors": None if found.vectors is None else {v: entries.plain(x) for v, x in found.vectors.items()},
        "how": found.how,
        "proof": None if found.proof is None else asdict(found.proof),
        "certificate": found.certificate,
        "flex": found.flex,
        "flex_of": "complex rays"
        if found.vectors and any(map(np.iscomplexobj, found.vectors.values()))
        else "real rays",
        "tried": found.tried,
        "unproved": found.unproved,
        "stopped": found.stopped,
        "interrupted": found.interrupted,
    }
    if found.levels[level] is None:
        beside = f"; {found.unproved} vectors were found beside which none could be proved" if found.unproved else ""
        result["reason"] = f"neither proved nor excluded: {'; '.join(found.tried)}{beside}"
    return result


def fraction(
    source: str | Path,
    rounded: bool = False,
    bootstrap: int = 0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Contextual and signalling fraction of an empirical table (a JSON file or a name, such as ``chsh``), and
    contextuality by default, with the measures CNT₁, CNT₂ and NCNT₂.

    ``rounded`` takes probabilities as they are printed, which may sum to 0.9999. Of a table of counts ``bootstrap``
    resamples give ``intervals`` of 95 %.
    """
    from contexts.logic import contextuality, fraction_report, named_tables

    if is_path(source):
        table = contextuality.read_table(parsing.read_text(source), rounded)
    else:
        table = contextuality.table_from_dict(named_tables.load(str(source)))
    return fraction_report.of_table(table, bootstrap, seed, progress)


def question_order(source: str | Path, rounded: bool = False) -> dict[str, Any]:
    """Two questions in two orders (a table's file or name): the QQ equality, and the held-out loss of the second order.

    ``losses`` are in nats per respondent, of models fitted to the first order alone.
    """
    from contexts.logic import contextuality, named_tables
    from contexts.logic.question_order import question_order as compared

    if is_path(source):
        table = contextuality.read_table(parsing.read_text(source), rounded)
    else:
        table = contextuality.table_from_dict(named_tables.load(str(source)))
    return asdict(compared(table))


def fraction_of_state(source: Hypergraph | str | Path, state: str) -> dict[str, Any]:
    """The contextual fraction of a state on a hypergraph's vectors: ``mixed``, or components, as ``"1,0,sqrt2"``."""
    from contexts.logic import fraction_report

    return fraction_report.of_state(get(source), state)


def train(task: Any = "bank", seed: int = 0, **settings: Any) -> dict[str, Any]:
    """Train learned contexts once: the test accuracy, and the sense given to every test example.

    ``task`` is a :class:`~contexts.learning.classifier.SenseTask`, "bank", or a folder in CoarseWSD-20 layout;
    ``settings`` go to :class:`~contexts.learning.classifier.SenseClassifier`. Comparisons over seeds, with the shipped
    texts and the baselines, are the command line's (``qattn contexts train``).
    """
    from contexts.learning import datasets
    from contexts.learning.classifier import SenseClassifier

    if isinstance(task, str | Path):
        task = datasets.bank() if task == "bank" else datasets.coarse_wsd(task)
    model = SenseClassifier(seed=seed, **settings).fit(task.train, task.senses)
    answers = [task.senses[sense] for sense in model.predict(task.test)]
    return {"task": task.name, "senses": list(task.senses), "accuracy": model.score(task.test), "answers": answers}


def draw(source: Hypergraph | str | Path, file: str | Path, state: str = "") -> dict[str, Any]:
    """Write the Greechie diagram to ``file`` (``.tex``: TikZ); ``state`` is 'any' or the names of a state's true atoms.

    Raises ValueError for atoms that are not the true ones of a two-valued state.
    """
    from contexts.hypergraphs import drawing, tikz

    h = get(source)
    mask = None
    if state == "any":
        mask = satisfiability.find_state(h)
        if mask is None:
            raise ValueError("there is no two-valued state to draw")
    elif state:
        chosen = [name.strip() for name in state.split(",")]
        if unknown := [v for v in chosen if v not in h.index]:
            raise ValueError(f"the state names {unknown[0]!r}, which is not an atom")
        if not valuations.is_state(h, chosen):
            raise ValueError(f"({', '.join(chosen)}) are not the true atoms of a two-valued state")
        mask = sum(1 << h.index[v] for v in set(chosen))
    if Path(file).suffix.lower() == ".tex":
        Path(file).write_text(tikz.tikz(h, mask), encoding="utf-8")
    else:
        drawing.save(drawing.greechie(h, mask), file)
    return {"file": str(file), "true": list(valuations.true_atoms(h, mask)) if mask is not None else []}
