"""Every parametrization of the mixers: on the manifold, near the identity, trainable, copied and restored."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from qattn.core.orthogonal_maps import NAMES, REAL_ONLY, householder
from qattn.core.unitaries import Mixers, isometry_defect
from qattn.lm.unitary import UnitaryConfig, UnitaryLM

CASES = [(name, field) for name in NAMES for field in ("real", "complex") if (name, field) not in
         [(other, "complex") for other in REAL_ONLY]]  # fmt: skip


def mixers(name: str, field: str, seed: int = 0, init_scale: float = 0.3) -> Mixers:
    generator = torch.Generator().manual_seed(seed)
    return Mixers(3, 6, field, init_scale, name, generator=generator).double()  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "field"), CASES)
def test_it_starts_near_the_identity_and_stays_on_the_manifold_while_it_trains(name: str, field: str) -> None:
    model = mixers(name, field)
    assert (mixers(name, field, init_scale=0.0)() - torch.eye(6)).abs().max() < 1e-12
    goal = mixers("qr", field, seed=1, init_scale=1.0)().detach()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (model() - goal).abs().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert isometry_defect(model().detach()) < 1e-12


@pytest.mark.parametrize(("name", "field"), CASES)
def test_a_copy_and_a_restored_state_are_the_same_matrices(name: str, field: str) -> None:
    model = mixers(name, field)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1)
    other = mixers(name, field, seed=5)
    other.load_state_dict(model.state_dict())
    for made in (deepcopy(model), other):
        torch.testing.assert_close(made(), model(), rtol=0, atol=1e-12)


def test_householder_is_the_product_of_reflections_written_out() -> None:
    matrix = torch.randn(4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    product = -torch.eye(4, dtype=torch.float64)
    for i in range(4):
        v = torch.cat([torch.zeros(i), torch.ones(1), matrix[i + 1 :, i]]).double()
        product = product @ (torch.eye(4, dtype=torch.float64) - 2 * torch.outer(v, v) / v.dot(v))
    torch.testing.assert_close(householder(matrix), product, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_the_real_field_takes_each(name: str) -> None:
    sizes = {"dim": 8, "layers": 2, "heads": 2, "key_dim": 4, "hidden": 9, "embedding": 6, "rank": 2}
    model = UnitaryLM(UnitaryConfig(7, field="real", parametrization=name, **sizes))  # type: ignore[arg-type]
    assert model.parameter_groups()["mixers"]
    assert "mixers" in model.constrained_groups  # so that weight decay never pulls a geotorch matrix to its base
    model(torch.zeros(1, 3, dtype=torch.long)).sum().backward()


@pytest.mark.parametrize(("name", "told"), [("householder", "for the real field"), ("lu", "must be one of qr, cayley")])
def test_what_cannot_be_is_refused(name: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        mixers(name, "complex")
