"""The classical twins: the same control tensors, the same numbers in their transitions, and nothing unitary."""

from __future__ import annotations

import math

import pytest
import torch

from classical import modern
from classical.context_vectors import ContextVectors
from qattn.lm.no_register import READS, NoRegisterConfig, NoRegisterLM
from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM
from qattn.lm.unitary import UnitaryConfig, UnitaryLM

SIZES = {"dim": 8, "layers": 3, "heads": 2, "key_dim": 4, "hidden": 9, "embedding": 6}


def generator(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def texts(batch: int = 3, time: int = 7) -> torch.Tensor:
    return torch.randint(7, (batch, time), generator=generator(5))


def without_register(**changes: object) -> NoRegisterLM:
    return NoRegisterLM(NoRegisterConfig(7, **(SIZES | changes)), generator())  # type: ignore[arg-type]


@pytest.mark.parametrize("control", ["token", "additive", "mlp"])
@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("reads", ["angles", "cos_sin"])
@pytest.mark.parametrize("readout", ["povm", "softmax"])
def test_the_twin_has_the_control_of_its_model_bit_for_bit(
    control: str, attention: bool, reads: str, readout: str
) -> None:
    shared = {"control": control, "attention": attention, "angle_init_scale": 0.2}
    model = UnitaryLM(UnitaryConfig(7, rank=2, readout=readout, **SIZES, **shared), generator())  # type: ignore[arg-type]
    twin = without_register(reads=reads, **shared)
    mine, other = dict(model.named_parameters()), dict(twin.named_parameters())
    common = [name for name in mine if name.startswith(("control.", "attention."))]
    assert set(common) == {name for name in other if not name.startswith(("head", "bias"))}
    assert all(torch.equal(mine[name], other[name]) for name in common)
    assert twin.attention is not None
    torch.testing.assert_close(
        twin.attention.attend(twin.control.project(texts(), twin.attention.project)), model.angles(texts()),
        rtol=0, atol=0,
    )  # fmt: skip


def test_control_alone_has_the_control_of_its_model_bit_for_bit() -> None:
    model = UnitaryLM(UnitaryConfig(7, rank=2, **SIZES), generator())  # type: ignore[arg-type]
    twin = without_register(reads="control")
    mine, other = dict(model.named_parameters()), dict(twin.named_parameters())
    assert set(other) == {*(name for name in mine if name.startswith("control.")), "head", "bias"}
    assert all(torch.equal(mine[name], other[name]) for name in mine if name.startswith("control."))


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("control", ["additive", "mlp"])
def test_step_is_forward_and_only_the_past_counts(reads: str, attention: bool, control: str) -> None:
    model = without_register(reads=reads, attention=attention, control=control).double()
    tokens = texts()
    whole, state = model(tokens), model.start(3)
    for position in range(tokens.shape[1]):
        log_probs, state = model.step(tokens[:, position], state)
        torch.testing.assert_close(log_probs, whole[:, position], rtol=0, atol=1e-12)
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 7
    torch.testing.assert_close(model(changed)[:, :5], whole[:, :5], rtol=0, atol=1e-12)
    torch.testing.assert_close(whole.exp().sum(-1), torch.ones(3, 7).double(), rtol=0, atol=1e-12)


def test_with_a_transformer_as_control_too_the_twin_has_it_bit_for_bit() -> None:
    """The module is given to both; read directly, it is a transformer with a head of its own."""

    def control(generator: torch.Generator) -> ContextVectors:
        return ContextVectors(modern(7, 9, dim=8, heads=2, layers=1, tie=True), generator)

    draws = [generator() for _ in range(3)]
    shared = {"control": "transformer", "angle_init_scale": 0.2}
    config = UnitaryConfig(7, rank=2, **SIZES, **shared)  # type: ignore[arg-type]
    model = UnitaryLM(config, draws[0], control(draws[0]))
    twins = [NoRegisterLM(NoRegisterConfig(7, reads=reads, **SIZES, **shared), draw, control(draw))  # type: ignore[arg-type]
             for reads, draw in zip(("angles", "control"), draws[1:], strict=True)]  # fmt: skip
    mine = dict(model.named_parameters())
    for twin in twins:
        common = [name for name, _ in twin.named_parameters() if name.startswith(("control.", "attention."))]
        assert common
        assert all(torch.equal(mine[name], dict(twin.named_parameters())[name]) for name in common)
    whole = model.control.transformer
    head = torch.log_softmax(whole.norm(whole.evolve(whole.embed(texts()))) @ twins[1].head + twins[1].bias, -1)
    torch.testing.assert_close(twins[1](texts()), head, rtol=0, atol=1e-6)
    assert model.parameter_groups()["embedding"] == ["control.transformer.embedding.weight"]
    assert model.hidden_matrices() == [f"control.transformer.{name}" for name in whole.hidden_matrices()]
    assert model.context_limit == twins[0].context_limit == 9


def test_an_additive_control_and_its_angles_are_a_log_linear_model() -> None:
    """Without attention the log-odds of two tokens are a sum of one number per place: changing the token of one place
    changes them by the same amount whatever stands at the others."""
    model = without_register(reads="angles", attention=False, control="additive", ngram=3).double()

    def odds(*tokens: int) -> torch.Tensor:
        log_probs = model(torch.tensor([tokens]))[0, -1]
        return log_probs[1:] - log_probs[:1]

    torch.testing.assert_close(odds(1, 2, 3) - odds(4, 2, 3), odds(1, 5, 6) - odds(4, 5, 6), rtol=0, atol=1e-12)


def test_without_attention_only_the_last_ngram_tokens_count() -> None:
    model = UnitaryLM(UnitaryConfig(7, rank=2, ngram=3, attention=False, **SIZES), generator()).double()  # type: ignore[arg-type]
    tokens = texts(1, 9)
    changed = tokens.clone()
    changed[:, :6] = (changed[:, :6] + 1) % 7
    torch.testing.assert_close(model(changed)[:, -1], model(tokens)[:, -1], rtol=0, atol=1e-12)
    assert model.attention.project.shape[1] == 3 * 8


@pytest.mark.parametrize("transition", ["linear", "stochastic"])
@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("readout", ["povm", "projective"])
def test_recurrent_twins_have_the_numbers_of_the_table(transition: str, field: str, readout: str) -> None:
    options = {"dim": 14, "rank": 3, "field": field, "readout": readout, "init_scale": 0.7}
    table, twin = (
        UnitaryRecurrentLM(RecurrentConfig(7, transition=kind, **options), generator()).double()  # type: ignore[arg-type]
        for kind in ("table", transition)
    )
    mine, other = dict(table.named_parameters()), dict(twin.named_parameters())
    assert mine.keys() == other.keys()
    assert all(torch.equal(mine[name], other[name]) for name in mine)
    assert table.strict
    assert not twin.strict
    assert twin.state_map(texts()) is None
    log_probs, state = twin(texts()), twin.start(3)
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(3, 7).double(), rtol=0, atol=1e-12)
    assert (log_probs - table(texts())).abs().max() > 1e-3
    for position in range(7):
        step, state = twin.step(texts()[:, position], state)
        torch.testing.assert_close(step, log_probs[:, position], rtol=0, atol=1e-12)


def test_the_stochastic_twin_is_a_markov_chain_summed_over_all_paths() -> None:
    """Four states, three tokens: the sum over all 4⁴ paths of start, transitions and emission, written out."""
    config = RecurrentConfig(7, dim=4, rank=2, transition="stochastic", floor=False, init_scale=1.0)
    model = UnitaryRecurrentLM(config, generator()).double()
    tokens = [2, 5, 1]
    start, table = model.prepare().tolist(), model.transition.unitaries()
    torch.testing.assert_close(table.sum(-2), torch.ones(7, 4).double(), rtol=0, atol=1e-14)
    emission = model.readout.of_populations(torch.eye(4).double())
    total = torch.zeros(7).double()
    for path in torch.cartesian_prod(*[torch.arange(4)] * 4).tolist():
        steps = zip(tokens, path[:-1], path[1:], strict=True)
        weight = start[path[0]] * math.prod(table[token, after, before].item() for token, before, after in steps)
        total += weight * emission[path[-1]]
    torch.testing.assert_close(model(torch.tensor([tokens]))[0, -1].exp(), total, rtol=0, atol=1e-13)


def test_the_linear_twin_is_a_product_of_matrices_normalised_once() -> None:
    config = RecurrentConfig(7, dim=6, transition="linear", readout="softmax", field="real", init_scale=1.0)
    model = UnitaryRecurrentLM(config, generator()).double()
    tokens = texts(1, 5)
    product = model.prepare()
    for token in tokens[0]:
        product = model.transition.unitaries()[token] @ product
    expected = model.read(product / torch.linalg.vector_norm(product))
    torch.testing.assert_close(model(tokens)[0, -1], expected, rtol=0, atol=1e-12)


def test_what_a_twin_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="reads must be one of control, angles, cos_sin, got 'states'"):
        without_register(reads="states")
    with pytest.raises(ValueError, match="probabilities need a povm or projective readout, got 'softmax'"):
        RecurrentConfig(7, transition="stochastic", readout="softmax")
