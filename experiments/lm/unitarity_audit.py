"""The audit of section "is it really unitary?": the same numbers for every model, whatever it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from experiments.lm.contract import RegisterModel, StreamModel, Tokens, claims_unitarity
from experiments.schema.audit_columns import AUDIT_COLUMNS
from qattn.core import audit
from qattn.core.measurement import Overlap
from qattn.core.states import random_states
from qattn.lm.base import RegisterLM

COHERENCE_LOST = "coherence is lost on the way: the register has no state vector"
"""Why a register has no state map, unless its model says otherwise (``without_state_map``)."""
OF_VECTORS = ("norm_drift", "inner_product_drift", "linearity", "reversal")


@torch.no_grad()
def audit_model(model: nn.Module, tokens: Tokens, seed: int = 0) -> dict[str, Any]:
    """Measure one model on one batch of tokens (batch, time).

    A :class:`RegisterModel` is audited on random states under the given texts. A :class:`StreamModel` is audited on its
    residual stream: the map of all its blocks on random vectors as long as its embeddings. What a model
    has no meaning for is None with a reason. ``passed`` compares all figures of a strict model with the dtype's budget;
    it is None for models that do not claim strict unitarity.
    """
    was_training = model.training
    model.eval()
    try:
        return _audit(model, tokens, torch.Generator().manual_seed(seed))
    finally:
        model.train(was_training)


def _audit(model: Any, tokens: Tensor, generator: torch.Generator) -> dict[str, Any]:
    log_probs = model(tokens)
    dtype = log_probs.dtype
    values: dict[str, float | None] = dict.fromkeys(AUDIT_COLUMNS)
    reasons: dict[str, str] = {}
    values["causality"] = audit.causality_defect(model, tokens, log_probs.shape[-1])
    values["normalisation"] = audit.normalisation_defect(log_probs)
    evolve = None
    if isinstance(model, RegisterModel):
        values["completeness"] = model.completeness()
        if values["completeness"] is None:
            reasons["completeness"] = "softmax is no measurement: there are no effects to sum"
        state_map = model.state_map(tokens)
        if state_map is None:
            reasons |= dict.fromkeys(OF_VECTORS, getattr(model, "without_state_map", COHERENCE_LOST))
        else:
            evolve, unevolve, shape, field = state_map
            a, b = (random_states(shape, field, generator=generator, dtype=dtype) for _ in range(2))
            values["reversal"] = audit.reversal_error(evolve, unevolve, a)
    elif isinstance(model, StreamModel):
        stream = model.embed(tokens)
        length = torch.linalg.vector_norm(stream, dim=-1, keepdim=True)
        a, b = (random_states(stream.shape, "real", generator=generator, dtype=dtype) * length for _ in range(2))
        evolve = model.evolve
        reasons["reversal"] = "a block with softmax and normalisation has no inverse"
        reasons["completeness"] = "softmax is no measurement: there are no effects to sum"
    else:
        reasons |= {key: "the model has no state map" for key, value in values.items() if value is None}
    if evolve is not None:
        values["norm_drift"] = audit.norm_drift(evolve, a)
        values["inner_product_drift"] = audit.inner_product_drift(evolve, a, b)
        values["linearity"] = audit.linearity_defect(evolve, a, b)
    budget, strict = audit.BUDGET[dtype], claims_unitarity(model)
    passed = all(value is not None and value <= budget for value in values.values()) if strict else None
    overlap = model.readout if isinstance(model, RegisterLM) and isinstance(model.readout, Overlap) else None
    facts = {"dtype": str(dtype).removeprefix("torch."), "budget": budget, "passed": passed, "reasons": reasons}
    return {**values, **({} if overlap is None else {"frame_ratio": overlap.frame_ratio()}), **facts}
