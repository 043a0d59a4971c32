"""Writing files so that a reader never sees half of one: a temporary file beside it, fsync, then ``os.replace``.

A kill at any moment leaves the old file or the new one, never a mixture. Does not lock: the last writer wins.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PARTIAL = ".partial"
"""What stands before the suffix of a temporary file's name."""


def write_bytes(path: Path | str, data: bytes) -> Path:
    """Write ``data`` to ``path`` atomically, making its folder where it is missing.

    Raises ``OSError`` as the system does (full disk, no permission); the temporary file is gone then.
    """

    def write(temporary: Path) -> None:
        temporary.write_bytes(data)

    return write_with(path, write)


def write_text(path: Path | str, text: str) -> Path:
    """Write ``text`` atomically as UTF-8, line endings as given."""
    return write_bytes(path, text.encode("utf-8"))


def write_json(path: Path | str, value: Any, *, indent: int | None = 2) -> Path:
    """Write ``value`` atomically as JSON.

    Raises ``ValueError`` for NaN and Infinity, which are not JSON: a missing number is null with a reason.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    if not _is_unicode(text):  # half characters, as models over bytes write them, exist in JSON only as escapes
        text = json.dumps(value, indent=indent, ensure_ascii=True, allow_nan=False)
    return write_text(path, text + "\n")


def write_with(path: Path | str, write: Callable[[Path], object]) -> Path:
    """Write atomically through a library that wants a path: ``write(temporary)`` fills a file that is then renamed.

    The temporary file lies in the same folder (a rename across file systems is no rename) and keeps the suffix of
    ``path``, since some libraries choose a format by it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=f"{PARTIAL}{path.suffix}")
    os.close(handle)
    temporary = Path(name)
    try:
        os.chmod(temporary, 0o666 & ~_umask())
        write(temporary)
        _sync(temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)
    return path


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed writes left anywhere below ``folder``; only its owner may call this."""
    for path in folder.rglob(f".*{PARTIAL}*"):
        path.unlink(missing_ok=True)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _sync(path: Path) -> None:
    """Push a file or a folder's entry to the disk (the rename itself survives a power cut only so)."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    """The process's umask, which can only be read by setting it; mkstemp ignores it and always makes 0600."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
