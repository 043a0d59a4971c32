"""What a transformer reads its softmax from: one vector per position of the text so far, for others to read."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from classical import counting
from classical.config import TransformerConfig
from classical.transformer import DecoderState, Transformer


class ContextVectors(nn.Module):
    """forward(tokens) gives norm(X⁽ᴸ⁾), the vectors of a :class:`Transformer` after its blocks and its final norm.

    Causal: a vector depends on its token and earlier ones. There is no head; the configuration has a tied one, so that
    no parameter goes unused. ValueError for an untied head.
    """

    owners: dict[str, str] = {"transformer.embedding.weight": "embedding"}  # noqa: RUF012  (read only)

    def __init__(self, config: TransformerConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        if not config.tie:
            raise ValueError("context vectors are read by no head of their own, so tie must be true")
        self.transformer = Transformer(config, generator)
        self.width = config.dim

    @property
    def context_limit(self) -> int:
        """The longest text it reads, in tokens."""
        return self.transformer.context_limit

    @property
    def embedding(self) -> Float[Tensor, "vocab width"]:
        """The table of token vectors."""
        return self.transformer.embedding.weight

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time width"]:
        whole = self.transformer
        return self._normed(whole.evolve(whole.embed(tokens)))

    def project(
        self, tokens: Int[Tensor, "batch time"], matrix: Float[Tensor, "width columns"]
    ) -> Float[Tensor, "batch time columns"]:
        """The vectors times ``matrix``."""
        return self(tokens) @ matrix

    def start(self, batch: int) -> DecoderState:
        """The empty context for ``batch`` texts side by side. Raises ValueError for a batch below 1."""
        return self.transformer.start(batch)

    def step(
        self, token: Int[Tensor, " batch"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch width"], DecoderState]:
        """The vector of one token more, and the longer context."""
        x, state = self.transformer.advance(token[:, None], state)
        return self._normed(x)[:, 0], state

    def hidden_matrices(self) -> list[str]:
        """Names of the matrices of attention and feed-forward layers."""
        return [f"transformer.{name}" for name in self.transformer.hidden_matrices()]

    def flops_per_token(self, length: int) -> int:
        """Floating-point operations of the blocks' matrix products for one token in a text of ``length``."""
        config = self.transformer.config
        return counting.flops_per_token(config, length) - 2 * config.vocab * config.dim

    def _normed(self, x: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        out: Tensor = self.transformer.norm(x)
        return out
