"""The capacity study: curves of the bounds, points of packings, the paper's exponentials; figures, CSV and a page."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contexts.packing.bounds import capacity
from contexts.packing.bounds.coherence_bounds import welch
from contexts.packing.constructions.catalogue import catalogue
from contexts.packing.constructions.combine import best_construction
from contexts.packing.measure.anisotropy import centring
from contexts.packing.measure.coherence import measure
from contexts.packing.measure.gram import coherence
from contexts.packing.measure.interference import interference, random_spread, tight_spread
from contexts.packing.search.solve import solve
from experiments.errors import blame
from experiments.runs import state_file
from experiments.runs.atomic_files import write_bytes, write_json, write_text
from experiments.runs.interrupt import held_interrupt
from experiments.runs.parts import Make, Parts, parts_of
from experiments.schema.packing_file import PackingStudy, Size
from experiments.studies.packing.saved_search import check_writable, load_state, save_state
from experiments.studies.packing.vector_files import load_all
from experiments.studies.packing.vectors import Vectors

Rows = list[dict[str, Any]]
CURVES = {
    "greedy": capacity.greedy,
    "union bound": capacity.union_bound,
    "johnson-lindenstrauss": capacity.johnson_lindenstrauss,
    "levenshtein": capacity.log_levenshtein,
    "welch": capacity.welch_capacity,
    "rankin": capacity.rankin_capacity,
    "alon": capacity.alon,
}
SIDE = dict.fromkeys(("greedy", "union bound", "johnson-lindenstrauss"), "lower")
GROWING = {"name", "random", "optimised", "embeddings"}
"""Of a study: what a folder takes more of, since each entry is a part of its own (and a name changes nothing)."""
FIT_FROM = 0.2  # the paper's C is fitted to the upper curve at this ε and above; below, the form breaks


def run(
    study: PackingStudy,
    out: Path,
    extra: tuple[Path, ...] = (),
    *,
    fresh: bool = False,
    quiet: bool = False,
    workers: int = 1,
) -> dict[str, Any]:
    """Compute everything, write ``report.html``, ``figures/``, ``curves.csv``, ``points.csv``, ``interference.csv``.

    Each point is kept as soon as it is done, so that a killed study resumes; ``workers`` of them are computed side by
    side. More packings and embeddings extend the study of a folder; other settings are refused (``fresh`` starts over).
    Raises :class:`UserError` for that, and for an ``out`` that cannot be written to, is in use or holds something else.
    """
    say = partial(_say, quiet)
    check_writable(out := Path(out), f"--out {out}")
    # a missing file or a NaN is found before minutes of work
    tables = [v for path in (*study.embeddings, *map(str, extra)) for v in load_all(*_file_and_tensor(path))]
    settings = study.model_dump(mode="json", exclude=GROWING)
    with parts_of(out, "study.json", "a packing study", settings, fresh) as parts:
        embedded, samples = embedding_points(tables, study.seed, parts, say)
        say("bounds")
        curves = all_curves(study)
        fits = fitted(curves, study)
        say("constructions and random packings")
        points = constructed(study)
        made = computed(study, parts, say, workers)
        read = made.pop("interference")
        points += [*made.values(), *embedded]
        for name, rows in (("curves", curves), ("points", points), ("interference", read), ("fits", fits)):
            if rows:
                write_text(out / f"{name}.csv", table(rows))
        inlined = draw(study, out, (curves, points, fits, read, samples), say)
        return report(study, out, inlined, fits, points, read)


def _say(quiet: bool, text: str) -> None:
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def computed(study: PackingStudy, parts: Parts, say: Callable[[str], None], workers: int) -> dict[str, Any]:
    """What takes minutes, by the name of its part: a point for each packing, and the rows of ``interference``."""
    wanted: dict[str, Make] = {f"random {_named(size)}": partial(random_point, study, size) for size in study.random}
    for size in study.optimised:
        name = f"optimised {_named(size)}"
        wanted[name] = partial(optimised_point, study, size, _search_file(parts, name), say)
    wanted["interference"] = partial(interference_rows, study)
    found: dict[str, Any] = {}
    parts.each(wanted, found.__setitem__, workers)
    for name in wanted:
        state_file.remove(_search_file(parts, name))
    return {name: found[name] for name in wanted}


def _search_file(parts: Parts, name: str) -> Path:
    return parts.file(f"{name}, search")


def draw(study: PackingStudy, out: Path, found: tuple[Any, ...], say: Callable[[str], None]) -> dict[str, str]:
    """Write every figure as SVG; as they stand in the report, by key."""
    from experiments.report.canvas import inline, svg
    from experiments.studies.packing import packing_figures

    inlined = {}
    for key, (caption, figure) in packing_figures.draw(study, *found).items():
        drawing = svg(figure)
        write_bytes(out / "figures" / f"{key}.svg", drawing)
        inlined[key] = inline(drawing, key, caption)
        say(f"drew {key}")
    return inlined


def report(
    study: PackingStudy, out: Path, inlined: dict[str, str], fits: Rows, points: Rows, read: Rows
) -> dict[str, Any]:
    """Write ``report.html`` and ``results.json``; the content of the latter."""
    from experiments.studies.packing import packing_figures, packing_page

    captions = packing_figures.captions(study)
    page = write_text(out / "report.html", packing_page.html(study, inlined, captions, fits, points, read))
    result = {
        "name": study.name,
        "report": str(page),
        "figures": sorted(inlined),
        "fits": fits,
        "points": points,
        "interference": read,
    }
    write_json(out / "results.json", result)
    return result


def all_curves(study: PackingStudy) -> Rows:
    """ln N of every bound, against d at each tolerance and against ε at each dimension, where it applies."""
    rows: Rows = []
    largest = max(study.dimensions)
    steps = sorted({round(v) for v in np.geomspace(2, largest, study.points)})
    for field in study.fields:
        for eps in study.tolerances:
            rows += [row for d in steps for row in _at(field, d, eps, "dimension")]
        for d in study.dimensions:
            for eps in np.geomspace(0.25 / math.sqrt(d), 0.5, study.points):
                rows += _at(field, d, float(eps), "tolerance")
    return rows


def _at(field: str, d: int, eps: float, along: str) -> Rows:
    rows = []
    for name, bound in CURVES.items():
        value = bound(d, eps, field)
        if value is not None:
            side = SIDE.get(name, "upper")
            rows.append(
                {"along": along, "field": field, "d": d, "eps": eps, "side": side, "bound": name, "ln_n": value}
            )
    return rows


def fitted(curves: Rows, study: PackingStudy) -> Rows:
    """The paper's c and C: the largest c with exp(cε²d) ≤ greedy on the grid; C by least squares to Levenshtein.

    C uses ε ≥ 0.2 only. ``breaks_below``: exp(Cε²d) < d for smaller ε, although d orthonormal vectors exist.
    """
    rows = []
    for field in study.fields:
        mine = [row for row in curves if row["field"] == field and row["along"] == "tolerance"]
        low = [row for row in mine if row["bound"] == "greedy"]
        c = min(row["ln_n"] / (row["eps"] ** 2 * row["d"]) for row in low)
        high = [row for row in mine if row["bound"] == "levenshtein" and row["eps"] >= FIT_FROM]
        x = np.array([row["eps"] ** 2 * row["d"] for row in high])
        y = np.array([row["ln_n"] for row in high])
        big = float(x @ y / (x @ x)) if len(high) else math.nan
        for d in study.dimensions:
            breaks = math.sqrt(math.log(d) / (big * d)) if len(high) else None
            rows.append({"field": field, "d": d, "c": c, "C": big if len(high) else None, "breaks_below": breaks})
    return rows


def constructed(study: PackingStudy) -> Rows:
    """Every catalogued packing in the study's dimensions, by its stated coherence (measured in the tests)."""
    return [
        _point("construction", field, d, entry.n, entry.coherence, entry.name)
        for field in study.fields
        for d in study.dimensions
        for entry in catalogue(d, field)
        if entry.field == field and 0 < entry.coherence <= 0.5
    ]


def random_point(study: PackingStudy, size: Size) -> dict[str, Any]:
    """The coherence of Gaussian directions, measured."""
    rng = np.random.default_rng([study.seed, size.d, size.n])
    vectors = rng.standard_normal((size.n, size.d))
    if size.field == "complex":
        vectors = vectors + 1j * rng.standard_normal((size.n, size.d))
    return _point("random", size.field, size.d, size.n, coherence(vectors), "random")


def optimised_point(study: PackingStudy, size: Size, path: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """A packing by search, whose state is kept in ``path`` after each round; Ctrl-C ends it between two.

    Raises :class:`UserError` for a state that is damaged.
    """
    say(f"optimising {size.n} lines of dimension {size.d}, {size.field}")
    state = load_state(path) if state_file.exists(path) else None
    with held_interrupt() as interrupted:
        found = solve(
            size.d, size.n, size.field, seed=study.seed, rounds=study.rounds, constructions=False, state=state,
            seconds=math.inf if study.rounds else study.seconds,
            progress=partial(save_state, path), stop=interrupted,
        )  # fmt: skip
        if interrupted():
            raise KeyboardInterrupt
    return _point("optimised", size.field, size.d, size.n, found.coherence, found.how)


def _named(size: Size) -> str:
    return f"d={size.d} n={size.n} {size.field}"


def _file_and_tensor(path: str) -> tuple[str, str | None]:
    name, _, tensor = path.partition("::")  # FILE::TENSOR
    return name, tensor or None


def embedding_point(vectors: Vectors, seed: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The exact coherence of given vectors, and samples of |cos| as they are and centred.

    Raises :class:`UserError` for vectors that cannot be measured.
    """
    with blame(vectors.source):
        raw = measure(vectors.matrix, 1, seed)
        middle = measure(centring(vectors.matrix), 1, seed)
    row = _point("embedding", raw.field, raw.d, raw.n, raw.coherence, vectors.source)
    return row, {"as given": raw.sample, "centred": middle.sample}


def embedding_points(
    tables: list[Vectors], seed: int, parts: Parts, say: Callable[[str], None]
) -> tuple[Rows, dict[str, tuple[int, str, dict[str, np.ndarray]]]]:
    """A point for each table of vectors, and by its name what the figures show: d, the field, samples of |cos|."""

    def measured(vectors: Vectors) -> dict[str, Any]:
        say(f"measuring {vectors.source}")
        row, drawn = embedding_point(vectors, seed)
        return {"row": row, "sample": {name: torch.from_numpy(cosines.copy()) for name, cosines in drawn.items()}}

    rows, samples = [], {}
    for vectors in tables:
        digest = hashlib.sha256(np.ascontiguousarray(vectors.matrix).tobytes()).hexdigest()[:16]
        part = parts.get(f"embedding {vectors.source} {digest}", partial(measured, vectors))
        row = part["row"]
        rows.append(row)
        drawn = {name: sample.numpy() for name, sample in part["sample"].items()}
        samples[Path(vectors.source).name] = (row["d"], row["field"], drawn)
    return rows, samples


def _point(kind: str, field: str, d: int, n: int, value: float, how: str) -> dict[str, Any]:
    null = capacity.random_coherence(d, n, field)
    return {
        "kind": kind, "field": field, "d": d, "n": n, "coherence": value, "welch": welch(d, n, field) or 0.0,
        "random": null, "how": how,
    }  # fmt: skip


def interference_rows(study: PackingStudy) -> Rows:
    """The same number of features in random directions and, for a smaller ε, in those of the best construction."""
    if study.interference is None:
        return []
    rows = []
    part = study.interference
    for n in part.n:
        packings = {"random": np.random.default_rng([study.seed, n, part.d]).standard_normal((n, part.d))}
        built = best_construction(part.d, n, "real")
        if built is not None and built.n < 8 * n:
            packings[built.name] = built.build()[:n]
        for (name, vectors), active in itertools.product(packings.items(), part.active):
            found = interference(vectors, active, part.trials, study.seed)
            theory = {"random_rms": random_spread(n, part.d, active), "tight_rms": tight_spread(n, part.d, active)}
            rows.append({"packing": name, "coherence": found.guarantee / active} | asdict(found) | theory)
    return rows


def table(rows: Rows) -> str:
    """Rows as CSV text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
