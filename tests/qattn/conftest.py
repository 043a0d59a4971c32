"""``ask("simulate", spec)`` runs a verb of ``qattn circuit`` in this process and keeps its code and its words."""

from __future__ import annotations

import json
import sys

import pytest

from experiments.cli import main


class Answer:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict:
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["qattn", "circuit", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        return Answer(code, told.out, told.err)

    return run
