"""A circuit model's positions on PennyLane devices, with shots and noise, as a person runs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.lm.engine import run_experiment
from experiments.schema import load_experiment
from qattn.circuits.compile.language_model import CompiledText, compile_model
from qattn.lm.circuit import CircuitConfig, CircuitLM
from tests.experiments.tiny import experiment


def compiled(**changes: object) -> tuple[CompiledText, np.ndarray]:
    """One position as a circuit, and the model's own distribution there."""
    sizes = {
        "layers": 1,
        "heads": 1,
        "key_dim": 4,
        "hidden": 8,
        "embedding": 5,
        "rank": 2,
        "angle_init_scale": 1.0,
        "init_scale": 1.0,
    }
    config = CircuitConfig(**({"vocab": 5, "qubits": 3} | sizes | changes))  # type: ignore[arg-type]
    model = CircuitLM(config, torch.Generator().manual_seed(2)).double()
    tokens = torch.tensor([1, 4, 2])
    return compile_model(model, tokens), model(tokens[None])[0, -1].exp().detach().numpy()


@pytest.mark.parametrize("device", ["fast", "default.qubit", "lightning.qubit", "default.mixed"])
@pytest.mark.parametrize("readout", ["projective", "povm"])
def test_every_device_agrees_with_the_model(device: str, readout: str) -> None:
    made, own = compiled(readout=readout)
    assert np.abs(made.next_token(device=device) - own).max() < 1e-12


def test_full_depolarisation_leaves_the_uniform_distribution_of_bit_strings() -> None:
    """A depolarising channel of strength 3/4 makes every wire maximally mixed: eight equally likely bit strings for
    five tokens, whatever the text.
    """
    made, own = compiled(floor=False)
    expected = np.array([2, 2, 2, 1, 1]) / 8
    assert np.abs(made.next_token(device="default.mixed", noise=0.75) - expected).max() < 1e-12
    distances = [
        np.abs(made.next_token(device="default.mixed", noise=strength) - expected).sum()
        for strength in (0.0, 0.01, 0.1)
    ]
    assert distances[0] > distances[1] > distances[2]
    assert np.abs(own - expected).sum() == pytest.approx(distances[0])


@pytest.mark.parametrize("device", ["fast", "default.qubit"])
def test_shots_converge_to_the_models_distribution(device: str) -> None:
    """Hoeffding's inequality for five frequencies of N = 20,000 shots: one of them is off by more than 0.02 with
    probability below 10 exp(−2 N 0.02²) = 1.2e-6.
    """
    made, own = compiled()
    assert np.abs(made.next_token(20_000, 3, device) - own).max() < 0.02


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "fast", "noise": 0.1}, "noise needs a density matrix: run it on device default.mixed, got fast"),
        ({"device": "lightning.qubit", "noise": 0.1}, "default.mixed, got lightning.qubit"),
        ({"device": "default.mixed", "noise": 1.5}, "a channel's strength between 0 and 1, got 1.5"),
        ({"device": "default.mixed", "noise": float("nan")}, "a channel's strength between 0 and 1, got nan"),
        ({"device": "qiskit.aer"}, "unknown device 'qiskit.aer'; known are fast, "),
        ({"shots": 0}, "shots must be at least 1, got 0"),
    ],
)
def test_what_cannot_run_is_one_sentence(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compiled()[0].next_token(**arguments)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gates")
    experiment(folder)  # writes verse.txt
    sizes = "layers: 1, heads: 1, key_dim: 4, control: token, embedding: 4"
    (folder / "gates.yaml").write_text(
        "task: {kind: text, path: verse.txt, block: 16}\n"
        f"models:\n  gates: {{kind: circuit, qubits: 5, {sizes}}}\n"
        "  lstm: {kind: lstm, dim: 4, embedding: 4}\n"
        "training: {steps: 2, batch: 4}\nseeds: 1\n",
        encoding="utf-8",
    )
    assert run_experiment(load_experiment(folder / "gates.yaml"), out=folder / "out") == 0
    return folder / "out"


def test_a_trained_run_is_evaluated_on_a_device(trained: Path, ask) -> None:
    exact = ask("run-model", trained, "--positions", 3, "--json")
    assert exact.code == 0, exact.err
    (row,) = exact.json.values()
    assert row["positions"] == 3
    assert row["qubits"] == 5
    assert row["largest_difference"] < 1e-12
    assert row["device_nats"] == pytest.approx(row["exact_nats"], abs=1e-10)
    mixed = ["--device", "default.mixed", "--noise", 0.75, "--positions", 2]
    (noisy,) = ask("run-model", trained, *mixed, "--json").json.values()
    assert noisy["device_nats"] == pytest.approx(noisy["uniform_nats"], abs=0.7)  # a bit string more or less: ln 2
    (shot,) = ask("run-model", trained, "--shots", 50, "--positions", 2, "--json").json.values()
    assert shot["shots"] == 50
    assert shot["total_variation"] > 0


def test_a_trained_run_writes_one_shot_a_token(trained: Path, ask) -> None:
    words = ["run-model", trained, "--prompt", "the ", "--tokens", 3, "--device", "default.qubit", "--json"]
    (text,) = ask(*words).json["continuations"].values()
    assert len(text) == 3
    assert text == next(iter(ask(*words).json["continuations"].values()))


def test_bad_input_is_one_sentence(trained: Path, tmp_path: Path, ask) -> None:
    for words, sentence in (
        (["--device", "qiskit.aer"], "unknown device 'qiskit.aer'; known are fast, "),
        (["--shots", 0], "shots must be at least 1, got 0"),
        (["--noise", 0.1], "noise needs a density matrix: run it on device default.mixed, got default.qubit"),
        (["--noise", 2, "--device", "default.mixed"], "a channel's strength between 0 and 1, got 2.0"),
        (["--prompt", "the ", "--device", "nowhere"], "unknown device 'nowhere'"),
    ):
        answer = ask("run-model", trained, *words)
        assert answer.code == 2, answer
        assert sentence in answer.err
        assert "Traceback" not in answer.err
    lstm = next(each for each in (trained / "runs").iterdir() if "lstm" in each.name)
    answer = ask("run-model", lstm)
    assert answer.code == 2
    assert "no trained model of kind circuit or unitary here" in answer.err
