"""The uniform Born machine against brute force, counted strings, and automata that groups make exact."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qattn.core.audit import causality_defect, normalisation_defect
from qattn.core.states import random_states
from qattn.lm.born_machine import BornMachineConfig, BornMachineLM


def machine(seed: int = 0, **fields: object) -> BornMachineLM:
    config = BornMachineConfig(**{"vocab": 3, "dim": 4, "longest": 6, **fields})  # type: ignore[arg-type]
    model = BornMachineLM(config, torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        model.lengths.normal_(generator=torch.Generator().manual_seed(seed + 1))
    return model


def strings(symbols: int, length: int) -> torch.Tensor:
    """Every string of a length."""
    return torch.tensor(list(itertools.product(range(symbols), repeat=length)), dtype=torch.int64).reshape(
        symbols**length, length
    )


def log_probabilities(model: BornMachineLM, every: torch.Tensor) -> torch.Tensor:
    """Of whole strings with their end, token by token."""
    marker = torch.full((len(every), 1), model.marker)
    inputs, targets = torch.cat([marker, every], 1), torch.cat([every, marker], 1)
    return model(inputs).gather(-1, targets[..., None])[..., 0].sum(1)


def directly(model: BornMachineLM, every: torch.Tensor) -> torch.Tensor:
    """p(n) ⟨φ|E|φ⟩ over its sum over all strings of length n: no Heisenberg picture, no logarithms."""
    operators, effect = model.operators(), model.projector()
    psi = model.prepare().expand(len(every), -1)
    for column in every.unbind(1):
        psi = torch.einsum("nab,nb->na", operators[column], psi)
    weights = torch.einsum("na,ab,nb->n", psi.conj(), effect, psi).real
    return model.lengths.softmax(0)[every.shape[1]] * weights / weights.sum()


CASES = [
    {"transition": "isometry"},
    {"transition": "isometry", "field": "real", "rank": 3},
    {"transition": "unitary", "vocab": 4, "rank": 2},
    {"transition": "unitary", "field": "real"},
]


@pytest.mark.parametrize("fields", CASES, ids=lambda fields: "-".join(map(str, fields.values())))
@torch.no_grad()
def test_strings_have_the_probabilities_of_the_definition_and_together_one(fields: dict[str, object]) -> None:
    model, total = machine(longest=5, **fields), 0.0
    for length in range(6):
        every = strings(model.marker, length)
        found = log_probabilities(model, every).exp()
        torch.testing.assert_close(found, directly(model, every), rtol=1e-9, atol=0)
        total += found.sum().item()
    assert total == pytest.approx(1, abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10_000), vocab=st.integers(2, 4), half=st.integers(1, 3), longest=st.integers(1, 8),
    field=st.sampled_from(["real", "complex"]), transition=st.sampled_from(["unitary", "isometry"]),
)  # fmt: skip
def test_step_is_forward_and_tokens_sum_to_one(
    seed: int, vocab: int, half: int, longest: int, field: str, transition: str
) -> None:
    """Texts with markers anywhere: each begins a new string. Whatever the parameters, also at the longest string."""
    model = machine(seed, vocab=vocab, dim=2 * half, longest=longest, field=field, transition=transition)
    tokens = torch.randint(vocab, (2, 2 * longest), generator=torch.Generator().manual_seed(seed))
    tokens[:, ::longest] = model.marker
    full, state = model(tokens), model.start(2)
    assert normalisation_defect(full) < 1e-12
    assert causality_defect(model, tokens[:, :longest], vocab) < 1e-12
    for place in range(tokens.shape[1]):
        log_probs, state = model.step(tokens[:, place], state)
        torch.testing.assert_close(log_probs, full[:, place], rtol=0, atol=1e-9)


def test_a_marker_begins_the_next_string_and_none_at_the_beginning_means_one() -> None:
    model = machine()
    framed, bare = torch.tensor([[2, 0, 1, 2, 1, 1]]), torch.tensor([[0, 1, 2, 1, 1]])
    torch.testing.assert_close(model(framed)[:, 1:], model(bare), rtol=0, atol=1e-12)
    torch.testing.assert_close(model(framed)[:, 3:], model(torch.tensor([[2, 1, 1]])), rtol=0, atol=1e-12)


def group(generators: list[list[int]], longest: int = 30) -> BornMachineLM:
    """The automaton of a permutation group: a permutation a symbol, started and accepted in one basis state."""
    dim = len(generators[0])
    config = BornMachineConfig(len(generators) + 1, dim=dim, transition="unitary", longest=longest)
    model = BornMachineLM(config).double()
    with torch.no_grad():
        one = torch.eye(dim, dtype=torch.complex128)
        model.transition.raw.copy_(torch.view_as_real(torch.stack([one[:, images] for images in generators])))
        model.psi.copy_(torch.view_as_real(one[0]))
        model.final.raw.copy_(torch.view_as_real(one[:, :1]))
    return model


TOMITA_5 = ([[2, 3, 0, 1], [1, 0, 3, 2]], lambda ones, zeros: ones % 2 == zeros % 2 == 0)
TOMITA_6 = ([[1, 2, 0], [2, 0, 1]], lambda ones, zeros: (ones - zeros) % 3 == 0)


@pytest.mark.parametrize(("generators", "member"), [TOMITA_5, TOMITA_6], ids=["Tomita 5", "Tomita 6"])
@pytest.mark.parametrize("length", [16, 30])
def test_the_automaton_of_a_group_writes_its_language_and_nothing_else(generators, member, length: int) -> None:  # type: ignore[no-untyped-def]
    """Four and three dimensions are Tomita 5 and 6 exactly, at every length: 300 strings drawn given their length."""
    model, random = group(generators), torch.Generator().manual_seed(0)
    state, token, drawn = model.start_given_length(300, length), torch.full((300,), 2), []
    for _ in range(length):
        log_probs, state = model.step(token, state)
        assert log_probs[:, 2].max() < -700  # never ends early
        token = torch.multinomial(log_probs[:, :2].exp(), 1, generator=random)[:, 0]
        drawn.append(token)
    log_probs, _ = model.step(token, state)
    torch.testing.assert_close(log_probs[:, 2], torch.zeros(300, dtype=torch.float64), rtol=0, atol=1e-12)
    ones = torch.stack(drawn).sum(0)
    assert all(member(int(one), length - int(one)) for one in ones)
    assert len(set(map(tuple, torch.stack(drawn, 1).tolist()))) > 290  # uniform: 16 384 strings at least


@pytest.mark.parametrize(("generators", "member"), [TOMITA_5, TOMITA_6], ids=["Tomita 5", "Tomita 6"])
def test_its_strings_are_equally_likely_given_their_length(generators, member) -> None:  # type: ignore[no-untyped-def]
    """−log P(s | n) is the logarithm of how many there are, by counting them; strings outside have no probability."""
    model = group(generators, longest=8)
    for length in (4, 6):
        every = strings(2, length)
        ones = every.sum(1)
        inside = torch.tensor([member(int(one), length - int(one)) for one in ones])
        with torch.no_grad():
            model.lengths.fill_(-800.0)[length] = 0.0
            found = log_probabilities(model, every)
        torch.testing.assert_close(found[inside], torch.full_like(found[inside], -math.log(inside.sum())))
        assert found[~inside].max() < -700


def test_lengths_that_no_string_can_have_are_left_out_of_the_prior() -> None:
    """Tomita 5 has no odd strings: the uniform prior over 0..8 becomes 1/5 for each even length."""
    model = group(TOMITA_5[0], longest=8)
    assert log_probabilities(model, strings(2, 0)).item() == pytest.approx(math.log(1 / 5), abs=1e-12)
    two = log_probabilities(model, strings(2, 2))
    assert two[[0, 3]].tolist() == pytest.approx([math.log(1 / 10)] * 2, abs=1e-12)  # 00 and 11
    with pytest.raises(ValueError, match="no string of 5 symbols has a probability"):
        model.start_given_length(1, 5)


@pytest.mark.parametrize("fields", CASES, ids=lambda fields: "-".join(map(str, fields.values())))
def test_gradients_are_those_of_finite_differences(fields: dict[str, object]) -> None:
    model = machine(longest=3, **{**fields, "dim": 2, "rank": 1})
    text = torch.tensor([[model.marker, 0, 1, 0], [model.marker, 1, model.marker, 1]])
    names, values = zip(*model.named_parameters(), strict=True)

    def loss(*parameters: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(model, given, (text,))[..., [0, -1]].sum()

    assert torch.autograd.gradcheck(loss, values, atol=1e-6, rtol=1e-5)


def test_long_strings_in_single_precision_neither_vanish_nor_overflow() -> None:
    """An isometry of dimension 20 loses norm at every symbol; 60 symbols in float32, with gradients."""
    model = machine(dim=20, longest=60).float()
    tokens = torch.randint(2, (2, 61), generator=torch.Generator().manual_seed(0))
    tokens[:, 0] = 2
    log_probs = model(tokens)
    double = model.double()(tokens)
    assert (log_probs.double() - double)[..., :2][:, :-1].abs().max() < 1e-3
    double[:, :-1, 0].sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


def test_one_symbol_is_an_isometry_until_something_is_measured() -> None:
    for fields in CASES:
        model = machine(**fields)
        assert model.completeness() < 1e-14
        evolve, unevolve, shape, field = model.state_map(torch.zeros(1, 2, dtype=torch.int64))
        psi = random_states(shape, field, generator=torch.Generator().manual_seed(3))
        torch.testing.assert_close(unevolve(evolve(psi)), psi, rtol=0, atol=1e-13)
        assert not model.strict


def test_impossible_sizes_and_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="vocab must be at least 2, got 1"):
        BornMachineConfig(1)
    with pytest.raises(ValueError, match="rank 5 needs a register of that dimension, got dim 4"):
        BornMachineConfig(3, dim=4, rank=5)
    with pytest.raises(ValueError, match="planar rotations need an even dim in the real field, got 3"):
        BornMachineConfig(3, dim=3, field="real")
    with pytest.raises(ValueError, match="transition must be 'isometry' or 'unitary', got 'table'"):
        BornMachineConfig(3, transition="table")
    with pytest.raises(
        ValueError, match="a string of 7 symbols has no probability under a prior up to 6: raise longest"
    ):
        machine()(torch.zeros(1, 7, dtype=torch.int64))
