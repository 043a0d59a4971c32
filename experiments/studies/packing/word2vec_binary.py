"""word2vec's binary format: a line "n d", then for each vector its token, a blank and d float32 (little-endian)."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np

from experiments.errors import UserError
from experiments.studies.packing.vectors import Vectors

LONGEST = 4096  # bytes of a token
WHAT = "not a word2vec binary"


def read_word2vec_binary(path: Path, allow_zero: bool = False) -> Vectors:
    """The vectors and their tokens; a line end after a vector is optional. Nothing in the file is executed.

    Raises :class:`UserError` for another file (fastText's and torch's .bin are), one that is cut or too long, and for
    vectors with a NaN or, unless ``allow_zero``, without direction.
    """
    if not path.stat().st_size:
        raise UserError(f"{path}: {WHAT}: the file is empty")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        n, d, place = _header(path, data)
        rows, names = np.empty((n, d), np.float32), []
        for k in range(n):
            blank = data.find(b" ", place, place + LONGEST)
            numbers = data[blank + 1 : blank + 1 + 4 * d]
            if blank < 0 or len(numbers) < 4 * d:
                raise UserError(f"{path}: the first line announces {n} vectors, the file ends in vector {k + 1}")
            names.append(data[place:blank].lstrip(b"\n").decode("utf-8", errors="replace"))
            rows[k] = np.frombuffer(numbers, "<f4")
            place = blank + 1 + 4 * d
        if data[place : place + 2] not in (b"", b"\n"):
            raise UserError(f"{path}: the first line announces {n} vectors of {d} numbers, the file holds more")
    _check(path, rows, names, allow_zero)
    return Vectors(rows, names, str(path))


def _header(path: Path, data: mmap.mmap) -> tuple[int, int, int]:
    """n, d and where the first vector begins."""
    end = data.find(b"\n", 0, 64)
    parts = data[: max(end, 0)].split()
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise UserError(f"{path}: {WHAT}: its first line is not a number of vectors and a dimension")
    n, d = map(int, parts)
    if n * (4 * d + 1) > len(data):
        raise UserError(f"{path}: the first line announces {n} vectors of {d} numbers, the file is too short for them")
    return n, d, end + 1


def _check(path: Path, rows: np.ndarray, names: list[str], allow_zero: bool) -> None:
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise UserError(f"{path}: the vector of {names[int(np.argmax(bad))][:40]!r} holds a NaN or an infinity")
    zero = ~rows.any(axis=1)
    if zero.any() and not allow_zero:
        name = names[int(np.argmax(zero))][:40]
        raise UserError(f"{path}: the vector of {name!r} is zero, without direction; --skip-zero leaves it out")
