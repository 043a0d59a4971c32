"""Matrices made once during generation: the same numbers, and never stale ones in training."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from qattn import (
    BornMachineConfig,
    BornMachineLM,
    CircuitConfig,
    CircuitLM,
    InstrumentConfig,
    InstrumentLM,
    RecurrentConfig,
    UnitaryConfig,
    UnitaryLM,
    UnitaryRecurrentLM,
)
from qattn.core.parametrization_cache import cached

SMALL: dict[str, Any] = {"embedding": 6, "hidden": 8, "rank": 3}
MODELS = {
    "unitary": lambda: UnitaryLM(UnitaryConfig(5, dim=8, layers=2, heads=2, key_dim=4, **SMALL)),
    "circuit": lambda: CircuitLM(CircuitConfig(5, qubits=3, layers=2, heads=2, key_dim=4, **SMALL)),
    "table": lambda: UnitaryRecurrentLM(RecurrentConfig(5, dim=6, transition="table", **SMALL)),
    "cayley": lambda: UnitaryRecurrentLM(RecurrentConfig(5, dim=6, transition="cayley", **SMALL)),
    "permutation": lambda: UnitaryRecurrentLM(
        RecurrentConfig(5, dim=6, transition="permutation", field="real", **SMALL)
    ),
    "born_machine": lambda: BornMachineLM(BornMachineConfig(5, dim=4, rank=2)),
    "instrument": lambda: InstrumentLM(InstrumentConfig(5, dim=4, rank=2)),
}


@pytest.mark.parametrize("kind", MODELS)
def test_same_numbers_and_never_stale(kind: str) -> None:
    """A fused optimizer does not even mark its parameters as changed; still the next loss must see the new ones."""
    model = MODELS[kind]().double()
    tokens = torch.randint(5, (2, 7), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain = model(tokens)
        with cached(model):
            torch.testing.assert_close(model(tokens), plain, rtol=0, atol=0)
            torch.testing.assert_close(model(tokens), plain, rtol=0, atol=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    with cached(model):
        with torch.no_grad():
            model(tokens)
        model(tokens).mean().backward()
        optimizer.step()
        after = model(tokens).detach()
    assert (after - plain).abs().max() > 1e-3
    with torch.no_grad():
        torch.testing.assert_close(model(tokens), after, rtol=0, atol=1e-12)


def test_factorisations_happen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS["unitary"]()
    calls = []
    qr = torch.linalg.qr
    monkeypatch.setattr(torch.linalg, "qr", lambda matrix: calls.append(1) or qr(matrix))
    with torch.no_grad(), cached(model):
        state = model.start(1)
        for _ in range(5):
            with cached(model):  # within another it changes nothing
                _, state = model.step(torch.zeros(1, dtype=torch.long), state)
    assert len(calls) == 2  # the mixers, the readout
