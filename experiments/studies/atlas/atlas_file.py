"""The file of an atlas entry: the claim in one line, where it stands, what would overturn it, the experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from experiments.errors import UserError
from experiments.located.error_messages import suggestion
from experiments.located.tagged_union import ByKind
from experiments.located.yaml_positions import load_located
from experiments.schema.base import Strict
from experiments.schema.find_config import CONFIGS
from experiments.studies.atlas.entries import ENTRIES
from experiments.studies.atlas.entry import Entry

Line = Annotated[str, Field(min_length=1)]
TEXTS = {
    "perspectives": "Perspectives on Large Language Models: Polysemy, Stochasticity, Exponential Expressibility, and "
    "Unitary Attention",
    "lecture_notes": "Lecture notes “Large Language Models”",
    "shape_of_the_probable": "The Shape of the Probable",
}


class Source(Strict):
    """Where a claim stands."""

    text: Literal["perspectives", "lecture_notes", "shape_of_the_probable"]
    """The paper, the lecture notes or the essay."""
    section: Line
    """Its section."""
    equation: Line | None = None
    """Its equation, where it is one."""

    def __str__(self) -> str:
        place = f"{TEXTS[self.text]}, {self.section}"
        return f"{place}, Eq. {self.equation}" if self.equation else place


class Claim(Strict):
    """An entry of the atlas."""

    title: Line
    """A few words."""
    claim: Line
    """What the text says, in one line."""
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    """Where it says so."""
    overturned_by: Line
    """What would overturn the verdict."""
    entry: Annotated[Entry, ByKind(ENTRIES)]
    """The experiment."""


class AtlasFile(Strict):
    """A file with an atlas entry."""

    atlas: Claim
    """The entry."""


def shipped_entries() -> dict[str, Path]:
    """The files of the atlas by the name of their entry."""
    return {path.stem: path for path in sorted((CONFIGS / "atlas").glob("*.yaml"))}


def load_entry(name: str, overrides: Sequence[str] = ()) -> tuple[str, Claim]:
    """The entry of a shipped name or of a file, and the name of its folder.

    Raises :class:`UserError` for a name that is neither, and for every error in the file with its place.
    """
    shipped = shipped_entries()
    path = shipped.get(name, Path(name))
    if not path.exists():
        raise UserError(
            f"{name}: expected an entry of the atlas ({', '.join(shipped)}) or a file{suggestion(name, shipped)}"
        )
    return path.stem, load_located(path, AtlasFile, overrides).value.atlas
