"""The quick form of an experiment: a section of overrides in the file itself."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from experiments.errors import UserError
from experiments.located.yaml_source import read_file
from experiments.schema import load_experiment, shipped_configs
from tests.experiments.test_engine import ENVIRONMENT, VERB
from tests.experiments.tiny import experiment

QUICK = "quick:\n  seeds: 1\n  training.steps: 7\n  models.unitary: {kind: unitary, dim: 8, heads: 2}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    experiment(tmp_path)
    path = tmp_path / "tiny.yaml"
    path.write_text(path.read_text().replace("evaluate_every: 10, ", "") + QUICK)
    return path


def test_quick_overrides_the_file_and_set_overrides_quick(file: Path) -> None:
    plain, quick = load_experiment(file), load_experiment(file, quick=True)
    assert (plain.seeds, plain.training.steps, plain.models["unitary"].dim) == ((0, 1), 20, 12)  # type: ignore[attr-defined]
    assert (quick.seeds, quick.training.steps, quick.models["unitary"].dim) == ((0,), 7, 8)  # type: ignore[attr-defined]
    assert quick.training.batch == plain.training.batch
    assert quick.origins["training", "steps"] == f"tiny.yaml:{file.read_text().count(chr(10)) - 1}"
    assert load_experiment(file, ["training.steps=9"], quick=True).training.steps == 9


def test_what_is_wrong_in_it_is_said_where_it_stands(file: Path) -> None:
    line = file.read_text().count("\n") + 1
    file.write_text(file.read_text() + "  traning.batch: 3\n")
    for quick in (True, False):  # a mistake in the quick form is a mistake in the file
        with pytest.raises(UserError, match=rf"tiny\.yaml:{line}:3: traning: expected a known key, got 'traning'"):
            load_experiment(file, quick=quick)
    file.write_text(file.read_text().replace("traning.batch: 3", "training.batch: three"))
    with pytest.raises(UserError, match=rf"tiny\.yaml:{line}:.*training\.batch: expected an integer, got 'three'"):
        load_experiment(file, quick=True)


def test_a_file_without_one_is_one_sentence(tmp_path: Path) -> None:
    experiment(tmp_path)
    done = subprocess.run(
        [*VERB, "run", "tiny.yaml", "--quick"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    wanted = (
        "quick: expected a mapping such as {training.steps: 100} for --quick, got nothing; add it or leave out --quick"
    )
    assert wanted in done.stderr
    assert "Traceback" not in done.stderr


def test_the_quick_form_goes_to_a_folder_of_its_own(file: Path) -> None:
    verb = [*VERB, "run", file.name, "--quick", "--json"]
    done = subprocess.run(verb, cwd=file.parent, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tasks"]["verse"]["models"]["unitary"]["steps"] == 7
    assert (file.parent / "runs" / "tiny-quick" / "report.html").exists()
    assert not (file.parent / "runs" / "tiny").exists()


def test_every_shipped_quick_form_loads_and_is_smaller() -> None:
    quick = [path for path in shipped_configs().values() if "quick" in read_file(path).data]
    assert "price_of_unitarity" in {path.stem for path in quick}
    for path in quick:
        small, whole = load_experiment(path, quick=True), load_experiment(path)
        cost = [
            len(e.seeds) * sum(e.training.of(task).steps for task in e.tasks) * len(e.models) for e in (small, whole)
        ]
        assert cost[0] < cost[1], path
