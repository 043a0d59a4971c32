"""Text and JSON files as people give them: read strictly in one place, with one sentence about what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIGIT_LIMIT = 300
"""Digits of a whole number: more do not fit a float64."""


def check_file(path: str | Path) -> None:
    """Raise ValueError for a folder, or where there is no such file."""
    if Path(path).is_dir():
        raise ValueError("this is a folder; give a file" if str(path) else "the name is empty; give a file")
    if not Path(path).exists():
        raise ValueError("there is no such file")


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, a byte order mark dropped. Raises ValueError for a folder, no file, no text, nothing
    in it; OSError where the system says no."""
    check_file(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the file is not text in UTF-8") from None
    if not text.strip():
        raise ValueError("the file is empty")
    return text


def parse_json(text: str) -> Any:
    """JSON in which every key stands once and every number is finite. Raises ValueError with the place or the key."""
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_finite
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("brackets are nested too deeply to be read") from None


def read_json(path: str | Path) -> Any:
    """:func:`parse_json` of :func:`read_text`."""
    return parse_json(read_text(path))


def is_number(value: object) -> bool:
    """A finite int or float that fits a float64, and no bool."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 10**DIGIT_LIMIT if isinstance(value, int) else math.isfinite(value)


def is_name(value: object) -> bool:
    """What may name an atom, a measurement or an outcome: a text that is not empty, or a whole number."""
    return value != "" and isinstance(value, str | int) and not isinstance(value, bool)


def shown(value: object, most: int = 60) -> str:
    """A value as a message quotes it: cut when long."""
    if isinstance(value, int) and abs(value) >= 10**most:
        return "a whole number of very many digits"
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def check_keys(data: Mapping[Any, Any], known: tuple[str, ...], where: str = "") -> None:
    """Raise ValueError for a key that is not among ``known``, with the nearest one."""
    from difflib import get_close_matches

    for key in data:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
            raise ValueError(f"{where}unknown key {shown(key)}; {hint}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {shown(twice)} stands twice in one object; keep one")
    return result


def _integer(digits: str) -> int:
    if len(digits) > DIGIT_LIMIT:
        raise ValueError(f"a whole number has {len(digits)} digits; at most {DIGIT_LIMIT} can be computed with")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:40]} is not finite in float64")
    return number
