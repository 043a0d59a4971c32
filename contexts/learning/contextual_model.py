"""Learned contexts: one static vector per token, one orthonormal basis per context; the text selects the basis.

Svozil, section VIII.2: bases intertwine in the vector of a polysemous token; which basis the text selects is the
meaning; contexts are trained on the same footing as tokens. Here:

* every token has one unit vector v, the same in every text; the tokens a context names are *exactly* among its vectors;
* each word x of the text is measured in context c and found among the context's own vectors (those beside the shared
  one) with probability q_c(x) = Σ_k |⟨e_k|v(x)⟩|² (Born). Given that all words agree, the context is c with probability
  ∝ π_c Π_x q_c(x): the text selects the basis, and the sense is the basis;
* as a language model, the last token is measured in the selected basis and the next one is read off the outcome with
  the tokens' own vectors made a tight frame, so that probabilities sum to one without a softmax over words.

Nothing here changes a token's vector by its neighbours: order enters only through fixed rotations by relative place.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from contexts.learning.shared_bases import Bases, cayley

State = tuple[Float[Tensor, "batch contexts"], Float[Tensor, "batch dim"]]


class ContextualModel(nn.Module):
    """Static tokens and intertwined contexts, as a language model and as a selector of contexts.

    vocabulary  number of tokens
    dimension   d of the Hilbert space R^d
    contexts    for each context the token ids among its basis vectors, the shared (polysemous) one first
    own         how many vectors of a context speak for it (columns 1 … own; column 0 is the shared one)
    places      relative places −places … places to the asked word that have their own rotation; 0: order is ignored
    one_basis   a control without intertwined contexts: the senses are outcomes of one and the same basis
    floor       share of depolarising noise mixed to every q_c, learned from this start

    Raises ValueError when d is too small for the contexts' vectors, or the vocabulary for the tight frame (V ≥ d).
    """

    context_limit: int | None = None

    def __init__(
        self,
        vocabulary: int,
        dimension: int,
        contexts: Sequence[Sequence[int]],
        own: int,
        generator: torch.Generator,
        places: int = 0,
        floor: float = 0.1,
        one_basis: bool = False,
    ) -> None:
        super().__init__()
        if not contexts:
            raise ValueError("a contextual model needs at least one context")
        if own < 1 or own + 1 > dimension:
            raise ValueError(
                f"a context needs 1 to {dimension - 1} own vectors beside the shared one in dimension "
                f"{dimension}; got {own}"
            )
        if vocabulary < dimension:
            raise ValueError(
                f"the tokens' vectors must span the space: vocabulary {vocabulary} is below dimension {dimension}"
            )
        self.vocabulary, self.dimension, self.own, self.places = vocabulary, dimension, own, places
        if one_basis and 1 + own * len(contexts) > dimension:
            raise ValueError(
                f"one basis of dimension {dimension} has no room for {len(contexts)} senses of {own} vectors"
            )
        self.one_basis = one_basis
        self.bases = Bases([contexts[0][:1]] if one_basis else contexts, dimension, generator)
        dtype = torch.get_default_dtype()
        self.vectors = nn.Parameter(torch.randn(vocabulary, dimension, generator=generator, dtype=dtype))
        self.prior = nn.Parameter(torch.zeros(len(contexts), dtype=dtype))
        self.noise = nn.Parameter(torch.logit(torch.tensor(floor, dtype=dtype)))
        turns = 2 * places + 1 if places else 0
        self.turns = nn.Parameter(0.3 * torch.randn(turns, dimension, dimension, generator=generator, dtype=dtype))
        self.named: Tensor
        self.register_buffer("named", torch.tensor(self.bases.tokens, dtype=torch.long), persistent=False)

    # ── the vectors ──

    def token_vectors(self, bases: Float[Tensor, "contexts dim dim"]) -> Float[Tensor, "vocab dim"]:
        """One unit vector per token; those that a context names are its basis vectors."""
        free = nn.functional.normalize(self.vectors, dim=1)
        return free.index_copy(0, self.named, self.bases.token_vectors(bases))

    def evidence(self) -> Float[Tensor, "places vocab contexts"]:
        """log q_c(x) for every token at every relative place (one entry if order is ignored)."""
        bases = self.bases()
        vectors = self.token_vectors(bases)
        placed = vectors[None]
        if self.places:
            placed = torch.stack([vectors @ cayley(turn).T for turn in self.turns])
        own = bases[:, :, 1 : self.own + 1]
        if self.one_basis:
            columns = bases[0, :, 1 : 1 + self.own * len(self.prior)]
            own = columns.reshape(self.dimension, len(self.prior), self.own).transpose(0, 1)
        born = torch.einsum("pvd,cdk->pvck", placed, own).square().sum(-1)
        noise = torch.sigmoid(self.noise)
        return torch.log((1 - noise) * born + noise * self.own / self.dimension)

    # ── which context does a text select ──

    def select(
        self,
        tokens: Int[Tensor, "batch time"],
        places: Int[Tensor, "batch time"] | None = None,
        table: Float[Tensor, "places vocab contexts"] | None = None,
    ) -> Float[Tensor, "batch contexts"]:
        """log p(context | text). Tokens below 0 are padding; ``places`` are relative to the asked word.

        ``table`` saves the work of :meth:`evidence` where it is at hand.
        """
        table = self.evidence() if table is None else table
        return select_by_evidence(self.prior, table, tokens, places, self.places)

    # ── the contract of a language model ──

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """Log-probabilities of the next token at every position, from that position and earlier ones alone."""
        measure, emit, evidence = self._tables()
        chosen = torch.log_softmax(self.prior + evidence[tokens].cumsum(1), dim=-1)
        return self._emit(chosen, measure[tokens], emit)

    def start(self, batch: int) -> Float[Tensor, "batch contexts"]:
        """The state of an empty text: no evidence for any context."""
        return self.prior.new_zeros(batch, len(self.prior))

    def step(
        self, token: Int[Tensor, " batch"], state: Float[Tensor, "batch contexts"]
    ) -> tuple[Float[Tensor, "batch vocab"], Float[Tensor, "batch contexts"]]:
        """One token further; the state is the evidence so far."""
        measure, emit, evidence = self._tables()
        state = state + evidence[token]
        chosen = torch.log_softmax(self.prior + state, dim=-1)
        return self._emit(chosen, measure[token], emit), state

    def parameter_groups(self) -> dict[str, list[str]]:
        """Parameter names by what they are for."""
        contexts = [name for name, _ in self.named_parameters() if name.startswith("bases.")] + ["prior"]
        return {"tokens": ["vectors"], "contexts": contexts, "readout": ["noise"], "places": ["turns"]}

    def flops_per_token(self, length: int) -> int:
        """Multiplications and additions of one forward token, the tables counted as if made for it alone."""
        c, d, v = len(self.prior), self.dimension, self.vocabulary
        return 2 * c * d * d + 2 * c * d * v + 3 * c * v

    def _tables(self) -> tuple[Tensor, Tensor, Tensor]:
        """|⟨e_k|v(x)⟩|² (V, C, d), the same with the tight frame (C, d, V), and log q_c(x) at place 0 (V, C)."""
        bases = self.bases()
        vectors = self.token_vectors(bases)
        measure = torch.einsum("vd,cdk->vck", vectors, bases).square()
        lower = torch.linalg.cholesky(vectors.T @ vectors)  # L⁻¹v is a tight frame: Σ (L⁻¹v)(L⁻¹v)ᵀ = 1
        frame = torch.linalg.solve_triangular(lower, vectors.T, upper=False)
        emit = torch.einsum("dv,cdk->ckv", frame, bases).square()
        return measure, emit, self.evidence()[self.places if self.places else 0]

    def _emit(self, chosen: Tensor, measured: Tensor, emit: Tensor) -> Tensor:
        """log Σ_c p(c) Σ_k p(k | last token, c) p(word | k, c)."""
        weights = chosen.exp()[..., None] * measured
        noise = torch.sigmoid(self.noise)
        mixed = torch.einsum("...ck,ckv->...v", weights, emit)
        return torch.log((1 - noise) * mixed + noise / self.vocabulary)


def select_by_evidence(
    prior: Float[Tensor, " contexts"],
    table: Float[Tensor, "places vocab contexts"],
    tokens: Int[Tensor, "batch time"],
    places: Int[Tensor, "batch time"] | None,
    reach: int,
) -> Float[Tensor, "batch contexts"]:
    """log p(context | text) from independent evidence: prior + Σ_x table[place of x, x], normalised.

    Tokens below 0 are padding. ``reach`` is the farthest place of the table (0: it has one entry, whatever the place).
    """
    slot = torch.zeros_like(tokens) if places is None or not reach else places + reach
    values = table[slot.clamp(0, len(table) - 1), tokens.clamp_min(0)]
    return torch.log_softmax(prior + (values * (tokens >= 0)[..., None]).sum(1), dim=-1)
