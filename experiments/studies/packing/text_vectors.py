"""Vectors from text: word2vec's and GloVe's formats with a name per line, and plain matrices of numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.errors import UserError
from experiments.studies.packing.vectors import Vectors


class _Layout(NamedTuple):
    """How a text file is laid out: the count that line 1 announces, numbers per vector, whether names stand before."""

    announced: int | None
    d: int
    named: bool


def read_text(path: Path, allow_zero: bool = False) -> Vectors:
    """word2vec's text (a first line "n d") or GloVe's (none): a token and d numbers per line; tokens may hold spaces.

    A file whose every token would be a number (``numpy.savetxt``, the Embedding Projector's .tsv) is a matrix without
    names, unless these numbers count the rows (0, 1, 2, … or 1, 2, 3, …). The count in line 1 may be wrong by one, as
    in files of fastText. Raises :class:`UserError` for a file that is neither.
    """
    names: list[str] = []
    rows = np.empty((0, 0), np.float32)
    count = 0
    try:
        layout = _layout(path)
        for number, line in _lines(path):
            if number == 1 and layout.announced is not None:
                continue
            if count == len(rows):  # grown in place: a list of rows would need the memory twice
                rows.resize((max(1024, 2 * len(rows)), layout.d), refcheck=False)
            parts = line.replace("\t", " ").split(" ") if layout.named else [str(count), *line.split()]
            rows[count] = _numbers(parts, layout, path, number, allow_zero)
            if layout.named:
                names.append(" ".join(parts[: len(parts) - layout.d]))
            count += 1
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text embedding in UTF-8, nor .npy or .safetensors by its name") from error
    if not count:
        raise UserError(f"{path}: holds no vectors")
    if layout.announced is not None and abs(layout.announced - count) > 1:
        raise UserError(f"{path}: line 1 announces {layout.announced} vectors, the file holds {count}")
    return Vectors(rows[:count], names or None, str(path))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, without their ends, and their numbers."""
    with path.open(encoding="utf-8") as lines:
        yield from ((number, line.rstrip()) for number, line in enumerate(lines, 1) if line.strip())


def _layout(path: Path) -> _Layout:
    """From the first two lines, and from the tokens of as many more as begin with a number."""
    head = [line.split() for _, line in itertools.islice(_lines(path), 2)]
    if len(head) == 2 and len(head[0]) == 2 and all(part.isdigit() for part in head[0]):
        announced, d = map(int, head[0])
        if len(head[1]) >= d or not _is_number(head[1][0]):  # else two columns of whole numbers
            return _Layout(announced, d, len(head[1]) != d)
    named = _has_names(line.split()[0] for _, line in _lines(path))
    d = len(head[0]) - named if head else 0
    if head and d < 1:
        raise UserError(f"{path}: line 1: expected a token and numbers, got {head[0][0][:40]!r}")
    return _Layout(None, d, named)


def _has_names(tokens: Iterable[str]) -> bool:
    """Is one of the tokens no number, or do they count the rows from 0 or from 1?"""
    bases = {0, 1}
    for row, token in enumerate(tokens):
        if not _is_number(token):
            return True
        bases = {base for base in bases if token == str(base + row)}
    return bool(bases)


def _numbers(parts: list[str], layout: _Layout, path: Path, number: int, allow_zero: bool) -> np.ndarray:
    d, got = layout.d, len(parts) - 1
    numbers = parts[got - d + 1 :]
    if got < d or (got > d and not layout.named):
        raise UserError(f"{path}: line {number}: expected {d} numbers as in the lines before, got {got}")
    try:
        with np.errstate(over="ignore"):  # beyond float32: an infinity, refused below
            values = np.array(numbers, dtype=np.float32)
    except ValueError as error:
        culprit = next(part for part in numbers if not _is_number(part))
        raise UserError(f"{path}: line {number}: expected {d} numbers, got {culprit[:20]!r}") from error
    # a longer line is a token with spaces in it, unless what would be the token's tail are numbers too ("windows 10"):
    # then only a first line that announces d can tell
    if got > d and layout.announced is None and all(_is_number(part) for part in parts[1:]):
        raise UserError(f"{path}: line {number}: expected {d} numbers as in the lines before, got {got}")
    token = repr(" ".join(parts[: got - d + 1])[:40]) if layout.named else f"row {parts[0]}"
    if not np.isfinite(values).all():
        raise UserError(f"{path}: line {number}: the vector of {token} holds a NaN or an infinity; remove the line")
    if not values.any() and not allow_zero:
        raise UserError(
            f"{path}: line {number}: the vector of {token} is zero, without direction; --skip-zero leaves it out"
        )
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
