"""The file form of a QAOA study: a graph, and how deep to go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from experiments.located.yaml_positions import load_located
from experiments.schema.base import PositiveInt, Seed, Strict


class QaoaFile(Strict):
    """The greatest cut of a graph by QAOA."""

    graph: str | list[list[int | float]] = Field(min_length=1)
    """Edges [a, b] or [a, b, weight], or a file with them: an edge list, GraphML, GML or networkx' JSON."""
    layers: PositiveInt = 2
    """The greatest depth; every smaller one is optimised on the way."""
    shots: PositiveInt = 1000
    """How many cuts are drawn from the last state; the best one is reported and drawn."""
    seed: Seed = 0
    """Of the shots."""


def load_qaoa(path: Path, overrides: Sequence[str] = ()) -> QaoaFile:
    """Read and check the file of a study. Raises :class:`UserError`, each problem with its place."""
    return load_located(path, QaoaFile, overrides).value
