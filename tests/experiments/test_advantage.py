"""Tasks in which a quantum register needs less memory: the theorems' values, and the exact constructions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.errors import UserError
from experiments.lm.evaluate import evaluate
from experiments.schema import load_experiment
from experiments.schema.jobs import jobs
from experiments.tasks.random_access import all_strings, one_bit, one_qubit, random_access, see_saw, success
from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM


@pytest.mark.parametrize(
    ("bits", "dim", "published"),
    [(2, 2, 0.853553), (3, 2, 0.788675), (4, 2, 0.741481), (3, 4, 0.908248)],
)
def test_the_see_saw_finds_the_published_codes(bits: int, dim: int, published: float) -> None:
    """Ambainis et al. 2008, Table 1 (2, 3 and 4 bits in a qubit); Imamichi and Raymond 2018 (3 bits in two)."""
    value, states, yes = see_saw(bits, dim, starts=6)
    assert value == pytest.approx(published, abs=2e-6)
    assert success(states, yes).mean() == pytest.approx(value, abs=1e-9)  # the code itself, measured
    np.testing.assert_allclose(yes @ yes, yes, atol=1e-12)


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_no_code_into_one_bit_is_better_than_the_majority(bits: int) -> None:
    """All 2^(2^m) deterministic encoders, each with the best decoder: randomness only mixes them."""
    strings = all_strings(bits)
    best = 0.0
    for number in range(2 ** len(strings)):
        sent = number >> np.arange(len(strings)) & 1
        ones = np.stack([strings[sent == message].sum(0) for message in (0, 1)])
        sizes = np.array([(sent == message).sum() for message in (0, 1)])[:, None]
        best = max(best, float(np.maximum(ones, sizes - ones).sum()) / strings.size)
    assert best == pytest.approx(one_bit(bits), abs=1e-12)
    assert best < one_qubit(bits)


def qubit(strings: int, axes: list[list[float]], states: torch.Tensor) -> UnitaryRecurrentLM:
    """A register of two dimensions that each string turns to its state, and each question to its axis of the sphere."""
    bits = len(axes)
    config = RecurrentConfig(
        vocab=2 + strings + bits, dim=2, transition="table", readout="povm", rank=1, floor=False, init_scale=0.0
    )
    model = UnitaryRecurrentLM(config).double()
    pauli = torch.tensor([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]], dtype=torch.complex128)
    raw = torch.eye(2, dtype=torch.complex128).repeat(config.vocab, 1, 1)
    for x, (a, b) in enumerate(states):
        raw[2 + x] = torch.stack([torch.stack([a, -b.conj()]), torch.stack([b, a.conj()])])
    for j, axis in enumerate(axes):  # the eigenvector of +1 is the answer 1
        vectors = torch.linalg.eigh((torch.tensor(axis, dtype=torch.complex128)[:, None, None] * pauli).sum(0))[1]
        raw[2 + strings + j] = vectors.mH
    with torch.no_grad():
        model.transition.entries.raw.copy_(torch.view_as_real(raw))
        model.psi.copy_(torch.tensor([[1.0, 0], [0, 0]]))
        effects = torch.zeros(config.vocab, 2)
        effects[0, 0] = effects[1, 1] = 1
        model.readout.isometry.raw.copy_(torch.stack([effects, 0 * effects], -1))
    return model


@pytest.mark.parametrize("bits", [2, 3])
def test_the_codes_written_down_as_a_register_reach_the_bound(bits: int) -> None:
    """Corners of a square and of a cube on the sphere, asked along its axes (Ambainis et al. 2002; Chuang)."""
    strings = all_strings(bits)
    bloch = np.zeros((len(strings), 3))
    bloch[:, :bits] = (2.0 * strings - 1) / math.sqrt(bits)
    polar, azimuth = np.arccos(bloch[:, 2]), np.arctan2(bloch[:, 1], bloch[:, 0])
    states = np.stack([np.cos(polar / 2) + 0j, np.exp(1j * azimuth) * np.sin(polar / 2)], 1)
    model = qubit(len(strings), np.eye(3)[:bits].tolist(), torch.from_numpy(states))
    task = random_access("code", bits, "string", 0)
    assert task.examine(model)["accuracy"] == pytest.approx(one_qubit(bits), abs=1e-12)
    assert evaluate(model, task.windows()) == pytest.approx(-math.log(one_qubit(bits)), abs=1e-12)
    assert model.completeness() < 1e-12


def test_a_batch_as_large_as_the_task_is_all_of_it_and_bits_are_read_in_order() -> None:
    task = random_access("code", 2, "bits", 0)
    inputs, targets = task.batch(8, torch.Generator())
    assert (task.span, len(inputs), len({tuple(row.tolist()) for row in inputs})) == (3, 8, 8)
    for row, answer in zip(inputs.tolist(), targets[:, -1].tolist(), strict=True):
        assert answer == row[row[2] - 2]
    assert (targets[:, :-1] == -100).all()


FILE = """\
tasks:
  codes: {kind: random_access}
  parity: {kind: parity}
models:
  qubit: {kind: unitary_recurrent, transition: table, dim: 2, rank: 1, tasks: [codes]}
  lstm: {kind: lstm, dim: 2}
seeds: 1
"""


def test_a_model_learns_the_tasks_that_it_names_and_a_wrong_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "codes.yaml"
    path.write_text(FILE)
    experiment = load_experiment(path)
    found = [(job.task_name, job.model_name) for job in jobs(experiment)]
    assert found == [("codes", "qubit"), ("codes", "lstm"), ("parity", "lstm")]
    assert [(m.states, m.learns("parity")) for m in experiment.models.values()] == [(2, False), (None, True)]
    everywhere = load_experiment(path, ["models.qubit.tasks=null"])
    assert jobs(everywhere)[0].identity() == jobs(experiment)[0].identity()
    with pytest.raises(UserError, match=r"qubit.tasks\S*: expected the name of a task .*, got 'code'"):
        load_experiment(path, ["models.qubit.tasks=[code]"])
    with pytest.raises(UserError, match=r"expected a model that learns task 'parity', got none"):
        load_experiment(path, ["models.lstm=null"])
