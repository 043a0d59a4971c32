"""The classical control: what the token registers tell the angles.

Any function of basis states may control a rotation, so this part is ordinary classical computing; its parameters and
operations are declared apart from the register's (`parameter_groups`, `flops_per_token`). :class:`Control` reads the
last few tokens; any causal network that is a :class:`ControlModule` may be given to a model in its place.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from qattn.lm.token_ids import expect_tokens

KINDS = ("token", "additive", "mlp")


@runtime_checkable
class ControlModule(Protocol):
    """What a model asks of the network, an ``nn.Module``, that turns tokens into control vectors.

    It is causal: the vector at a position depends on that token and earlier ones alone.
    """

    width: int
    """Length of a control vector. At the start of a training its entries have a variance near one."""
    owners: dict[str, str]
    """The parameter group (``embedding``, ``control``) of each parameter that is not in ``control``, by its name."""

    @property
    def context_limit(self) -> int | None:
        """Longest text it reads, in tokens; None when there is no limit."""
        ...

    def __call__(self, tokens: Int[Tensor, "batch time"]) -> Any:
        """Control vectors (batch, time, width)."""
        ...

    def project(
        self, tokens: Int[Tensor, "batch time"], matrix: Float[Tensor, "width columns"]
    ) -> Float[Tensor, "batch time columns"]:
        """The control vectors times ``matrix``."""
        ...

    def start(self, batch: int) -> Any:
        """The state of an empty context."""
        ...

    def step(self, token: Int[Tensor, " batch"], state: Any) -> tuple[Float[Tensor, "batch width"], Any]:
        """One token further: its control vector and the new state."""
        ...

    def hidden_matrices(self) -> list[str]:
        """Names of the matrices between hidden vectors, whose steps an optimiser may orthogonalise."""
        ...

    def flops_per_token(self, length: int) -> int:
        """Multiplications and additions of one token's control vector in a text of ``length``."""
        ...


@runtime_checkable
class ControlConfig(Protocol):
    """What the configurations of all models with a control have."""

    @property
    def vocab(self) -> int:
        """Number of tokens."""
        ...

    @property
    def control(self) -> str:
        """One of :data:`KINDS`, or the name of a control that is given."""
        ...

    @property
    def embedding(self) -> int:
        """Length of a token's embedding."""
        ...

    @property
    def ngram(self) -> int:
        """Tokens that are looked at."""
        ...

    @property
    def hidden(self) -> int:
        """Width of the hidden layer."""
        ...


def make_control(config: ControlConfig, given: ControlModule | None, *, generator: torch.Generator) -> Any:
    """The control of a model: the ``given`` one, or the :class:`Control` that its configuration describes."""
    if given is not None:
        return given
    c = config
    return Control(c.control, c.vocab, c.embedding, c.ngram, c.hidden, generator=generator)


class Control(nn.Module):
    """Token contexts as real vectors: ``token`` the embedding of the token; ``additive`` the embeddings of the last
    ``ngram`` tokens side by side, of which a linear map is a sum; ``mlp`` the same plus one hidden layer: c +
    W₂ GELU(W₁ c).

    Tokens before the start of the text count as zero vectors.
    """

    context_limit: int | None = None
    owners: dict[str, str] = {"embedding": "embedding"}  # noqa: RUF012  (read only)

    def __init__(
        self, kind: str, vocab: int, embedding: int, ngram: int = 4, hidden: int = 512, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"control must be one of {', '.join(KINDS)}, got {kind!r}")
        self.kind = kind
        self.ngram = 1 if kind == "token" else ngram
        self.width = embedding * self.ngram
        self.embedding = nn.Parameter(torch.randn(vocab, embedding, generator=generator))
        if kind == "mlp":
            scale = self.width**-0.5
            self.up = nn.Parameter(scale * (2 * torch.rand(self.width, hidden, generator=generator) - 1))
            self.up_bias = nn.Parameter(torch.zeros(hidden))
            self.down = nn.Parameter(hidden**-0.5 * (2 * torch.rand(hidden, self.width, generator=generator) - 1))
            self.down_bias = nn.Parameter(torch.zeros(self.width))

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time width"]:
        context = self.context(tokens)
        return (
            context
            if self.kind != "mlp"
            else self._refine(context, self.context_product(tokens, self.up, self.up_bias))
        )

    def project(
        self, tokens: Int[Tensor, "batch time"], matrix: Float[Tensor, "width columns"]
    ) -> Float[Tensor, "batch time columns"]:
        """The control vectors times ``matrix``, the cheapest way."""
        return self(tokens) @ matrix if self.kind == "mlp" else self.context_product(tokens, matrix)

    def context(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time width"]:
        """The embeddings of the last ``ngram`` tokens side by side, newest first."""
        return F.embedding(self._recent(tokens), self._rows()).flatten(-2)

    def context_product(
        self,
        tokens: Int[Tensor, "batch time"],
        matrix: Float[Tensor, "width columns"],
        bias: Float[Tensor, " columns"] | None = None,
    ) -> Float[Tensor, "batch time columns"]:
        """:meth:`context` times ``matrix``, and ``bias`` added.

        A token adds one of ``vocab`` rows for each place it can stand at, so with more tokens than words it is cheaper
        to make all these rows once and add those that occur: a matrix product a word instead of one a token.
        """
        if tokens.numel() <= len(self.embedding):
            return F.linear(self.context(tokens), matrix.mT, bias)
        rows = self._rows() @ matrix.unflatten(0, (self.ngram, -1))
        if bias is not None:
            rows = torch.cat([rows[:1] + bias, rows[1:]])  # one newest token stands at every position
        places = self._recent(tokens) + rows.shape[1] * torch.arange(self.ngram, device=tokens.device)
        summed = F.embedding_bag(places.flatten(0, 1), rows.flatten(0, 1), mode="sum")
        return summed.unflatten(0, tokens.shape)

    def _recent(self, tokens: Int[Tensor, "batch time"]) -> Int[Tensor, "batch time ngram"]:
        """The last ``ngram`` tokens, newest first; ``vocab`` stands for none."""
        expect_tokens(tokens, len(self.embedding))
        return F.pad(tokens, (self.ngram - 1, 0), value=len(self.embedding)).unfold(1, self.ngram, 1).flip(-1)

    def _rows(self) -> Float[Tensor, "words embedding"]:
        """The embeddings and the zero vector of no token."""
        return F.pad(self.embedding, (0, 0, 0, 1))

    def _refine(
        self, context: Float[Tensor, "*batch width"], raised: Float[Tensor, "*batch hidden"]
    ) -> Float[Tensor, "*batch width"]:
        flat = torch.addmm(self.down_bias, F.gelu(raised).flatten(0, -2), self.down)
        return context + flat.unflatten(0, context.shape[:-1])

    def start(self, batch: int) -> Float[Tensor, "batch width"]:
        """The n-gram before any token."""
        return self.embedding.new_zeros(batch, self.width)

    def step(
        self, token: Int[Tensor, " batch"], recent: Float[Tensor, "batch width"]
    ) -> tuple[Float[Tensor, "batch width"], Float[Tensor, "batch width"]]:
        """One token further: the control vector and the new n-gram of embeddings (newest first)."""
        expect_tokens(token, len(self.embedding))
        embedded = F.embedding(token, self.embedding)
        recent = torch.cat([embedded, recent[:, : self.width - embedded.shape[1]]], -1)
        return recent if self.kind != "mlp" else self._refine(recent, recent @ self.up + self.up_bias), recent

    def hidden_matrices(self) -> list[str]:
        """The two matrices of the hidden layer."""
        return ["up", "down"] if self.kind == "mlp" else []

    def flops_per_token(self, length: int) -> int:
        """Multiplications and additions of the hidden layer for one token, whatever the text's ``length``."""
        return 4 * self.width * self.up.shape[1] if self.kind == "mlp" else 0
