"""The audit of section "is it really unitary?": the same numbers for every model, whatever it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from qattn import audit
from qattn.states import random_states

KEYS = ("norm_drift", "inner_product_drift", "linearity", "reversal", "causality", "completeness", "normalisation")


@torch.no_grad()
def audit_model(model: nn.Module, tokens: Tensor, seed: int = 0) -> dict[str, Any]:
    """Measure one model on one batch of tokens (batch, time).

    A register model (it has ``unevolve``) is audited on random states under the given texts. A transformer is audited
    on its residual stream: the map of all its blocks on random vectors as long as its embeddings. What a model has no
    meaning for is None with a reason. ``passed`` compares all figures of a strict model with the dtype's budget; it is
    None for models that do not claim unitarity.
    """
    was_training = model.training
    model.eval()
    try:
        return _audit(model, tokens, torch.Generator().manual_seed(seed))
    finally:
        model.train(was_training)


def _audit(model: Any, tokens: Tensor, generator: torch.Generator) -> dict[str, Any]:
    dtype = next(model.parameters()).dtype
    log_probs = model(tokens)
    values: dict[str, float | None] = dict.fromkeys(KEYS)
    reasons: dict[str, str] = {}
    values["causality"] = audit.causality_defect(model, tokens, log_probs.shape[-1])
    values["normalisation"] = audit.normalisation_defect(log_probs)
    strict = hasattr(model, "unevolve")
    if strict:
        angles = model.angles(tokens)
        shape = (*angles.shape[1:-1], model.config.dim)
        a, b = (random_states(shape, model.config.field, generator=generator, dtype=dtype) for _ in range(2))

        def evolve(psi: Tensor) -> Tensor:
            return model.evolve(psi, angles)

        values["reversal"] = audit.reversal_error(evolve, lambda phi: model.unevolve(phi, angles), a)
        values["completeness"] = model.readout.completeness()
    elif hasattr(model, "embed") and hasattr(model, "evolve"):
        stream = model.embed(tokens)
        length = torch.linalg.vector_norm(stream, dim=-1, keepdim=True)
        a, b = (random_states(stream.shape, "real", generator=generator, dtype=dtype) * length for _ in range(2))
        evolve = model.evolve
        reasons["reversal"] = "a block with softmax and normalisation has no inverse"
        reasons["completeness"] = "softmax is no measurement: there are no effects to sum"
    else:
        reasons |= {key: "the model has no state map" for key, value in values.items() if value is None}
        evolve = None  # type: ignore[assignment]
    if evolve is not None:
        values["norm_drift"] = audit.norm_drift(evolve, a)
        values["inner_product_drift"] = audit.inner_product_drift(evolve, a, b)
        values["linearity"] = audit.linearity_defect(evolve, a, b)
    budget = audit.BUDGET[dtype]
    passed = all(value is not None and value <= budget for value in values.values()) if strict else None
    return {
        **values, "dtype": str(dtype).removeprefix("torch."), "budget": budget, "passed": passed, "reasons": reasons,
    }  # fmt: skip
