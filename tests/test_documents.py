"""The pages about the project name what is there: files and folders of the architecture page, pages of the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs/architecture.md", ROOT / "docs/style.md", ROOT / "CONTRIBUTING.md"]
ROOMS = ("qattn", "classical", "contexts", "experiments", "tests", "docs")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_path_exists(page):
    text = page.read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([\w./-]+)`", text) if "/" in name and name.split("/")[0] in ROOMS}
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert not missing
    assert page.name != "architecture.md" or len(named) > 60


def test_every_room_is_described():
    """A folder of modules that the table of rooms does not name is a room nobody can find."""
    text = PAGES[0].read_text(encoding="utf-8")
    found = {path.parent.relative_to(ROOT) for room in ROOMS[:4] for path in (ROOT / room).rglob("__init__.py")}
    rooms = {str(room) for room in found if len(room.parts) <= 2}
    missing = sorted(room for room in rooms if f"`{room}`" not in text and f"`{room}/" not in text)
    assert not missing


def test_every_page_is_in_the_index():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= set(index.split())


def test_result_figures_are_stored_once():
    """A report has its figures inside; a file beside it is there only where a page shows it."""
    shown = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        links = re.findall(r"\(([\w./-]*figures/[\w./-]+)\)", page.read_text(encoding="utf-8"))
        shown |= {(page.parent / link).resolve() for link in links}
    stored = {path.resolve() for path in (ROOT / "docs/results").rglob("figures/*")}
    assert stored == shown
    assert len(shown) >= 3
