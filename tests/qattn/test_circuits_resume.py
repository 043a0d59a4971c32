"""Training folders: what is kept, what a resumed run refuses, Ctrl-C, and several seeds."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import t

from qattn.circuits.train import Fit

TRAIN = "train: {task: state, target: ghz, optimizer: adam, lr: 0.1, steps: 10}\n"
SPEC = "qubits: 2\ngates: [[RY, 0, a], [RY, 1, b], [CNOT, 0, 1]]\nseed: 0\n" + TRAIN
OTHER = "qubits: 2\ngates: [[RX, 0, a], [RX, 1, b], [CNOT, 1, 0]]\nseed: 0\n" + TRAIN


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def trained(ask, spec: Path, tmp_path: Path) -> Path:
    """A finished training of ten steps."""
    assert ask("train", spec, "--out", tmp_path / "o", "--json").code == 0
    return tmp_path / "o"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(answer, *words: str) -> None:
    assert answer.code == 2, answer
    assert answer.err.count("\n") == 1
    for word in words:
        assert word in answer.err


@pytest.mark.parametrize(
    "change", [("RY", "RX"), ("[RY, 1, b], ", "[RY, 1, b], [PauliX, 0], "), ("seed: 0", "seed: 1")]
)
def test_resuming_with_another_circuit_is_refused(ask, spec: Path, trained: Path, change: tuple[str, str]) -> None:
    spec.write_text(SPEC.replace(*change))
    before = contents(trained)
    refused(ask("train", spec, "--out", trained, "--resume"), "another circuit", "new --out")
    assert contents(trained) == before


@pytest.mark.parametrize("lost", ["train_state.pt", "metrics.jsonl", "train.json"])
def test_a_lost_file_is_named_and_nothing_is_overwritten(ask, spec: Path, trained: Path, lost: str) -> None:
    (trained / lost).unlink()
    before = contents(trained)
    refused(ask("train", spec, "--set", "train.steps=20", "--out", trained, "--resume"), lost, "train anew in another")
    assert contents(trained) == before


def test_a_run_killed_before_its_first_save_can_be_resumed(ask, spec: Path, tmp_path: Path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Fit, "step", lambda self: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(MemoryError):
            ask("train", spec, "--out", tmp_path / "o")
    assert ask("train", spec, "--out", tmp_path / "o", "--resume", "--json").json["steps"] == 10


class Evil:
    def __reduce__(self) -> tuple:
        return os.mkdir, ("executed",)


def saved(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        torch.save(change(torch.load(path, weights_only=True)), path)

    return spoil


def sgd_for_adam(state: dict) -> dict:
    state["optimizer"]["state"] = {0: {"momentum_buffer": torch.zeros(2)}}
    return state


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "empty": ("train_state.pt", lambda p: p.write_bytes(b"")),
    "junk": ("train_state.pt", lambda p: p.write_bytes(b"no state at all")),
    "truncated": ("train_state.pt", lambda p: p.write_bytes(p.read_bytes()[:-200])),
    "pickle": ("train_state.pt", lambda p: p.write_bytes(pickle.dumps(Evil()))),
    "list": ("train_state.pt", saved(lambda s: [1, 2])),
    "other keys": ("train_state.pt", saved(lambda s: {"a": 1})),
    "steps in words": ("train_state.pt", saved(lambda s: {**s, "steps": "x"})),
    "NaN": ("train_state.pt", saved(lambda s: {**s, "parameters": s["parameters"] * float("nan")})),
    "too many parameters": ("train_state.pt", saved(lambda s: {**s, "parameters": torch.zeros(3)})),
    "optimizer of no kind": ("train_state.pt", saved(lambda s: {**s, "optimizer": {"a": 1}})),
    "optimizer of another kind": ("train_state.pt", saved(sgd_for_adam)),
    "half a JSON": ("train.json", lambda p: p.write_text("{")),
    "bytes in JSON": ("train.json", lambda p: p.write_bytes(b"\xff\xfe")),
    "bytes in metrics": ("metrics.jsonl", lambda p: p.write_bytes(b"\xff\xfe")),
    "one row": ("metrics.jsonl", lambda p: p.write_text(p.read_text().splitlines()[0] + "\n")),
    "rows of something else": ("metrics.jsonl", lambda p: p.write_text("[]\n" * 10)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_one_sentence(ask, spec: Path, trained: Path, monkeypatch, damage: str) -> None:
    monkeypatch.chdir(trained.parent)
    name, spoil = DAMAGES[damage]
    spoil(trained / name)
    before = contents(trained)
    refused(ask("train", spec, "--out", trained, "--resume"), f"{trained / name}: damaged", "train anew in another")
    assert contents(trained) == before
    assert not Path("executed").exists()


def test_ctrl_c_loses_no_step(ask, spec: Path, tmp_path: Path, monkeypatch) -> None:
    step = Fit.step

    def interrupted(self: Fit) -> float:
        if self.steps == 36:
            signal.raise_signal(signal.SIGINT)
        return step(self)

    many = ("--set", "train.steps=100")
    whole = ask("train", spec, *many, "--json").json
    with monkeypatch.context() as patch:
        patch.setattr(Fit, "step", interrupted)
        assert ask("train", spec, *many, "--out", tmp_path / "o").code == 130
    assert torch.load(tmp_path / "o" / "train_state.pt", weights_only=True)["steps"] == 37
    again = ask("train", spec, *many, "--out", tmp_path / "o", "--resume", "--json").json
    assert (again["steps"], again["loss"]) == (100, whole["loss"])


def test_resuming_needs_a_folder_and_more_steps_and_goes_on_counting_seconds(ask, spec: Path, trained: Path) -> None:
    refused(ask("train", "missing.yaml", "--resume"), "--out")
    refused(ask("train", spec, "--set", "train.steps=5", "--out", trained, "--resume"), "10 steps", "train.steps 5")
    rows = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    late = [{**row, "seconds": row["seconds"] + 1000} for row in rows]
    (trained / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in late))
    ask("train", spec, "--set", "train.steps=12", "--out", trained, "--resume")
    seconds = [json.loads(line)["seconds"] for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert len(seconds) == 12
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("way", [("--seeds", "3"), ("--set", "train.seeds=3")])
def test_several_seeds_are_several_trainings_and_an_interval(ask, spec: Path, tmp_path: Path, way: tuple) -> None:
    out = tmp_path / "many"
    told = ask("train", spec, *way, "--out", out, "--json").json
    losses = [ask("train", spec, "--set", f"train.seed={k}", "--json").json["loss"] for k in range(3)]
    assert told["seeds"] == [0, 1, 2]
    assert told["loss"]["values"] == losses
    half = t.ppf(0.975, 2) * np.std(losses, ddof=1) / 3**0.5
    assert told["loss"]["mean"] == pytest.approx(np.mean(losses))
    assert told["loss"]["high"] - told["loss"]["mean"] == pytest.approx(half)
    kept = json.loads((out / "result.json").read_text())
    assert kept["loss"] == told["loss"]
    assert sorted(p.name for p in out.glob("seed-*/circuit.json")) == ["circuit.json"] * 3
    refused(ask("train", spec, *way, "--out", out), "--resume")
    shutil.rmtree(out / "seed-2")
    assert ask("train", spec, *way, "--out", out, "--resume", "--json").json["loss"] == told["loss"]
    refused(ask("train", spec, "--out", out, "--resume"), "result.json")
