"""A search on disk: vectors (.npy), certificate (.json) and the search's state (.state.npz)."""

from __future__ import annotations

import io
import os
import signal
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from contexts.packing.search.search_state import Found, State
from experiments.errors import UserError
from experiments.runs.atomic_files import write_bytes, write_json

MEND = "remove it and run without --resume"
#: what numpy and zipfile raise for a file that is not what its name says
DAMAGED = (ValueError, TypeError, KeyError, EOFError, OSError, MemoryError, NotImplementedError, RuntimeError,
           zipfile.BadZipFile, zlib.error)  # fmt: skip


def reason(error: BaseException) -> str:
    """Why a file could not be read, in a few words, without numpy's advice to load it unsafely."""
    text = (str(error).splitlines() or [""])[0]
    if "pickle" in text:
        return "it is cut, damaged or holds Python objects, which are never loaded"
    return text.strip("\"'") or type(error).__name__


def check_writable(folder: Path, what: str) -> None:
    """Raises :class:`UserError`, before any work, where no file can be made in ``folder`` (or it cannot be made)."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        raise UserError(f"{what}: {there} is a file, not a folder; choose another place")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{what}: the folder {there} cannot be written to; choose another place")


@contextmanager
def first_interrupt() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C only sets a flag, so that the work can be saved; a second one stops at once."""
    pressed = False

    def note(*_: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def state_path(out: Path) -> Path:
    return out.with_suffix(".state.npz")


def certificate_path(out: Path) -> Path:
    return out.with_suffix(".json")


def save(out: Path, vectors: np.ndarray, certificate: dict[str, Any]) -> None:
    data = io.BytesIO()
    np.save(data, vectors, allow_pickle=False)
    write_bytes(out, data.getvalue())
    write_json(certificate_path(out), certificate)


def save_state(path: Path, state: State) -> None:
    data = io.BytesIO()
    np.savez(
        data,
        numbers=np.array([state.d, state.n, state.seed, state.round, state.hits]),
        field=np.array(state.field),
        coherences=np.array([item.coherence for item in state.pool]),
        vectors=np.array([item.vectors for item in state.pool]),
        how=np.array([item.how for item in state.pool], dtype=str),
        polished=np.array([item.polished for item in state.pool], dtype=bool),
    )
    write_bytes(path, data.getvalue())


def load_state(path: Path) -> State:
    """Raises :class:`UserError` for a file that is missing, or damaged: what it holds is checked and measured."""
    if not path.is_file():
        raise UserError(f"{path}: no saved search to resume; run once without --resume")
    if not zipfile.is_zipfile(path):
        raise UserError(f"{path}: not a saved search (no .npz archive); {MEND}")
    try:
        with np.load(path, allow_pickle=False) as file:
            d, n, seed, rounds, hits = (int(v) for v in file["numbers"])
            columns = (file["coherences"].tolist(), file["vectors"], file["how"].tolist(), file["polished"].tolist())
            pool = sorted((Found(*row) for row in zip(*columns, strict=True)), key=lambda item: item.coherence)
            state = State(d, n, str(file["field"]), seed, rounds, hits, pool)
        state.check()
    except DAMAGED as error:
        raise UserError(f"{path}: not a saved search ({reason(error)}); {MEND}") from error
    return state
