"""Learned contexts: exact sharing, exact probabilities, the language-model contract, and what training does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from contexts.hypergraphs import library
from contexts.learning.contextual_model import ContextualModel
from contexts.learning.shared_bases import Bases, cayley, tree_links
from contexts.logic.rigidity import flex


@pytest.fixture(autouse=True)
def _float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def star_model(places: int = 0, **changes) -> ContextualModel:
    settings = {"vocabulary": 20, "dimension": 6, "contexts": [[0, 1], [0, 2], [0, 3]], "own": 2} | changes
    return ContextualModel(**settings, generator=generator(), places=places)


TREE = [[0, 1, 2], [2, 3, 4], [2, 5], [4, 6, 7]]


def test_stars_and_trees_share_their_vectors_exactly():
    """Zero distance, not a small one: the same numbers; and every basis orthonormal to rounding."""
    bases = Bases(TREE, 5, generator())
    assert bases.exact
    assert bases.sharing_error() == 0.0
    made = bases()
    assert torch.allclose(made.transpose(1, 2) @ made, torch.eye(5).expand(4, 5, 5), atol=1e-13)


def test_sharing_survives_training_steps():
    bases = Bases(TREE, 5, generator())
    optimizer = torch.optim.Adam(bases.parameters(), lr=0.1)
    target = torch.randn(4, 5, 5, generator=generator(1))
    for _ in range(20):
        loss = (bases() - target).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert bases.sharing_error() == 0.0


def test_two_shared_columns_and_column_order():
    """A context that takes two tokens over from its parent, in another order."""
    bases = Bases([[0, 1, 2], [2, 7, 1]], 4, generator())
    first, second = bases()
    assert torch.equal(second[:, 0], first[:, 2])
    assert torch.equal(second[:, 2], first[:, 1])


def test_cycles_are_told_from_trees():
    assert tree_links(TREE) is not None
    pentagon = library.load("pentagon")
    assert tree_links(pentagon.contexts) is None
    assert tree_links(library.load("bank").contexts) is not None


def test_a_cycle_ends_on_an_exact_realisation():
    """Pentagon in R³: penalty first, polished to 1e-12; its flex, 2, says what can be trained."""
    h = library.load("pentagon")
    bases = Bases([[h.index[v] for v in c] for c in h.contexts], 3, generator())
    assert not bases.exact
    assert bases.penalty() > 0.1
    optimizer = torch.optim.Adam(bases.parameters(), lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        bases.penalty().backward()
        optimizer.step()
    assert bases.penalty() < 1e-2
    assert bases.polish() < 1e-12
    assert bases.sharing_error() < 1e-11
    assert flex(bases.hypergraph()) == 2


def test_cayley_is_a_rotation():
    q = cayley(torch.randn(6, 6, generator=generator()))
    assert torch.allclose(q @ q.T, torch.eye(6), atol=1e-13)
    assert torch.linalg.det(q) == pytest.approx(1)
    assert torch.equal(cayley(torch.zeros(3, 3)), torch.eye(3))


def test_named_tokens_are_vectors_of_their_contexts_and_all_have_length_one():
    model = star_model()
    bases = model.bases()
    vectors = model.token_vectors(bases)
    assert torch.equal(vectors[0], bases[0][:, 0])
    assert torch.equal(vectors[0], bases[2][:, 0])
    assert torch.equal(vectors[2], bases[1][:, 1])
    assert torch.allclose(vectors.norm(dim=1), torch.ones(20), atol=1e-14)


@pytest.mark.parametrize("places", [0, 2])
def test_next_token_probabilities_sum_to_one_without_softmax(places):
    model = star_model(places)
    tokens = torch.randint(0, 20, (3, 9), generator=generator(5))
    assert torch.allclose(model(tokens).exp().sum(-1), torch.ones(3, 9), atol=1e-12)


def test_step_agrees_with_forward_at_every_position():
    model = star_model()
    tokens = torch.randint(0, 20, (3, 9), generator=generator(5))
    whole, state = model(tokens), model.start(3)
    for t in range(9):
        log_p, state = model.step(tokens[:, t], state)
        assert torch.allclose(log_p, whole[:, t], atol=1e-12)


def test_later_tokens_change_nothing_before():
    model = star_model()
    tokens = torch.randint(0, 20, (1, 8), generator=generator(5))
    other = tokens.clone()
    other[0, 5:] = (other[0, 5:] + 1) % 20
    assert torch.equal(model(tokens)[:, :5], model(other)[:, :5])


def test_evidence_is_the_born_rule():
    """q_c(x) = Σ|⟨e_k|v(x)⟩|² over the own vectors, mixed with the declared noise; checked against plain numpy."""
    model = star_model()
    with torch.no_grad():
        bases = model.bases().numpy()
        vectors = model.token_vectors(model.bases()).numpy()
        noise = float(torch.sigmoid(model.noise))
        table = model.evidence()[0].numpy()
    for token in (0, 3, 17):
        for c in range(3):
            born = sum((bases[c][:, k] @ vectors[token]) ** 2 for k in (1, 2))
            assert np.exp(table[token, c]) == pytest.approx((1 - noise) * born + noise * 2 / 6)
    assert np.exp(table[0]) == pytest.approx(noise * 2 / 6)  # the shared token says nothing of the context


def test_selection_multiplies_the_evidence_and_ignores_padding():
    model = star_model()
    with torch.no_grad():
        table = model.evidence()[0]
        alone = model.select(torch.tensor([[4, 5]]))
        padded = model.select(torch.tensor([[4, -1, 5, -1]]))
    assert torch.allclose(alone, torch.log_softmax(table[4] + table[5], -1)[None])
    assert torch.allclose(alone, padded)


def test_places_make_order_count_and_nothing_else_does():
    order = torch.tensor([[-1, 1]])
    tokens, swapped = torch.tensor([[4, 5]]), torch.tensor([[5, 4]])
    with torch.no_grad():
        plain, placed = star_model(), star_model(places=1)
        assert torch.allclose(plain.select(tokens, order), plain.select(swapped, order))
        assert not torch.allclose(placed.select(tokens, order), placed.select(swapped, order))


def test_language_model_learns_a_bigram_better_than_chance():
    """0 → 1 → 2 → … in a ring: after 120 steps below half of log V; trains by gradient, tokens and contexts alike."""
    model = ContextualModel(8, 6, [[0], [0]], 2, generator())
    tokens = torch.arange(33).remainder(8)[None]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(120):
        loss = -model(tokens[:, :-1]).gather(2, tokens[:, 1:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < np.log(8) / 2
    moved = {name for name, p in model.named_parameters() if p.numel() and not torch.equal(p, before[name])}
    assert {"vectors", "noise"} < moved
    assert any(name.startswith("bases.") for name in moved)


def test_parameter_groups_cover_all_parameters_once():
    model = star_model(places=1)
    named = [name for group in model.parameter_groups().values() for name in group]
    assert sorted(named) == sorted(name for name, _ in model.named_parameters())
    assert model.context_limit is None
    assert model.flops_per_token(10) > 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"contexts": []}, "at least one context"),
        ({"own": 6}, "1 to 5 own vectors"),
        ({"vocabulary": 5}, "vocabulary 5 is below dimension 6"),
        ({"contexts": [[0, 0]]}, "different tokens"),
        ({"one_basis": True, "own": 3}, "no room for 3 senses of 3"),
    ],
)
def test_impossible_models(changes, words):
    with pytest.raises(ValueError, match=words):
        star_model(**changes)
