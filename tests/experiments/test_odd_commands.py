"""Some of the odd commands of :mod:`tests.fuzz_cli`: an answer or one sentence."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz_cli import case, told, wrong


def test_odd_files_and_words_are_answered_or_refused_in_one_sentence(tmp_path: Path) -> None:
    """Fifteen commands, every fifth on a terminal of ASCII alone."""
    codes = set()
    for index in range(15):
        one = case(random.Random(f"suite {index}"))
        code, err = told(tmp_path, one, index % 5 == 0)
        assert not wrong(code, err), (one, wrong(code, err))
        codes.add(code)
    assert 2 in codes


def test_a_crash_or_silence_would_be_noticed() -> None:
    assert wrong("Traceback (most recent call last): …", "")
    assert wrong(2, "something else\n")
    assert wrong(0, "Traceback (most recent call last): …")
    assert not wrong(2, "qattn: odd.yaml: a sentence\n")
