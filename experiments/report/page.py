"""The page: what the template needs, computed here so that the template only lays out. Jinja escapes everything."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.lm.results_schema import floor_title
from experiments.report.headline import answer, audit_word, claims, largest_error, scientific, split_sentence
from experiments.report.ladder import price, rows
from experiments.report.memory import bounded
from experiments.schema.audit_columns import AUDIT_COLUMNS
from experiments.stats.compare import chosen_first


class Made(NamedTuple):
    """How an experiment was made: its resolved configuration, versions and machine, and the command."""

    experiment_yaml: str
    environment: Mapping[str, Any]
    command: str


def html(
    summary: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    figures: Mapping[str, Mapping[str, str]],
    opening: str | None,
    made: Made,
    laws: Mapping[str, str] | None = None,
) -> str:
    """``report.html``. ``figures[task]`` maps the names of figures to inline SVG, ``opening`` is that of the ladder,
    ``laws[text]`` those of scaling laws."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    here = Path(__file__).parent
    jinja = Environment(
        loader=FileSystemLoader(here), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    jinja.filters |= {
        "fixed": fixed, "count": count, "scientific": scientific, "p": probability, "signed": signed, "words": words,
    }  # fmt: skip
    models = sorted({name for task in summary["tasks"].values() for name in task["models"]})
    page = jinja.get_template("template.html").render(
        summary=summary,
        tasks=tasks,
        level=f"{100 * summary['comparison']['confidence']:g} %",
        margin=summary["comparison"]["equivalence"],
        answers=answer(summary),
        opening=None if opening is None else Markup(opening),
        by_memory=bool(bounded(summary)),
        ladder=rows(summary),
        laws={text: Markup(drawing) for text, drawing in (laws or {}).items()},
        prices={name: price(name, task) for name, task in summary["tasks"].items()},
        splits={
            name: [
                split_sentence(name, model, terms, task["metric"]) for model, terms in task["split"].items() if terms
            ]
            for name, task in summary["tasks"].items()
        },
        tiles={name: tiles(task) for name, task in summary["tasks"].items()},
        figures={task: {key: Markup(svg) for key, svg in each.items()} for task, each in figures.items()},
        samples={task: samples(task, runs, summary) for task in summary["tasks"]},
        gaps={name: gaps(task) for name, task in summary["tasks"].items()},
        floors={name: floors(task) for name, task in summary["tasks"].items()},
        colors={name: i % 8 for i, name in enumerate(models)},
        models=models,
        audit_columns=AUDIT_COLUMNS,
        audit_word=audit_word,
        environment=flat(made.environment),
        experiment_yaml=made.experiment_yaml,
        command=made.command,
        style=Markup((here / "style.css").read_text(encoding="utf-8")),
        threads=sorted({run["threads"] for run in runs if run.get("threads") is not None}),
    )
    return re.sub("[\ud800-\udfff]", "\ufffd", page)  # half a character, as models over bytes write them, is no UTF-8


def tiles(task: Mapping[str, Any]) -> list[dict[str, str]]:
    """The three or four numbers a reader looks for first: best model, best unitary against best other, audit, runs."""
    metric, models = task["metric"], task["models"]
    measured = [name for name in models if models[name][metric]["mean"] is not None]
    result = []
    if measured:
        unit = "accuracy" if metric == "accuracy" else "nats per token"
        text = {"label": f"best: {measured[0]}", "value": fixed(models[measured[0]][metric]["mean"]), "note": unit}
        result.append(text)
    chosen = chosen_first(task)
    unitary = [name for name in chosen if claims(models[name])]
    others = [name for name in chosen if not claims(models[name])]
    if unitary and others:
        gap = _gap(task, unitary[0], others[0])
        label, unit = (
            ("unitary − other", "accuracy") if metric == "accuracy" else ("price of unitarity", "nats per token")
        )
        result.append({"label": label, "value": signed(gap), "note": f"{unitary[0]} − {others[0]}, {unit}"})
    if unitary:
        entry = models[unitary[0]]
        note = f"largest error {scientific(largest_error(entry))}, budget {scientific(entry['audit']['budget'])}"
        result.append({"label": f"audit of {unitary[0]}", "value": audit_word(entry), "note": note})
    done = sum(len(entry["seeds"]["done"]) for entry in models.values())
    total = sum(entry["seeds"]["attempted"] for entry in models.values())
    result.append({"label": "runs finished", "value": f"{done} of {total}", "note": f"{len(models)} models"})
    return result


def _gap(task: Mapping[str, Any], a: str, b: str) -> float:
    """a − b over the seeds that both have, as tested; over all seeds where the pair was not tested."""
    for test in task["tests"]:
        if {test["a"], test["b"]} == {a, b} and test["difference"]["mean"] is not None:
            return test["difference"]["mean"] if test["a"] == a else -test["difference"]["mean"]
    return task["models"][a][task["metric"]]["mean"] - task["models"][b][task["metric"]]["mean"]


def samples(task: str, runs: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Samples side by side: one group for each (prompt, temperature, top_k), one text per model, of its first seed."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for model in summary["tasks"][task]["models"]:
        mine = [run for run in runs if (run["task"], run["model"], run["status"]) == (task, model, "done")]
        sampled = sorted((run for run in mine if run.get("samples")), key=lambda run: run["seed"])
        for sample in sampled[0]["samples"] if sampled else []:
            key = (sample.get("prompt", ""), sample.get("temperature"), sample.get("top_k"))
            group = groups.setdefault(
                key, dict(zip(("prompt", "temperature", "top_k"), key, strict=True)) | {"texts": {}}
            )
            text = sample.get("text", "").removeprefix(group["prompt"])  # the page shows the prompt before it
            group["texts"].setdefault(model, {"text": text, "seed": sampled[0]["seed"]})
    return list(groups.values())


def floors(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows below the models: counts and chance, in nats, bits per character and perplexity, highest loss last."""
    per_token = task.get("characters_per_token")
    rows = [{"name": floor_title(name), "nats": value} for name, value in task["floor"].items() if value is not None]
    if task.get("chance") is not None:
        rows.append({"name": "chance", "nats": task["chance"]})
    for row in rows:
        row["bits"] = row["nats"] / math.log(2) / per_token if per_token else None
        row["perplexity"] = math.exp(min(row["nats"], 700))
    return sorted(rows, key=lambda row: row["nats"])


def gaps(task: Mapping[str, Any]) -> list[str]:
    """Why numbers of the audit are missing, models with the same reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for model, entry in task["models"].items():
        for column, reason in entry["audit"]["reasons"].items():
            reasons.setdefault((column, reason), []).append(model)
    whole = {model for model, entry in task["models"].items() if not entry["audit"]["seeds"]}
    lines = [f"{', '.join(sorted(whole))}: not audited"] if whole else []
    for (column, reason), models in reasons.items():
        named = [model for model in models if model not in whole]
        lines += [f"{words(column)} of {', '.join(named)}: {reason}"] if named else []
    return lines


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested facts as "a.b": "text", in the order given."""
    result: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):  # a package's name says by itself what it is
            result |= flat(value, prefix if key == "packages" else f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return result


def fixed(value: float | int | None, digits: int = 3) -> str:
    """A number with fixed digits; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | int | None, digits: int = 3) -> str:
    """A number with its sign and fixed digits; a dash where there is none."""
    return "–" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def count(value: float | int | None) -> str:
    """A size for reading: 803 137, 5.2 M, 1.3 G (exact below a million, with thin spaces)."""
    if value is None:
        return "–"
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{round(value):,}".replace(",", "\u202f")


def probability(value: float | int | None) -> str:
    """A p value: three digits, or in powers of ten below a thousandth."""
    if value is None:
        return "–"
    return f"{value:.3f}" if value >= 0.001 else scientific(value)


def words(key: str) -> str:
    """A key as words."""
    return key.replace("_", " ")
