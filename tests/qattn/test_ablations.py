"""One-line ablations of the strictly unitary model: what is left when something is taken away."""

from __future__ import annotations

import math

import pytest
import torch

from qattn.core.density_matrix import density, evolve_density
from qattn.core.measurement import Overlap, Softmax
from qattn.core.states import random_states, rotate
from qattn.lm.unitary import UnitaryConfig, UnitaryLM


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(field: str = "complex", **changes: object) -> UnitaryLM:
    options = {
        "dim": 8,
        "layers": 3,
        "heads": 2,
        "key_dim": 4,
        "hidden": 9,
        "embedding": 6,
        "rank": 2,
        "angle_init_scale": 1.0,
    }
    config = UnitaryConfig(7, field=field, **(options | changes))  # type: ignore[arg-type]
    return UnitaryLM(config, generator(1)).double()


def texts(seed: int = 5) -> torch.Tensor:
    return torch.randint(7, (3, 9), generator=generator(seed))


@pytest.mark.parametrize("field", ["complex", "real"])
def test_without_dephasing_the_density_matrix_is_the_pure_state(field: str) -> None:
    model = small(field)
    angles = model.angles(texts())
    rho = density(model.prepare()).expand(3, 9, 8, 8)
    phi = model.evolve(model.prepare(), angles)
    torch.testing.assert_close(evolve_density(rho, angles, model.mixers(), 0.0), density(phi), rtol=0, atol=1e-12)
    torch.testing.assert_close(model.readout.density(density(phi)), model.readout(phi), rtol=0, atol=1e-12)


def test_at_full_dephasing_a_complex_model_says_the_same_after_every_text() -> None:
    """The text enters through phases alone; without coherence between the layers nothing of it can arrive."""
    model = small(dephasing=1.0)
    log_probs = torch.cat([model(texts(1)), model(texts(2))]).flatten(0, 1)
    torch.testing.assert_close(log_probs, log_probs[:1].expand_as(log_probs), rtol=0, atol=1e-12)


def test_at_full_dephasing_a_real_model_is_left_with_a_markov_chain_that_reads_the_text() -> None:
    model = small("real", dephasing=1.0)
    assert (model(texts(1)) - model(texts(2))).abs().max() > 1e-3


def test_dephasing_is_the_average_over_random_phases() -> None:
    """An unravelling: each layer multiplies the axes by random signs with the right correlation. γ = 1, one layer: the
    average over all 2⁸ sign patterns is exact, because it kills every coherence.
    """
    model = small(layers=1, dephasing=1.0, floor=False)
    tokens = texts()
    signs = 1.0 - 2.0 * ((torch.arange(256)[:, None] >> torch.arange(8)) & 1)
    phased = rotate(model.prepare().expand(3, 9, -1), model.angles(tokens)[0])
    outcomes = [model.readout((phased * sign) @ model.mixers()[0].mT) for sign in signs.double()]
    torch.testing.assert_close(torch.stack(outcomes).mean(0), model(tokens).exp(), rtol=0, atol=1e-12)


def test_partial_dephasing_lies_between_and_the_step_agrees() -> None:
    model = small(dephasing=0.4)
    full, state = model(texts()), model.start(3)
    for position in range(9):
        log_probs, state = model.step(texts()[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-11)
    spread = [(small(dephasing=g)(texts()).exp().std((0, 1))).mean().item() for g in (0.0, 0.4, 0.8, 1.0)]
    assert spread == sorted(spread, reverse=True)
    assert spread[-1] < 1e-12


def test_the_unistochastic_twin_acts_with_squared_moduli_on_probabilities() -> None:
    """p(w) = Σ_{r,a,b} |B_{rw,a}|² |U(x)_{ab}|² |ψ_b|², from dense matrices; |U|² is doubly stochastic."""
    model = small(unistochastic=True, floor=False)
    angles = model.angles(texts())
    columns = torch.stack([model.evolve(axis, angles) for axis in torch.eye(8, dtype=torch.complex128)], -1)
    squared = columns.abs().square()
    for axis in (-1, -2):
        torch.testing.assert_close(squared.sum(axis), torch.ones(3, 9, 8, dtype=torch.float64))
    population = squared @ model.prepare().abs().square()
    rows = model.readout.frame().abs().square().unflatten(0, (2, 7)).sum(0)
    torch.testing.assert_close(model(texts()).exp(), population @ rows.mT, rtol=0, atol=1e-12)


def test_ablations_do_not_claim_strict_unitarity() -> None:
    assert small().strict
    for changes in ({"dephasing": 0.1}, {"unistochastic": True}, {"readout": "overlap"}, {"readout": "softmax"}):
        assert not small(**changes).strict


def test_an_ablation_does_not_pass_for_a_circuit() -> None:
    from qattn.circuits.compile.language_model import compile_model

    with pytest.raises(ValueError, match="only the strictly unitary model becomes a circuit"):
        compile_model(small(dephasing=0.5), texts()[0])


def test_overlap_starts_in_the_tokens_own_state_and_step_agrees() -> None:
    model = small(readout="overlap")
    full, state = model(texts()), model.start(3)
    for position in range(9):
        log_probs, state = model.step(texts()[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-12)
    assert "start" not in model.parameter_groups()
    torch.testing.assert_close(model.load(texts()), model.readout.states()[texts()])


def test_overlap_with_a_tight_frame_is_a_measurement() -> None:
    """The SIC of a qubit (a tetrahedron on the Bloch sphere): Σ|ψ_w⟩⟨ψ_w| = 2·1, frame ratio 1, p = raw/2."""
    third, rest = math.sqrt(1 / 3), math.sqrt(2 / 3)
    turns = (0, 2 * math.pi / 3, 4 * math.pi / 3)
    states = [[1, 0], *([third, rest * complex(math.cos(t), math.sin(t))] for t in turns)]
    readout = Overlap(2, 4, "complex", generator=generator()).double()
    with torch.no_grad():
        readout.raw.copy_(torch.view_as_real(torch.tensor(states, dtype=torch.complex128)))
    assert readout.completeness() < 1e-14
    assert readout.frame_ratio() == pytest.approx(1, abs=1e-14)
    overlaps = (readout.states().conj() @ readout.states().mT).abs().square()
    torch.testing.assert_close(overlaps[~torch.eye(4, dtype=torch.bool)], torch.full((12,), 1 / 3, dtype=torch.float64))
    phi = random_states((9, 2), generator=generator(2))
    raw = (phi @ readout.states().conj().mT).abs().square()
    torch.testing.assert_close(readout(phi), raw / 2, rtol=0, atol=1e-13)


def test_overlap_that_does_not_span_has_no_frame_ratio() -> None:
    readout = Overlap(5, 3, "real", generator=generator()).double()
    assert readout.frame_ratio() is None
    assert readout.completeness() > 0.5


def test_softmax_reads_the_same_state_classically() -> None:
    readout = Softmax(4, 3, "complex", generator=generator()).double()
    phi = random_states((6, 4), generator=generator(1))
    expected = torch.softmax(2 * torch.view_as_real(phi).flatten(-2) @ readout.weight + readout.bias, -1)
    torch.testing.assert_close(readout(phi), expected)
    assert readout.completeness() is None


def test_frozen_groups_stay_and_are_not_counted() -> None:
    model = small(frozen=("mixers", "control"))
    assert {"mixers", "control"}.isdisjoint(model.parameter_groups())
    model(texts()).sum().backward()
    assert model.mixers.raw.grad is None
    assert model.control.embedding.grad is not None
    with pytest.raises(ValueError, match=r"frozen must name parameter groups \(.*mixers.*\), got 'mixer'"):
        small(frozen=("mixer",))


def test_impossible_ablations_are_refused() -> None:
    with pytest.raises(ValueError, match="dephasing must lie between 0 and 1, got 2"):
        small(dephasing=2.0)
    with pytest.raises(ValueError, match="a softmax readout reads a state vector"):
        small(dephasing=0.5, readout="softmax")
