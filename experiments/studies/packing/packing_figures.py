"""The study's figures: pure functions from its rows to matplotlib figures, in the report's colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contexts.packing.bounds.capacity import log_tail
from experiments.report.figures import DASHES, FAINT, INK, PALETTE, canvas
from experiments.schema.packing_file import PackingStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = list[dict[str, Any]]
LN10 = math.log(10)
SIGNS = {"construction": "◆", "optimised": "●", "random": "·", "embedding": "★"}
TYPICAL = 0.999  # the quantile of |cos| at which an embedding is drawn: its largest belongs to two near-synonyms
MARKS = {"construction": "D", "random": ".", "optimised": "o", "embedding": "*"}


def captions(study: PackingStudy) -> dict[str, str]:
    """What each figure shows, for people and for screen readers."""
    texts = {
        "interference": "Misread features against features active at once, in random directions and in those of the "
        "best construction (a smaller ε): measured (points; an error of exactly 1/2 counts as one half), a normal law "
        "(lines).",
        "real-against-complex": "Levenshtein's bound in C^d, in R^d, and in R^2d, which has as many real numbers.",
        "coherence-against-load": "μ√d against N/d: every packing beside random vectors and Welch's bound.",
        "cosines": "How often |cos| exceeds a value: vectors as given and centred, and the Beta law of random ones.",
    }
    for field in study.fields:
        space = "R" if field == "real" else "C"
        texts |= {
            f"{field}-against-d": f"Vectors of {space}^d that fit at tolerance ε: proved to exist, and at most.",
            f"{field}-against-eps": f"N against ε in {space}^d: the proved band, packings as points, the paper's two "
            "exponentials dashed, and a cross where the upper one falls below d, which always fit. Embeddings at the "
            "quantile of |cos| that 0.1 % of their pairs exceed.",
            f"{field}-collapse": f"ln N / (ε²d) against ε√d in {space}^d. The paper's upper form would be a ceiling; "
            "constructions and the upper curves rise without limit towards ε = 1/√d: the factor ln(1/ε).",
        }
    return texts


def draw(
    study: PackingStudy,
    curves: Rows,
    points: Rows,
    fits: Rows,
    read: Rows,
    samples: dict[str, tuple[int, str, dict[str, np.ndarray]]],
) -> dict[str, tuple[str, Figure]]:
    """Every figure that has something to show, with its caption, by file name."""
    text = captions(study)
    made: dict[str, Figure] = {}
    for field in study.fields:
        mine = [row for row in curves if row["field"] == field]
        dots = [row for row in points if row["field"] == field]
        typical = [
            row | {"coherence": float(np.quantile(samples[name][2]["as given"], TYPICAL)), "name": name}
            for row in dots
            if row["kind"] == "embedding" and (name := Path(row["how"]).name) in samples
        ]
        made[f"{field}-against-d"] = against_dimension(mine, dots, study)
        fitted = [fit for fit in fits if fit["field"] == field]
        made[f"{field}-against-eps"] = against_tolerance(mine, dots, fitted, study, typical)
        made[f"{field}-collapse"] = collapse(mine, dots, study)
    if len(study.fields) == 2:
        made["real-against-complex"] = real_against_complex(study)
    if points:
        made["coherence-against-load"] = load(points)
    if read:
        made["interference"] = misread(read)
    figures = {key: (text[key], figure) for key, figure in made.items()}
    for k, (name, (d, space, drawn)) in enumerate(samples.items()):
        figures[f"cosines-{k}"] = (f"{name}: {text['cosines']}", cosines(drawn, d, space, name))
    return figures


def against_dimension(curves: Rows, points: Rows, study: PackingStudy) -> Figure:
    """Packings are drawn in the colour of the tightest tolerance of the study that they meet; embeddings in grey."""
    figure, axes = _canvas(3.6)
    for k, eps in enumerate(study.tolerances):
        color = PALETTE[k % len(PALETTE)]
        low = _line(curves, "greedy", along="dimension", eps=eps)
        high = _line(curves, "levenshtein", along="dimension", eps=eps)
        _band(axes, low, high, "d", color, f"ε = {eps:g}")
    for row in points:
        if row["kind"] == "embedding":
            axes.plot(row["d"], math.log10(row["n"]), MARKS["embedding"], color=FAINT, ms=8, mec=INK, mew=0.4)
            continue
        met = [(eps, k) for k, eps in enumerate(study.tolerances) if row["coherence"] <= eps * (1 + 1e-12)]
        if met:
            color = PALETTE[min(met)[1] % len(PALETTE)]
            axes.plot(row["d"], math.log10(row["n"]), MARKS[row["kind"]], color=color, ms=5, mec=INK, mew=0.4)
    axes.set(xscale="log", yscale="symlog", xlabel="dimension d", ylabel="log₁₀ N", ylim=(0, None))
    _legend(axes, f"{_key(points)}   (coherence at most ε; grey: whatever its coherence)")
    return figure


def against_tolerance(
    curves: Rows, points: Rows, fits: Rows, study: PackingStudy, typical: Sequence[dict[str, Any]] = ()
) -> Figure:
    """The proved band with packings of the study's dimensions, and embeddings at a high quantile of |cos|."""
    figure, axes = _canvas(4.2)
    for k, d in enumerate(study.dimensions):
        color = PALETTE[k % len(PALETTE)]
        low = _line(curves, "greedy", along="tolerance", d=d)
        high = _line(curves, "levenshtein", along="tolerance", d=d)
        _band(axes, low, high, "eps", color, f"d = {d:,}")
        for name, dash in (("welch", DASHES[2]), ("union bound", DASHES[3])):
            line = _line(curves, name, along="tolerance", d=d)
            axes.plot([r["eps"] for r in line], [r["ln_n"] / LN10 for r in line], color=color, lw=0.6, ls=dash)
        fit = next(f for f in fits if f["d"] == d)
        if fit["C"]:
            eps = np.geomspace(0.25 / math.sqrt(d), 0.5, 60)
            for constant in (fit["c"], fit["C"]):
                axes.plot(eps, constant * eps**2 * d / LN10, color=color, lw=0.9, ls=DASHES[1], alpha=0.8)
            axes.plot(fit["breaks_below"], math.log10(d), "x", color=color, ms=7, mew=1.6)
        for row in points:
            if row["d"] == d and row["kind"] != "embedding":
                axes.plot(
                    row["coherence"], math.log10(row["n"]), MARKS[row["kind"]], color=color, ms=5, mec=INK, mew=0.4
                )
    for row in typical:
        axes.plot(row["coherence"], math.log10(row["n"]), MARKS["embedding"], color=FAINT, ms=9, mec=INK, mew=0.4)
        label = f" {row['name']}, d = {row['d']:,}".replace("$", r"\$")
        axes.annotate(label, (row["coherence"], math.log10(row["n"])), fontsize=7, color=FAINT, va="center")
    axes.set(xscale="log", yscale="symlog", xlabel="tolerance ε", ylabel="log₁₀ N", ylim=(0, None))
    bands = "thick: Levenshtein; thin: greedy; dotted: Welch; dash-dot: union bound"
    paper = "dashed: the paper's two exponentials; × the upper one falls below d"
    shown = f"; ★ at the {TYPICAL:.1%} quantile of |cos|" if typical else ""
    _legend(axes, f"{_key([row for row in points if row['kind'] != 'embedding'])}{shown}\n{bands}\n{paper}")
    return figure


def collapse(curves: Rows, points: Rows, study: PackingStudy) -> Figure:
    """ln n / (ε²d) against ε√d, where the curves of all dimensions fall onto one."""
    figure, axes = _canvas(3.8)
    for k, d in enumerate(study.dimensions):
        color = PALETTE[k % len(PALETTE)]
        for name in ("greedy", "levenshtein"):
            line = _line(curves, name, along="tolerance", d=d)
            x = [r["eps"] * math.sqrt(d) for r in line]
            y = [max(r["ln_n"], 1e-9) / (r["eps"] ** 2 * d) for r in line]
            label = f"d = {d:,}" if name == "levenshtein" else None
            axes.plot(x, y, color=color, lw=1.6 if label else 0.9, label=label)
        mine = [row for row in points if row["d"] == d and row["coherence"] > 0]
        for row in mine:
            x0 = row["coherence"] * math.sqrt(d)
            axes.plot(x0, math.log(row["n"]) / x0**2, MARKS[row["kind"]], color=color, ms=5, mec=INK, mew=0.4)
    axes.set(xscale="log", yscale="log", xlabel="ε √d", ylabel="ln N / (ε² d)")
    _legend(axes, "thick: Levenshtein, no more is possible; thin: greedy, so many exist")
    return figure


def real_against_complex(study: PackingStudy) -> Figure:
    """Levenshtein's bound in C^d against those of R^d and R^2d."""
    from contexts.packing.bounds.levenshtein import log_levenshtein

    figure, axes = _canvas(3.4)
    for k, d in enumerate(study.dimensions[:4]):
        color = PALETTE[k % len(PALETTE)]
        eps = np.geomspace(0.5 / math.sqrt(d), 0.5, 24)
        for label, dim, space, dash in (
            (f"C^{d}", d, "complex", DASHES[0]),
            (None, d, "real", DASHES[1]),
            (None, 2 * d, "real", DASHES[2]),
        ):
            values = [log_levenshtein(dim, float(e), space) for e in eps]
            pairs = [(e, v / LN10) for e, v in zip(eps, values, strict=True) if v is not None]
            axes.plot(*zip(*pairs, strict=True), color=color, ls=dash, lw=1.3, label=label)
    axes.set(xscale="log", yscale="symlog", xlabel="tolerance ε", ylabel="log₁₀ N, upper bound", ylim=(0, None))
    axes.xaxis.set_minor_formatter("")
    _legend(axes, "solid C^d, dashed R^d, dotted R^2d")
    return figure


def load(points: Rows) -> Figure:
    """Coherence times √d against n/d, by kind of vectors."""
    figure, axes = _canvas(3.6)
    points = [row for row in points if row["n"] <= 1e5 * row["d"]]
    for k, kind in enumerate(MARKS):
        mine = [row for row in points if row["kind"] == kind]
        if mine:
            x = [row["n"] / row["d"] for row in mine]
            y = [row["coherence"] * math.sqrt(row["d"]) for row in mine]
            axes.plot(x, y, MARKS[kind], color=PALETTE[k], ms=6, mec=INK, mew=0.4, label=kind)
    for name, color in (("random", FAINT), ("welch", INK)):
        x = [row["n"] / row["d"] for row in points]
        y = [row[name] * math.sqrt(row["d"]) for row in points]
        if name == "welch":  # which mark belongs to which packing
            axes.vlines(
                x, y, [row["coherence"] * math.sqrt(row["d"]) for row in points], color=color, lw=0.5, alpha=0.6
            )
        axes.plot(x, y, "_", color=color, ms=9, label="random, predicted" if name == "random" else "Welch's bound")
    axes.set(xscale="log", xlabel="N / d", ylabel="μ √d")
    axes.set_ylim(0, None)
    _legend(axes)
    return figure


def cosines(samples: dict[str, np.ndarray], d: int, field: str, name: str) -> Figure:
    """The share of pairs with |cos| above a value, beside the Beta law of random vectors."""
    figure, axes = _canvas(3.4)
    for k, (variant, sample) in enumerate(samples.items()):
        values = np.sort(sample)
        keep = np.unique(np.geomspace(1, len(values), 300).astype(int)) - 1  # dense in the tail
        x = values[::-1][keep]
        axes.plot(x, (keep + 1) / len(values), color=PALETTE[k], lw=1.5, ls=DASHES[k % len(DASHES)], label=variant)
    grid = np.linspace(1e-3, 1 - 1e-9, 400)
    tail = np.array([math.exp(max(log_tail(d, float(e), field), -60)) for e in grid]) if d > 1 else np.ones(400)
    axes.plot(grid, tail, color=INK, lw=1, label="random: the Beta law")
    floor = 0.3 / max((len(sample) for sample in samples.values()), default=1)
    axes.set(yscale="log", xlabel="x", ylabel="share of pairs with |cos| > x", ylim=(floor, 1.5), xlim=(0, 1))
    axes.set_title(name.replace("$", r"\$"), size=9, color=FAINT, loc="left")
    _legend(axes)
    return figure


def misread(read: Rows) -> Figure:
    """How often an active feature is misread, against the number of active ones."""
    figure, axes = _canvas(3.4)
    for k, n in enumerate(sorted({row["n"] for row in read})):
        for name in dict.fromkeys(row["packing"] for row in read if row["n"] == n):
            mine = [row for row in read if row["n"] == n and row["packing"] == name]
            mine.sort(key=lambda row: row["active"])
            x, color = [row["active"] for row in mine], PALETTE[k]
            mark, face = ("o", color) if name == "random" else ("D", "none")
            label = f"n = {n:,}, ε = {mine[0]['coherence']:.2f}, {name}"
            axes.plot(x, [row["error"] for row in mine], mark, color=color, mfc=face, ms=5.5, label=label)
            axes.plot(x, [row["predicted_error"] for row in mine], color=color, lw=1, ls=DASHES[k % len(DASHES)])
    d = read[0]["d"]
    axes.set(xscale="log", xlabel=f"features active at once, d = {d}", ylabel="share of features misread")
    axes.set_yscale("symlog", linthresh=1e-5)
    axes.set_ylim(0, 1)
    _legend(axes, "lines: a normal law with spread √(k · mean cos²)")
    return figure


def _key(points: Rows) -> str:
    """The signs of the kinds of points that are drawn."""
    kinds = {row["kind"] for row in points}
    return "   ".join(f"{sign} {kind}" for kind, sign in SIGNS.items() if kind in kinds)


def _line(curves: Rows, name: str, **where: Any) -> Rows:
    return [row for row in curves if row["bound"] == name and all(row[key] == value for key, value in where.items())]


def _band(axes: Axes, low: Rows, high: Rows, key: str, color: str, label: str) -> None:
    # greedy says less than a basis for small ε
    lower = {row[key]: max(row["ln_n"], math.log(row["d"])) / LN10 for row in low}
    upper = {row[key]: row["ln_n"] / LN10 for row in high}
    shared = sorted(lower.keys() & upper.keys())
    axes.fill_between(shared, [lower[x] for x in shared], [upper[x] for x in shared], color=color, alpha=0.15, lw=0)
    axes.plot(shared, [upper[x] for x in shared], color=color, lw=1.5, label=label)
    axes.plot(shared, [lower[x] for x in shared], color=color, lw=0.9)


def _legend(axes: Axes, title: str | None = None) -> None:
    legend = axes.legend(fontsize=8, frameon=False, title=title, title_fontsize=7.5, alignment="left")
    legend.get_title().set_color(FAINT)


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure, (axes,) = canvas(height)
    return figure, axes
