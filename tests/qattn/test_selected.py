"""The selected readout against the operators on D^k dimensions that it never writes down."""

from __future__ import annotations

from functools import reduce

import pytest
import torch

from qattn.core.selected_readout import SelectedReadout
from qattn.core.states import random_states
from qattn.lm.selected import SelectedConfig, SelectedLM
from qattn.lm.unitary import UnitaryConfig, UnitaryLM


def readout(dim: int, vocab: int, rank: int, copies: int, field: str = "complex") -> SelectedReadout:
    return SelectedReadout(dim, vocab, rank, copies, field, generator=torch.Generator().manual_seed(3)).double()


def effects(made: SelectedReadout) -> torch.Tensor:
    """E_w on (C^D)^{⊗k}, written down in full."""
    vectors = made.vectors().detach().conj().unflatten(0, (made.rank, made.vocab))  # |b⟩, whose bras are the rows
    out = []
    for w in range(made.vocab):
        kets = [reduce(torch.kron, [vectors[r, w]] * made.copies) for r in range(made.rank)]
        out.append(sum(torch.outer(ket, ket.conj()) for ket in kets))
    return torch.stack(out) / made.largest().detach()


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize(("dim", "vocab", "rank", "copies"), [(3, 4, 2, 1), (3, 5, 1, 2), (2, 3, 2, 3)])
def test_probabilities_and_success_are_those_of_a_povm_on_all_copies(
    field: str, dim: int, vocab: int, rank: int, copies: int
) -> None:
    made = readout(dim, vocab, rank, copies, field)
    every = effects(made)
    none = torch.eye(dim**copies, dtype=every.dtype) - every.sum(0)
    assert torch.linalg.eigvalsh(none)[0].abs() < 1e-12  # positive, and no larger scaling would be
    phi = random_states((6, dim), field, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for one in phi:
        many = reduce(torch.kron, [one] * copies)
        chances = torch.einsum("a,wab,b->w", many.conj(), every, many).real
        assert torch.allclose(made(one), chances / chances.sum(), atol=1e-12)
        assert torch.allclose(made.log_success(made.log_weights(one)).exp(), chances.sum(), atol=1e-12)
        assert torch.allclose(made.preparations(one), copies / chances.sum(), rtol=1e-10)
    assert made.completeness() < 1e-12


def test_with_a_tight_frame_one_copy_always_says_a_token() -> None:
    """Σ |b⟩⟨b| = c·1 is a complete measurement: one preparation per token."""
    made = readout(3, 6, 1, 1)
    with torch.no_grad():
        made.raw.copy_(torch.view_as_real(torch.linalg.qr(torch.view_as_complex(made.raw))[0]))
    phi = random_states((5, 3), "complex", generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert torch.allclose(made.preparations(phi), torch.ones(5, dtype=torch.float64), atol=1e-12)


def test_the_gradient_of_the_largest_eigenvalue_is_its_own() -> None:
    made = readout(3, 4, 2, 2)

    def value(raw: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(_Largest(made), {"made.raw": raw}, ())

    assert torch.autograd.gradcheck(value, made.raw)


class _Largest(torch.nn.Module):
    def __init__(self, made: SelectedReadout) -> None:
        super().__init__()
        self.made = made

    def forward(self) -> torch.Tensor:
        return self.made.largest()


def test_sizes_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="copies must be at least 1"):
        readout(3, 4, 2, 0)


def model(**chosen) -> SelectedLM:
    sizes = {"vocab": 5, "dim": 8, "layers": 2, "heads": 2, "key_dim": 3, "hidden": 6, "embedding": 4}
    return SelectedLM(SelectedConfig(**sizes, **chosen), torch.Generator().manual_seed(0)).double()


def test_the_penalised_loss_is_the_plain_one_and_the_chance_of_a_token() -> None:
    tokens = torch.randint(5, (3, 7), generator=torch.Generator().manual_seed(1))
    made = model(copies=3, acceptance=0.25)
    log_probs, penalty = made.penalised(tokens)
    assert torch.allclose(log_probs, made(tokens), atol=1e-12)
    chances = made.config.copies / made.preparations(tokens)
    assert torch.all((chances > 0) & (chances <= 1 + 1e-12))
    assert torch.allclose(penalty, -0.25 * chances.log().mean(), atol=1e-12)
    penalty.backward()
    assert made.readout.raw.grad is not None
    assert made.readout.raw.grad.abs().max() > 0


def test_the_control_is_rung_twos_bit_for_bit_at_one_seed() -> None:
    """A twin differs in its readout alone."""
    sizes = {"vocab": 5, "dim": 8, "layers": 2, "heads": 2, "key_dim": 3, "hidden": 6, "embedding": 4}
    plain = UnitaryLM(UnitaryConfig(**sizes), torch.Generator().manual_seed(4)).state_dict()
    ours = SelectedLM(SelectedConfig(**sizes), torch.Generator().manual_seed(4)).state_dict()
    shared = [name for name in ours if name.split(".")[0] in ("control", "attention", "mixers")]
    assert len(shared) >= 6
    assert all(torch.equal(plain[name], ours[name]) for name in shared)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"copies": 0}, "copies must be at least 1"),
        ({"acceptance": -1.0}, "acceptance must be at least 0"),
        ({"dephasing": 0.5}, "leave none"),
        ({"readout": "povm"}, "has readout 'selected'"),
    ],
)
def test_what_cannot_be_is_refused(chosen: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(**chosen)
