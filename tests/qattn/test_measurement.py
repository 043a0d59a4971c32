"""The Born rule, complete measurements, and the bridge to softmax."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qattn.core.measurement import Readout, born, log_probabilities, softmax_amplitudes
from qattn.core.states import random_states

seeds = st.integers(0, 2**31)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_born_rule_on_known_states() -> None:
    """Svozil, Eq. 6: the computational basis on |+⟩, and a phase that no basis measurement sees."""
    plus = torch.tensor([[1.0, 1.0j]], dtype=torch.complex128) / math.sqrt(2)
    torch.testing.assert_close(born(plus), torch.tensor([0.5, 0.5], dtype=torch.float64))


@given(
    seed=seeds, vocab=st.integers(1, 9), rank=st.integers(1, 4), dim=st.integers(1, 12),
    field=st.sampled_from(["real", "complex"]),
)  # fmt: skip
def test_povm_is_complete_and_positive(seed: int, vocab: int, rank: int, dim: int, field: str) -> None:
    rank = max(rank, -(-dim // vocab))
    readout = Readout("povm", dim, vocab, rank, field, generator=generator(seed)).double()
    effects = readout.effects()
    torch.testing.assert_close(effects.sum(0), torch.eye(dim, dtype=effects.dtype), rtol=0, atol=1e-12)
    assert (torch.linalg.eigvalsh(effects) > -1e-12).all()
    assert readout.completeness() < 1e-12
    phi = random_states((5, dim), field, generator=generator(seed + 1))
    p = readout(phi)
    expected = torch.einsum("na,wab,nb->nw", phi.conj(), effects, phi).real
    torch.testing.assert_close(p, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(p.sum(-1), torch.ones(5, dtype=torch.float64), rtol=0, atol=1e-12)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_projective_readout_is_repeatable(field: str) -> None:
    """P_w² = P_w and P_v P_w = 0: what a projective measurement is (von Neumann's Process 1)."""
    effects = Readout("projective", 12, 4, 1, field, generator=generator()).effects()
    for w, effect in enumerate(effects):
        torch.testing.assert_close(effect @ effect, effect)
        for v in range(w):
            assert (effects[v] @ effect).abs().max() == 0
    torch.testing.assert_close(effects.sum(0), torch.eye(12))


def test_incomplete_measurements_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of the vocabulary 65, got dim 64: take 65"):
        Readout("projective", 64, 65, 1, generator=generator())
    with pytest.raises(ValueError, match="raise rank to 2"):
        Readout("povm", 96, 65, 1, generator=generator())
    with pytest.raises(ValueError, match="'povm' or 'projective'"):
        Readout("weak", 4, 4, 1, generator=generator())


@given(seed=seeds, temperature=st.floats(0.05, 20))
def test_softmax_is_a_born_rule_for_every_choice_of_phases(seed: int, temperature: float) -> None:
    """Svozil, after Eq. 7."""
    g = generator(seed)
    logits = torch.randn(7, generator=g, dtype=torch.float64)
    phases = 6.3 * torch.rand(7, generator=g, dtype=torch.float64)
    amplitudes = softmax_amplitudes(logits, phases, temperature)
    torch.testing.assert_close(born(amplitudes[None]), torch.softmax(logits / temperature, -1))


def test_log_probability_of_the_impossible_has_no_nan() -> None:
    amplitudes = torch.zeros(1, 3, dtype=torch.complex128)
    amplitudes[0, 0] = 1
    amplitudes.requires_grad_()
    log_probs = log_probabilities(born(amplitudes))
    log_probs.sum().backward()
    assert torch.isfinite(log_probs).all()
    assert torch.isfinite(torch.view_as_real(amplitudes.grad)).all()


def test_depolarising_floor_is_a_channel() -> None:
    """p ← (1−δ)p + δ/V keeps the sum at one and lifts every outcome to at least δ/V."""
    p = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    lifted = log_probabilities(p, torch.tensor(0.2, dtype=torch.float64)).exp()
    torch.testing.assert_close(lifted, torch.tensor([0.85, 0.05, 0.05, 0.05], dtype=torch.float64))
