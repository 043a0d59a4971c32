"""What the command-line tests share."""

from __future__ import annotations

import sys

import pytest

from experiments.cli import main


@pytest.fixture
def qattn(monkeypatch, capsys):
    """Run the command line; returns (exit code, stdout, stderr)."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["qattn", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        return int(stop.value.code or 0), out.out, out.err

    return run
