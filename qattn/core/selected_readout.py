"""A reading that may say "none": k copies of the register, prepared anew and measured jointly until they say a token.

    E_w = Σ_r |b_{w,r}⟩⟨b_{w,r}|^{⊗k} / λ,   E_none = 1 − Σ_w E_w ≥ 0,   p(w) = Σ_r |⟨b_{w,r}|φ⟩|^{2k} / Z(φ)

A text is classical, so its register may be prepared as often as one likes: |φ⟩^{⊗k} is a legal preparation, and after
the outcome "none" the copies are prepared again. Processes 1 and 2 only (Svozil, section XII); the price is paid in
preparations, k λ / Z(φ) per token on average. λ is the largest eigenvalue of Σ |b⟩⟨b|^{⊗k}, which is that of the k-th
entrywise power of the Gram matrix ⟨b_i|b_j⟩, so that no operator on D^k dimensions is ever written down.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from qattn.core.measurement import squared_modulus
from qattn.core.unitaries import Field, as_field


class SelectedReadout(nn.Module):
    """Free vectors |b_{w,r}⟩ (``rank`` for each of ``vocab`` tokens) read on ``copies`` copies of a register.

    Raises ``ValueError`` for sizes below one.
    """

    kind = "selected"

    def __init__(
        self, dim: int, vocab: int, rank: int, copies: int, field: Field, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        for name, value in (("dim", dim), ("vocab", vocab), ("rank", rank), ("copies", copies)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.dim, self.vocab, self.rank, self.copies = dim, vocab, rank, copies
        parts = 2 if field == "complex" else 1
        raw = torch.randn(rank * vocab, dim, parts, generator=generator) / math.sqrt(parts * dim)
        self.raw = nn.Parameter(raw)

    def vectors(self) -> Shaped[Tensor, "rows dim"]:
        """⟨b_{w,r}| as rows, ``rank`` blocks of ``vocab``; neither unit nor orthogonal."""
        return as_field(self.raw)

    def log_weights(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """log Σ_r |⟨b_{w,r}|φ⟩|^{2k} for every token: what p(w) is proportional to."""
        moduli = squared_modulus(phi @ self.vectors().mT)
        powers = self.copies * moduli.clamp_min(torch.finfo(moduli.dtype).tiny).log()
        return powers.unflatten(-1, (self.rank, self.vocab)).logsumexp(-2)

    def forward(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """p(w) of the readings that say a token."""
        return self.log_weights(phi).softmax(-1)

    def log_success(self, log_weights: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
        """log of the chance Z(φ)/λ that one reading of ``copies`` unit vectors says a token, from their log weights."""
        return log_weights.logsumexp(-1) - self.largest().log()

    def preparations(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
        """Expected preparations of the register per token, k λ / Z(φ), at least ``copies``."""
        return self.copies * (-self.log_success(self.log_weights(phi))).exp()

    def largest(self) -> Float[Tensor, ""]:
        """λ, the largest eigenvalue of Σ |b⟩⟨b|^{⊗k}; differentiable by the Hellmann–Feynman theorem.

        The eigenvector is found without gradient and held fixed: ∂λ = v† ∂G v exactly where λ is simple.
        """
        gram = self._gram()
        with torch.no_grad():
            top = torch.linalg.eigh(gram)[1][:, -1]
        value = top.conj() @ gram @ top
        return value.real if value.is_complex() else value

    def completeness(self) -> float:
        """By how much Σ_w E_w exceeds the identity, in float64: 0 when "none" has a positive effect, as it must.

        λ is taken in the parameters' own precision and the spectrum of Σ_w E_w again in float64, so a rounding of λ
        shows up here.
        """
        with torch.no_grad():
            wide = self._gram(torch.complex128 if self.raw.shape[-1] == 2 else torch.float64)
            return max(0.0, (torch.linalg.eigvalsh(wide)[-1] / self.largest().double()).item() - 1)

    def _gram(self, dtype: torch.dtype | None = None) -> Shaped[Tensor, "rows rows"]:
        b = self.vectors()
        b = b if dtype is None else b.to(dtype)
        return (b.conj() @ b.mT) ** self.copies
