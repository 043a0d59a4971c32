"""A search on disk: vectors (.npy), certificate (.json) and the search's state (.state.npz)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from contexts.packing.optimize import State
from experiments.errors import UserError
from experiments.files import write_bytes, write_json


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
        coherences=np.array([value for value, _, _ in state.pool]),
        vectors=np.array([vectors for _, vectors, _ in state.pool]),
        how=np.array([how for _, _, how in state.pool], dtype=str),
    )
    write_bytes(path, data.getvalue())


def load_state(path: Path) -> State:
    """Raises :class:`UserError` for a file that is missing or is no saved search."""
    if not path.is_file():
        raise UserError(f"{path}: no saved search to resume; run once without --resume")
    try:
        with np.load(path, allow_pickle=False) as file:
            d, n, seed, rounds, hits = (int(v) for v in file["numbers"])
            pool = list(zip(file["coherences"].tolist(), file["vectors"], file["how"].tolist(), strict=True))
            return State(d, n, str(file["field"]), seed, rounds, hits, pool)
    except (ValueError, KeyError, OSError) as error:
        raise UserError(f"{path}: not a saved search ({str(error).splitlines()[0]})") from error
