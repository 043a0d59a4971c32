"""The mean-field rung: what it keeps, what it gives up, and that without its field it is rung 2."""

from __future__ import annotations

import pytest
import torch

from qattn.core.audit import causality_defect, linearity_defect, norm_drift, reversal_error
from qattn.core.states import random_states
from qattn.lm.mean_field import MeanFieldConfig, MeanFieldLM
from qattn.lm.unitary import UnitaryConfig, UnitaryLM

SIZES = {
    "dim": 8,
    "layers": 3,
    "heads": 2,
    "key_dim": 4,
    "embedding": 6,
    "hidden": 9,
    "rank": 2,
    "angle_init_scale": 1.0,
}
FIELDS = ["complex", "real"]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(field: str = "complex", **changes: object) -> MeanFieldLM:
    config = MeanFieldConfig(7, field=field, features=5, **(SIZES | changes))  # type: ignore[arg-type]
    return MeanFieldLM(config, generator(1)).double()


def texts(batch: int = 3, time: int = 9) -> torch.Tensor:
    return torch.randint(7, (batch, time), generator=generator(5))


@pytest.mark.parametrize("control", ["token", "mlp"])
@pytest.mark.parametrize("field", FIELDS)
def test_step_agrees_with_forward_at_every_position(field: str, control: str) -> None:
    model = small(field, control=control, decay="learned")
    full, state = model(texts()), model.start(3)
    for position in range(9):
        log_probs, state = model.step(texts()[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-11)


@pytest.mark.parametrize("field", FIELDS)
def test_norm_reversal_and_causality_are_kept_and_linearity_is_given_up(field: str) -> None:
    model = small(field)
    evolve, unevolve, shape, of = model.state_map(texts())
    a, b = (random_states(shape, of, generator=generator(seed)) for seed in (6, 7))
    assert norm_drift(evolve, a) < 1e-12
    assert reversal_error(evolve, unevolve, a) < 1e-12
    assert causality_defect(model, texts(), 7) < 1e-13
    assert model.completeness() < 1e-12
    assert linearity_defect(evolve, a, b) > 1e-2
    assert not model.strict


def test_the_first_position_feels_no_field_and_later_ones_do() -> None:
    model = small()
    evolve, _, shape, of = model.state_map(texts())
    a, b = (random_states(shape, of, generator=generator(seed)) for seed in (6, 7))
    mixed = torch.cat([b[:, :1], a[:, 1:]], 1)  # another state at the first position only
    changed = (evolve(mixed) - evolve(a)).abs().amax((0, 2))
    assert (changed[1:] > 1e-4).all()
    torch.testing.assert_close(evolve(mixed)[:, 0], evolve(torch.cat([b[:, :1], b[:, 1:]], 1))[:, 0], rtol=0, atol=0)


@pytest.mark.parametrize("field", FIELDS)
def test_without_its_field_it_is_rung_two(field: str) -> None:
    """With the features' rows of every projection at zero the same parameters make the strictly unitary model."""
    model = small(field)
    twin = UnitaryLM(UnitaryConfig(7, field=field, **SIZES), generator(2)).double()  # type: ignore[arg-type]
    width = model.control.width
    with torch.no_grad():
        blocks = []
        for attention in model.attention:
            attention.project[width:] = 0
            blocks.append(attention.project[:width].split(attention.sizes, 1))
        twin.attention.project.copy_(torch.cat([torch.cat(parts, 1) for parts in zip(*blocks, strict=True)], 1))
        twin.control.load_state_dict(model.control.state_dict())
        twin.mixers.load_state_dict(model.mixers.state_dict())
        twin.readout.load_state_dict(model.readout.state_dict())
        twin.psi.copy_(model.psi)
    torch.testing.assert_close(model(texts()), twin(texts()), rtol=0, atol=1e-12)


def test_expectation_values_vanish_on_average_over_all_states() -> None:
    """E|⟨k|ψ⟩|² = 1/D on the sphere. 4 000 states, five features: 8 standard errors, false alarm below 1e-13."""
    model = small()
    means = model.means(random_states((4000, 8), generator=generator(3)), 0)
    assert (means.mean(0).abs() < 8 * means.std(0) / 4000**0.5).all()


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="features must be at least 1, got 0"):
        MeanFieldConfig(7, features=0)
