"""The audit must pass what is unitary and catch what is not."""

from __future__ import annotations

import pytest
import torch

from qattn.core import audit
from qattn.core.states import random_states
from qattn.core.unitaries import haar
from qattn.lm.unitary import UnitaryConfig, UnitaryLM


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def states(seed: int = 0) -> torch.Tensor:
    return random_states((20, 8), generator=generator(seed))


def test_a_haar_unitary_passes_in_double_precision() -> None:
    unitary = haar(8, generator=generator(2))
    a, b = states(0), states(1)
    budget = audit.BUDGET[torch.float64]
    assert audit.norm_drift(lambda s: s @ unitary.mT, a) < budget
    assert audit.inner_product_drift(lambda s: s @ unitary.mT, a, b) < budget
    assert audit.linearity_defect(lambda s: s @ unitary.mT, a, b) < budget
    assert audit.reversal_error(lambda s: s @ unitary.mT, lambda s: s @ unitary.conj(), a) < budget


def test_each_number_catches_its_own_sin() -> None:
    a, b = states(0), states(1)
    assert audit.norm_drift(lambda s: 1.001 * s, a) == pytest.approx(1e-3)
    assert audit.linearity_defect(lambda s: s * s.abs(), a, b) > 0.1
    assert audit.inner_product_drift(lambda s: s / (1 + s.abs()), a, b) > 1e-2
    assert audit.inner_product_drift(lambda s: s.conj(), a, b) > 1e-2  # antiunitary: keeps norms, not inner products
    assert audit.norm_drift(lambda s: s.conj(), a) < 1e-12
    unitary = haar(8, generator=generator(2))
    assert audit.reversal_error(lambda s: s @ unitary.mT, lambda s: s @ unitary, a) > 0.1


def test_causality_catches_a_look_into_the_future() -> None:
    tokens = torch.randint(5, (2, 9), generator=generator())

    def cheat(x: torch.Tensor) -> torch.Tensor:
        following = torch.roll(x, -1, 1)
        return torch.nn.functional.one_hot(following, 5).double().add(0.1).log_softmax(-1)

    def honest(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(x, 5).double().add(0.1).log_softmax(-1)

    assert audit.causality_defect(cheat, tokens, 5) > 0.1
    assert audit.causality_defect(honest, tokens, 5) == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("field", ["complex", "real"])
def test_the_strict_model_stays_within_budget_with_large_angles(field: str, dtype: torch.dtype) -> None:
    config = UnitaryConfig(vocab=65, dim=64, layers=4, field=field, hidden=32, angle_init_scale=3.0, init_scale=1.0)
    model = UnitaryLM(config, generator(3)).to(dtype)
    tokens = torch.randint(65, (4, 64), generator=generator(4))
    angles = model.angles(tokens)
    a, b = (random_states((4, 64, 64), field, generator=generator(s), dtype=dtype) for s in (5, 6))
    budget = audit.BUDGET[dtype]

    def evolve(psi: torch.Tensor) -> torch.Tensor:
        return model.evolve(psi, angles)

    assert audit.norm_drift(evolve, a) <= budget
    assert audit.inner_product_drift(evolve, a, b) <= budget
    assert audit.linearity_defect(evolve, a, b) <= budget
    assert audit.reversal_error(evolve, lambda phi: model.unevolve(phi, angles), a) <= budget
    assert audit.normalisation_defect(model(tokens)) <= budget
    assert model.readout.completeness() <= budget
    assert audit.causality_defect(model, tokens, 65) <= budget
