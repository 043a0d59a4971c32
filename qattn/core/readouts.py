"""Readouts to compare the Born measurement with: they are *not* complete measurements, and the audit says so."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from qattn.core.density_matrix import expectation
from qattn.core.measurement import Readout
from qattn.core.states import inner, normalize, random_states
from qattn.core.unitaries import Field, as_field


class Overlap(nn.Module):
    """p(w) = |⟨ψ_w|φ⟩|² / Σ_v |⟨ψ_v|φ⟩|² with the *input* states ψ_w of the tokens (Svozil, XII.1).

    Position n starts in the state of its own token, ψ_{x_n}. The sum in the denominator depends on φ unless the token
    states are a tight frame, Σ_w |ψ_w⟩⟨ψ_w| = (V/D)·1; only then is this a measurement. :meth:`frame_ratio` says how
    far it is from one.
    """

    kind = "overlap"
    rank = 1

    def __init__(self, dim: int, vocab: int, field: Field, *, generator: torch.Generator) -> None:
        super().__init__()
        self.dim, self.vocab = dim, vocab
        psi = random_states((vocab, dim), field, generator=generator, dtype=torch.float32)
        self.raw = nn.Parameter(torch.view_as_real(psi) if psi.is_complex() else psi[..., None])

    def states(self) -> Shaped[Tensor, "vocab dim"]:
        """|ψ_w⟩ for every token."""
        return normalize(as_field(self.raw))

    def prepare(self, tokens: Int[Tensor, "*batch"]) -> Shaped[Tensor, "*batch dim"]:
        """The input states of a text."""
        return self.states()[tokens]

    def forward(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        chances = (phi @ self.states().conj().mT).abs().square()
        return chances / chances.sum(-1, keepdim=True)

    def density(self, rho: Shaped[Tensor, "*batch dim dim"]) -> Float[Tensor, "*batch vocab"]:
        """The same of a mixed state."""
        chances = expectation(rho, self.effects())
        return chances / chances.sum(-1, keepdim=True)

    def effects(self) -> Shaped[Tensor, "vocab dim dim"]:
        """|ψ_w⟩⟨ψ_w|, not complete."""
        states = self.states()
        return states[:, :, None] * states.conj()[:, None, :]

    def completeness(self) -> float:
        """Largest entry of |(D/V) Σ_w |ψ_w⟩⟨ψ_w| − 1|: zero for a tight frame."""
        states = self.states()
        frame = states.mT @ states.conj() * (self.dim / self.vocab)
        return (frame - torch.eye(self.dim, dtype=frame.dtype, device=frame.device)).abs().max().item()

    def frame_ratio(self) -> float | None:
        """Largest over smallest eigenvalue of Σ_w |ψ_w⟩⟨ψ_w|: 1 for a tight frame, None when the states do not span."""
        states = self.states()
        bounds = torch.linalg.eigvalsh(states.mT @ states.conj())
        lowest = bounds[0].item()
        return bounds[-1].item() / lowest if lowest > torch.finfo(bounds.dtype).eps * bounds[-1].item() else None

    def overlaps(self) -> Shaped[Tensor, "vocab vocab"]:
        """⟨ψ_v|ψ_w⟩: how alike the tokens are."""
        states = self.states()
        return inner(states[:, None], states[None])


class Softmax(nn.Module):
    """p = softmax(A [Re φ; Im φ] √D + b): what a classical head makes of the same state. No measurement at all."""

    kind = "softmax"
    rank = 1

    def __init__(self, dim: int, vocab: int, field: Field, *, generator: torch.Generator) -> None:
        super().__init__()
        self.dim, self.vocab = dim, vocab
        rows = dim * (2 if field == "complex" else 1)
        self.weight = nn.Parameter(torch.randn(rows, vocab, generator=generator) / math.sqrt(rows))
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        parts = torch.view_as_real(phi).flatten(-2) if phi.is_complex() else phi
        return F.softmax(math.sqrt(self.dim) * parts @ self.weight + self.bias, -1)

    def completeness(self) -> None:
        """Not defined: there are no effects."""
        return


def make_readout(
    kind: str, dim: int, vocab: int, rank: int, field: Field, *, generator: torch.Generator
) -> Readout | Overlap | Softmax:
    """The readout of a name. Raises ``ValueError`` for an unknown one, or where it cannot be complete."""
    if kind == "overlap":
        return Overlap(dim, vocab, field, generator=generator)
    if kind == "softmax":
        return Softmax(dim, vocab, field, generator=generator)
    if kind not in ("povm", "projective"):
        raise ValueError(f"readout must be 'povm', 'projective', 'overlap' or 'softmax', got {kind!r}")
    return Readout(kind, dim, vocab, rank, field, generator=generator)
