"""Training folders: what is kept, what a resumed run refuses, Ctrl-C, and several seeds."""

from __future__ import annotations

import json
import pickle
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from scipy.stats import t

from experiments.runs import state_file
from experiments.runs.state_tree import load_tree, save_tree
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


@pytest.mark.parametrize("lost", ["train_state.safetensors", "train.json"])
def test_a_lost_file_is_named_and_nothing_is_overwritten(ask, spec: Path, trained: Path, lost: str) -> None:
    (trained / lost).unlink()
    state_file.previous(trained / lost).unlink(missing_ok=True)
    before = contents(trained)
    refused(ask("train", spec, "--set", "train.steps=20", "--out", trained, "--resume"), lost, "train anew in another")
    assert contents(trained) == before


def test_a_run_killed_before_its_first_save_can_be_resumed(ask, spec: Path, tmp_path: Path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Fit, "step", lambda self: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(MemoryError):
            ask("train", spec, "--out", tmp_path / "o")
    assert ask("train", spec, "--out", tmp_path / "o", "--resume", "--json").json["steps"] == 10


def saved(change: Callable[[dict], object]) -> Callable[[Path], None]:
    """The state with its training changed, checksums and all: a state of something else."""

    def spoil(path: Path) -> None:
        tree, _ = load_tree(path, "")
        save_tree(path, {**tree, "fit": change(tree["fit"])})

    return spoil


def sgd_for_adam(state: dict) -> dict:
    state["optimizer"]["state"] = {0: {"momentum_buffer": torch.zeros(2)}}
    return state


def alone(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """The newest state changed, and none before it."""

    def spoil(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))
        state_file.previous(path).unlink(missing_ok=True)

    return spoil


STATE = "train_state.safetensors"
DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "empty": (STATE, alone(lambda raw: b"")),
    "junk": (STATE, alone(lambda raw: b"no state at all")),
    "truncated": (STATE, alone(lambda raw: raw[:-200])),
    "a bit": (STATE, alone(lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]))),
    "pickle": (STATE, alone(lambda raw: pickle.dumps([1]))),
    "list": (STATE, saved(lambda s: [1, 2])),
    "other keys": (STATE, saved(lambda s: {"a": 1})),
    "steps in words": (STATE, saved(lambda s: {**s, "steps": "x"})),
    "another number of steps": (STATE, saved(lambda s: {**s, "steps": 9})),
    "NaN": (STATE, saved(lambda s: {**s, "parameters": s["parameters"] * float("nan")})),
    "too many parameters": (STATE, saved(lambda s: {**s, "parameters": torch.zeros(3)})),
    "optimizer of no kind": (STATE, saved(lambda s: {**s, "optimizer": {"a": 1}})),
    "optimizer of another kind": (STATE, saved(sgd_for_adam)),
    "half a JSON": ("train.json", lambda p: p.write_text("{")),
    "bytes in JSON": ("train.json", lambda p: p.write_bytes(b"\xff\xfe")),
    "a digit in JSON": ("train.json", lambda p: p.write_text(p.read_text().replace("0.1", "0.2"))),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_one_sentence(ask, spec: Path, trained: Path, damage: str) -> None:
    name, spoil = DAMAGES[damage]
    spoil(trained / name)
    before = contents(trained)
    refused(ask("train", spec, "--out", trained, "--resume"), f"{trained / name}:", "train anew in another")
    assert contents(trained) == before


@pytest.mark.parametrize("text", [None, b"\xff\xfe", b"[]\n" * 10, b'{"step": 1}\n'])
def test_a_lost_or_damaged_log_is_written_anew_from_the_state(ask, spec: Path, trained: Path, text) -> None:
    log = trained / "metrics.jsonl"
    whole = log.read_bytes()
    log.unlink() if text is None else log.write_bytes(text)
    assert ask("train", spec, "--out", trained, "--resume").code == 0
    assert log.read_bytes() == whole


def test_a_damaged_state_gives_way_to_the_one_before(ask, spec: Path, tmp_path: Path, trained: Path) -> None:
    result = json.loads((trained / "result.json").read_text())
    path = trained / STATE
    path.write_bytes(path.read_bytes()[:-9])
    answer = ask("train", spec, "--out", trained, "--resume", "--json")
    assert answer.code == 0
    assert "the state before it is used" in answer.err
    assert answer.json["loss"] == result["loss"]


def test_a_training_of_the_old_version_is_refused_by_name(ask, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    torch.save({}, tmp_path / "o" / "train_state.pt")
    refused(ask("train", spec, "--out", tmp_path / "o", "--resume"), "qattn 0.1.0", "new --out")


def test_two_trainings_in_one_folder_do_not_fight(ask, spec: Path, trained: Path) -> None:
    with FileLock(trained / ".lock"):
        refused(ask("train", spec, "--out", trained, "--resume"), "another qattn is running a training there")


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "lbfgs", "qng"])
def test_a_killed_training_ends_bit_for_bit(ask, spec: Path, tmp_path: Path, monkeypatch, optimizer: str) -> None:
    step = Fit.step

    def killed(self: Fit) -> float:
        if self.steps == 7:
            raise MemoryError
        return step(self)

    spec.write_text(SPEC.replace("adam", optimizer))
    assert ask("train", spec, "--out", tmp_path / "whole").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(Fit, "step", killed)
        with pytest.raises(MemoryError):
            ask("train", spec, "--out", tmp_path / "o")
    assert ask("train", spec, "--out", tmp_path / "o", "--resume").code == 0
    trained = [(tmp_path / out / "circuit.json").read_bytes() for out in ("o", "whole")]
    assert trained[0] == trained[1]
    losses = [
        [
            (row["step"], row["loss"])
            for row in map(json.loads, (tmp_path / out / "metrics.jsonl").read_text().splitlines())
        ]
        for out in ("o", "whole")
    ]
    assert losses[0] == losses[1]


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
    assert load_tree(tmp_path / "o" / STATE, "")[0]["fit"]["steps"] == 37
    again = ask("train", spec, *many, "--out", tmp_path / "o", "--resume", "--json").json
    assert (again["steps"], again["loss"]) == (100, whole["loss"])


def test_resuming_needs_a_folder_and_more_steps_and_goes_on_counting_seconds(ask, spec: Path, trained: Path) -> None:
    refused(ask("train", "missing.yaml", "--resume"), "--out")
    refused(ask("train", spec, "--set", "train.steps=5", "--out", trained, "--resume"), "10 steps", "train.steps 5")
    tree, _ = load_tree(trained / STATE, "")
    save_tree(trained / STATE, {**tree, "rows": [{**row, "seconds": row["seconds"] + 1000} for row in tree["rows"]]})
    ask("train", spec, "--set", "train.steps=12", "--out", trained, "--resume")
    seconds = [json.loads(line)["seconds"] for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert len(seconds) == 12
    assert seconds == sorted(seconds)
    assert seconds[0] > 1000


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
    shutil.rmtree(out / "seed-2")
    assert ask("train", spec, *way, "--out", out, "--json").json["loss"] == told["loss"]
    refused(ask("train", spec, "--out", out), "result.json")
    refused(ask("train", spec, *way, "--out", out, "--json", "--set", "train.lr=0.2"), "other settings", "--fresh")
    assert ask("train", spec, "--out", out, "--fresh", "--json").json["loss"] == losses[0]
    assert not list(out.glob("seed-*"))
    refused(ask("train", spec, *way, "--out", out), "one seed", "--fresh")
