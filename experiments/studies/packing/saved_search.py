"""A search on disk: vectors (.npy), certificate (.json) and the search's state (.state.safetensors)."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from contexts.packing.search.search_state import Found, State
from experiments.errors import UserError
from experiments.runs import state_file
from experiments.runs.atomic_files import write_bytes, write_json
from experiments.runs.state_tree import load_tree, save_tree

FIX = "remove it and run without --resume"


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


def state_path(out: Path) -> Path:
    """Where the state of the search for the vectors ``out`` lies."""
    return out.with_suffix(".state.safetensors")


def certificate_path(out: Path) -> Path:
    """Where the certificate of ``out`` is kept."""
    return out.with_suffix(".json")


def save(out: Path, vectors: np.ndarray, certificate: dict[str, Any]) -> None:
    """Write vectors (n, d) in NumPy's format, and their certificate beside them."""
    data = io.BytesIO()
    np.save(data, vectors, allow_pickle=False)
    write_bytes(out, data.getvalue())
    write_json(certificate_path(out), certificate)


def save_state(path: Path, state: State) -> None:
    """Keep all that the search needs to go on, and the state before it beside it."""
    pool = [
        {
            "coherence": float(one.coherence),
            "vectors": _as_real(one.vectors),
            "how": one.how,
            "polished": bool(one.polished),
        }
        for one in state.pool
    ]
    numbers = {"d": state.d, "n": state.n, "field": state.field, "seed": state.seed}
    save_tree(path, {**numbers, "round": state.round, "hits": state.hits, "pool": pool})


def load_state(path: Path) -> State:
    """The search that :func:`save_state` kept.

    Raises :class:`UserError` for a file that is missing, damaged or no search's: what it holds is checked and measured.
    """
    if not state_file.exists(path):
        if (old := path.with_suffix(".npz")).exists():
            raise UserError(f"{old}: a search of qattn 0.1.0, which this version does not resume; run without --resume")
        raise UserError(f"{path}: no saved search to resume; run once without --resume")
    tree, warning = load_tree(path, FIX)
    if warning is not None:
        print(f"qattn: {warning}", file=sys.stderr)
    try:
        pool = [Found(**{**item, "vectors": _as_complex(item["vectors"], tree["field"])}) for item in tree.pop("pool")]
        state = State(**tree, pool=sorted(pool, key=lambda item: item.coherence))
        state.check()
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        raise UserError(f"{path}: not a saved search ({reason(error)}); {FIX}") from error
    return state


def _as_real(vectors: np.ndarray) -> Tensor:
    """Complex vectors as pairs of real numbers, (n, d, 2): safetensors has no complex numbers in double precision."""
    tensor = torch.from_numpy(np.ascontiguousarray(vectors))
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _as_complex(tensor: Tensor, field: str) -> np.ndarray:
    whole = torch.view_as_complex(tensor) if field == "complex" else tensor
    array: np.ndarray = whole.numpy()
    return array
