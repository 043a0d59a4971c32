"""The whole decoder: causality, decoding with the cache, seeds, dropout, tying, the ledger and the FLOP count."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from classical import PRESETS, Transformer, TransformerConfig, gpt2_style, modern
from classical.counting import GROUPS, count_parameters

VOCAB, BLOCK = 11, 9
SHAPES: dict[str, TransformerConfig] = {
    name: preset(VOCAB, BLOCK, dim=16, layers=3, heads=4) for name, preset in PRESETS.items()
} | {
    "no_positions_post_rms": TransformerConfig(
        VOCAB, BLOCK, dim=16, layers=2, norm="rms", norm_position="post", position="none", tie=False, bias=True
    ),
    "one_head_rotary_layer": TransformerConfig(
        VOCAB, BLOCK, dim=8, layers=1, heads=1, position="rotary", activation="swiglu", qk_norm=True, hidden=5
    ),
}
every_shape = pytest.mark.parametrize("name", SHAPES)


def make(name: str) -> Transformer:
    """A float64 model whose every weight is random: a zero start would hide mistakes."""
    model = Transformer(SHAPES[name], torch.Generator().manual_seed(0)).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=generator, dtype=torch.float64) * 0.3)
    return model


def text(batch: int = 2, length: int = BLOCK, seed: int = 2) -> torch.Tensor:
    return torch.randint(VOCAB, (batch, length), generator=torch.Generator().manual_seed(seed))


@every_shape
def test_probabilities_sum_to_one_and_the_thirds_make_the_whole(name: str):
    model, tokens = make(name), text()
    log_probs = model(tokens)
    assert log_probs.shape == (2, BLOCK, VOCAB)
    assert torch.allclose(log_probs.exp().sum(-1), torch.ones(2, BLOCK).double(), atol=1e-12)
    assert torch.equal(log_probs, model.read(model.evolve(model.embed(tokens))))


@every_shape
def test_token_by_token_equals_forward_with_the_prompt_split_anywhere(name: str):
    model, tokens = make(name), text()
    expected = model(tokens)
    for split in range(BLOCK + 1):
        state = model.start(2)
        parts = []
        if split:
            together, state = model.extend(tokens[:, :split], state)
            parts.append(together)
        for t in range(split, BLOCK):
            one, state = model.step(tokens[:, t], state)
            parts.append(one[:, None])
        assert (torch.cat(parts, 1) - expected).abs().max() < 1e-10


@every_shape
def test_two_parts_equal_one(name: str):
    model, tokens = make(name), text()
    first, state = model.extend(tokens[:, :4], model.start(2))
    second, _ = model.extend(tokens[:, 4:], state)
    assert (torch.cat((first, second), 1) - model(tokens)).abs().max() < 1e-10


@every_shape
def test_a_state_can_be_continued_twice(name: str):
    model, tokens = make(name), text()
    _, state = model.extend(tokens[:, :5], model.start(2))
    other, _ = model.step((tokens[:, 5] + 1) % VOCAB, state)
    right, _ = model.step(tokens[:, 5], state)
    assert (right - model(tokens)[:, 5]).abs().max() < 1e-10
    assert (other - right).abs().max() > 1e-3


@every_shape
def test_the_future_changes_nothing(name: str):
    model, tokens = make(name), text()
    changed = tokens.clone()
    changed[:, 5] = (changed[:, 5] + 1) % VOCAB
    a, b = model(tokens), model(changed)
    assert (a[:, :5] - b[:, :5]).abs().max() < 1e-14
    assert (a[:, 5:] - b[:, 5:]).abs().amax(-1).min() > 1e-6


def test_without_positions_the_past_is_a_set():
    """Part 3, "The sine formula": one block without positions predicts the same after "abc" and "bac"."""
    model = make("no_positions_post_rms")
    shallow = Transformer(TransformerConfig(VOCAB, BLOCK, dim=16, layers=1, position="none")).double()
    a, b = torch.tensor([[1, 2, 3]]), torch.tensor([[2, 1, 3]])
    assert torch.allclose(shallow(a)[:, -1], shallow(b)[:, -1], atol=1e-14)
    assert model.position is None


def test_the_limit_is_named():
    model = make("gpt2_style")
    assert model.context_limit == BLOCK
    with pytest.raises(ValueError, match=f"has {BLOCK + 1} tokens, but the model reads at most {BLOCK}"):
        model(text(length=BLOCK + 1))
    _, state = model.extend(text(), model.start(2))
    with pytest.raises(ValueError, match=f"at most {BLOCK}"):
        model.step(torch.zeros(2, dtype=torch.int64), state)


@pytest.mark.parametrize("token", [-1, VOCAB])
def test_tokens_outside_the_vocabulary_are_named(token: int):
    with pytest.raises(ValueError, match=rf"0…{VOCAB - 1}, got {min(token, 0)}…{max(token, 0)}"):
        make("modern")(torch.tensor([[0, token]]))


def test_a_state_for_other_texts_is_refused():
    model = make("modern")
    with pytest.raises(ValueError, match="the state holds 3 texts, got tokens for 2"):
        model.step(torch.zeros(2, dtype=torch.int64), model.start(3))
    with pytest.raises(ValueError, match="batch must be at least 1"):
        model.start(0)


@every_shape
def test_the_seed_decides_and_the_global_generator_is_left_alone(name: str):
    before = torch.get_rng_state()
    a, b, c = (Transformer(SHAPES[name], torch.Generator().manual_seed(s)) for s in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(a.embedding.weight, c.embedding.weight)


def test_gpt2_start():
    """N(0, 0.02²), and 0.02/√(2L) for the maps that write to the residual stream; 16 384 draws or more: six sigma."""
    model = Transformer(gpt2_style(65, 64), torch.Generator().manual_seed(0))
    block = model.blocks[1]
    for weight, std in (
        (model.embedding.weight, 0.02),
        (model.position, 0.02),
        (block.attention.qkv.weight, 0.02),
        (block.feedforward.up.weight, 0.02),
        (block.attention.out.weight, 0.02 / math.sqrt(8)),
        (block.feedforward.down.weight, 0.02 / math.sqrt(8)),
    ):
        assert abs(weight.std().item() / std - 1) < 6 / math.sqrt(2 * weight.numel())


def test_a_zero_start_predicts_the_uniform_distribution():
    model = Transformer(modern(VOCAB, BLOCK, dim=16), torch.Generator().manual_seed(0))
    assert torch.allclose(model(text()), torch.full((), -math.log(VOCAB)), atol=1e-6)
    model(text()).gather(-1, text()[..., None]).mean().backward()
    assert model.head.weight.grad.abs().sum() > 0


@every_shape
def test_dropout_changes_nothing_in_evaluation(name: str):
    plain = make(name).eval()
    config = SHAPES[name]
    wet = Transformer(TransformerConfig(**{**config.__dict__, "dropout": 0.5})).double()
    wet.load_state_dict(plain.state_dict())
    assert torch.equal(wet.eval()(text()), plain(text()))
    wet.train()
    assert not torch.allclose(wet(text()), plain(text()))


@pytest.mark.parametrize("how", ["load", "assign", "deepcopy", "to"])
def test_tied_weights_stay_one_tensor(how: str):
    model = make("gpt2_style")
    count = sum(p.numel() for p in model.parameters())
    if how == "to":
        model = model.to(torch.float32).to(torch.float64)
    elif how == "deepcopy":
        model = copy.deepcopy(model)
    else:
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        model = Transformer(SHAPES["gpt2_style"]).double()
        model.load_state_dict(state, assign=how == "assign")
    assert sum(p.numel() for p in model.parameters()) == count == sum(count_parameters(model.config).values())
    before = model(text())
    with torch.no_grad():
        model.embedding.weight.mul_(1.5)
    x = model.evolve(model.embed(text()))
    expected = F.log_softmax(model.norm(x) @ model.embedding.weight.T, -1)
    assert torch.allclose(model(text()), expected, atol=1e-12)
    assert not torch.allclose(model(text()), before)


@every_shape
def test_the_ledger_names_every_parameter_once(name: str):
    model = make(name)
    groups = model.parameter_groups()
    assert tuple(groups) == GROUPS
    names = [n for group in groups.values() for n in group]
    parameters = dict(model.named_parameters())
    assert sorted(names) == sorted(parameters)
    counted = {group: sum(parameters[n].numel() for n in members) for group, members in groups.items()}
    assert counted == count_parameters(model.config)


@every_shape
@pytest.mark.parametrize("length", [1, 4, BLOCK])
def test_flops_equal_what_pytorch_counts(name: str, length: int):
    model = make(name)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(text(length=length))
    assert counter.get_total_flops() == 2 * length * model.flops_per_token(length)


def test_a_checkpoint_holds_parameters_only():
    for name in SHAPES:
        model = make(name)
        assert set(model.state_dict()) == {n for n, _ in model.named_parameters()}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("vocab", 0, "vocab must be a whole number of at least 1, got 0"),
        ("dim", 16.0, "dim must be a whole number"),
        ("layers", True, "layers must be a whole number"),
        ("hidden", 0, "hidden must be a whole number"),
        ("norm", "batch", "norm must be one of layer, rms, got 'batch'"),
        ("norm_position", "mid", "norm_position must be one of pre, post"),
        ("position", "alibi", "position must be one of learned, sinusoidal, rotary, none"),
        ("activation", "tanh", "activation must be one of relu, gelu, swiglu, relu2"),
        ("heads", 3, "dim must be a multiple of heads, got dim 16 and heads 3"),
        ("tie", 1, "tie must be true or false, got 1"),
        ("dropout", "no", "dropout must be a number, got 'no'"),
        ("dropout", 1.0, "dropout must be at least 0 and below 1"),
        ("dropout", float("nan"), "dropout must be at least 0"),
        ("init_std", 0.0, "init_std must be a positive number"),
        ("size", 3, "unknown option size"),
    ],
)
def test_contradictions_are_named(option: str, value: object, message: str):
    with pytest.raises(ValueError, match=message):
        gpt2_style(**{"vocab": 5, "block": 4, "dim": 16, option: value})


def test_pairs_need_even_dimensions():
    with pytest.raises(ValueError, match="dim / heads must be even, got 3"):
        TransformerConfig(5, 4, dim=6, heads=2, position="rotary")
    with pytest.raises(ValueError, match="dim must be even, got 7"):
        TransformerConfig(5, 4, dim=7, heads=1, position="sinusoidal")
