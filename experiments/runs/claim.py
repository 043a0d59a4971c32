"""A folder of results belongs to one command at a time, and to one configuration for good."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from experiments.errors import UserError
from experiments.runs.atomic_files import sweep

LOCK = ".lock"


@contextlib.contextmanager
def claimed(out: Path, marker: str, kind: str) -> Iterator[Path]:
    """Hold the folder ``out`` alone while the work in it goes on, making it where it is missing.

    ``marker`` is the file by which a folder of this ``kind`` ("an experiment") is known. The lock dies with the
    process that holds it. Raises :class:`UserError` when ``out`` is a file, when it already contains other files than
    such results, and when another process is at work in it.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; --out wants a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / marker).exists() and not (out / LOCK).exists():
        raise UserError(f"{out} already contains files that are not from {kind}; choose another --out")
    with locked(out / LOCK, f"{out}: another qattn is running {kind} there"):
        sweep(out)
        yield out


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock file ``path``, whose folder is made where it is missing.

    Raises :class:`UserError`, beginning with ``busy``, while another process holds it, and where it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()  # where no file can be made, waiting for the lock would not help
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise UserError(f"--out: nothing can be written to {path.parent} ({error.strerror}); choose another") from error
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UserError(f"{busy}; wait for it or choose another --out") from None
    try:
        yield
    finally:
        lock.release()
