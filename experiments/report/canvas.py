"""Figures as bytes: SVG that is the same on every run, SVG to inline in a page that has a dark side, and PNG."""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from experiments.report.figures import FAINT, GRID, INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_lock = threading.Lock()  # the salt of SVG identifiers is one of matplotlib's global settings

_variables = {INK: "--ink", FAINT: "--faint", GRID: "--grid", "#ffffff": "--page"}
_variables |= {color: f"--c{i}" for i, color in enumerate(PALETTE)}


def svg(figure: Figure) -> bytes:
    """A stand-alone SVG on white, text as outlines, byte-identical for equal figures (fixed salt, no date)."""
    return _save(figure, "svg", metadata={"Date": None, "Creator": None}, facecolor="white")


def png(figure: Figure) -> bytes:
    """A PNG at 160 dots per inch on white."""
    return _save(figure, "png", dpi=160, metadata={"Software": None}, facecolor="white")


def inline(drawing: bytes, name: str, description: str) -> str:
    """What `svg` made, as an element for an HTML page: identifiers prefixed with ``name``, colours as CSS variables.

    ``description`` is what a screen reader says. The page defines --ink, --faint, --grid, --page and --c0, --c1, …
    """
    text = drawing.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\s*|<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r"#[0-9a-f]{6}\b", lambda found: _variable(found[0]), text)
    text = re.sub(r' d="([^"]*)"', lambda path: f' d="{re.sub(r"[0-9]+[.][0-9]{3,}", _shorter, path[1])}"', text)
    root, rest = text[: text.index(">")], text[text.index(">") :]
    root = re.sub(r'\s(width|height)="[^"]*"', "", root)  # the page's style gives the size, the viewBox the shape
    root = root.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    return re.sub(r"\n\s*", "\n", root + rest).strip()


def _shorter(number: re.Match[str]) -> str:
    """A coordinate to a hundredth of a point, which halves a curve's size and moves nothing that can be seen."""
    return f"{float(number[0]):.2f}"


def _variable(color: str) -> str:
    return f"var({_variables[color]}, {color})" if color in _variables else color


def _save(figure: Figure, kind: str, **options: Any) -> bytes:
    data = io.BytesIO()
    with _lock, _settings():
        figure.savefig(data, format=kind, **options)
    return data.getvalue()


@contextmanager
def _settings() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "qattn", "svg.fonttype": "path"}), warnings.catch_warnings():
        # a model may be named in a script that the font lacks: a box in its place is no reason to lose the report
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
