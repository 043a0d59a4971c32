"""The disambiguation family: a complex register of dimension N reaches the optimum, an affine softmax needs N² − 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from contexts.packing.constructions.sic import sic
from experiments.lm.evaluate import mean_nats
from experiments.tasks.disambiguation import answers, disambiguation, least, where
from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM


def displacements(dim: int) -> np.ndarray:
    """X^q Z^p, numbered q·dim + p."""
    shift, clock = np.roll(np.eye(dim), 1, axis=0), np.diag(np.exp(2j * np.pi * np.arange(dim) / dim))
    power = np.linalg.matrix_power
    return np.array([power(shift, q) @ power(clock, p) for q in range(dim) for p in range(dim)])


def exact_model(dim: int) -> UnitaryRecurrentLM:
    """The complex register with its parameters written down: displacements, a SIC's vector, its own measurement."""
    model = UnitaryRecurrentLM(
        RecurrentConfig(dim * dim, dim, transition="table", rank=1, floor=False), torch.Generator().manual_seed(0)
    ).double()
    moves, start = displacements(dim), sic(dim)[0]
    with torch.no_grad():
        model.transition.entries.raw.copy_(torch.view_as_real(torch.from_numpy(moves)))
        model.psi.copy_(torch.view_as_real(torch.from_numpy(start)))
        rows = torch.from_numpy((moves @ start).conj() / math.sqrt(dim))
        model.readout.isometry.raw.copy_(torch.view_as_real(rows))
    return model


def texts(dim: int, count: int = 40) -> tuple[torch.Tensor, np.ndarray]:
    clues = np.random.default_rng(0).integers(dim * dim, size=(count, 12))
    return torch.from_numpy(clues), where(clues, dim)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_a_complex_register_of_dimension_n_says_exactly_the_truth(dim: int) -> None:
    """So its expected loss is the entropy of an answer, the least possible. To 1e-9: the SIC is found numerically."""
    model = exact_model(dim)
    clues, senses = texts(dim)
    truth = answers(dim)[senses]
    np.testing.assert_allclose(model(clues).exp().detach().numpy(), truth, atol=1e-9)
    assert model.completeness() < 1e-9
    expected = -(truth * model(clues).detach().numpy()).sum(-1).mean()
    assert expected == pytest.approx(least(dim), abs=1e-9)
    assert least(dim) < math.log(dim * dim)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_its_probabilities_have_rank_n_squared_and_its_logits_need_n_squared_minus_one(dim: int) -> None:
    """Logits affine in d numbers leave at most d singular values once the means of rows and columns are taken out."""
    model = exact_model(dim)
    clues = torch.arange(dim * dim)[:, None]  # every sense once, after one clue
    logs = model(clues)[:, 0].detach().numpy()
    assert np.linalg.matrix_rank(np.exp(logs), tol=1e-8) == dim * dim
    centre = np.eye(dim * dim) - 1 / dim**2
    values = np.linalg.svd(centre @ logs @ centre, compute_uv=False)
    np.testing.assert_allclose(values[:-1], math.log(dim + 1), atol=1e-7)
    assert values[-1] < 1e-8
    softmax = UnitaryRecurrentLM(
        RecurrentConfig(dim * dim, 2 * dim, "real", "table", readout="softmax", floor=False),
        torch.Generator().manual_seed(1),
    ).double()
    affine = centre @ softmax(clues)[:, 0].detach().numpy() @ centre
    assert np.linalg.matrix_rank(affine, tol=1e-10) <= min(2 * dim, dim * dim - 1)


def test_a_real_register_of_dimension_n_squared_minus_one_reaches_it_by_a_softmax() -> None:
    """So the bound is tight: Z_N² permutes N² corners of a simplex, which live in N² − 1 real dimensions."""
    dim, senses = 3, 9
    model = UnitaryRecurrentLM(
        RecurrentConfig(senses, senses - 1, "real", "table", readout="softmax", floor=False),
        torch.Generator().manual_seed(0),
    ).double()
    corners = np.linalg.svd(np.eye(senses) - 1 / senses)[0][:, : senses - 1]  # a corner of the simplex a row
    moved = where(np.stack([np.repeat(np.arange(senses), senses), np.tile(np.arange(senses), senses)], 1), dim)[:, 1]
    to = moved.reshape(senses, senses)  # [sense, clue]
    with torch.no_grad():
        turns = np.array([corners[to[:, clue]].T @ corners for clue in range(senses)])
        model.transition.entries.raw.copy_(torch.from_numpy(turns)[..., None])
        model.psi.copy_(torch.from_numpy(corners[0] / np.linalg.norm(corners[0]))[:, None])
        scale = math.log(dim + 1) / math.sqrt(senses - 1) * np.linalg.norm(corners[0])
        model.readout.weight.copy_(torch.from_numpy(scale * corners.T))
        model.readout.bias.zero_()
    clues, places = texts(dim)
    np.testing.assert_allclose(model(clues).exp().detach().numpy(), answers(dim)[places], atol=1e-12)
    assert not model.strict


def test_answers_follow_the_stated_law() -> None:
    """Right with probability 1/N: 4 000 × 8 answers, six standard errors; and the loss of the truth is the least."""
    one = disambiguation("d", 3, 8, 32, 0, 4000)
    inputs, targets = one.windows()[0]
    asked = targets.numpy() >= 0
    senses = where(inputs.numpy(), 3)
    hits = (senses == targets.numpy())[asked]
    assert abs(hits.mean() - 1 / 3) < 6 * math.sqrt(2 / 9 / len(hits))
    logs = torch.from_numpy(np.log(answers(3)[senses]))
    spread = math.sqrt(2 / 9) * math.log(4)  # of one answer's −log P
    assert abs(mean_nats(logs, targets).item() - least(3)) < 6 * spread / math.sqrt(len(hits))
    assert one.facts()["metric"] == "val_nats"
    assert one.facts()["best"] == pytest.approx(-(answers(3)[0] * np.log(answers(3)[0])).sum())
    assert one.sample(2, (32, 32), np.random.default_rng(0))[0].shape == (2, 32)


@pytest.mark.parametrize(("dim", "lost"), [(6, 0.116), (8, 0.0)])
def test_what_the_best_softmax_of_few_dimensions_loses_of_what_can_be_learned(dim: int, lost: float) -> None:
    """N = 3 in docs/ladder.md: states and readout are both free, so no dynamics with an affine softmax does better."""
    n, senses = 3, 9
    truth = torch.full((senses, senses), 1 / (n * (n + 1)), dtype=torch.float64).fill_diagonal_(1 / n)
    entropy = -(truth[0] * truth[0].log()).sum().item()
    generator = torch.Generator().manual_seed(0)
    states, rows = (torch.randn(senses, dim, generator=generator, dtype=torch.float64) for _ in range(2))
    best = torch.optim.LBFGS(
        [states.requires_grad_(), rows.requires_grad_()], max_iter=2000, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        best.zero_grad()
        value = -(truth * (states @ rows.T).log_softmax(1)).sum(1).mean()
        value.backward()
        return value

    best.step(loss)
    assert (loss().item() - entropy) / (math.log(senses) - entropy) == pytest.approx(lost, abs=2e-3)
