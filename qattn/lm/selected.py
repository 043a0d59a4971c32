"""Rung 2s: rung 2 read by selection. The register is prepared k times, read jointly, and anew until a token comes out.

    E_w = Σ_r |b_{w,r}⟩⟨b_{w,r}|^{⊗k} / λ,   p(w|x) = ⟨φ^{⊗k}|E_w|φ^{⊗k}⟩ / Σ_v ⟨φ^{⊗k}|E_v|φ^{⊗k}⟩,   φ = U(x)|ψ₀⟩

The states evolve by unitaries alone and are measured at the end, as in rung 2; what a token costs beyond that is
counted in preparations (:mod:`qattn.core.selected_readout`) and may be charged for in the loss by ``acceptance``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qattn.core.measurement import log_probabilities
from qattn.core.selected_readout import SelectedReadout
from qattn.core.unitaries import Field
from qattn.lm.control import ControlModule
from qattn.lm.unitary import UnitaryConfig, UnitaryLM


@dataclass(frozen=True)
class SelectedConfig(UnitaryConfig):
    """A :class:`UnitaryConfig` read by selection.

    copies: preparations k in one reading; acceptance: weight μ of −log(chance that a reading says a token) in the loss.
    Raises ``ValueError`` for sizes below one, a negative weight, and for the ablations that leave no state vector.
    """

    readout: str = "selected"
    rank: int = 2
    copies: int = 2
    acceptance: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.readout != "selected":
            raise ValueError(f"a selected model has readout 'selected', got {self.readout!r}")
        if self.copies < 1:
            raise ValueError(f"copies must be at least 1, got {self.copies}")
        if not self.acceptance >= 0:
            raise ValueError(f"acceptance must be at least 0, got {self.acceptance}")
        if self.mixed:
            raise ValueError("a selected readout reads state vectors; dephasing and unistochastic leave none")


class SelectedLM(UnitaryLM):
    """Rung 2s: tokens (batch, time) → log-probabilities (batch, time, vocab) of the readings that say a token."""

    config: SelectedConfig
    readout: SelectedReadout
    constrained_groups = ("mixers", "start")

    def __init__(
        self, config: SelectedConfig, generator: torch.Generator | None = None, control: ControlModule | None = None
    ) -> None:
        super().__init__(config, generator, control)

    def make_register(
        self, dim: int, vocab: int, field: Field, readout: str, rank: int, floor: bool, generator: torch.Generator
    ) -> None:
        """The measured vectors, the start and the floor."""
        self.readout = SelectedReadout(dim, vocab, rank, self.config.copies, field, generator=generator)
        self.make_start(dim, field, generator)
        self.make_floor(floor)

    @property
    def strict(self) -> bool:  # type: ignore[override]
        """Unitaries, then one measurement of all copies, repeated until it says a token."""
        return True

    def penalised(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch time vocab"], Float[Tensor, ""]]:
        """Log-probabilities, and μ E[−log(chance that a reading says a token)] to be added to the loss, in nats."""
        if self.config.acceptance == 0:
            return self(tokens), self.psi.new_zeros(())
        weights = self.readout.log_weights(self.states(tokens))
        refused = -self.readout.log_success(weights).mean()
        return log_probabilities(weights.softmax(-1), self.floor), self.config.acceptance * refused

    def preparations(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time"]:
        """Expected preparations of the register for each next token, k λ / Z."""
        return self.readout.preparations(self.states(tokens))
