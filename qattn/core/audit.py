"""Numbers instead of assertions: is a state map norm-preserving, linear, reversible, causal, and its readout complete?

Each function takes plain callables, so the same measurement applies to a unitary register and to a transformer's
residual stream. Every figure is the largest deviation found; 0 is perfect. Budget: 1e-5 in float32, 1e-12 in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from qattn.core.states import inner

BUDGET = {torch.float32: 1e-5, torch.float64: 1e-12}

StateMap = Callable[[Tensor], Tensor]


def _norm(states: Tensor) -> Tensor:
    return torch.linalg.vector_norm(states, dim=-1)


def norm_drift(evolve: StateMap, states: Shaped[Tensor, "*batch dim"]) -> float:
    """max | ‖Uψ‖ / ‖ψ‖ − 1 |."""
    return (_norm(evolve(states)) / _norm(states) - 1).abs().max().item()


def inner_product_drift(evolve: StateMap, a: Shaped[Tensor, "*batch dim"], b: Shaped[Tensor, "*batch dim"]) -> float:
    """max |⟨Ua|Ub⟩ − ⟨a|b⟩| / ‖a‖‖b‖: two initial states under one text."""
    drift = inner(evolve(a), evolve(b)) - inner(a, b)
    return (drift.abs() / (_norm(a) * _norm(b))).max().item()


def linearity_defect(
    evolve: StateMap,
    a: Shaped[Tensor, "*batch dim"],
    b: Shaped[Tensor, "*batch dim"],
    alpha: complex = 0.6,
    beta: complex = -0.8,
) -> float:
    """max ‖U(αa+βb) − αUa − βUb‖ / ‖αa+βb‖."""
    mixture = alpha * a + beta * b
    defect = evolve(mixture) - alpha * evolve(a) - beta * evolve(b)
    return (_norm(defect) / _norm(mixture)).max().item()


def reversal_error(evolve: StateMap, unevolve: StateMap, states: Shaped[Tensor, "*batch dim"]) -> float:
    """max ‖U⁻¹Uψ − ψ‖ / ‖ψ‖."""
    return (_norm(unevolve(evolve(states)) - states) / _norm(states)).max().item()


def causality_defect(
    log_probs: Callable[[Int[Tensor, "batch time"]], Float[Tensor, "batch time vocab"]],
    tokens: Int[Tensor, "batch time"],
    vocab: int,
) -> float:
    """Largest change of a probability when every token after a position is replaced: future tokens change nothing."""
    time = tokens.shape[1]
    before = log_probs(tokens).exp()
    worst = 0.0
    for cut in {0, time // 2, time - 2} if time > 1 else set():
        changed = tokens.clone()
        changed[:, cut + 1 :] = (changed[:, cut + 1 :] + 1) % vocab
        after = log_probs(changed).exp()
        worst = max(worst, (after - before)[:, : cut + 1].abs().max().item())
    return worst


def normalisation_defect(log_probs: Float[Tensor, "*batch vocab"]) -> float:
    """max |Σ_w p(w) − 1|."""
    return (log_probs.exp().sum(-1) - 1).abs().max().item()
