"""The packing study's file: which dimensions, tolerances, packings and embeddings. Top-level key ``packing``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from experiments.located.yaml_positions import Contradiction, load_located
from experiments.schema.base import Positive, PositiveInt, Seed, Strict

Tolerance = Annotated[float, Field(gt=0, le=1)]
Dimension = Annotated[int, Field(ge=2, le=20_000)]
FieldName = Literal["real", "complex"]


class Size(Strict):
    """n lines of dimension d."""

    d: Dimension
    """Dimension."""
    n: Annotated[int, Field(ge=2, le=6000)]
    """Number of lines."""
    field: FieldName = "real"
    """R^d or C^d."""


class InterferenceStudy(Strict):
    """Sparse features stored in few dimensions and read back linearly."""

    d: Annotated[int, Field(ge=2, le=2000)] = 64
    """Dimension."""
    n: tuple[Annotated[int, Field(ge=2, le=4000)], ...] = (128, 512, 2048)
    """Numbers of features, one random packing each."""
    active: tuple[PositiveInt, ...] = (1, 2, 4, 8, 16)
    """Numbers of features active at once."""
    trials: PositiveInt = 200
    """Random sets of active features for each point."""


class PackingStudy(Strict):
    """How many almost independent directions fit: bounds, constructions, packings, embeddings."""

    name: str = "quasi-orthogonal packing capacity"
    """Title of the report."""
    fields: Annotated[tuple[FieldName, ...], Field(min_length=1)] = ("real", "complex")
    """R^d, C^d or both."""
    tolerances: Annotated[tuple[Tolerance, ...], Field(min_length=1)] = (0.05, 0.1, 0.2, 0.3)
    """ε of the curves of N against d."""
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)] = (16, 64, 256, 1024)
    """d of the curves of N against ε."""
    points: Annotated[int, Field(ge=3, le=400)] = 40
    """Points of each curve."""
    random: tuple[Size, ...] = ()
    """Random packings to measure."""
    optimised: tuple[Size, ...] = ()
    """Packings to optimise."""
    seconds: Positive = 5.0
    """CPU seconds for each optimised packing, where `rounds` is null."""
    rounds: PositiveInt | None = None
    """Rounds of each search instead of seconds: the packings then depend on the seed alone."""
    embeddings: tuple[str, ...] = ()
    """Files of vectors (.npy, .safetensors, text) or run folders to add as points, relative to this file."""
    interference: InterferenceStudy | None = None
    """The experiment on interference in use; left out if absent."""
    seed: Seed = 0
    """Seed of every random number."""


class PackingFile(Strict):
    """A file with a packing study."""

    packing: PackingStudy
    """The study."""


def load_packing(path: str | Path, overrides: Sequence[str] = ()) -> PackingStudy:
    """Raises :class:`experiments.errors.UserError` with every error in the file and its place."""
    study = load_located(path, PackingFile, overrides, _contradictions).value.packing
    here = Path(path).parent
    return study.model_copy(update={"embeddings": tuple(str(here / name) for name in study.embeddings)})


def _contradictions(file: PackingFile, path: Path) -> Iterable[Contradiction]:
    study = file.packing.interference
    if study is not None and max(study.active) >= min(study.n):
        where = ("packing", "interference", "active")
        text = f"expected fewer active features than features ({min(study.n)}), got {max(study.active)}"
        yield Contradiction(where, text, (("packing", "interference", "n"),))
