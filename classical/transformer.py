"""The decoder-only transformer: tokens in, log-probabilities of the next token out.

t₁…tₙ → X⁽⁰⁾ → block₁ → … → block_L → norm → W_U → log softmax (The Shape of the Probable, part 3, "The prompt is a
matrix"; Svozil, D.3). `embed`, `evolve` and `read` are its three thirds: forward = read ∘ evolve ∘ embed.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from classical import counting
from classical.attention import KVCache
from classical.blocks import Block
from classical.config import TransformerConfig
from classical.front import NgramFront
from classical.linear import make_linear, make_table
from classical.norms import make_norm
from classical.positions import rotary_table, sinusoidal
from classical.token_ids import expect_tokens


@dataclass(frozen=True)
class DecoderState:
    """A context already read: how many tokens, and the keys and values of each layer. Never changed in place."""

    batch: int
    length: int
    caches: tuple[KVCache, ...]
    recent: Int[Tensor, "batch earlier"] | None = None  # the last tokens, where an n-gram front end reads them again


class Transformer(nn.Module):
    """A language model: forward(tokens) gives log P(next token | tokens so far) at every position.

    With ``generator`` the random start is drawn from it alone; the global generator is not touched.
    """

    position: Tensor | None
    rotation: Tensor | None

    def __init__(self, config: TransformerConfig, generator: torch.Generator | None = None):
        super().__init__()
        self.config = config
        fixed = config.position == "sinusoidal"
        # Sines have size 1 whatever d is. Token vectors must be heard beside them: Vaswani et al. multiply by √d.
        self.scale = math.sqrt(config.dim) if fixed else 1.0
        std = 1 / math.sqrt(config.dim) if fixed else config.init_std
        self.embedding = make_table(config.vocab, config.dim, std=std, generator=generator)
        if config.position == "learned":
            rows = make_table(config.block, config.dim, std=config.init_std, generator=generator)
            self.position = rows.weight
        else:
            self._register_table("position", sinusoidal(config.block, config.dim) if fixed else None)
        rotary = config.position == "rotary"
        self._register_table("rotation", rotary_table(config.block, config.head_dim) if rotary else None)
        self.blocks = nn.ModuleList(Block(config, generator) for _ in range(config.layers))
        post = config.norm_position == "post"
        self.norm = nn.Identity() if post else make_norm(config.norm, config.dim, config.bias)
        # A tied head owns no tensor: it reads the embedding's, so loading, copying or moving cannot untie it.
        self.head: nn.Linear | None = None
        if not config.tie:
            head_std = 0.0 if config.zero_init else config.init_std
            self.head = make_linear(config.dim, config.vocab, bias=False, std=head_std, generator=generator)
        # Made last: all else starts as it would without it.
        self.front: NgramFront | None = None
        if config.ngram > 1:
            self.front = NgramFront(config.ngram, config.vocab, config.dim, std=std, generator=generator)

    @property
    def context_limit(self) -> int:
        """The longest context the model can read, in tokens."""
        return self.config.block

    def embed(
        self, tokens: Int[Tensor, "batch time"], start: int = 0, recent: Int[Tensor, "batch earlier"] | None = None
    ) -> Float[Tensor, "batch time dim"]:
        """X⁽⁰⁾: token vectors, plus position vectors for positions start, start + 1, … (part 3; Svozil, Eq. 17).

        With an n-gram front end the earlier tokens' vectors are added; ``recent`` are those before ``tokens``.

        ValueError when the text is longer than `context_limit`, or a token is outside the vocabulary.
        """
        end = start + tokens.shape[1]
        if end > self.config.block:
            raise ValueError(f"the text has {end} tokens, but the model reads at most {self.config.block} (its block)")
        expect_tokens(tokens, self.config.vocab)
        x = self.embedding(tokens)
        if self.front is not None:
            x = x + self.front(tokens, self.front.start(len(tokens)) if recent is None else recent)
        if self.scale != 1.0:
            x = x * self.scale
        if self.position is not None:
            x = x + self.position[start:end]
        return F.dropout(x, self.config.dropout, self.training) if self.config.dropout else x

    def evolve(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time dim"]:
        """All blocks, X⁽⁰⁾ → X⁽ᴸ⁾; neither the final norm nor the head."""
        return self._through(x, 0, None)

    def read(self, x: Float[Tensor, "batch time dim"]) -> Float[Tensor, "batch time vocab"]:
        """log softmax(W_U norm(x)): the final norm, the unembedding and Svozil, Eq. 13, in logarithms."""
        return F.log_softmax(self._logits(x), dim=-1)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """log P(t_k+1 = i | t_1 … t_k) for every position k; natural logarithms."""
        return self.read(self.evolve(self.embed(tokens)))

    def with_log_partition(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch time vocab"], Float[Tensor, "batch time"]]:
        """:meth:`forward`, and log Z of each position's softmax, log p = z − log Z, which the z-loss keeps small."""
        logits = self._logits(self.evolve(self.embed(tokens)))
        return F.log_softmax(logits, dim=-1), logits.logsumexp(-1)

    def start(self, batch: int) -> DecoderState:
        """The empty context for ``batch`` texts side by side. Raises ValueError for a batch below 1."""
        if batch < 1:
            raise ValueError(f"batch must be at least 1, got {batch}")
        recent = None if self.front is None else self.front.start(batch)
        return DecoderState(batch, 0, tuple(KVCache() for _ in self.blocks), recent)

    def extend(
        self, tokens: Int[Tensor, "batch time"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch time vocab"], DecoderState]:
        """Reads several further tokens at once; ``state`` stays valid and may be continued differently.

        Raises ValueError for another number of texts than the state holds.
        """
        x, state = self.advance(tokens, state)
        return self.read(x), state

    def advance(
        self, tokens: Int[Tensor, "batch time"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch time dim"], DecoderState]:
        """:meth:`extend` before the final norm and the head: the vectors after all blocks.

        Raises ValueError for another number of texts than the state holds.
        """
        if tokens.shape[0] != state.batch:
            raise ValueError(f"the state holds {state.batch} texts, got tokens for {tokens.shape[0]}")
        caches = tuple(cache.copy() for cache in state.caches)
        x = self._through(self.embed(tokens, state.length, state.recent), state.length, caches)
        recent = None if self.front is None or state.recent is None else self.front.after(tokens, state.recent)
        return x, DecoderState(state.batch, state.length + tokens.shape[1], caches, recent)

    def step(
        self, token: Int[Tensor, " batch"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderState]:
        """Reads one token more: log-probabilities of the next one, and the longer context."""
        log_probs, state = self.extend(token[:, None], state)
        return log_probs[:, 0], state

    def parameter_groups(self) -> dict[str, list[str]]:
        """The ledger: group → names of its parameters, each parameter once (a tied head has none of its own)."""
        groups: dict[str, list[str]] = {group: [] for group in counting.GROUPS}
        for name, _ in self.named_parameters():
            part = name.split(".")
            key = part[2] if part[0] == "blocks" else part[0]
            key = {"front": "embedding"}.get(key, key)
            groups["norm" if key.endswith("norm") else key].append(name)
        return groups

    def hidden_matrices(self) -> list[str]:
        """The matrices of attention and feed-forward layers, which map hidden vectors to hidden vectors."""
        groups, parameters = self.parameter_groups(), dict(self.named_parameters())
        return [n for group in ("attention", "feedforward") for n in groups[group] if parameters[n].ndim == 2]

    def flops_per_token(self, length: int) -> int:
        """Floating-point operations of the matrix products of one forward pass; see `counting.flops_per_token`."""
        return counting.flops_per_token(self.config, length)

    def rotation_for(
        self, x: Float[Tensor, "batch time dim"], start: int = 0
    ) -> Float[Tensor, "2 time head_dim"] | None:
        """The rotary table that the blocks take for these positions; None when positions are not rotary."""
        return None if self.rotation is None else self.rotation[:, start : start + x.shape[1]]

    def _logits(self, x: Tensor) -> Tensor:
        weight = self.embedding.weight if self.head is None else self.head.weight
        return F.linear(self.norm(x), weight)

    def _through(self, x: Tensor, start: int, caches: tuple[KVCache, ...] | None) -> Tensor:
        rotation = self.rotation_for(x, start)
        for layer, block in enumerate(self.blocks):
            x = block(x, rotation, None if caches is None else caches[layer])
        return x

    def _register_table(self, name: str, table: Tensor | None) -> None:
        # Computed in float64, kept in the default dtype, never saved: a checkpoint holds parameters only.
        table = None if table is None else table.to(torch.get_default_dtype())
        self.register_buffer(name, table, persistent=False)
