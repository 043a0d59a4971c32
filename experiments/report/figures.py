"""The report's figures, as functions from a summary (and run records) to a matplotlib ``Figure``.

Pure: no pyplot, no global state, so that a live page can call them from any thread. Colours are Okabe and Ito's palette
for colour-blind readers, and line styles and markers repeat what colours say. Names are text from outside: never math.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.report.headline import fair_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, GRID = "#1b1f24", "#6b7280", "#d9dce1"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1.4, 1.2)), (0, (6, 1.6, 1.2, 1.6)))
MARKERS = "oDs^vPX*"
METRIC = {
    "test_nats": "test loss, nats per token (lower is better)",
    "val_nats": "validation loss, nats per token (lower is better)",
    "accuracy": "accuracy (higher is better)",
}
INSIDE = 12
"""The most models whose names fit inside a panel of curves."""
WIDTH = 5.8  # inches: legible on a phone without a second layout


def styles(models: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, dash and marker of each model, the same in every figure of a report (by the order of names)."""
    return {
        name: {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": DASHES[(i // len(PALETTE) + i) % len(DASHES)],
            "marker": MARKERS[i % len(MARKERS)],
        }
        for i, name in enumerate(sorted(set(models)))
    }


def final_loss(task: Mapping[str, Any], look: Mapping[str, Mapping[str, Any]]) -> Figure:
    """One row per model: its seeds as faint dots, mean and interval as a bar; floors (n-grams, chance) as lines."""
    metric = task["metric"]
    rows = [(name, entry[metric]) for name, entry in task["models"].items()]
    measured = [(name, estimate) for name, estimate in rows if estimate["mean"] is not None]
    figure, axes = _canvas(1.35 + 0.42 * max(len(rows), 1))
    for y, (name, estimate) in enumerate(rows):
        style = look[name]
        if estimate["mean"] is None:
            axes.annotate(
                "no finished run", (0.02, y), xycoords=("axes fraction", "data"), color=FAINT, va="center", size=9
            )
            continue
        axes.plot(estimate["values"], [y - 0.24] * estimate["n"], ".", color=style["color"], alpha=0.45, ms=5, mew=0)
        if estimate["low"] is not None:
            axes.plot([estimate["low"], estimate["high"]], [y, y], color=style["color"], lw=3.2, solid_capstyle="butt")
        axes.plot(estimate["mean"], y, style["marker"], color=style["color"], ms=7, mec="white", mew=0.8)
        axes.annotate(
            f"{estimate['mean']:.3f}", (estimate["mean"], y), (0, -12), textcoords="offset points", ha="center",
            size=9.5, color=INK,
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [plain(name) for name, _ in rows])
    axes.set_ylim(len(rows) - 0.15, -0.7)
    axes.set_xlabel(METRIC[metric])
    axes.grid(axis="y", visible=False)
    _floors(axes, task, [estimate for _, estimate in measured])
    return figure


def loss_curves(
    runs: Sequence[Mapping[str, Any]], task: Mapping[str, Any], look: Mapping[str, Mapping[str, Any]]
) -> Figure:
    """Validation loss against training steps: mean over the seeds as a line, lowest to highest seed as a band.

    Training loss is the thin line below; a run that failed is drawn alone, to the cross where it stopped.
    """
    many = len(task["models"]) > INSIDE  # a legend that would fill the panel stands below it
    figure, axes = _canvas(4.1 + (0.11 * len(task["models"]) if many else 0))
    tops: list[float] = []
    for name in task["models"]:
        style, label = look[name], plain(name)
        mine = [run for run in runs if run["model"] == name]
        done = [curve(run, "validation") for run in mine if run["status"] == "done"]
        done = [points for points in done if points]
        band = _band(done)
        if band:
            steps, mean, low, high = zip(*band, strict=True)
            axes.fill_between(steps, low, high, color=style["color"], alpha=0.22, lw=0)
            axes.plot(steps, mean, color=style["color"], ls=style["linestyle"], lw=1.9, label=label)
            early = [value for step, value in zip(steps, mean, strict=True) if step >= steps[-1] * 0.05]
            tops.append(max(early or mean))
        train = _band([points for run in mine if run["status"] == "done" and (points := curve(run, "train"))])
        if train:
            steps, mean, *_ = zip(*_thin(train), strict=True)
            axes.plot(steps, mean, color=style["color"], lw=0.8, alpha=0.55)
        for run in mine:
            points = curve(run, "validation") or curve(run, "train")
            if run["status"] != "done" and points:
                axes.plot(*zip(*points, strict=True), color=style["color"], lw=0.9, ls=":")
                axes.plot(*points[-1], "x", color=style["color"], ms=7, mew=1.8)
    if tops:
        bottom, _ = axes.get_ylim()
        axes.set_ylim(bottom, max(tops) * 1.03)
    for floor, value in _lines(task).items():
        bottom, top = axes.get_ylim()
        if task["metric"] != "accuracy" and bottom < value < top:
            axes.axhline(value, color=FAINT, lw=0.8, ls=(0, (4, 3)), zorder=0)
            axes.annotate(
                plain(floor), (1, value), xycoords=("axes fraction", "data"), xytext=(-3, 2),
                textcoords="offset points", ha="right", color=FAINT, size=9,
            )  # fmt: skip
    axes.set_xlabel("training step")
    axes.set_ylabel("loss, nats per token")
    if many and axes.get_legend_handles_labels()[0]:
        figure.legend(frameon=False, handlelength=2.6, ncols=2, loc="outside lower left", labelcolor=INK)
    elif axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, handlelength=2.6, loc="upper right", bbox_to_anchor=(1, 0.97), labelcolor=INK)
    else:
        axes.annotate("no run logged a validation loss", (0.5, 0.5), xycoords="axes fraction", ha="center", color=FAINT)
    return figure


def differences(task: Mapping[str, Any], margin: float | int = 0.0) -> Figure:
    """One row per test: the paired difference a − b with its interval, 0, and the band of practical equivalence."""
    tests = [test for test in task["tests"] if test["difference"]["mean"] is not None]
    figure, axes = _canvas(1.0 + 0.42 * max(len(tests), 1))
    if margin:
        axes.axvspan(-margin, margin, color=GRID, alpha=0.55, lw=0, zorder=0)
    axes.axvline(0, color=INK, lw=0.9)
    for y, test in enumerate(tests):
        difference = test["difference"]
        color = PALETTE[0] if test["settled"] else FAINT
        if difference["low"] is not None:
            axes.plot([difference["low"], difference["high"]], [y, y], color=color, lw=3.2, solid_capstyle="butt")
        axes.plot(difference["mean"], y, "o", ms=7, mec=color, mew=1.4, color=color if test["settled"] else "white")
    axes.set_yticks(range(len(tests)), [f"{plain(test['a'], 18)} − {plain(test['b'], 18)}" for test in tests])
    axes.set_ylim(max(len(tests), 1) - 0.4, -0.6)
    axes.set_xlabel("paired difference in " + ("accuracy" if task["metric"] == "accuracy" else "nats per token"))
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.1)
    return figure


def ledger(task: Mapping[str, Any]) -> Figure:
    """Stacked bars: how many parameters each model keeps in each group; groups below 1 % in all models are "other"."""
    models = _large({name: entry["ledger"] for name, entry in task["models"].items() if entry["ledger"]})
    groups = sorted({group for entry in models.values() for group in entry} - {"other"}, key=_order(models))
    groups += ["other"] if any("other" in entry for entry in models.values()) else []
    figure, axes = _canvas(1.35 + 0.42 * max(len(models), 1))
    left = dict.fromkeys(models, 0.0)
    for i, group in enumerate(groups):
        hatch = ("", "//", "\\\\", "--", "x")[i % 5]
        for y, (name, entry) in enumerate(models.items()):
            axes.barh(
                y, entry.get(group, 0), 0.62, left[name], color=PALETTE[i % len(PALETTE)], edgecolor="white",
                hatch=hatch, linewidth=0.6, label=plain(group) if y == 0 else None,
            )  # fmt: skip
            left[name] += entry.get(group, 0)
    axes.set_yticks(range(len(models)), [plain(name) for name in models])
    axes.set_ylim(max(len(models), 1) - 0.4, -0.6)
    axes.set_xlabel("parameters")
    axes.xaxis.set_major_formatter(lambda value, _: _count(value))
    axes.grid(axis="y", visible=False)
    if groups:
        columns = max(1, min(len(groups), 76 // (max(len(plain(group)) for group in groups) + 5)))
        figure.legend(frameon=False, ncols=columns, loc="outside upper left", borderpad=0, columnspacing=1.3,
                      handlelength=1.3, fontsize=9.5, labelcolor=INK)  # fmt: skip
    return figure


def plain(name: object, longest: int = 28) -> str:
    """A name for matplotlib: printable, shortened, and with its dollars escaped so that it is never read as math."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(name))
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.replace("$", r"\$")


def curve(run: Mapping[str, Any], part: str) -> list[tuple[int, float]]:
    """The finite points of a run's history ``part`` ("train" or "validation") as (step, nats)."""
    points = (run.get("history") or {}).get(part) or []
    return [(int(step), float(value)) for step, value in points if value is not None and abs(value) < 1e6]


def canvas(height: float, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of the report's width with panels below one another."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = [figure.add_subplot(rows, 1, row + 1) for row in range(rows)]
    for panel in panels:
        dress(panel)
    return figure, panels


def dress(axes: Axes) -> None:
    """The look of every panel: faint grid, no frame, quiet labels."""
    axes.set_axisbelow(True)
    axes.grid(color=GRID, lw=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.tick_params(length=0, labelsize=10, labelcolor=INK)
    axes.xaxis.label.set(size=10, color=FAINT)
    axes.yaxis.label.set(size=10, color=FAINT)


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure, (axes,) = canvas(height)
    return figure, axes


def _lines(task: Mapping[str, Any]) -> dict[str, float | int]:
    """Reference losses worth a line: the strongest counts (in results from before every n-gram floor), and chance."""
    fair = fair_floor(task)
    lines = dict([fair]) if fair else {name: value for name, value in task["floor"].items() if value is not None}
    if task.get("chance") is not None:
        lines["chance"] = task["chance"]
    return lines


def _floors(axes: Axes, task: Mapping[str, Any], estimates: Sequence[Mapping[str, Any]]) -> None:
    """Vertical lines for the floors up to the first above every model; those beyond it as a note."""
    if task["metric"] == "accuracy" or not estimates:
        return
    low, high = (pick(value for each in estimates for value in each["values"]) for pick in (min, max))
    lines = sorted(_lines(task).items(), key=lambda item: item[1])
    worst, span = max(each["mean"] for each in estimates), max(high - low, 0.02)
    reach = max(high + span, next((value for name, value in lines if value > worst and name != "chance"), high))
    shown = [(name, value) for name, value in lines if value <= reach]
    for place, (name, value) in enumerate(shown):
        text, above = f"{plain(name)} {value:.2f}", 3 + 10 * (place % 2)
        axes.axvline(value, color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=0)
        axes.annotate(text, (value, 1), xycoords=("data", "axes fraction"), xytext=(0, above),
                      textcoords="offset points", ha="center", color=FAINT, size=9)  # fmt: skip
    beyond = [f"{plain(name)} {value:.2f}" for name, value in lines if value > reach]
    if beyond:
        note = axes.annotate("further: " + ", ".join(beyond) + " →", (1, 0), xycoords="axes fraction", xytext=(0, 4),
                             textcoords="offset points", ha="right", color=FAINT, size=9,
                             bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip
        note.set_in_layout(False)
    ends = [low, high, *(value for _, value in shown)]
    pad = (max(ends) - min(ends)) * 0.09 or 0.05
    axes.set_xlim(min(ends) - pad, max(ends) + pad)


def _band(curves: Sequence[list[tuple[int, float]]]) -> list[tuple[int, float, float, float]]:
    """(step, mean, lowest, highest) at the steps that every curve has, so that the mean never changes its company."""
    if not curves:
        return []
    tables = [dict(points) for points in curves]
    shared = sorted(set.intersection(*(set(entry) for entry in tables)))
    columns = [(step, [entry[step] for entry in tables]) for step in shared]
    return [(step, sum(values) / len(values), min(values), max(values)) for step, values in columns]


def _thin(points: Sequence[Any], most: int = 200) -> Sequence[Any]:
    """At most about ``most`` points, the last one kept: an SVG of 20,000 points helps nobody."""
    stride = max(1, len(points) // most)
    return [*points[:-1:stride], points[-1]]


def _large(ledgers: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The ledgers with every group that is below 1 % of each model summed into "other"."""
    large = {group for entry in ledgers.values() for group, size in entry.items() if size >= 0.01 * sum(entry.values())}
    result = {}
    for name, entry in ledgers.items():
        result[name] = {group: size for group, size in entry.items() if group in large}
        small = sum(size for group, size in entry.items() if group not in large)
        if small:
            result[name]["other"] = result[name].get("other", 0) + small
    return result


def _order(ledgers: Mapping[str, Mapping[str, int]]) -> Callable[[str], int]:
    """Groups in the order in which the models name them."""
    named = list(dict.fromkeys(group for entry in ledgers.values() for group in entry))
    return named.index


def _count(value: float | int) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"
