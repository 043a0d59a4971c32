"""Tensors and plain data in one safetensors file with checksums: what every resumable work keeps. No pickle, no code.

The header holds one JSON entry (``qattn``: the plain data and a CRC-32 per tensor) and the SHA-256 of the whole file,
taken with its own 64 digits as zeros. The first names the tensor that is damaged, the second misses no byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from experiments.errors import UserError
from experiments.runs import atomic_files

ENTRY, CHECKSUM = "qattn", "sha256"
ZEROS = b"0" * 64
FIX = "delete this run's folder and repeat the command to train it again"
OLD = "was written by qattn 0.1.0, which kept no checksums"


def save(path: Path, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
    """Write tensors and JSON data atomically."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    entry = {"data": data, "crc32": {name: _crc(tensor) for name, tensor in whole.items()}}
    header = {ENTRY: json.dumps(entry, allow_nan=False), CHECKSUM: ZEROS.decode()}
    raw = safetensors.torch.save(whole, header)
    place = _place_of_checksum(raw)
    assert place is not None
    digest = hashlib.sha256(raw).hexdigest().encode()
    atomic_files.write_bytes(path, raw[:place] + digest + raw[place + len(digest) :])


def save_next(path: Path, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
    """:func:`save`, with the file that was there kept as the previous one, for :func:`load_newest`."""
    if path.exists():
        os.replace(path, previous(path))
    save(path, tensors, data)


def previous(path: Path) -> Path:
    """Where the state before the newest one lies."""
    return path.with_name(f"{path.stem}.previous{path.suffix}")


def remove(path: Path) -> None:
    """Delete the state and the one before it."""
    path.unlink(missing_ok=True)
    previous(path).unlink(missing_ok=True)


def load(path: Path, fix: str = FIX, *, checked: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and data of a file that :func:`save` wrote.

    Files of qattn 0.1.0 have no checksums; they are read unless the file has to be ``checked``. Raises
    :class:`UserError` naming the file and the ``fix`` when it is missing, damaged, or not of this program.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; has this run finished?") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); {fix}") from None
    try:
        tensors, header = safetensors.torch.load(raw), _metadata(raw)
        entry = json.loads(header[ENTRY])
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise UserError(f"{path}: not a state that this program wrote ({_short(error)}); {fix}") from None
    if CHECKSUM not in header and isinstance(entry, dict) and "crc32" not in entry:
        if checked:
            raise UserError(f"{path}: {OLD}; {fix}")
        return tensors, entry
    place = _place_of_checksum(raw)
    if place is None or raw[place : place + 64] != hashlib.sha256(_zeroed(raw, place)).hexdigest().encode():
        raise UserError(f"{path}: damaged{_which(entry, tensors)}; {fix}")
    return tensors, entry["data"]


def load_newest(path: Path, fix: str = FIX) -> tuple[dict[str, Tensor], dict[str, Any], str | None]:
    """The newest state that is whole: that of ``path`` or, where it is missing or damaged, the one before it.

    The third value says what was wrong with the newest, in one sentence. Raises :class:`UserError` when neither is.
    """
    try:
        return *load(path, fix, checked=True), None
    except UserError as error:
        if not previous(path).exists():
            raise
        try:
            tensors, data = load(previous(path), fix, checked=True)
        except UserError:
            raise error from None
        problem = str(error).removesuffix(f"; {fix}") if path.exists() else f"{path}: is missing"
        return tensors, data, f"{problem}; the state before it is used"


def exists(path: Path) -> bool:
    """Is there a state to go on from, the newest or the one before it?"""
    return path.exists() or previous(path).exists()


def _place_of_checksum(raw: bytes) -> int | None:
    """Where the 64 digits of the whole file's checksum begin."""
    key = f'"{CHECKSUM}":"'.encode()
    found = raw.find(key, 8, 8 + int.from_bytes(raw[:8], "little"))
    return None if found < 0 else found + len(key)


def _zeroed(raw: bytes, place: int) -> bytes:
    return raw[:place] + ZEROS + raw[place + len(ZEROS) :]


def _metadata(raw: bytes) -> dict[str, str]:
    """The strings of a safetensors header, which `safetensors.torch.load` does not give."""
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    metadata: dict[str, str] = header["__metadata__"]
    return metadata


def _which(entry: Any, tensors: Mapping[str, Tensor]) -> str:
    """The tensors that are damaged, for a sentence; nothing where the damage is elsewhere."""
    known = entry.get("crc32") if isinstance(entry, dict) else None
    if not isinstance(known, dict):
        return ""
    wrong = [name for name, tensor in tensors.items() if known.get(name) != _crc(tensor)]
    return f" (tensor {wrong[0]}{' and more' if len(wrong) > 1 else ''})" if wrong else ""


def _crc(tensor: Tensor) -> int:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return zlib.crc32(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else 0


def _short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
