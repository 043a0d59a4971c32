"""Bad input to ``qattn circuit``, one sentence each, and what used to be taken in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.schema import CONFIGS
from qattn.circuits.analyse.expressibility import haar_log_bins
from qattn.circuits.ir.circuit import Circuit, ParameterRef, gate
from qattn.circuits.ir.encode import encoded
from qattn.circuits.ir.spec import from_dict
from qattn.circuits.ir.spec_writer import to_dict
from qattn.circuits.simulate.pennylane_device import known_devices
from qattn.circuits.simulate.statevector import run
from qattn.circuits.torch_module import CircuitModule

BELL = "qubits: 2\ngates: [[Hadamard, 0], [CNOT, 0, 1]]\n"
ROTATIONS = "qubits: 2\ngates: [[RY, 0, a], [RY, 1, b], [CNOT, 0, 1]]\nseed: 0\n"
AMPLITUDE = "qubits: 2\ngates: [[RY, 0, a]]\nseed: 0\nencode: {kind: amplitude}\n"
ANSATZ = "ansatz: {name: Sim1}\n"

SIMULATE = {
    AMPLITUDE + "inputs: [1, 1, 0, 0]": "amplitudes need norm 1, got 1.41421",
    "qubits: 2\ngates: [{gate: RX, wires: 0, angles: [0.1]}]": "gates[0].wires: expected a list, got 0",
    "qubits: 2\ngates: [{gate: RX, wires: [0], angles: 0.3}]": "gates[0].angles: expected a list, got 0.3",
    "qubits: 1\ngates: [{gate: RX, wires: [0], angles: [0.1], word: X}]": "gates[0].word: RX has no `word`",
    "qubits: 1\ngates: [{gate: RX, wires: [0], angles: [0.1], matrix: [[1]]}]": "gates[0].matrix: RX has no `matrix`",
    "qubits: 1\ngates: [[BitFlip, 0, a]]\nparameters: {a: 3}": "gate 0 (BitFlip on wires [0]): a channel's strength",
    BELL + "measure: {probabilities: 1}": "measure.probabilities: expected a list, got 1",
    BELL + "measure: {samples: 5, wires: 1}": "measure.wires: expected a list, got 1",
    BELL + "encode: {kind: basis, values: [[0], [1]]}": "a basis state is a list of bits 0 and 1",
    BELL + "measure: {samples: 1000000000000}": "1000000000000 shots need",
    "qubits: 10000000000\n" + ANSATZ: "qubits: expected a whole number of at most 10000",
    "qubits: 4\nansatz: {name: Sim1, layers: 100000000}": "layers have 800000000 gates or more, the limit is 1000000",
    "qubits: 10000\ngates: [[Hadamard, 0]]": "need 2^",
    "qubits: 14\ngates: [[Hadamard, 0]]\nnoise: {kind: BitFlip, p: 0.1}": "28 qubits",
    "qubits: 1\ngates: [[RX, 0, {}]]": "gates[0][2]: an angle reads an `input` or a `parameter`",
    "qubits: 1\ngates: [[RX, 0, {scale: 2}]]": "gates[0][2]: an angle reads an `input` or a `parameter`",
    "qubits: 1\ngates: [[RX, 0, {input: 0, parameter: a}]]\ninputs: [1]": "one of the two, got both",
    "qubits: 1\ngates: [[RX, 0, p0]]\nnames: [p0, p0]\nseed: 0": "names: 'p0' is there twice",
}
TRAIN = {
    ROTATIONS + "train: {task: state, target: {a: 1}}": "a state target is a name (ghz, w, uniform) or numbers",
    ROTATIONS + "train: {task: unitary, target: 3}": "train.target: expected a matrix of shape (4, 4)",
    "qubits: 40\nansatz: {name: Sim1}\ntrain: {task: state, target: ghz}": "40 qubits",
    "qubits: 17\nansatz: {name: Sim1}\ntrain: {task: unitary, target: qft}": "17 qubits",
    "qubits: 3000\nansatz: {name: Sim1}\ntrain: {task: state, target: ghz}": "need 2^",
    "qubits: 20\nansatz: {name: Sim1}\ntrain: {task: state, target: ghz, optimizer: qng}": "20 qubits",
    ROTATIONS + "train: {task: state, target: ghz, seed: 10000000000000000000000}": "train.seed",
    "qubits: 1\ngates: [[RX, 0, a]]\nseed: 0\ntrain: {task: distribution, target: bars}": "at least 2 qubits",
    ROTATIONS + "encode: {kind: angle}\ntrain: {task: state, target: ghz}": "reads 2 inputs",
    ROTATIONS + "train: {task: state, target: ghz, samples: 50}": "train.samples: a task of kind state has none",
    ROTATIONS + "train: {task: state, target: ghz, data: moons}": "train.data: a task of kind state has none",
    ROTATIONS + "train: {task: classification, data: moons, target: ghz}": "train.target: a task of kind classif",
    AMPLITUDE + "inputs: [1, 0, 0, 0]\ntrain: {task: unitary, target: qft}": "drop the amplitude encoding",
    ROTATIONS
    + "encode: {kind: angle, values: [1, 1]}\ntrain: {task: classification, data: moons}": "takes its inputs from",
    ROTATIONS + "encode: {kind: angle}\ntrain: {task: classification, data: moons, samples: 1}": "at least 4 samples",
    ROTATIONS
    + "encode: {kind: angle}\ntrain: {task: classification, data: parity, samples: 100000000000000}": "samples of 2",
    ROTATIONS + "train: {task: state, target: ghz, optimizer: lbfgs, lr: 1.0e+308}": "take a smaller train.lr",
}
ANALYSE = {
    ("qubits: 24\nansatz: {name: Sim1}", "--samples", "100000"): "24 qubits",
    (ROTATIONS, "--samples", "1000000000000"): "with batch 2e+12",
    ("qubits: 16\nansatz: {name: Sim1}", "--measures", "fisher"): "16 qubits",
    (ROTATIONS, "--seed", "10000000000000000000000"): "--seed",
    (BELL, "--measures", "gradients"): "gradients need a circuit with parameters",
    (BELL, "--measures", "fisher"): "Fisher information needs a circuit with parameters",
    (ROTATIONS, "--wires", "nan"): "--wires: expected whole numbers",
    (ROTATIONS, "--wires", "inf"): "--wires: expected whole numbers",
    (ROTATIONS, "--wires", "0.7"): "--wires: expected whole numbers",
    (ROTATIONS, "--measures", "noise", "--strengths", "nan"): "--strengths: expected finite numbers",
    (
        "qubits: 2\nansatz: {name: Sim1}\nnoise: {kind: BitFlip, p: 0.1}",
        "--measures",
        "gradients",
    ): "noise channel",
}
CASES = [
    *(("simulate", (text,), words) for text, words in SIMULATE.items()),
    *(("train", (text,), words) for text, words in TRAIN.items()),
    *(("analyse", given, words) for given, words in ANALYSE.items()),
]


@pytest.mark.parametrize(("verb", "given", "words"), CASES, ids=lambda part: str(part).replace("\n", " ")[:60])
def test_bad_input_is_one_sentence_and_code_2(ask, tmp_path: Path, verb: str, given: tuple, words: str) -> None:
    (tmp_path / "bad.yaml").write_text(given[0])
    answer = ask(verb, tmp_path / "bad.yaml", *given[1:], "--json")
    assert (answer.code, answer.out) == (2, ""), answer.err
    assert words in answer.err
    assert answer.err.count("\n") == 1


PLACES = {
    "qubits: 2\ngates:\n  - [Hadamard, 0]\n  - [CNOT, 0, 2]": "4:5: gates[1]: CNOT on wires [0, 2]: wire 2 is out of",
    "qubits: 1\ngates:\n  - [RX, 0,\n     2*a*b]": "4:6: gates[0][2]: the angle '2*a*b'",
    "qubits: 2\ngates: []\nmeasure:\n  hamiltonian:\n    ZZ: 1\n    ZQ: 2": "6:9: measure.hamiltonian.ZQ: expected a",
    "qubits: 1\nansatz:\n  name: Sim2\n  layer: 2": "4:10: ansatz.layer: unknown key 'layer'; did you mean layers?",
    "qubits: 1\ngates: []\nnoise: {kind: BitFlip, p: 0.1, after: 3}": "3:39: noise.after: expected text, got 3",
    "qubits: 1\ngates: []\nencode: {kind: amplitude, values: [[1, x], 0]}": "3:40: encode.values[0][1]: expected a fin",
    BELL + "train: {task: state, stepz: 3}": "3:22: train.stepz: expected a known key, got 'stepz'",
}


@pytest.mark.parametrize("text", PLACES, ids=lambda text: text.replace("\n", " ")[:60])
def test_what_is_wrong_is_named_with_line_column_and_key(ask, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    answer = ask("simulate", tmp_path / "bad.yaml")
    assert answer.code == 2
    assert f"bad.yaml:{PLACES[text]}" in answer.err


@pytest.mark.parametrize(
    "device", ["default.gaussian", "default.qutrit", "default.qutrit.mixed", "null.qubit", "default.nothing"]
)
def test_a_device_that_runs_no_qubits_is_refused_with_those_that_do(ask, device: str) -> None:
    answer = ask("simulate", CONFIGS / "circuits" / "ghz.yaml", "--device", device)
    assert answer.code == 2
    assert "known are fast, " in answer.err  # default.clifford too where stim is installed
    assert "default.mixed, default.qubit, lightning.qubit" in answer.err
    assert not {"null.qubit", "default.gaussian"} & set(answer.err.split("known are")[1].strip().split(", "))


def test_the_list_has_the_devices(ask) -> None:
    assert ask("list", "--json").json["devices"] == ["fast", *known_devices()]
    assert "default.mixed, default.qubit, lightning.qubit" in ask("list").out.split("devices: fast, ")[1]


def test_every_device_called_known_makes_a_bell_pair(ask, tmp_path: Path) -> None:
    (tmp_path / "bell.yaml").write_text(BELL)
    for device in known_devices():
        answer = ask("simulate", tmp_path / "bell.yaml", "--device", device, "--json")
        assert answer.json["probabilities"] == pytest.approx([0.5, 0, 0, 0.5], abs=1e-6)


@pytest.mark.parametrize("device", ["default.tensor", "default.clifford"])
def test_a_device_whose_library_is_missing_is_refused_or_works(ask, tmp_path: Path, device: str) -> None:
    (tmp_path / "bell.yaml").write_text(BELL + "measure: {expectations: [ZZ, XX]}")
    answer = ask("simulate", tmp_path / "bell.yaml", "--device", device, "--json")
    if device in known_devices():
        assert answer.json["expectations"] == pytest.approx([1, 1], abs=1e-6)
    else:
        assert answer.code == 2
        assert f"device {device} cannot be set up here" in answer.err
        assert answer.err.count("\n") == 1


ARRAYS = {
    "0-d": (np.array(3.0), "givens"),
    "empty": (np.zeros((0, 0)), "dense"),
    "vector as matrix": (np.ones(4), "dense"),
    "matrix as phases": (np.eye(4), "diagonal"),
    "complex phases": (np.array([1j, 2, 3, 4]), "diagonal"),
    "words": (np.array(["a", "b"]), "diagonal"),
    "infinite": (np.array([0, np.inf]), "permutation"),
    "fractions": (np.array([0.9, 1.2]), "permutation"),
    "NaN": (np.full((2, 2), np.nan), "givens"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_an_array_that_does_not_fit_is_refused(ask, tmp_path: Path, case: str) -> None:
    array, how = ARRAYS[case]
    np.save(tmp_path / "a.npy", array)
    answer = ask("compile", tmp_path / "a.npy", "--how", how)
    assert answer.code == 2
    assert f"a.npy: --how {how} takes a" in answer.err
    np.savez(tmp_path / "b.npz", array)
    assert "got an archive of several arrays" in ask("compile", tmp_path / "b.npz", "--how", how).err


@pytest.mark.parametrize(
    "measure", [{"samples": 5, "wires": [1]}, {"probabilities": [1, 0]}, {"samples": 3, "seed": 2}]
)
def test_a_measurement_written_down_is_read_back(measure: dict) -> None:
    first = from_dict({"qubits": 2, "gates": [["Hadamard", 0]], "measure": measure}).measurement
    written = json.loads(json.dumps(to_dict(from_dict({"qubits": 2, "gates": [["Hadamard", 0]], "measure": measure}))))
    again = from_dict(written).measurement
    assert (again.kind, again.wires, again.shots, again.seed) == (first.kind, first.wires, first.shots, first.seed)


def test_inputs_of_a_spec_are_used_in_training(ask, tmp_path: Path) -> None:
    """RX(x) RY(a) on |0>: the state |0> is reachable for x = 0 alone; at x = pi/2 at best half of it."""
    text = "qubits: 1\ngates: [[RX, 0, {{input: 0}}], [RY, 0, a]]\nseed: 0\ninputs: [{x}]\n"
    (tmp_path / "a.yaml").write_text(
        text.format(x=np.pi / 2) + "train: {task: state, target: [1, 0], steps: 200, lr: 0.1}"
    )
    assert ask("train", tmp_path / "a.yaml", "--out", tmp_path / "o", "--json").json["loss"] == pytest.approx(
        0.5, abs=1e-3
    )
    assert json.loads((tmp_path / "o" / "circuit.json").read_text())["inputs"] == [np.pi / 2]


def test_classification_with_amplitudes_uses_states_of_norm_1(ask, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(AMPLITUDE + "train: {task: classification, data: parity, samples: 20, steps: 3}")
    assert ask("train", tmp_path / "a.yaml", "--json").json["loss"] > 0
    circuit = encoded(Circuit(1, (gate("RY", 0, ParameterRef(0)),)), "amplitude")
    with pytest.raises(ValueError, match=r"inputs as amplitudes need norm 1, got 1\.41421"):
        run(circuit, torch.zeros(1), torch.ones(2))


def test_fixing_inputs_is_running_with_them() -> None:
    circuit = Circuit(
        2, (gate("RX", 0, ParameterRef(0, "inputs", 2.0, 0.1)), gate("RY", 1, ParameterRef(0)), gate("CNOT", 0, 1))
    )
    for c, x in ((circuit, [0.3]), (encoded(Circuit(2, circuit.operations[1:]), "amplitude"), [0.6, 0, 0, 0.8])):
        p = torch.tensor([0.7], dtype=torch.float64)
        direct = run(c, p, torch.tensor(x, dtype=torch.float64)).amplitudes()
        torch.testing.assert_close(run(c.with_inputs(np.array(x)), p).amplitudes(), direct)


@pytest.mark.parametrize(
    "text",
    [
        "qubits: 2\nansatz: {name: QAOAEmbedding}\n",
        "qubits: 2\nansatz: {name: Sim2}\nencode: {kind: angle, values: [0.3, 0.4]}\n",
        "qubits: 2\nansatz: {name: Sim2}\nencode: {kind: amplitude}\n",
    ],
)
def test_every_measure_takes_a_circuit_with_inputs(ask, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    told = ask("analyse", tmp_path / "a.yaml", "--measures", "all", "--samples", 20, "--json").json
    assert told["inputs"] == ([0.3, 0.4] if "values" in text else "zero")
    assert len(told["gradients"]["variance"]) == told["parameters"]  # at the file's own circuit, encoding and all


def test_inputs_change_what_is_measured(ask, tmp_path: Path) -> None:
    """RX(pi/2) and a CNOT make a Bell pair whatever RZ does after it; at the input 0 there would be no entanglement."""
    (tmp_path / "a.yaml").write_text(
        "qubits: 2\ngates: [[RX, 0, {input: 0}], [CNOT, 0, 1], [RZ, 0, a], [RZ, 1, b]]\nseed: 0\n"
        "inputs: [1.5707963267948966]"
    )
    told = ask("analyse", tmp_path / "a.yaml", "--measures", "entropy,entangling", "--samples", 20, "--json").json
    assert told["entropy"]["value"] == pytest.approx(np.log(2), abs=1e-5)
    assert told["meyer_wallach"]["value"] == pytest.approx(1, abs=1e-5)


def test_expressibility_is_finite_where_haar_probabilities_underflow(ask, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("qubits: 8\ngates: [[Hadamard, 0]]")
    told = ask("analyse", tmp_path / "a.yaml", "--measures", "expressibility", "--samples", 10, "--json").json
    assert told["expressibility"]["value"] == pytest.approx(
        255 * np.log(75)
    )  # all in the last bin, (1/75)**255 in Haar
    assert np.exp(haar_log_bins(16)).sum() == pytest.approx(1)


def test_a_saved_module_with_a_broken_spec_names_the_file(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"weights": torch.zeros(1)}, tmp_path / "m.safetensors", {"spec": "{"})
    with pytest.raises(ValueError, match=r"m\.safetensors: the circuit spec in its metadata cannot be read"):
        CircuitModule.load(tmp_path / "m.safetensors")


def test_a_drawing_shows_that_amplitudes_are_read_and_analysis_prints_no_dicts(ask, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(AMPLITUDE)
    assert "|Ψ⟩" in ask("draw", tmp_path / "a.yaml").out
    told = ask("analyse", tmp_path / "a.yaml", "--measures", "frame,cone", "--samples", 20).out
    assert "light_cone.parameters: [0]" in told
    assert "{" not in told


def test_drawing_answers_machines(ask, tmp_path: Path) -> None:
    told = ask("draw", CONFIGS / "circuits" / "ghz.yaml", "--json").json
    assert told["text"].startswith("0: ──H─╭●")
    told = ask("draw", CONFIGS / "circuits" / "ghz.yaml", "--out", tmp_path / "g.svg", "--json").json
    assert told == {"text": None, "file": str(tmp_path / "g.svg")}


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["circuit draw --help", "circuit list", "list tasks"])
@pytest.mark.parametrize("redirect", [">&-", ">/dev/full"])
def test_an_output_that_cannot_be_written_is_one_sentence(redirect: str, words: str, unbuffered: str) -> None:
    """With a buffer the disk is found full only when Python ends, where its own words and exit code 120 lie in wait."""
    program = "from experiments.cli import main; main()"
    command = f'"{sys.executable}" -c "{program}" {words} {redirect}'
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.startswith("qattn: ")
    assert ran.stderr.count("\n") == 1
