"""Tasks in which a quantum register needs less memory: the theorems' values, and the exact constructions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.errors import UserError
from experiments.lm.evaluate import evaluate
from experiments.report.memory import bounded, memory
from experiments.schema import load_experiment
from experiments.schema.jobs import jobs
from experiments.stats.compare import summarise
from experiments.tasks.disambiguation import answers, disambiguation, least
from experiments.tasks.periodic import accepts, dimensions, multipliers, periodic
from experiments.tasks.random_access import all_strings, one_bit, one_qubit, random_access, see_saw, success
from experiments.tasks.renewal import (
    entropy,
    hazard,
    kraus,
    nats,
    perturbed_coin,
    renewal,
    renewal_machine,
    statistical_memory,
    survival,
)
from qattn.core.unitaries import displacements
from qattn.lm.instrument import InstrumentConfig, InstrumentLM
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
    sent = np.arange(2 ** len(strings))[:, None] >> np.arange(len(strings)) & 1
    right = np.zeros(len(sent))
    for message in (sent, 1 - sent):
        ones, size = message @ strings, message.sum(1, keepdims=True)
        right += np.maximum(ones, size - ones).sum(1)
    best = float(right.max()) / strings.size
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


@pytest.mark.parametrize(("period", "dim"), [(31, 12), (251, 24)])
def test_a_register_of_order_log_p_dimensions_knows_a_periodic_language(period: int, dim: int) -> None:
    """Ambainis and Freivalds 1998: certain at the multiples, wrong with a chance below ε elsewhere, at every length."""
    assert dim < dimensions(period, 1 / 3)  # the bound is not tight
    k = multipliers(period, dim)
    assert accepts(k, period)[0] == pytest.approx(1, abs=1e-12)
    assert accepts(k, period)[1:].max() < 1 / 3
    config = RecurrentConfig(vocab=2, dim=dim, transition="table", rank=dim, floor=False)
    model = UnitaryRecurrentLM(config).double()
    turn = torch.diag(torch.polar(torch.ones(dim).double(), torch.from_numpy(2 * np.pi * k / period)))
    with torch.no_grad():
        model.transition.entries.raw.copy_(torch.view_as_real(turn).expand(2, -1, -1, -1))
        model.psi.copy_(torch.tensor([1.0, 0]).expand(dim, -1))
        rows = torch.zeros(dim, 2, dim, dtype=torch.float64)  # yes: the start itself; no: what is orthogonal to it
        basis = torch.linalg.qr(torch.cat([torch.ones(dim, 1), torch.eye(dim)[:, 1:]], 1).double())[0].T
        rows[0, 1], rows[1:, 0] = basis[0], basis[1:]
        model.readout.isometry.raw.copy_(torch.stack([rows.flatten(0, 1), 0 * rows.flatten(0, 1)], -1))
        said = model(torch.zeros(1, 2 * period, dtype=torch.long))[0, :, 1].exp()
    expected = accepts(k, period)[(np.arange(2 * period) + 1) % period]
    np.testing.assert_allclose(said.numpy(), expected, atol=1e-9)


def test_the_memory_of_a_perturbed_coin_and_of_the_simple_nonunifilar_source() -> None:
    """Gu et al. 2012: the coin's quantum memory has eigenvalues ½ ± √(p(1−p)). The source has infinitely many causal
    states of weight (n + 1)/2ⁿ⁺², so C_μ = Σ π log 1/π (Marzen and Crutchfield 2015)."""
    for flip in (0.1, 0.3, 0.5):
        half = math.sqrt(flip * (1 - flip))
        eigenvalues = [x for x in (0.5 + half, 0.5 - half) if x > 1e-12]
        c_mu, c_q = statistical_memory(perturbed_coin(flip))
        assert c_mu == pytest.approx(1, abs=1e-12)
        assert c_q == pytest.approx(-sum(x * math.log2(x) for x in eigenvalues), abs=1e-7)
    c_mu, c_q = statistical_memory(renewal_machine(hazard(survival("simple_nonunifilar")[:60])))
    n = np.arange(200)
    weights = (n + 1) / 2.0 ** (n + 2)
    assert c_mu == pytest.approx(-(weights * np.log2(weights)).sum(), abs=1e-6)
    assert 0 < c_q < 0.5 * c_mu


def test_two_dimensions_say_the_monitored_qubit_exactly_at_every_tick() -> None:
    """The instrument written down against the hazard, and the tabulated entropy against a long sample."""
    task = renewal("qubit", "monitored_qubit", 0.5, 0.5, 24, 0, 400)
    model = InstrumentLM(InstrumentConfig(vocab=2, dim=2, rank=1)).double()
    operators = torch.from_numpy(kraus(0.5, 0.5))
    assert torch.allclose(sum(k.T @ k for k in operators), torch.eye(2, dtype=torch.float64))
    with torch.no_grad():
        stacked = torch.stack([operators.flatten(0, 1), torch.zeros(4, 2, dtype=torch.float64)], -1)
        model.kraus.raw.copy_(stacked)
        model.psi.copy_(torch.tensor([[0.0, 0], [1, 0]]))  # anything that an event resets
    h = hazard(survival("monitored_qubit", 0.5, 0.5))
    inputs, targets = task.windows()[0]
    assert evaluate(model, task.windows()) == pytest.approx(nats(h, inputs.numpy(), targets.numpy()), abs=1e-9)
    assert task.best == pytest.approx(task.bounds["the source itself"], abs=4 * 0.5 / math.sqrt(targets.numel()))
    swings = np.sign(np.diff(h[:60]))
    assert (swings[1:] != swings[:-1]).sum() > 10  # the hazard never settles
    assert entropy(np.full(50, 0.5), 10) == pytest.approx(math.log(2))


def test_a_periodic_task_asks_at_the_multiples_and_once_elsewhere_in_each_period() -> None:
    inputs, targets = periodic("p", 5, 0, 40).windows()[0]
    assert inputs.unique().tolist() == [0]
    assert (targets[:, 4::5] == 1).all()
    assert ((targets == 0).view(-1, 2, 5).sum(-1) == 1).all()


def test_the_report_opens_with_the_result_against_memory_where_there_are_theorems() -> None:
    """Of each size the best seed is on the line; a model that carries real numbers has no place on the axis."""
    values = {
        "qubit": ([0.85, 0.6], 2),
        "automaton": ([0.75, 0.5], 2),
        "larger": ([1.0, 1.0], 4),
        "lstm": ([1.0, 1.0], None),
    }
    runs = [
        {"task": "code", "model": name, "kind": "lstm", "rung": "2r" if name == "qubit" else "0", "seed": seed,
         "classical": name != "qubit", "strict": name == "qubit", "states": states, "status": "done", "accuracy": value}
        for name, (found, states) in values.items() for seed, value in enumerate(found)
    ]  # fmt: skip
    facts = random_access("code", 2, "string", 0).facts() | {"metric": "accuracy"}
    summary = summarise(runs, {"code": facts}, {}, "codes")
    assert bounded(summary) == ["code"]
    panel = memory(summary).axes[0]
    lines = {tuple(line.get_ydata()) for line in panel.lines if line.get_linestyle() == "-" and len(line.get_xdata())}
    assert {(0.85,), (0.75, 1.0)} <= lines
    assert bounded(summarise(runs, {"code": facts | {"bounds": {}}}, {}, "codes")) == []


def test_the_exact_senses_are_every_answer_as_often_as_it_is_likely() -> None:
    inputs, targets = disambiguation("senses", 3, 1, 1, 0, 10, exact=True).batch(108, torch.Generator())
    counts = torch.zeros(9, 9).index_put_((inputs[:, 0], targets[:, 0]), torch.ones(len(inputs)), accumulate=True)
    np.testing.assert_allclose(counts.numpy() / counts.numpy().sum(1, keepdims=True), answers(3), rtol=1e-6)


def test_displacements_compose_as_their_indices_add_up_to_a_phase() -> None:
    """Weyl's relation ZX = ωXZ, and the commutator is the symplectic form."""
    n = 3
    moves = displacements(n)
    omega = np.exp(2j * np.pi / n)
    x, z = moves[n], moves[1]
    torch.testing.assert_close(z @ x, omega * x @ z)
    a, b = torch.arange(n * n)[:, None], torch.arange(n * n)
    sums = moves[(a // n + b // n) % n * n + (a % n + b % n) % n]
    overlaps = (sums.conj() * (moves[:, None] @ moves)).sum((-2, -1)).abs()
    torch.testing.assert_close(overlaps, torch.full_like(overlaps, n))


@pytest.mark.parametrize("rank", [1, 2])
def test_around_the_displacements_a_register_measures_its_own_orbit_and_a_fiducial_makes_it_exact(rank: int) -> None:
    """With the Hesse SIC's vector (0, 1, −1)/√2 for N = 3 (Zauner 1999; Renes et al. 2004) nothing is left to learn."""
    config = RecurrentConfig(
        vocab=9, dim=3, transition="table", rank=rank, floor=False, init_scale=0.0, around="displacements"
    )
    model = UnitaryRecurrentLM(config, torch.Generator().manual_seed(5)).double()
    task = disambiguation("senses", 3, 1, 1, 0, 10, exact=True)
    assert model.completeness() < 1e-6  # the orbit of any start
    assert evaluate(model, task.windows()) > least(3) + 1e-3
    with torch.no_grad():
        model.psi.copy_(torch.tensor([[0.0, 0], [1, 0], [-1, 0]]))
    model._measure_the_orbit()
    assert evaluate(model, task.windows()) == pytest.approx(least(3), abs=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vocab": 8}, r"displacements are dim² = 9 unitaries, one per token, got vocab 8"),
        ({"field": "real"}, r"is for transition table and field complex"),
        ({"around": "origin"}, r"around must be 'identity' or 'displacements', got 'origin'"),
    ],
)
def test_a_start_around_displacements_that_do_not_fit_is_refused(change: dict[str, object], said: str) -> None:
    fitting = {"vocab": 9, "dim": 3, "transition": "table", "around": "displacements"}
    with pytest.raises(ValueError, match=said):
        RecurrentConfig(**fitting | change)


def test_a_hidden_quantum_markov_model_without_coherence_counts_as_classical() -> None:
    experiment = load_experiment("advantage")
    assert experiment.models["tick automaton 2"].claims_nothing_quantum
    assert not experiment.models["tick qubit"].claims_nothing_quantum
