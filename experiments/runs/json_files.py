"""The JSON files of a results folder: damage is one sentence with its place, and a record carries its own checksum.

A record (:func:`write_record`) is a JSON object with the SHA-256 of all its other entries under ``sha256``, so that a
digit that changed on the disk is found when it is read back. Records written before there was a checksum are read as
they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.runs import atomic_files

AGAIN = "delete it and repeat the command"
CHECKSUM = "sha256"


def read_text(path: Path, fix: str = AGAIN) -> str:
    """The file's UTF-8 text. Raises :class:`UserError` naming the file and the ``fix`` when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text (byte {error.start}); {fix}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); {fix}") from error


def read_json(path: Path, fix: str = AGAIN) -> Any:
    """Parsed JSON. Raises :class:`UserError` naming the file, line, column and the ``fix`` when it is damaged."""
    try:
        return json.loads(read_text(path, fix))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}:{error.colno}: is not JSON ({error.msg}); {fix}") from error
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, brackets a thousand deep
        raise UserError(f"{path}: is not JSON of this program ({error}); {fix}") from error


def write_record(path: Path, record: Mapping[str, Any]) -> Path:
    """Write a JSON object atomically, with the checksum of its entries beside them."""
    content = {key: value for key, value in record.items() if key != CHECKSUM}
    return atomic_files.write_json(path, content | {CHECKSUM: _digest(content)})


def read_record(
    path: Path, fix: str = AGAIN, *, what: str = "a record", needs: Set[str] = frozenset()
) -> dict[str, Any]:
    """What :func:`write_record` wrote, without the checksum.

    Raises :class:`UserError` when it is damaged, is not ``what`` it should be (a JSON object with the keys ``needs``),
    or does not agree with its checksum.
    """
    record = read_json(path, fix)
    if not isinstance(record, dict):
        raise UserError(f"{path}: is not {what} (expected a JSON object, got {type(record).__name__}); {fix}")
    stated = record.pop(CHECKSUM, None)
    if stated is not None and stated != _digest(record):
        raise UserError(f"{path}: damaged, its entries do not agree with its checksum; {fix}")
    if missing := sorted(needs - record.keys()):
        raise UserError(f"{path}: is not {what} (it has no {missing[0]}); {fix}")
    return record


def by_first_version(path: Path) -> bool:
    """Is a record one of qattn 0.1.0, which wrote no checksums? Raises :class:`UserError` as :func:`read_json`."""
    record = read_json(path)
    return isinstance(record, dict) and CHECKSUM not in record


def checksum(text: str) -> str:
    """The SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the entries as JSON in one spelling, whatever their order and spacing in the file."""
    return checksum(json.dumps(content, sort_keys=True))
