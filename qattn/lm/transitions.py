"""What a token applies to a recurrent register: unitaries from a table, Householder products, Cayley steps or
permutations; and two classical twins of the table, free linear maps and stochastic matrices.

Each transition turns tokens into gates (`forward`), runs a register through them (`run`, all states on the way) and
back (`inverse`). `step` is `run` on a text of one token.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from qattn.core.parametrization_cache import cacheable
from qattn.core.states import normalize
from qattn.core.unitaries import Field, Mixers, as_field, displacements
from qattn.lm import unitary_scan
from qattn.lm.token_ids import expect_tokens


class TableGates(NamedTuple):
    """A unitary for each token of the vocabulary, and the tokens of the text."""

    unitaries: Shaped[Tensor, "vocab dim dim"]
    tokens: Int[Tensor, "batch time"]


class ReflectionGates(NamedTuple):
    """Unit vectors and β = 1 − e^{iφ} for every position."""

    k: Shaped[Tensor, "batch time factors dim"]
    beta: Shaped[Tensor, "batch time factors"]


class LookupTransition(nn.Module):
    """A transition with one matrix per token of the vocabulary; subclasses say how these come about."""

    def unitaries(self) -> Shaped[Tensor, "vocab dim dim"]:
        """U(x) for every x."""
        raise NotImplementedError

    def forward(self, tokens: Int[Tensor, "batch time"]) -> TableGates:
        unitaries = self.unitaries()
        expect_tokens(tokens, len(unitaries))
        return TableGates(unitaries, tokens)

    def run(self, psi: Shaped[Tensor, "batch dim"], gates: TableGates) -> Shaped[Tensor, "batch time dim"]:
        """h_1..h_T of h_t = U(x_t) h_{t−1}."""
        return unitary_scan.apply_unitaries(psi, gates.unitaries.to(psi.dtype), gates.tokens)

    def inverse(self, phi: Shaped[Tensor, "batch dim"], gates: TableGates) -> Shaped[Tensor, "batch dim"]:
        """From the state after the text to the state before it."""
        inverse = gates.unitaries.mH.to(phi.dtype)
        for column in gates.tokens.flip(1).unbind(1):
            phi = (inverse[column] @ phi[..., None])[..., 0]
        return phi

    def flops(self, dim: int, field: Field) -> int:
        """Of one token; the table itself is made once a step for all tokens of the batch and not counted."""
        return (8 if field == "complex" else 2) * dim * dim


class Table(LookupTransition):
    """A free unitary a token: V·D² numbers (twice that in the complex field), the unique QR factors of `Mixers`.

    They start ``init_scale`` away from the identity, or from the ``displacements`` of Z_D × Z_D, one for each token.
    """

    def __init__(
        self,
        vocab: int,
        dim: int,
        field: Field,
        init_scale: float,
        around: str = "identity",
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.entries = Mixers(vocab, dim, field, init_scale, generator=generator)
        if around == "displacements":
            with torch.no_grad():
                moved = displacements(dim) - torch.eye(dim)
                self.entries.raw.add_(torch.view_as_real(moved))

    def unitaries(self) -> Shaped[Tensor, "vocab dim dim"]:
        return self.entries()


class Linear(Table):
    """A free linear map per token, h_t = A(x_t) h_{t−1} / ‖A(x_t) h_{t−1}‖: `Table` with its QR factor left out.

    The same numbers, but nothing keeps the norm, so it is restored after every token (a classical recurrent network
    without a nonlinearity but this one).
    """

    def unitaries(self) -> Shaped[Tensor, "vocab dim dim"]:
        return as_field(self.entries.raw)

    def run(self, psi: Shaped[Tensor, "batch dim"], gates: TableGates) -> Shaped[Tensor, "batch time dim"]:
        states = []
        for column in gates.tokens.unbind(1):
            psi = normalize((gates.unitaries[column] @ psi[..., None])[..., 0])
            states.append(psi)
        return torch.stack(states, 1)


class Stochastic(Table):
    """A stochastic matrix per token, T(x)_{ab} = |A(x)_{ab}|² / Σ_a |A(x)_{ab}|²: the populations of a hidden Markov
    chain driven by the text, from the numbers that :class:`Table` makes unitaries of.
    """

    def unitaries(self) -> Float[Tensor, "vocab dim dim"]:
        weights = as_field(self.entries.raw).abs().square()
        return weights / weights.sum(-2, keepdim=True)


class Cayley(LookupTransition):
    """A Cayley (Crank–Nicolson) step of a token-dependent Hamiltonian, after arXiv 2602.22255:

        U(x) = (1 − S(x)/2)⁻¹ (1 + S(x)/2),   S(x) = Σ_k c_k(x) S_k = −iH(x),   S_k† = −S_k

    ``generators`` matrices S_k are shared by all tokens, each token has its own ``generators`` coefficients. Unitary
    for every S; never has the eigenvalue −1 exactly.
    """

    def __init__(
        self, vocab: int, dim: int, generators: int, field: Field, init_scale: float, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        parts = 2 if field == "complex" else 1
        scale = init_scale / math.sqrt(dim * generators)
        self.coefficients = nn.Parameter(torch.randn(vocab, generators, generator=generator))
        self.raw = nn.Parameter(2 * scale * torch.randn(generators, dim, dim, parts, generator=generator))

    @cacheable
    def unitaries(self) -> Shaped[Tensor, "vocab dim dim"]:
        raw = as_field(self.raw)
        skew = (raw - raw.mH) / 2
        half = (self.coefficients.to(skew.dtype) @ skew.flatten(1)).view(-1, *skew.shape[1:]) / 2
        one = torch.eye(half.shape[-1], dtype=half.dtype, device=half.device)
        return torch.linalg.solve(one - half, one + half)


class Permutations(LookupTransition):
    """A permutation of the basis states a token: a reversible automaton (rung 4).

    Learned by relaxation: scores are made doubly stochastic by ``rounds`` of Sinkhorn's normalisation (Mena et al.
    2018) at ``temperature``. The register only ever sees the *permutation* nearest to that matrix (the assignment of
    largest total, by the Hungarian method), in training too; the gradient is passed straight through to the
    relaxation. So the forward pass is exact and its gradient is a guess.
    """

    def __init__(
        self, vocab: int, dim: int, temperature: float, rounds: int = 10, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.temperature, self.rounds = temperature, rounds
        self.scores = nn.Parameter(torch.randn(vocab, dim, dim, generator=generator))

    def relaxed(self) -> Float[Tensor, "vocab dim dim"]:
        """The (nearly) doubly stochastic matrices."""
        logs = self.scores / self.temperature
        for _ in range(self.rounds):
            logs = logs.log_softmax(-1).log_softmax(-2)
        return logs.exp()

    @cacheable
    def unitaries(self) -> Float[Tensor, "vocab dim dim"]:
        soft = self.relaxed()
        hard = torch.zeros_like(soft)
        for matrix, chances in zip(hard, soft.detach().cpu().double().numpy(), strict=True):
            rows, columns = linear_sum_assignment(chances, maximize=True)
            matrix[rows, columns] = 1.0
        return _Straight.apply(soft, hard)


class _Straight(torch.autograd.Function):
    """The second argument's value, the first argument's gradient."""

    @staticmethod
    def forward(ctx: object, soft: Tensor, hard: Tensor) -> Tensor:
        return hard

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class Householder(nn.Module):
    """A product of ``factors`` reflections 1 − (1 − e^{iφ}) k k† whose axes k and phases φ the control sets.

    Complex field: φ = w·c + b, near 0 at the start. Real field: φ = π, a mirror; two mirrors make a rotation, so the
    second of each pair starts ``init_scale`` away from its partner, so that their product starts near the identity.
    """

    def __init__(
        self, width: int, dim: int, factors: int, field: Field, init_scale: float, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.dim, self.factors, self.field = dim, factors, field
        parts = 2 if field == "complex" else 1
        axes = torch.randn(factors, width, dim * parts, generator=generator) / math.sqrt(width)
        if field == "real":
            axes[1::2] = axes[: factors // 2 * 2 : 2] + init_scale * axes[1::2]
        self.axes = nn.Parameter(axes.transpose(0, 1).flatten(1).contiguous())
        bias = torch.randn(factors, dim * parts, generator=generator)
        if field == "real":
            bias[1::2] = bias[: factors // 2 * 2 : 2]
        self.axes_bias = nn.Parameter(bias.flatten())
        if field == "complex":
            self.phases = nn.Parameter(init_scale * torch.randn(width, factors, generator=generator) / math.sqrt(width))
            self.phases_bias = nn.Parameter(torch.zeros(factors))

    def forward(self, control: Float[Tensor, "batch time width"]) -> ReflectionGates:
        raw = (control @ self.axes + self.axes_bias).unflatten(-1, (self.factors, self.dim, -1))
        k = as_field(raw.contiguous())
        k = k / torch.linalg.vector_norm(k, dim=-1, keepdim=True)
        if self.field == "real":
            return ReflectionGates(k, torch.full_like(k[..., 0], 2.0))
        phi = control @ self.phases + self.phases_bias
        return ReflectionGates(k, 1 - torch.complex(phi.cos(), phi.sin()))

    def run(self, psi: Shaped[Tensor, "batch dim"], gates: ReflectionGates) -> Shaped[Tensor, "batch time dim"]:
        """h_1..h_T of h_t = U(x_t) h_{t−1}."""
        return unitary_scan.reflections(psi, gates.k, gates.beta)

    def inverse(self, phi: Shaped[Tensor, "batch dim"], gates: ReflectionGates) -> Shaped[Tensor, "batch dim"]:
        """From the state after the text to the state before it."""
        k, beta = gates.k.flatten(1, 2), gates.beta.flatten(1, 2).conj()
        for place in range(k.shape[1] - 1, -1, -1):
            phi = unitary_scan.reflect(phi, k[:, place], beta[:, place])
        return phi

    def flops(self, dim: int, field: Field) -> int:
        """Of one token: the maps from the control, then an inner product and a sum for each reflection."""
        own = 2 * sum(parameter.numel() for parameter in self.parameters() if parameter.ndim == 2)
        return own + 2 * (8 if field == "complex" else 2) * dim * self.factors
