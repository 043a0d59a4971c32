"""Long short-term memory (Hochreiter and Schmidhuber 1997) as a language model: PyTorch's layers, a small head."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from classical.front import NgramFront
from classical.token_ids import expect_tokens

State = tuple[Tensor, Tensor, Tensor | None]
"""Hidden and cell vectors of every layer, and the last tokens where an n-gram front end reads them again."""


class LSTM(nn.Module):
    """forward(tokens) gives log P(next token | tokens so far) at every position.

    ``ngram``: tokens that the first layer reads, the newest and those before it, by tables of their own. With
    ``generator`` the random start is drawn from it alone; the global generator is not touched. ValueError for
    sizes below 1.
    """

    context_limit: int | None = None

    def __init__(
        self,
        vocab: int,
        dim: int = 128,
        layers: int = 1,
        embedding: int = 64,
        ngram: int | None = None,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        ngram = 1 if ngram is None else ngram
        sizes = {"vocab": vocab, "dim": dim, "layers": layers, "embedding": embedding, "ngram": ngram}
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        with torch.random.fork_rng():  # the layers draw from the global generator; what they drew is replaced below
            self.embedding = nn.Embedding(vocab, embedding)
            self.recurrent = nn.LSTM(embedding, dim, layers, batch_first=True)
            self.head = nn.Linear(dim, vocab)
        self.sizes = (vocab, dim, layers, embedding)
        generator = generator or torch.Generator().manual_seed(0)
        self.initialize_(generator)
        self.front = NgramFront(ngram, vocab, embedding, std=1.0, generator=generator) if ngram > 1 else None

    @torch.no_grad()
    def initialize_(self, generator: torch.Generator) -> None:
        """PyTorch's start, U(±1/√dim), with the forget gates open: bias 1 (Jozefowicz et al. 2015)."""
        _, dim, layers, _ = self.sizes
        self.embedding.weight.normal_(generator=generator)
        bound = 1 / math.sqrt(dim)
        for parameter in (*self.recurrent.parameters(), *self.head.parameters()):
            parameter.copy_(bound * (2 * torch.rand(parameter.shape, generator=generator) - 1))
        for layer in range(layers):
            getattr(self.recurrent, f"bias_ih_l{layer}")[dim : 2 * dim] = 1.0
            getattr(self.recurrent, f"bias_hh_l{layer}")[dim : 2 * dim] = 0.0

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """log P(next token | tokens so far) at every position."""
        return self.extend(tokens, self.start(tokens.shape[0]))[0]

    def start(self, batch: int) -> State:
        """The empty context: hidden and cell vectors of zeros, shape (layers, batch, dim), and no token before."""
        _, dim, layers, _ = self.sizes
        zeros = self.head.weight.new_zeros(layers, batch, dim)
        return zeros, zeros, None if self.front is None else self.front.start(batch)

    def extend(
        self, tokens: Int[Tensor, "batch time"], state: State
    ) -> tuple[Float[Tensor, "batch time vocab"], State]:
        """Reads several further tokens at once."""
        outputs, state = self._through(tokens, state)
        return F.log_softmax(self.head(outputs), -1), state

    def with_log_partition(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Float[Tensor, "batch time vocab"], Float[Tensor, "batch time"]]:
        """:meth:`forward`, and log Z of each position's softmax, log p = z − log Z, which the z-loss keeps small."""
        logits = self.head(self._through(tokens, self.start(tokens.shape[0]))[0])
        return F.log_softmax(logits, -1), logits.logsumexp(-1)

    def _through(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """The outputs of the last layer, and the state after them."""
        expect_tokens(tokens, self.sizes[0])
        hidden, cell, recent = state
        vectors = self.embedding(tokens)
        if self.front is not None and recent is not None:
            vectors, recent = vectors + self.front(tokens, recent), self.front.after(tokens, recent)
        outputs, (hidden, cell) = self.recurrent(vectors, (hidden, cell))
        return outputs, (hidden, cell, recent)

    def step(self, token: Int[Tensor, " batch"], state: State) -> tuple[Float[Tensor, "batch vocab"], State]:
        """One token further in constant time and memory."""
        log_probs, state = self.extend(token[:, None], state)
        return log_probs[:, 0], state

    def parameter_groups(self) -> dict[str, list[str]]:
        """The ledger: group → names of its parameters."""
        groups: dict[str, list[str]] = {"embedding": [], "recurrent": [], "head": []}
        for name, _ in self.named_parameters():
            group = name.split(".")[0]
            groups["embedding" if group == "front" else group].append(name)
        return groups

    def flops_per_token(self, length: int) -> int:
        """Four gates of (input + dim) × dim in every layer, and the head; a multiply-add is 2."""
        vocab, dim, layers, embedding = self.sizes
        inputs = embedding + dim * (layers - 1)
        return 2 * (4 * dim * (inputs + layers * dim) + dim * vocab)
