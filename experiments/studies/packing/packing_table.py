"""``qattn packing table``: the best packing at hand for every cell (d, n), with vectors, certificate, date and source.

OUT/table.csv                            one row per cell, in the order of the cells
OUT/vectors/FIELD_dD_nN.npy              the unit rows, whose bytes the row's sha256 is of
OUT/vectors/FIELD_dD_nN.json             coherence exactly, best proved lower bound and the polynomial that proves it
OUT/game_of_sloanes/DxN_INIT.txt         complex cells below the shipped table, as Game of Sloanes takes them
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex128

from contexts.packing.measure.gram import coherence
from contexts.packing.search.certify import certify
from contexts.packing.search.solve import solve
from contexts.packing.validation import Field
from experiments.errors import UserError
from experiments.runs.atomic_files import write_text
from experiments.runs.parts import Make, parts_of
from experiments.schema.packing_file import Size
from experiments.studies.packing.saved_search import check_writable, save

KEYS = (
    "field", "d", "n", "coherence", "coherence_extended", "how", "bound", "bound_name", "optimal", "known",
    "known_source", "table", "record", "below_table", "sha256", "date",
)  # fmt: skip
MOST = 200_000  # numbers in a packing: more do not belong in a table


def cells(field: Field, dimensions: Sequence[int], lines: Sequence[int]) -> list[Size]:
    """The cells of these dimensions and numbers of lines with n > d + 1: up to there a simplex is the answer.

    Raises :class:`UserError` where none is left, or one is too large.
    """
    found = [Size(field=field, d=d, n=n) for d in dimensions for n in lines if d >= 2 and n > d + 1]
    if not found:
        raise UserError("--d, --n: expected cells with d at least 2 and more than d + 1 lines")
    if max(cell.d * cell.n for cell in found) > MOST:
        raise UserError(f"--d, --n: expected d times n up to {MOST:,} in every cell")
    return found


def run_table(
    wanted: Sequence[Size], out: Path, *, seconds: float, rounds: int | None, seed: int, fresh: bool, workers: int
) -> dict[str, Any]:
    """Fill every cell, keep each when it is done, write the files and return the rows, for JSON.

    More cells extend the table of a folder; another budget or seed is refused (``fresh`` starts over). Searches do not
    stop at the shipped table. With ``rounds`` the result depends on the seed alone. Raises :class:`UserError` for an
    ``out`` that cannot be written to, is in use or holds something else.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise UserError(f"--seconds: expected a positive number, got {seconds:g}")
    if rounds is not None and rounds < 1:
        raise UserError(f"--rounds: expected at least 1, got {rounds}")
    check_writable(out, f"--out {out}")
    settings = {"seconds": seconds, "rounds": rounds, "seed": seed}
    with parts_of(out, "packing_table.json", "a table of packings", settings, fresh) as parts:
        making: dict[str, Make] = {_name(cell): partial(best_cell, cell, seconds, rounds, seed) for cell in wanted}
        found: dict[str, Any] = {}
        parts.each(making, found.__setitem__, workers)
        rows = [_write(out, name, found[name]) for name in making]
        table = io.StringIO()
        writer = csv.DictWriter(table, KEYS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(out / "table.csv", table.getvalue())
    return {"rows": rows, "file": str(out / "table.csv")}


def best_cell(cell: Size, seconds: float, rounds: int | None, seed: int) -> dict[str, Any]:
    """The best packing found within the budget: vectors, their certificate, how they were found, and the date (UTC)."""
    budget: dict[str, Any] = {"seconds": seconds, "rounds": rounds, "seed": seed, "beat_record": True}
    solution = solve(cell.d, cell.n, cell.field, **budget)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    proof = certify(solution.vectors) | {"how": solution.how, "date": today}
    vectors = torch.from_numpy(np.ascontiguousarray(solution.vectors))
    return {"vectors": torch.view_as_real(vectors) if vectors.is_complex() else vectors, "certificate": proof}


def game_of_sloanes(vectors: Complex128[np.ndarray, "n d"]) -> str:
    """Unit vectors as Game of Sloanes takes them: real parts, vector by vector, then imaginary parts, a line each.

    17 digits, so that the very same numbers are read back.
    """
    return "".join(f"{x:.17g}\n" for part in (vectors.real, vectors.imag) for x in part.ravel())


def read_game_of_sloanes(text: str, d: int) -> Complex128[np.ndarray, "n d"]:
    """The vectors of C^d in a file of Game of Sloanes. Raises ``ValueError`` unless it holds 2dn numbers."""
    numbers = np.array(text.split(), dtype=float)
    if not len(numbers) or len(numbers) % (2 * d):
        raise ValueError(f"expected a multiple of {2 * d} numbers for vectors of C^{d}, got {len(numbers)}")
    real, imaginary = numbers.reshape(2, -1, d)
    return real + 1j * imaginary


def _name(cell: Size) -> str:
    return f"{cell.field}_d{cell.d}_n{cell.n}"


def _write(out: Path, name: str, part: dict[str, Any]) -> dict[str, Any]:
    """Write a cell's files, read the vectors back and compare; its row. Raises :class:`UserError` where they differ."""
    proof, numbers = part["certificate"], part["vectors"]
    vectors = (torch.view_as_complex(numbers) if proof["field"] == "complex" else numbers).numpy()
    path = out / "vectors" / f"{name}.npy"
    save(path, vectors, proof)
    read = np.load(path, allow_pickle=False)
    same = hashlib.sha256(np.ascontiguousarray(read).tobytes()).hexdigest() == proof["sha256"]
    if not same or abs(coherence(read) - proof["coherence"]) > 1e-13:
        raise UserError(f"{path}: the vectors read back are not those that were written; remove it and try again")
    if proof["below_table"] and proof["field"] == "complex":
        write_text(out / "game_of_sloanes" / f"{proof['d']}x{proof['n']}_qatn.txt", game_of_sloanes(read))
    return {key: proof[key] for key in KEYS}


def show_table(result: dict[str, Any]) -> None:
    """One line per cell for people."""
    print(f"{'cell':>16}{'coherence':>16}{'at least':>16}{'known here':>16}")
    for row in result["rows"]:
        known = "" if row["known"] is None else f"{row['known']:.10f}"
        cell = f"{'R' if row['field'] == 'real' else 'C'}({row['d']},{row['n']})"
        note = "  optimal" if row["optimal"] else f"  below the table ({row['table']})" if row["below_table"] else ""
        print(f"{cell:>16}{row['coherence']:>16.10f}{row['bound']:>16.10f}{known:>16}{note}")
    print(result["file"])
