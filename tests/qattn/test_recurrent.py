"""Recurrent registers: the fast passes against the naive loops, exact unitarity, groups represented exactly."""

from __future__ import annotations

import pytest
import torch

from qattn.core.audit import causality_defect, linearity_defect, norm_drift, reversal_error
from qattn.core.states import normalize, random_states
from qattn.core.unitaries import isometry_defect
from qattn.lm import unitary_scan
from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM
from qattn.lm.transitions import Permutations

FIELDS = ["complex", "real"]
TRANSITIONS = ["table", "householder", "cayley", "permutation"]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(transition: str, field: str = "complex", **changes: object) -> UnitaryRecurrentLM:
    options = {"dim": 8, "factors": 3, "generators": 3, "embedding": 5, "rank": 2, "init_scale": 1.0} | changes
    config = RecurrentConfig(7, field=field, transition=transition, **options)  # type: ignore[arg-type]
    return UnitaryRecurrentLM(config, generator(1)).double()


def texts(batch: int = 3, time: int = 9) -> torch.Tensor:
    return torch.randint(7, (batch, time), generator=generator(5))


def start(field: str, batch: int = 3, dim: int = 8) -> torch.Tensor:
    return random_states((batch, dim), field, generator=generator(2))


def loss_of(states: torch.Tensor) -> torch.Tensor:
    weights = torch.randn(states.shape, generator=generator(3), dtype=torch.float64)
    return (weights * states).sum().abs() + states.abs().pow(4).sum()


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("factors", [1, 2, 5])
def test_reflections_by_inversion_equal_the_naive_loop(field: str, factors: int) -> None:
    gates = small("householder", field, factors=factors).gates(texts())
    arguments = [part.detach().requires_grad_() for part in (start(field), *gates)]
    fast, slow = unitary_scan.reflections(*arguments), unitary_scan.reflections_naive(*arguments)
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-13)
    for one, other in zip(*(torch.autograd.grad(loss_of(s), arguments) for s in (fast, slow)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("transition", ["table", "cayley", "permutation"])
def test_the_table_by_inversion_equals_the_naive_loop(field: str, transition: str) -> None:
    psi = start(field).requires_grad_()
    table = small(transition, field).gates(texts()).unitaries.detach().to(psi.dtype).requires_grad_()
    fast, slow = (
        unitary_scan.apply_unitaries(psi, table, texts()),
        unitary_scan.apply_unitaries_naive(psi, table, texts()),
    )
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-13)
    for one, other in zip(*(torch.autograd.grad(loss_of(s), (psi, table)) for s in (fast, slow)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("transition", ["table", "householder", "cayley"])
def test_gradients_agree_with_finite_differences(transition: str) -> None:
    model = small(transition, dim=4, factors=2)
    tokens = texts(2, 4)
    parameters = [parameter for name, parameter in model.named_parameters() if name.startswith("transition")]
    loss = model(tokens).sum()
    for parameter, grad in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        direction = torch.randn(parameter.shape, generator=generator(4), dtype=parameter.dtype)
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.add_(direction, alpha=sign * 1e-6)
                ends.append(model(tokens).sum().item())
                parameter.sub_(direction, alpha=sign * 1e-6)
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx((grad * direction).sum().item(), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("transition", TRANSITIONS)
def test_step_agrees_with_forward_at_every_position(transition: str, field: str) -> None:
    options = {"control": "additive", "ngram": 2} if transition == "householder" else {}
    model = small(transition, field, **options)
    full, state = model(texts()), model.start(3)
    for position in range(9):
        log_probs, state = model.step(texts()[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-12)
    torch.testing.assert_close(full.exp().sum(-1), torch.ones(3, 9, dtype=torch.float64), rtol=0, atol=1e-12)
    assert causality_defect(model, texts(), 7) < 1e-14


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("transition", TRANSITIONS)
def test_every_transition_is_unitary_and_reversible(transition: str, field: str) -> None:
    evolve, unevolve, shape, of = small(transition, field).state_map(texts(3, 40))
    assert (shape, of) == ((3, 8), field)
    a, b = (random_states(shape, field, generator=generator(seed)) for seed in (6, 7))
    assert norm_drift(evolve, a) < 1e-12
    assert linearity_defect(evolve, a, b) < 1e-12
    assert reversal_error(evolve, unevolve, a) < 1e-12


def test_a_complex_reflection_turns_its_axis_by_phi_and_leaves_the_rest() -> None:
    """1 − (1 − e^{iφ})kk†: eigenvalue e^{iφ} on k, 1 on the complement; φ = π is Householder's mirror."""
    k = normalize(torch.randn(6, generator=generator(), dtype=torch.complex128))
    phi = torch.tensor(0.7, dtype=torch.float64)
    beta = 1 - torch.polar(torch.ones_like(phi), phi)
    matrix = unitary_scan.reflect(torch.eye(6, dtype=k.dtype), k.expand(6, 6), beta.expand(6)).mT
    angles = torch.linalg.eigvals(matrix).angle().sort().values
    torch.testing.assert_close(angles, torch.tensor([0.0] * 5 + [0.7], dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(matrix @ k, (1 - beta) * k, rtol=0, atol=1e-14)


def test_permutations_are_permutations_also_in_training_and_receive_a_gradient() -> None:
    transition = Permutations(5, 6, 0.5, generator=generator())
    hard, soft = transition.unitaries(), transition.relaxed()
    assert set(hard.unique().tolist()) == {0.0, 1.0}
    assert isometry_defect(hard) == 0
    torch.testing.assert_close(soft.sum(-2), torch.ones(5, 6))
    assert ((hard * soft).sum((1, 2)) >= 6 / 6).all()  # the best assignment is at least the average one
    hard.square().sum().backward()
    assert transition.scores.grad is not None
    assert transition.scores.grad.abs().sum() > 0


def test_a_permutation_register_solves_the_word_problem_of_s3_at_any_length() -> None:
    """The regular representation: element a permutes the basis |s⟩ → |s·a⟩, and measuring the basis reads s."""
    from itertools import permutations

    group = list(permutations(range(3)))
    times = {(s, a): group.index(tuple(group[a][x] for x in group[s])) for s in range(6) for a in range(6)}
    model = UnitaryRecurrentLM(
        RecurrentConfig(6, dim=6, transition="permutation", readout="projective", floor=False), generator()
    )
    with torch.no_grad():
        model.transition.scores.zero_()
        for (s, a), after in times.items():
            model.transition.scores[a, after, s] = 20.0
        model.psi.copy_(torch.eye(6)[0][:, None] * torch.tensor([1.0, 0.0]))
    tokens = torch.randint(6, (4, 500), generator=generator(8))
    state, targets = torch.zeros(4, dtype=torch.int64), []
    for column in tokens.unbind(1):
        state = torch.tensor([times[int(s), int(a)] for s, a in zip(state, column, strict=True)])
        targets.append(state)
    assert torch.equal(model(tokens).argmax(-1), torch.stack(targets, 1))


def test_a_cayley_step_follows_the_exact_exponential_to_second_order() -> None:
    """(1 − S/2)⁻¹(1 + S/2) = exp(S) + O(S³): halving S divides the difference by eight."""
    model = small("cayley")
    errors = []
    for scale in (0.02, 0.01):
        with torch.no_grad():
            raw = model.transition.raw
            raw.mul_(scale / raw.abs().max())
        skew = torch.view_as_complex(model.transition.raw.detach())
        skew = (skew - skew.mH) / 2
        skew = torch.einsum("vk,kab->vab", model.transition.coefficients.detach().to(skew.dtype), skew)
        errors.append((model.transition.unitaries() - torch.linalg.matrix_exp(skew)).abs().max().item())
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transition": "magic"},
            "transition must be one of table, householder, cayley, permutation, linear, stochastic, got 'magic'",
        ),
        ({"factors": 0}, "factors must be at least 1, got 0"),
        ({"readout": "projective", "dim": 8}, "multiple of the vocabulary 7, got dim 8: take 14"),
        ({"temperature": 0.0}, "temperature must be positive, got 0.0"),
    ],
)
def test_impossible_sizes_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**{"transition": "table", **changes})  # type: ignore[arg-type]
