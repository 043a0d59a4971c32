"""The one contract: what every language model of a comparison offers, whatever moves inside."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class LanguageModel(Protocol):
    """Tokens in, log-probabilities of the next token out. The models need not import this."""

    context_limit: int | None
    """Longest text `forward` and `step` accept; None when there is no limit."""

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """Log-probabilities of the token that follows each position, from that position and earlier ones alone."""
        ...

    def start(self, batch: int) -> Any:
        """The state of an empty context."""
        ...

    def step(self, token: Int[Tensor, " batch"], state: Any) -> tuple[Float[Tensor, "batch vocab"], Any]:
        """One token further; agrees with `forward` to the dtype's tolerance."""
        ...

    def parameter_groups(self) -> dict[str, list[str]]:
        """Names of the trainable parameters by what they are for: the ledger, and the learning-rate groups."""
        ...

    def flops_per_token(self, length: int) -> int:
        """Real multiplications and additions in the matrix products of one forward token in a text of ``length``."""
        ...
