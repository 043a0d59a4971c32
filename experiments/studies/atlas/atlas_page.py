"""The atlas as one self-contained page in the style of the reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import report

ORDER = ("holds", "fails", "open")


def html(rows: Sequence[Mapping[str, Any]], missing: Sequence[str]) -> str:
    """The page of the given results, each with an inline ``figure``; ``missing`` are the entries that were not run."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    jinja = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    jinja.filters["number"] = number
    jinja.filters["short"] = lambda value: "–" if value is None else f"{value:.4g}"
    style = (Path(report.__file__).parent / "style.css").read_text(encoding="utf-8")
    counts = Counter(row["verdict"] for row in rows)
    return jinja.get_template("atlas.html.jinja").render(
        style=Markup(style),
        counts=[(verdict, counts[verdict]) for verdict in ORDER],
        rows=[dict(row) | {"figure": Markup(row["figure"])} for row in rows],
        missing=missing,
    )


def number(entry: Mapping[str, Any]) -> str:
    """A number with its interval and unit, as the page shows it."""
    text = f"{entry['value']:.4g}"
    if entry["low"] is not None and entry["high"] is not None:
        text += f" [{entry['low']:.4g}, {entry['high']:.4g}]"
    return f"{text} {entry['unit']}".rstrip()
