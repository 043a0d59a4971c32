"""The atlas: every shipped entry in a small form comes to its verdict, is kept, and stands on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.api import make_experiment
from experiments.cli import main
from experiments.lm.builders import build_for, load_task
from experiments.lm.train import fit
from experiments.lm.trained_models import Trained
from experiments.runs.run_folder import RunFolder
from experiments.schema.jobs import jobs
from experiments.studies.atlas import atlas_run
from experiments.studies.atlas.atlas_file import load_entry, shipped_entries
from experiments.studies.atlas.atlas_run import run_entry, write_page
from experiments.studies.atlas.entries import ENTRIES
from experiments.tasks.text import SHIPPED

SMALL: dict[str, tuple[str, tuple[str, ...]]] = {
    "algorithmic_information": ("fails", ("windows=4", "streams=800", "characters=120")),
    "backpropagation": ("holds", ("networks=20",)),
    "costs": ("holds", ("lengths=[64, 128, 256]",)),
    "hallucination": ("holds", ("people=60", "days=5", "sentences=150", "steps=10", "repeats=1")),
    "interference": ("holds", ("windows=4", "phases=9")),
    "internal_observers": ("fails", ("windows=16", "read=8", "many=2", "notes=4")),
    "intertwined_contexts": ("fails", ("pairs=20",)),
    "lag_system": ("holds", ("width=10", "generations=3", "steps=3", "repeats=1")),
    "likelihood": ("holds", ("fresh=20000", "lengths=[300, 1000, 3000]", "repeats=6")),
    "lottery_tickets": ("fails", ("seeds=6", "tickets=3", "rounds=1", "steps=100", "rows=64", "hidden=16")),
    "no_cloning": ("holds", ("states=5", "dimensions=[2, 3]")),
    "nondeterminism": ("open", ("batches=[1]", "splits=[16]", "prompts=1", "windows=32", "triples=1000")),
    "positions": ("holds", ("length=512", "dim=16")),
    "quasi_dimensions": ("fails", ("dimensions=[4, 16, 64]",)),
    "residual_stream": ("fails", ("windows=4",)),
    "robustness": ("fails", ("windows=6", "noise=[0.2]", "bits=[4]", "draws=1")),
    "rotation": ("holds", ("windows=6",)),
    "scaled_scores": ("fails", ("queries=300", "dimensions=[128]")),
    "softmax_as_born": ("holds", ("draws=20",)),
    "softmax_over_queries": ("fails", ("texts=10",)),
    "temperature": (
        "holds",
        ("temperatures=[0, 0.5, 1, 1.5]", "top_k=[]", "top_p=[0.5]", "prompts=8", "characters=32"),
    ),
    "token_autoencoder": ("holds", ("starts=40", "settled=10", "solids=[4]")),
    "universal_approximation": ("holds", ("widths=[1, 8, 128]", "uploads=[1, 2]", "depth=4")),
}
"""By entry the verdict of its small form, and what makes it small."""


@pytest.fixture(scope="module")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    """The shared models in small: the same kinds under the same names, trained for a moment on a short text."""
    out = tmp_path_factory.mktemp("models")
    (out / "text.txt").write_text(SHIPPED["tinyshakespeare"].read_text(encoding="utf-8")[:24000], encoding="utf-8")
    register = {"kind": "unitary", "dim": 16, "layers": 2, "heads": 2, "key_dim": 4, "control": "additive", "ngram": 2,
                "embedding": 8}  # fmt: skip
    experiment = make_experiment(
        task={"kind": "text", "path": str(out / "text.txt"), "tokenizer": "char", "block": 32},
        models={
            "transformer": {"kind": "transformer", "preset": "modern", "dim": 16, "layers": 2, "heads": 2},
            "lstm": {"kind": "lstm", "dim": 16, "embedding": 8},
            "unitary": {**register, "readout": "povm", "rank": 1},
            "unitary softmax": {**register, "readout": "softmax", "floor": False},
        },
        training={"steps": 40, "batch": 8, "evaluate_every": 40, "optimizer": {"lr": 1e-2}},
        seeds=1,
    )
    found = {}
    for job in jobs(experiment):
        task = load_task(job)
        model = build_for(job, task)
        folder = RunFolder(out / job.model_name)
        fit(model, task, job.training, job.model.optimizer, job.seed, folder)
        folder.close()
        found[job.model_name] = Trained(out / job.model_name, job, model.eval(), task.tokenizer)
    return found


@pytest.fixture(autouse=True)
def _share_tiny_models(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def shared_models(out: Path, say: object) -> dict[str, Trained]:
        models: dict[str, Trained] = request.getfixturevalue("tiny_models")
        return models

    monkeypatch.setattr(atlas_run, "shared_models", shared_models)


def small(name: str) -> Any:
    return load_entry(name, [f"atlas.entry.{change}" for change in SMALL[name][1]])[1]


def test_every_kind_has_a_shipped_entry_and_every_entry_a_small_form_here() -> None:
    assert {load_entry(name)[1].entry.kind for name in shipped_entries()} == set(ENTRIES)
    assert set(SMALL) == set(shipped_entries())


@pytest.mark.parametrize("name", SMALL)
def test_the_small_form_comes_to_its_verdict(name: str, tmp_path: Path) -> None:
    record = run_entry(name, small(name), tmp_path, quiet=True)
    assert record["verdict"] == SMALL[name][0], record["sentence"]
    assert all(
        number["low"] is None or number["low"] <= number["value"] <= number["high"] for number in record["numbers"]
    )
    again = run_entry(name, small(name), tmp_path, quiet=True)
    assert again == record  # nothing was measured again: even the seconds are the same
    page = write_page(tmp_path).read_text(encoding="utf-8")
    assert record["sentence"].split("<")[0][:40] in page
    assert "<svg" in page


def test_other_settings_in_the_same_folder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["qattn", "atlas", "run", "backpropagation", "--out", str(tmp_path), "--json", "--set"]
    monkeypatch.setattr("sys.argv", [*run, "atlas.entry.networks=3"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert json.loads(capsys.readouterr().out)[0]["settings"]["networks"] == 3
    monkeypatch.setattr("sys.argv", [*run, "atlas.entry.networks=4"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "networks was 3, now 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "expected names of entries or --all, got neither"),
        (["run", "costs", "--all"], "got both"),
        (["run", "backpropagatoin"], "did you mean 'backpropagation'"),
        (["run", "costs", "positions", "--set", "atlas.entry.dim=4"], "--set: expected one entry"),
        (["run", "positions", "--set", "atlas.entry.dim=3"], "the dimension must be even"),
        (["run", "positions", "--set", "atlas.entry.dims=4"], "did you mean 'dim'"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.argv", ["qattn", "atlas", *arguments, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said
