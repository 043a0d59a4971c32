"""Angles written as arithmetic, keys that were once ignored in silence, and training that starts from given values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.circuit import Circuit, ParameterRef, gate
from qattn.circuits.ir.expressions import Affine, read_angle
from qattn.circuits.ir.memory import check_bytes
from qattn.circuits.ir.spec import from_dict
from qattn.circuits.simulate.statevector import run


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pi", math.pi), ("π/2", math.pi / 2), ("-2*pi/3 + 1", 1 - 2 * math.pi / 3), ("2**3 - -1", 9), ("-2**2", -4),
        ("sin(pi/6)", 0.5), ("1e-5", 1e-5), (".5*(1+sqrt(4))", 1.5), ("2^-1", 0.5), ("cos(0)/4", 0.25),
    ],
)  # fmt: skip
def test_arithmetic_of_numbers(text: str, value: float) -> None:
    found = read_angle(text)
    assert found.name is None
    assert found.shift == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "scale", "shift"),
    [("a", 1, 0), ("2*a", 2, 0), ("-a/2 + pi", -0.5, math.pi), ("3*(a - 1)", 3, -3), ("a - 3*a", -2, 0), ("a*2", 2, 0)],
)
def test_arithmetic_with_one_parameter(text: str, scale: float, shift: float) -> None:
    found = read_angle(text)
    assert found == Affine(found.shift, found.scale, "a")
    assert (found.shift, found.scale) == pytest.approx((shift, scale))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a*b", "product of 'a' and 'b'"), ("a + b", "one parameter, got 'a' and 'b'"), ("sin(a)", "argument of sin"),
        ("1/a", "a divisor must be a number"), ("1/0", "division by 0"), ("1:30", "got ':'"), ("2 a", "expected end"),
        ("on", "'on' cannot be"), ("nan", "'nan' cannot be"), ("1e999", "finite"), ("a$", "not understood"),
        ("", "got 'the end'"),
        ("sqrt(-1)", "finite real"), ("(-1)**0.5", "finite real"), ("a**2", "base of a power"), ("(a", "expected )"),
    ],
)  # fmt: skip
def test_what_is_no_angle_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        read_angle(text)


def test_pi_is_a_number_and_a_scaled_parameter_scales() -> None:
    spec = from_dict({"qubits": 1, "gates": [["RX", 0, "pi"]], "seed": 0})
    assert run(spec.circuit, torch.tensor(spec.parameters)).probabilities()[1].item() == pytest.approx(1)
    spec = from_dict({"qubits": 1, "gates": [["RX", 0, "2*a - pi/2"]], "parameters": {"a": math.pi / 2}})
    assert run(spec.circuit, torch.tensor(spec.parameters)).probabilities()[1].item() == pytest.approx(0.5)


IGNORED = {
    "qubits: 2\nansatz: {name: Sim2}\nseed: 1": "seed: belongs to circuits given by `gates`",
    "qubits: 2\nansatz: {name: Sim2}\nparameters: {p0: 0.3}": "with an ansatz write `ansatz.weights`",
    "qubits: 2\nansatz: {name: Sim2}\nnames: [a]": "names: belongs to circuits given by `gates`",
    "qubits: 1\nansatz: {name: BasicEntanglerLayers, weights: [1], seed: 2}": "keep one of the two",
    "qubits: 1\nansatz: {name: BasicEntanglerLayers, weights: ['1']}": "expected numbers in nested lists",
    "qubits: 1\ngates: []\nencode: {kind: reupload, values: [1]}": "reupload goes before every layer of an `ansatz`",
    "qubits: 1\ngates: []\nencode: {kind: angle, normalize: true}": "angle encoding has no `normalize`",
    "qubits: 1\ngates: []\nencode: {kind: amplitude, axis: Y}": "amplitude encoding has no `axis`",
    "qubits: 1\ngates: []\nencode: {kind: angle, values: [1]}\ninputs: [1]": "gives the data already",
    "qubits: 2\ngates: []\nmeasure: {probabilities: [0], wires: [1]}": "probabilities takes no `wires` here",
    "qubits: 1\ngates: []\nmeasure: {samples: 10, shots: 20}": "samples takes no `shots` here",
    "qubits: 1\ngates: []\nmeasure: {expectations: [Z], wires: [0]}": "expectations takes no `wires` here",
    "qubits: 1\ngates: [[cnot, 0]]": "unknown gate 'cnot'; did you mean CNOT?",
    "qubits: 1\ngates: [{wires: [0]}]": "expected the name of a gate under `gate`, got None",
    "qubits: 1\ngates: [{gate: MultiControlledX, wires: [0]}]": "needs a control and a target",
    "qubits: 1\ngates: [[RX, 0, " + "9" * 400 + "]]": "gates[0][2]: expected a finite number, got a number of 400",
    "qubits: 1\ngates: [[RX, 0, a*b]]\nseed: 0": "gates[0][2]: the angle 'a*b': an angle is linear",
    "qubits: 1\ngates: [[RX, 0, a]]\nnames: [a, pi]\nseed: 0": "'pi' has a meaning of its own",
}


@pytest.mark.parametrize("text", IGNORED, ids=lambda text: text.replace("\n", " ")[:60])
def test_what_was_ignored_is_refused(ask, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    answer = ask("simulate", tmp_path / "bad.yaml", "--json")
    assert (answer.code, answer.out) == (2, ""), answer.err
    assert IGNORED[text] in answer.err
    assert answer.err.count("\n") == 1


def test_half_precision_is_refused() -> None:
    circuit = Circuit(1, (gate("RX", 0, ParameterRef(0)),))
    for dtype in (torch.float16, torch.bfloat16):
        with pytest.raises(ValueError, match="must be real, of float32 or float64"):
            run(circuit, torch.ones(1, dtype=dtype))


# ── training from given values


def train(ask, folder: Path, text: str, *more: object) -> dict:
    (folder / "t.yaml").write_text(text)
    return ask("train", folder / "t.yaml", *more, "--json").json


ROTATION = "qubits: 1\ngates: [[RY, 0, a]]\nparameters: {a: %s}\ntrain: {task: state, target: uniform, steps: 1%s}\n"


def test_training_starts_from_the_parameters_of_the_file(ask, tmp_path: Path) -> None:
    """RY(π/2)|0⟩ is the uniform state; from 0 half of the overlap is missing."""
    for a, loss in ((math.pi / 2, 0.0), (0, 0.5)):
        train(ask, tmp_path, ROTATION % (a, ""), "--out", tmp_path / f"o{loss}")
        row = json.loads((tmp_path / f"o{loss}" / "metrics.jsonl").read_text().splitlines()[0])
        assert row["loss"] == pytest.approx(loss, abs=1e-12)


def test_training_goes_on_from_the_circuit_it_wrote(ask, tmp_path: Path) -> None:
    text = "qubits: 2\nansatz: {name: StronglyEntanglingLayers, layers: 2}\n"
    text += "train: {task: state, target: ghz, lr: 0.1, steps: 60}\n"
    first = train(ask, tmp_path, text, "--out", tmp_path / "a")
    written = json.loads((tmp_path / "a" / "circuit.json").read_text())
    again = written | {"train": {"task": "state", "target": "ghz", "optimizer": "sgd", "lr": 1e-9, "steps": 1}}
    assert train(ask, tmp_path, json.dumps(again))["loss"] == pytest.approx(first["loss"], abs=1e-7)


def test_missing_parameters_are_drawn_by_the_training_and_the_rest_kept(ask, tmp_path: Path) -> None:
    text = "qubits: 1\ngates: [[RY, 0, a], [RZ, 0, b]]\nparameters: {a: 0.25}\n"
    text += "train: {task: state, target: uniform, optimizer: sgd, lr: 1.0e-12, steps: 1, seed: %d}\n"
    for seed in (1, 2):
        train(ask, tmp_path, text % seed, "--out", tmp_path / str(seed))
    kept, other = (json.loads((tmp_path / s / "circuit.json").read_text())["parameters"] for s in "12")
    assert kept["a"] == pytest.approx(other["a"]) == pytest.approx(0.25)
    assert abs(kept["b"] - other["b"]) > 1e-3


@pytest.mark.parametrize(
    ("keys", "sentence"), [(", seeds: 3", "all trainings are the same"), (", spread: 0.1", "so none is drawn")]
)
def test_draws_beside_given_parameters_are_refused(ask, tmp_path: Path, keys: str, sentence: str) -> None:
    (tmp_path / "t.yaml").write_text(ROTATION % (0, keys))
    answer = ask("train", tmp_path / "t.yaml")
    assert answer.code == 2
    assert sentence in answer.err


# ── drawing, analysis, memory


def test_a_drawing_shows_scales_words_and_the_measurement(ask, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(
        "qubits: 2\ngates: [[RX, 0, 2*b], {gate: PauliRot, wires: [0, 1], angles: [-b], word: XY}, "
        "[RY, 1, {input: 0, scale: -1}]]\nseed: 0\ninputs: [1]\nmeasure: {expectations: [ZZ]}\n"
    )
    text = ask("draw", tmp_path / "d.yaml").out
    for part in ("RX(2·b)", "RXY(-b)", "RY(-x0)", "<Z@Z>"):
        assert part in text
    assert "Probs" not in text
    assert ask("draw", tmp_path / "d.yaml", "--out", tmp_path / "d.svg").code == 0
    povm = "measure={povm: [[[1, 0], [0, 0]], [[0, 0], [0, 1]]], wires: [1]}"
    assert "POVM" in ask("draw", tmp_path / "d.yaml", "--set", povm).out.splitlines()[1]


def test_all_measures_are_those_that_apply(ask, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("qubits: 9\ngates: [[Hadamard, 0], [CNOT, 0, 1]]\n")
    told = ask("analyse", tmp_path / "a.yaml", "--measures", "all", "--samples", 20, "--json").json
    assert set(told["skipped"]) == {"gradients", "fisher", "slice", "noise"}
    assert told["meyer_wallach"]["value"] == pytest.approx(2 / 9, abs=1e-5)


def test_gradient_scans_reach_an_odd_number_of_qubits(ask, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("qubits: 7\nansatz: {name: BasicEntanglerLayers}\n")
    told = ask("analyse", tmp_path / "a.yaml", "--measures", "gradients", "--samples", 20, "--json").json
    assert told["gradients"]["qubits"] == [2, 4, 6, 7]
    assert told["gradients"]["observable"] == "Z on wires 0 and 1"


def test_expressibility_of_many_qubits_says_that_it_is_blind(ask, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("qubits: 10\nansatz: {name: BasicEntanglerLayers}\n")
    options = ("--measures", "expressibility", "--samples", 20, "--json")
    assert "frame potentials" in ask("analyse", tmp_path / "a.yaml", *options).json["expressibility"]["note"]
    assert "note" not in ask("analyse", tmp_path / "a.yaml", *options, "--set", "qubits=9").json["expressibility"]


def test_memory_is_that_which_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forward pass needs 8 states and a gradient 33: between the two only the forward pass begins."""
    circuit = build("BasicEntanglerLayers", 10, 1)
    monkeypatch.setattr("qattn.circuits.ir.memory.SMALL", 0)
    monkeypatch.setattr("qattn.circuits.ir.memory.available_memory", lambda: 20 * 16 * 2**10)
    assert run(circuit, torch.zeros(10, dtype=torch.float64)).probabilities()[0].item() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"33 state vectors of 10 qubits .* GiB are free"):
        run(circuit, torch.zeros(10, dtype=torch.float64, requires_grad=True))
    with pytest.raises(ValueError, match="GiB"):
        check_bytes("too much", 2**40)


def test_an_allocation_that_fails_is_one_sentence(ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise np._core._exceptions._ArrayMemoryError((2**30,), np.dtype(float))

    monkeypatch.setattr("qattn.circuits.simulate.run.read", fail)
    (tmp_path / "a.yaml").write_text("qubits: 1\ngates: []\n")
    answer = ask("simulate", tmp_path / "a.yaml")
    assert answer.code == 2
    assert "this needs more memory than there is (Unable to allocate 8.00 GiB" in answer.err
