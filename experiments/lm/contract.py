"""The one contract: what a language model of a comparison offers, whatever moves inside, as small protocols.

:class:`LanguageModel` is what every kind has. The others are what some kinds have beside it; the training loop, the
audit, the tasks and the checkpoints ask for them by ``isinstance`` and for nothing else. A model need not import this:
having the members is enough. :mod:`~experiments.lm.contract_checks` puts a model to the test; ``tests/contract`` does
so with every registered kind.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from qattn.lm.base import StateMap

Tokens = Int[Tensor, "_sequences _time"]
Batch = tuple[Tokens, Tokens]
"""Inputs and targets; a target of −100 is not asked."""


@runtime_checkable
class LanguageModel(Protocol):
    """Tokens in, log-probabilities of the next token out."""

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


@runtime_checkable
class CountedModel(LanguageModel, Protocol):
    """Counts the training split once instead of being trained by steps; its parameters are buffers."""

    def count(self, tokens: Int[Tensor, " time"]) -> Any:
        """Count one text, in place of earlier counts."""
        ...

    def adopt(self, tensors: dict[str, Tensor]) -> None:
        """Take stored buffers, whose sizes only the file knows. Raises KeyError when one is missing."""
        ...


@runtime_checkable
class RegisterModel(LanguageModel, Protocol):
    """Moves a quantum register under the text, which the audit puts to the test."""

    strict: bool
    """Whether the register is claimed to evolve by unitaries alone, to be read once (see :func:`claims_unitarity`)."""
    constrained_groups: tuple[str, ...]
    """Parameter groups whose raw tensors stand for points of a manifold: never touched by weight decay."""

    def state_map(self, tokens: Int[Tensor, "batch time"]) -> StateMap | None:
        """What the texts do to state vectors, with its inverse; None where coherence is lost on the way."""
        ...

    def completeness(self) -> float | None:
        """Largest entry of |Σ_w E_w − 1|; None for a readout without effects."""
        ...


@runtime_checkable
class StreamModel(LanguageModel, Protocol):
    """Moves vectors of a residual stream, which the audit measures in the place of a register."""

    def embed(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time dim"]:
        """The vectors that enter the first block."""
        ...

    def evolve(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        """All blocks."""
        ...


@runtime_checkable
class HiddenMatrices(Protocol):
    """Names the matrices between hidden vectors, whose steps optimizer kind muon orthogonalises."""

    def hidden_matrices(self) -> list[str]:
        """Names of trainable parameters, each a matrix."""
        ...


@runtime_checkable
class FirstToken(Protocol):
    """Also predicts the first token of a text, from its start alone."""

    def first(self) -> Float[Tensor, " vocab"]:
        """Log-probabilities of the first token, which `forward` and `step` do not give."""
        ...


@runtime_checkable
class StringModel(LanguageModel, Protocol):
    """Gives whole strings between markers a probability, by their length; learns tasks of strings alone."""

    def start_given_length(self, batch: int, length: int) -> Any:
        """The state of strings known to have ``length`` symbols. Raises ValueError where there is no such string."""
        ...


@runtime_checkable
class PenalisedModel(LanguageModel, Protocol):
    """Adds a term of its own to the loss that it is trained on; `forward` and every reported loss are without it."""

    def penalised(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch time vocab"], Float[Tensor, ""]]:
        """What `forward` gives, and the term to add, in nats."""
        ...


@runtime_checkable
class SoftmaxModel(LanguageModel, Protocol):
    """Can say the log Z of its softmax, for the z-loss of Chowdhery et al. (2022)."""

    def with_log_partition(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch time vocab"], Float[Tensor, "batch time"] | None]:
        """What `forward` gives, and log Z; None where the model is read by a measurement."""
        ...


@runtime_checkable
class RepeatedModel(LanguageModel, Protocol):
    """Prepares its register anew until a reading says a token."""

    def preparations(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time"]:
        """Expected preparations of the register per next token."""
        ...


def claims_unitarity(model: object) -> bool:
    """Whether the audit holds the model to the dtype's budget: a register that is said to evolve by unitaries alone."""
    return isinstance(model, RegisterModel) and model.strict
