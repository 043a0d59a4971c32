"""The strictly unitary language model: what it promises, measured."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from qattn.core.evolution import evolve
from qattn.core.states import random_states, rotate
from qattn.core.unitaries import haar
from qattn.lm.attention import PhaseAttention
from qattn.lm.unitary import UnitaryConfig, UnitaryLM

FIELDS = ["complex", "real"]
CONTROLS = ["token", "additive", "mlp"]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(field: str = "complex", control: str = "mlp", **changes: object) -> UnitaryLM:
    options = {
        "dim": 12,
        "layers": 3,
        "heads": 2,
        "key_dim": 4,
        "hidden": 16,
        "embedding": 6,
        "rank": 3,
        "angle_init_scale": 1.0,
    }
    config = UnitaryConfig(vocab=7, field=field, control=control, **(options | changes))  # type: ignore[arg-type]
    return UnitaryLM(config, generator(1)).double()


def texts(batch: int = 3, time: int = 11) -> torch.Tensor:
    return torch.randint(7, (batch, time), generator=generator(5))


def naive_angles(model: UnitaryLM, tokens: torch.Tensor) -> torch.Tensor:
    """The angles of the design's equation, position by position and token by token, with plain loops."""
    attention = model.attention
    control = model.control(tokens)
    query, key, value, local = (control @ attention.project).split(attention.sizes, -1)
    layers, heads, key_dim, count = attention.layers, attention.heads, attention.key_dim, attention.count
    size = count // heads
    out = torch.zeros(layers, *tokens.shape, count, dtype=control.dtype)
    for layer in range(layers):
        for b in range(tokens.shape[0]):
            for n in range(tokens.shape[1]):
                theta = local[b, n, layer * count : (layer + 1) * count].clone()
                for head in range(heads):
                    rate = torch.sigmoid(attention.rate_logit[layer * heads + head])
                    q = query[b, n, (layer * heads + head) * key_dim :][:key_dim]
                    norm = math.sqrt(sum(rate.item() ** (2 * m) for m in range(n + 1)))
                    for i in range(n + 1):
                        k = key[b, i, (layer * heads + head) * key_dim :][:key_dim]
                        v = value[b, i, (layer * heads + head) * size :][:size]
                        kappa = rate ** (n - i) / norm / math.sqrt(key_dim)
                        theta[head * size : (head + 1) * size] += kappa * (q @ k) * v
                out[layer, b, n] = theta
    return out


def test_what_attention_adds_to_the_angles_is_of_third_degree_or_with_normalised_keys_of_first() -> None:
    """Three times the control vectors: 27 times or 3 times the attended part; and a score is at most √key_dim."""
    for qk_norm, factor in ((False, 27.0), (True, 3.0)):
        attention = small(qk_norm=qk_norm).attention
        control = torch.randn(2, 9, 24, generator=generator(3), dtype=torch.float64)

        def attended(control: torch.Tensor, attention: PhaseAttention = attention) -> torch.Tensor:
            local = control @ attention.project.split(attention.sizes, 1)[-1]
            own = local.unflatten(-1, (attention.layers, -1)).permute(2, 0, 1, 3)
            return attention(control) - own

        torch.testing.assert_close(attended(3 * control), factor * attended(control), rtol=1e-4, atol=1e-4)
    value = (control @ attention.project).split(attention.sizes, -1)[2]
    first = attended(control)[:, :, 0].abs().max()  # at the first position the only score is of a token with itself
    assert first <= attention.key_dim**0.5 * value[:, 0].abs().max()


@pytest.mark.parametrize("field", FIELDS)
def test_angles_follow_the_equation(field: str) -> None:
    model = small(field)
    expected = naive_angles(model, texts(2, 6))
    torch.testing.assert_close(model.angles(texts(2, 6)), expected, rtol=0, atol=1e-12)
    weights = torch.randn(expected.shape, generator=generator(9), dtype=torch.float64)
    slow, fast = (
        torch.autograd.grad((angles * weights).sum(), model.attention.project)[0]
        for angles in (expected, model.angles(texts(2, 6)))
    )
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("field", FIELDS)
def test_evolution_is_the_product_of_dense_unitaries(field: str) -> None:
    """U(x) = W_L e^{iΘ_L} ⋯ W_1 e^{iΘ_1} built as matrices from the columns of each gate."""
    model = small(field)
    angles = model.angles(texts(1, 3))
    dim = model.config.dim
    identity = torch.eye(dim, dtype=model.prepare().dtype)
    for position in range(3):
        unitary = identity
        for layer, mixer in enumerate(model.mixers()):
            gate = rotate(identity, angles[layer, 0, position].expand(dim, -1)).mT
            unitary = mixer @ gate @ unitary
        torch.testing.assert_close(unitary.mH @ unitary, identity, rtol=0, atol=1e-12)
        expected = unitary @ model.prepare()
        got = model.evolve(model.prepare(), angles)[0, position]
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("readout", ["povm", "projective"])
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("field", FIELDS)
def test_step_agrees_with_forward_at_every_position(field: str, control: str, readout: str) -> None:
    """The prompt split at every point: whatever was read at once or token by token, the same log-probabilities."""
    model = small(field, control, readout=readout, dim=28, rank=4, decay="learned")
    tokens = texts()
    full = model(tokens)
    state = model.start(tokens.shape[0])
    for position in range(tokens.shape[1]):
        log_probs, state = model.step(tokens[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-10)
        torch.testing.assert_close(model(tokens[:, : position + 1])[:, -1], full[:, position], rtol=0, atol=1e-10)


def test_generation_state_never_grows() -> None:
    model = small()
    state = model.start(2)
    sizes = set()
    for position in range(50):
        _, state = model.step(torch.tensor([position % 7, 3]), state)
        sizes.add((state.recent.numel(), state.memory.outer.numel(), state.memory.weight.numel()))
    assert len(sizes) == 1


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), field=st.sampled_from(FIELDS), scale=st.floats(0, 50))
def test_rotation_conserves_norm_and_inverts(seed: int, field: str, scale: float) -> None:
    g = generator(seed)
    psi = random_states((4, 10), field, generator=g)
    angles = scale * torch.randn(4, 10 if field == "complex" else 5, generator=g, dtype=torch.float64)
    turned = rotate(psi, angles)
    torch.testing.assert_close(torch.linalg.vector_norm(turned, dim=-1), torch.ones(4, dtype=torch.float64))
    torch.testing.assert_close(rotate(turned, -angles), psi, rtol=0, atol=1e-12)


@pytest.mark.parametrize("field", FIELDS)
def test_tokens_are_conserved_and_only_the_past_matters(field: str) -> None:
    model = small(field)
    tokens = texts()
    changed = tokens.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % 7
    before, after = model(tokens), model(changed)
    assert (before[:, :6] - after[:, :6]).abs().max() == 0
    assert (before[:, 6:] - after[:, 6:]).abs().max() > 1e-3


def test_dephased_complex_register_knows_nothing_of_the_text() -> None:
    """Dephase fully before the readout's own basis: in the complex model the text enters by phases alone, so the
    populations after each phase layer do not depend on it.
    """
    model = small("complex", layers=1)
    populations = []
    for seed in (1, 2):
        tokens = torch.randint(7, (1, 8), generator=generator(seed))
        phased = rotate(model.prepare().expand(1, 8, -1), model.angles(tokens)[0])
        populations.append(phased.abs().square())
    torch.testing.assert_close(populations[0], populations[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("field", FIELDS)
def test_flops_agree_with_torchs_own_counter(field: str) -> None:
    """torch counts a complex product as a real one, so its count is compared part by part: real, then register."""
    model = small(field).float()
    tokens = texts(1, 7)  # no more tokens than words: nothing is shared between them
    with FlopCounterMode(display=False) as counter:
        angles = model.angles(tokens)
    classical = model.control.flops_per_token(7) + model.attention.flops_per_token(7)
    assert counter.get_total_flops() == 7 * classical
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        mixers, frame = model.mixers(), model.readout.frame()
        counter.flop_counts.clear()
        state = model.prepare().expand(7, -1)
        for mixer in mixers:
            state = state @ mixer.mT
        _ = state @ frame.mT
    complexity = 4 if field == "complex" else 1
    assert complexity * counter.get_total_flops() == 7 * (model.flops_per_token(7) - classical)
    assert angles.shape == (3, 1, 7, model.config.angle_count)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("missing", [0, 1])
def test_evolution_is_the_gates_one_by_one(field: str, missing: int) -> None:
    """The derivative by hand against finite differences, the map against the gates applied in turn."""
    g = generator(3)
    psi = random_states((5, 4), field, generator=g)  # type: ignore[arg-type]
    angles = torch.randn(3, 5, 4 if field == "complex" else 2, generator=g, dtype=torch.float64)
    mixers = torch.stack([haar(4, field, generator=g) for _ in range(3 - missing)])  # type: ignore[arg-type]
    one_by_one = psi
    for layer in range(3):
        one_by_one = rotate(one_by_one, angles[layer])
        if layer < len(mixers):
            one_by_one = one_by_one @ mixers[layer].mT
    torch.testing.assert_close(evolve(psi, angles, mixers), one_by_one, rtol=0, atol=1e-14)
    assert torch.autograd.gradcheck(evolve, tuple(x.requires_grad_() for x in (psi, angles, mixers)))


@pytest.mark.parametrize("control", CONTROLS)
def test_shared_products_are_the_plain_ones(control: str) -> None:
    """With more tokens than words a product with the n-grams is a sum of shared rows; a short text has plain ones."""
    model = small(control=control)
    tokens = texts(4, 9)
    torch.testing.assert_close(model.angles(tokens), naive_projection(model, tokens), rtol=0, atol=1e-12)
    alone = torch.cat([model(row[None, :7]) for row in tokens])
    torch.testing.assert_close(model(tokens[:, :7]), alone, rtol=0, atol=1e-12)


def naive_projection(model: UnitaryLM, tokens: torch.Tensor) -> torch.Tensor:
    """The angles with nothing shared: each n-gram of embeddings through the control's layers."""
    control, places = model.control, torch.arange(tokens.shape[1])
    parts = []
    for back in range(control.ngram):
        embedded = control.embedding[tokens[:, (places - back).clamp_min(0)]]
        parts.append(torch.where((places >= back)[:, None], embedded, 0))
    vectors = torch.cat(parts, -1)
    if control.kind == "mlp":
        hidden = torch.nn.functional.gelu(vectors @ control.up + control.up_bias)
        vectors = vectors + hidden @ control.down + control.down_bias
    return model.attention(vectors)


def test_the_last_mixer_may_turn_the_measurement() -> None:
    """Heisenberg's picture: many positions at once, and each alone, have the same probabilities."""
    for readout, dim in (("povm", 12), ("projective", 14)):
        model = small(readout=readout, dim=dim)
        tokens = texts(12, 5)
        angles = model.angles(tokens)
        states = model.evolve(model.prepare(), angles)
        torch.testing.assert_close(model.predict(model.prepare(), angles), model.read(states), rtol=0, atol=1e-12)


def test_ledger_names_every_trainable_parameter_once() -> None:
    model = small()
    names = [name for group in model.parameter_groups().values() for name in group]
    assert sorted(names) == sorted(name for name, p in model.named_parameters() if p.requires_grad)
    assert set(model.parameter_groups()) == {"embedding", "control", "mixers", "readout", "start", "floor"}


def test_copies_are_independent_and_equal() -> None:
    model = small()
    twin = copy.deepcopy(model)
    torch.testing.assert_close(twin(texts()), model(texts()), rtol=0, atol=0)
    with torch.no_grad():
        twin.psi.add_(1)
    assert not torch.equal(twin.psi, model.psi)


def test_the_seed_alone_decides_the_start() -> None:
    torch.manual_seed(1)
    first = UnitaryLM(UnitaryConfig(vocab=7, dim=8), generator(4))
    torch.manual_seed(2)
    second = UnitaryLM(UnitaryConfig(vocab=7, dim=8), generator(4))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"field": "real", "dim": 9}, "even dim in the real field, got 9"),
        ({"dim": 10, "heads": 4}, "10 angles of a layer must be divisible by heads, got 4"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"readout": "projective", "dim": 12}, "multiple of the vocabulary 7, got dim 12: take 14"),
        ({"control": "oracle"}, "control must be one of token, additive, mlp, got 'oracle'"),
        ({"decay": "slow"}, "'fixed' or 'learned', got 'slow'"),
    ],
)
def test_impossible_sizes_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)  # type: ignore[arg-type]
