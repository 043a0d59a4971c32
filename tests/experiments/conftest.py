"""One trained tiny experiment for every test that only looks at one, and workers without their processes."""

from __future__ import annotations

from pathlib import Path

import cloudpickle
import pytest

from experiments.runs import dask_backend
from tests.experiments.tiny import experiment


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``verse.txt``, ``tiny.yaml`` and the finished experiment in ``out``."""
    from experiments.lm.engine import run_experiment

    folder = tmp_path_factory.mktemp("trained")
    assert run_experiment(experiment(folder), out=folder / "out") == 0
    return folder


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Workers that take the pieces from the last to the first, each as the bytes that another process would get; how
    many pieces each call brought. (With real processes: test_engine.)"""
    brought: list[int] = []

    def run_all(pieces, heard, ended, *, workers, scheduler):
        assert workers > 1
        brought.append(len(pieces))
        for number, piece in reversed(list(enumerate(pieces))):
            ended(number, cloudpickle.loads(cloudpickle.dumps(piece.call))())

    monkeypatch.setattr(dask_backend, "run_all", run_all)
    return brought
