"""What the atlas does to trained models: registers read early, weights damaged, bases rotated, networks pruned."""

from __future__ import annotations

import torch

from experiments.studies.atlas.damage import codes, noisy, rounded
from experiments.studies.atlas.entries.residual_stream import between_unitaries
from experiments.studies.atlas.paths import before_last_mixer
from experiments.studies.atlas.rotations import excess_kurtosis, random_rotation, rotated_phases
from experiments.studies.atlas.tickets import pruned, random_nets
from qattn.lm.unitary import UnitaryConfig, UnitaryLM


def register() -> tuple[UnitaryLM, torch.Tensor]:
    config = UnitaryConfig(7, dim=6, layers=3, heads=2, key_dim=2, control="additive", ngram=2, embedding=4, rank=1)
    generator = torch.Generator().manual_seed(0)
    return UnitaryLM(config, generator).double().eval(), torch.randint(7, (2, 5), generator=generator)


@torch.no_grad()
def test_the_register_between_unitaries_ends_where_the_model_ends() -> None:
    model, tokens = register()
    states = between_unitaries(model, tokens)
    assert states.shape == (4, 2, 5, 6)
    torch.testing.assert_close(states[-1], model.states(tokens))
    before, last = before_last_mixer(model, tokens)
    torch.testing.assert_close(before @ last.mT, states[-1])


@torch.no_grad()
def test_phases_along_the_same_axes_are_the_model_and_along_others_another() -> None:
    model, tokens = register()
    same = torch.polar(torch.ones(6, dtype=torch.float64), torch.arange(6, dtype=torch.float64)).diag()
    torch.testing.assert_close(rotated_phases(model, tokens, same), model(tokens))
    other = random_rotation(6, torch.Generator().manual_seed(1), torch.complex128)
    assert (rotated_phases(model, tokens, other) - model(tokens)).abs().max() > 1e-3


def test_rounded_weights_lie_on_their_grid_and_keep_the_largest() -> None:
    weight = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
    whole, scale = codes(weight, 4)
    assert whole.abs().amax(1).tolist() == [7] * 5
    assert ((weight - whole * scale).abs() <= scale / 2 + 1e-7).all()
    assert torch.equal(codes(torch.zeros(2, 3), 4)[0], torch.zeros(2, 3, dtype=torch.int8))


@torch.no_grad()
def test_damage_leaves_the_register_unitary_and_the_model_itself_alone() -> None:
    model, tokens = register()
    before = model(tokens)
    for broken in (rounded(model, 3), noisy(model, 0.5, torch.Generator().manual_seed(0))):
        assert (broken.states(tokens).norm(dim=-1) - 1).abs().max() < 1e-12
        assert (broken(tokens) - before).abs().max() > 1e-2
    assert torch.equal(model(tokens), before)


def test_pruning_keeps_the_largest_of_what_is_left() -> None:
    nets = random_nets(2, 7, 4, 6, torch.Generator().manual_seed(0))
    masks = {name: torch.ones_like(value) for name, value in nets.items()}
    for left in (36, 18):  # of 12 × 6
        before, masks = masks, pruned(nets, masks, 0.5)
        assert masks["up"].flatten(1).sum(1).tolist() == [left, left]
        assert (masks["up"] <= before["up"]).all()
        kept, gone = (nets["up"][0].abs()[masks["up"][0] == value] for value in (1, 0))
        assert kept.min() > gone.max()


def test_kurtosis_of_known_distributions() -> None:
    generator = torch.Generator().manual_seed(0)
    normal, uniform = (draw(40_000, 4, generator=generator, dtype=torch.float64) for draw in (torch.randn, torch.rand))
    assert abs(excess_kurtosis(normal)) < 0.1
    assert abs(excess_kurtosis(uniform) + 1.2) < 0.05
