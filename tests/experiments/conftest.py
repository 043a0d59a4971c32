"""One trained tiny experiment for every test that only looks at one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.tiny import experiment


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``verse.txt``, ``tiny.yaml`` and the finished experiment in ``out``."""
    from experiments.lm.engine import run_experiment

    folder = tmp_path_factory.mktemp("trained")
    assert run_experiment(experiment(folder), out=folder / "out") == 0
    return folder
