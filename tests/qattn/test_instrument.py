"""The hidden quantum Markov model and its classical twin, against brute force and the textbook forward algorithm."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from qattn.core.density_matrix import dephase
from qattn.core.states import normalize, random_states
from qattn.lm.instrument import InstrumentConfig, InstrumentLM
from qattn.lm.instrument_scan import kraus_recursion, kraus_recursion_naive


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(dephasing: float = 0.0, field: str = "complex", vocab: int = 3) -> InstrumentLM:
    config = InstrumentConfig(vocab, dim=4, rank=2, field=field, dephasing=dephasing)  # type: ignore[arg-type]
    return InstrumentLM(config, generator(1)).double()


def test_parameters_are_those_of_the_published_model() -> None:
    """QCLM, n = 24, w = 4 on 65 characters: 299 568 numbers; n = 48: 1 198 176 by its own formula 2n(Vwn + 1)."""
    for dim, count in ((24, 299_568), (48, 2 * 48 * (65 * 4 * 48 + 1))):
        model = InstrumentLM(InstrumentConfig(65, dim=dim, rank=4), generator())
        assert sum(p.numel() for p in model.parameters() if p.requires_grad) == count


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("dephasing", [0.0, 0.4, 1.0])
def test_the_fast_pass_equals_the_naive_loop(dephasing: float, field: str) -> None:
    model = small(dephasing, field)
    tokens = torch.randint(3, (4, 6), generator=generator(2))
    weights = torch.randn(4, 6, 3, generator=generator(3), dtype=torch.float64)
    results = []
    for run in (kraus_recursion, kraus_recursion_naive):
        states = run(model.prepare().expand(4, -1, -1), model.stacked(), tokens, dephasing)
        loss = (weights * model.read(states, model.effects(model.stacked()))).sum()
        results.append((states, *torch.autograd.grad(loss, (model.psi, model.kraus.raw))))
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("dephasing", [0.0, 0.4, 1.0])
def test_step_agrees_with_forward_and_texts_of_one_length_have_total_probability_one(
    dephasing: float, field: str
) -> None:
    model = small(dephasing, field)
    texts = torch.tensor(list(itertools.product(range(3), repeat=4)))
    full, state = model(texts), model.start(len(texts))
    for position in range(4):
        log_probs, state = model.step(texts[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-12)
    chosen = full[:, :-1].gather(-1, texts[:, 1:, None])[..., 0].sum(1) + model.first()[texts[:, 0]]
    assert chosen.exp().sum().item() == pytest.approx(1, abs=1e-12)


def test_probability_of_a_text_is_the_norm_of_all_its_kraus_paths() -> None:
    """p(x_1..x_n) = Σ_{r_1..r_n} ‖K_{x_n r_n} ⋯ K_{x_1 r_1} ψ₀‖², path by path."""
    model = small()
    operators = model.operators().detach()
    psi = normalize(torch.view_as_complex(model.psi.detach()))
    text = [2, 0, 1]
    total = 0.0
    for path in itertools.product(range(2), repeat=3):
        state = psi
        for token, r in zip(text, path, strict=True):
            state = operators[token, r] @ state
        total += torch.linalg.vector_norm(state).item() ** 2
    log_probs = model(torch.tensor([text]))[0]
    logarithm = model.first()[2] + log_probs[0, 0] + log_probs[1, 1]
    assert logarithm.item() == pytest.approx(math.log(total), abs=1e-12)


def test_the_fully_dephased_twin_is_a_hidden_markov_model() -> None:
    """The classical forward algorithm (Rabiner 1989) on T_w[a, b] = Σ_r |K_{w,r}[a, b]|², in plain Python."""
    model = small(1.0)
    tables = model.operators().detach().abs().square().sum(1)
    torch.testing.assert_close(tables.sum((0, 1)), torch.ones(4, dtype=torch.float64))  # columns are stochastic
    alpha = normalize(torch.view_as_complex(model.psi.detach())).abs().square().tolist()
    text = torch.tensor([[1, 2, 2, 0, 1, 0, 0, 2]])
    for token, got in zip(text[0].tolist(), model(text)[0], strict=True):
        alpha = [sum(tables[token, a, b].item() * alpha[b] for b in range(4)) for a in range(4)]
        total = sum(alpha)
        alpha = [value / total for value in alpha]
        expected = [sum(tables[w, a, b].item() * alpha[b] for a in range(4) for b in range(4)) for w in range(3)]
        torch.testing.assert_close(got.exp(), torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)


def test_coherence_matters_before_it_is_gone() -> None:
    text = torch.tensor([[1, 2, 2, 0, 1]])
    quantum, twin = small(0.0)(text), small(1.0)(text)
    assert (quantum - twin).abs().max() > 1e-3


def test_completeness_and_the_isometry_are_exact_by_construction_whatever_the_parameters() -> None:
    model = small()
    with torch.no_grad():
        model.kraus.raw.mul_(37.0).add_(torch.randn(model.kraus.raw.shape, generator=generator(9), dtype=torch.float64))
    assert model.completeness() < 1e-14
    evolve, unevolve, shape, field = model.state_map(torch.zeros(1, 2, dtype=torch.int64))
    psi = random_states(shape, field, generator=generator(3))
    torch.testing.assert_close(unevolve(evolve(psi)), psi, rtol=0, atol=1e-13)


def test_dephasing_is_a_semigroup_that_ends_in_the_populations() -> None:
    psi = random_states((5,), generator=generator())
    rho = psi[:, None] * psi.conj()
    torch.testing.assert_close(dephase(dephase(rho, 0.3), 0.5), dephase(rho, 1 - 0.7 * 0.5))
    assert torch.equal(dephase(rho, 1.0), torch.diag(rho.diagonal()))
    assert dephase(rho, 0.0) is rho


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="rank must be at least 1, got 0"):
        InstrumentConfig(3, rank=0)
    with pytest.raises(ValueError, match=r"dephasing must lie between 0 and 1, got 1\.5"):
        InstrumentConfig(3, dephasing=1.5)
