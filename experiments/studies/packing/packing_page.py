"""The study's page: one self-contained HTML file in the report's style, figures inlined as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import report
from experiments.schema.packing_file import PackingStudy

Rows = list[dict[str, Any]]


def html(
    study: PackingStudy, figures: dict[str, str], captions: dict[str, str], fits: Rows, points: Rows, read: Rows
) -> str:
    """The page of a study; ``figures`` are inline SVG by name, with their captions."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    jinja = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    style = (Path(report.__file__).parent / "style.css").read_text(encoding="utf-8")
    return jinja.get_template("page.html.jinja").render(
        study=study,
        style=Markup(style),
        figures={key: Markup(svg) for key, svg in figures.items()},
        captions=captions,
        fits=fits,
        points=points,
        read=read,
    )
