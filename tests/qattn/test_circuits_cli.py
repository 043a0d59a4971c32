"""The verbs of ``qattn circuit``: exact JSON keys, one sentence for bad input, resuming, and a trained model
compiled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ortho_group

from experiments.schema import CONFIGS

CIRCUITS = CONFIGS / "circuits"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_simulate_has_exactly_the_promised_keys(ask) -> None:
    answer = ask("simulate", CIRCUITS / "ghz.yaml", "--json").json
    assert answer["probabilities"] == pytest.approx([0.5, 0, 0, 0, 0, 0, 0, 0.5])
    assert (answer["qubits"], answer["depth"], answer["gates"]) == (3, 3, 3)
    answer = ask("simulate", CIRCUITS / "strongly_entangling.yaml", "--json").json
    reference = ask("simulate", CIRCUITS / "strongly_entangling.yaml", "--json", "--device", "default.qubit").json
    assert answer["expectations"] == pytest.approx(reference["expectations"], abs=1e-12)
    drawn = ask("simulate", CIRCUITS / "noisy.yaml", "--json").json
    assert len(drawn["samples"]) == 1000
    assert sum(drawn["counts"].values()) == 1000
    again = ask("simulate", CIRCUITS / "noisy.yaml", "--json").json
    assert drawn == again


def test_a_spec_may_be_json(ask, tmp_path: Path) -> None:
    spec = write(tmp_path / "c.json", json.dumps({"qubits": 1, "gates": [["RY", 0, np.pi / 2]]}))
    assert ask("simulate", spec, "--json").json["probabilities"] == pytest.approx([0.5, 0.5])


BAD = {
    "qubits: 2\ngates: [[CNOT, 0, 2]]": "wire 2 is out of range, the 2 qubits are 0 to 1",
    "qubits: 2\ngates: [[CNOT, 0]]": "CNOT needs 2 wires, got [0]",
    "qubits: 2\ngates: [[CNOT, 1, 1]]": "a wire is named twice",
    "qubits: 2\ngates: [[FOO, 0]]": "unknown gate 'FOO'",
    "qubits: 1\ngates: [[RX, 0]]": "expected 1 angles, got 0",
    "qubits: 1\ngates: [[RX, 0, a]]": "no value for 'a'",
    "qubits: 1\ngates: [[RX, 0, a]]\nparameters: {b: 1.0}": "unknown key 'b'",
    "qubits: 1\ngates: [{gate: QubitUnitary, wires: [0], matrix: [[1, 1], [0, 1]]}]": "not unitary, ‖U†U − 1‖ = 1.73",
    "qubits: 1\ngates: []\nencode: {kind: amplitude, values: [1, 1]}": "amplitudes need norm 1, got 1.41421",
    "qubits: 2\ngates: []\nencode: {kind: amplitude, values: [1, 0]}": "amplitudes need shape (4,), got (2,)",
    "qubits: 2\nansatz: {name: StronglyEntanglingLayers, layers: 2, weights: [1, 2]}": "need shape (12,), got (2,)",
    "qubits: 2\nansatz: {name: Nope}": "unknown ansatz 'Nope'",
    "qubits: 44\nansatz: {name: BasicEntanglerLayers}": "GiB",
    "qubits: 1\ngates: []\nansatz: {name: Sim1}": "one of the two",
    "qubits: 1\ngates: []\nmeasure: {expectations: [ZZ]}": "needs 1 letters from IXYZ",
    "qubits: 1\ngates: []\nmeasure: {povm: [[[1, 0], [0, 0]]]}": "add up to the identity",
    "qubits: 1\ngates: []\nmeasure: {state: null, shots: 10}": "exact simulation only",
    "qubits: 1\ngates: []\nnoise: {kind: Cosmic, p: 0.1}": "unknown channel 'Cosmic'",
    "qubits: 1\ngates: []\nnoise: {kind: BitFlip, p: 2.0}": "between 0 and 1",
    "qubits: 2\nansatz: {name: Sim1}\nencode: {kind: angle}": "reads 2 inputs",
    "qubits: 2\nansatz: {name: Sim1, layer: 3}": "layer",
    "qubits: two\ngates: []": "qubits",
    "gates: []": "qubits",
    "": "",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text.replace("\n", " ")[:40])
def test_bad_input_gets_one_sentence_and_code_2(ask, tmp_path: Path, text: str) -> None:
    answer = ask("simulate", write(tmp_path / "bad.yaml", text), "--json")
    assert answer.code == 2
    assert BAD[text] in answer.err
    assert "bad.yaml" in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_unknown_devices_and_shots_where_there_are_none(ask, tmp_path: Path) -> None:
    assert "unknown device 'foo'" in ask("simulate", CIRCUITS / "ghz.yaml", "--device", "foo").err
    assert "default.mixed" in ask("simulate", CIRCUITS / "noisy.yaml", "--device", "fast").err
    state = write(tmp_path / "s.yaml", "qubits: 1\ngates: []\nmeasure: state")
    assert "exact simulation only" in ask("simulate", state, "--shots", 5).err
    assert ask("simulate", tmp_path / "none.yaml").code == 2
    assert ask("analyse", CIRCUITS / "ghz.yaml", "--measures", "charm").code == 2
    assert ask("export", CIRCUITS / "ghz.yaml", "--to", "morse").code == 2
    assert "train" in ask("train", CIRCUITS / "ghz.yaml").err


def test_training_writes_resumes_and_is_reproducible(ask, tmp_path: Path) -> None:
    spec = CIRCUITS / "train_ghz.yaml"
    whole = ask("train", spec, "--set", "train.steps=12", "--out", tmp_path / "a", "--json").json
    ask("train", spec, "--set", "train.steps=6", "--out", tmp_path / "b", "--json")
    again = ask("train", spec, "--set", "train.steps=12", "--out", tmp_path / "b", "--resume", "--json").json
    assert again["loss"] == whole["loss"]
    rows = [json.loads(line) for line in (tmp_path / "b" / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 13))
    trained = ask("simulate", tmp_path / "b" / "circuit.json", "--json").json
    assert sum(trained["probabilities"]) == pytest.approx(1)
    repeated = ask("train", spec, "--set", "train.steps=12", "--out", tmp_path / "b", "--json").json
    assert (repeated["steps"], repeated["loss"]) == (12, whole["loss"])  # a repeated command trains nothing anew
    other = ask("train", spec, "--set", "train.lr=0.2", "--out", tmp_path / "b", "--resume")
    assert "other settings" in other.err


def test_analysis_answers_every_measure_in_plain_numbers(ask) -> None:
    answer = ask("analyse", CIRCUITS / "train_ghz.yaml", "--measures", "all", "--samples", 200, "--json").json
    assert answer["meyer_wallach"]["low"] <= answer["meyer_wallach"]["value"] <= answer["meyer_wallach"]["high"]
    assert answer["frame_potential"]["value"] > 0.5 * answer["frame_potential"]["haar"]
    assert len(answer["fisher"]["spectrum"]) == answer["parameters"]
    assert [row["strength"] for row in answer["noise"]] == [0, 0.001, 0.01, 0.1]
    assert answer["light_cone"]["measured"] == [0]
    assert {"expressibility", "gradients", "slice", "entropy"} <= set(answer)


def test_drawing_and_exporting(ask, tmp_path: Path) -> None:
    assert ask("draw", CIRCUITS / "ghz.yaml").out.startswith("0: ──H─╭●")
    assert ask("draw", CIRCUITS / "ghz.yaml", "--out", tmp_path / "g.svg").code == 0
    assert "<svg" in (tmp_path / "g.svg").read_text()
    assert "cx q[1], q[2];" in ask("export", CIRCUITS / "ghz.yaml", "--to", "qasm2").out
    assert "qml.CNOT(wires=[0, 1])" in ask("export", CIRCUITS / "ghz.yaml", "--to", "pennylane", "--json").json["text"]
    assert ask("list", "--json").json["ansaetze"]["Sim6"]["parameters_4_qubits_1_layer"] == 28


def test_compiling_files(ask, tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", ortho_group.rvs(4, random_state=0))
    answer = ask("compile", tmp_path / "o.npy", "--out", tmp_path / "o.qasm", "--json").json
    assert answer["source"]["by_name"]["SingleExcitation"] == 6
    assert answer["elementary"]["t_count"] > 0
    assert (tmp_path / "o.qasm").read_text().startswith("OPENQASM 3.0;")
    np.save(tmp_path / "p.npy", np.array([1, 0, 3, 2]))
    assert ask("compile", tmp_path / "p.npy", "--how", "permutation", "--json").json["source"]["gates"] == 1
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    assert "‖U†U − 1‖" in ask("compile", tmp_path / "x.npy").err
    assert ask("compile", tmp_path / "none.npy").code == 2
    assert ask("compile", write(tmp_path / "t.npy", "hello")).code == 2


def test_compiling_a_trained_run_and_a_text(ask, tmp_path: Path) -> None:
    write(tmp_path / "verse.txt", "the cat sat on the mat and the dog sat on the log " * 40)
    experiment = write(
        tmp_path / "tiny.yaml",
        "task: {kind: text, path: verse.txt, block: 16}\n"
        "models:\n"
        "  unitary: {kind: unitary, dim: 6, layers: 2, heads: 2, key_dim: 4, control: token, embedding: 8, rank: 1}\n"
        "  classical: {kind: transformer, dim: 8, layers: 1, heads: 2}\n"
        "training: {steps: 10, batch: 4, evaluate_every: 10}\n"
        "seeds: 1\n",
    )
    from experiments.lm.engine import run_experiment
    from experiments.schema import load_experiment

    assert run_experiment(load_experiment(experiment), out=tmp_path / "out", as_json=True) == 0
    ask("list")
    answer = ask("compile", tmp_path / "out", "--prompt", "the ", "--shots", 2000, "--strengths", "0,0.01", "--json")
    assert answer.json["largest_difference"] < 1e-5
    assert answer.json["shots"]["times_root_shots"] < 5
    assert answer.json["noise"][0]["kl"] < 1e-9 < answer.json["noise"][1]["kl"]
    assert answer.json["elementary"]["two_qubit"] > 0
    assert "character" in ask("compile", tmp_path / "out", "--prompt", "Ω").err
