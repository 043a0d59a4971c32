"""One terminal measurement turns the meaning register into next-token probabilities (the Born rule: Svozil, Eq. 6).

:class:`Readout` and :class:`Bits` are complete measurements. :class:`Overlap` and :class:`Softmax`, to compare with,
are none, and the audit says so.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from qattn.core.density_matrix import expectation
from qattn.core.evolution import differentiated_once
from qattn.core.states import inner, normalize, random_states
from qattn.core.unitaries import Field, Isometry, as_field, isometry_defect


def squared_modulus(psi: Shaped[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """|ψ|² entry by entry, differentiable once: a complex ``psi`` without the copies of ``.real`` and ``.imag``."""
    if not psi.is_complex():
        return psi.square()
    out: Tensor = _SquaredModulus.apply(psi)
    return out


class _SquaredModulus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, psi: Tensor) -> Tensor:
        ctx.save_for_backward(psi)
        parts = torch.view_as_real(psi)
        return (parts[..., 0] * parts[..., 0]).addcmul_(parts[..., 1], parts[..., 1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        differentiated_once()
        (psi,) = ctx.saved_tensors
        out: Tensor = psi * (2 * gradient)
        return out


def born(amplitudes: Shaped[Tensor, "*batch rank vocab"]) -> Float[Tensor, "*batch vocab"]:
    """p(w) = Σ_r |a_{r,w}|² (Svozil, Eq. 6, summed over the traced-out ancilla of dimension ``rank``).

    Does not renormalise: the probabilities sum to one because the amplitudes come from an isometry.
    """
    return squared_modulus(amplitudes).sum(-2)


def log_probabilities(
    probabilities: Float[Tensor, "*batch vocab"], floor: Float[Tensor, ""] | None = None
) -> Float[Tensor, "*batch vocab"]:
    """log p, after the depolarising channel p ← (1−δ)p + δ/V when ``floor`` δ is given.

    A vanishing probability gives the log of the smallest normal number and gradient zero, never NaN.
    """
    if floor is not None:
        probabilities = (1 - floor) * probabilities + floor / probabilities.shape[-1]
    return probabilities.clamp_min(torch.finfo(probabilities.dtype).tiny).log()


class Readout(nn.Module):
    """A complete measurement of a register of dimension ``dim`` with ``vocab`` outcomes.

    * ``povm``: p(w) = Σ_r |(Bφ)_{r,w}|² with an isometry B: C^dim → C^(rank·vocab): Naimark's dilation,
      which lets vocab ≫ dim.
    * ``projective``: p(w) = ‖P_w φ‖² with the projectors on the dim/vocab axes of each word; no parameters.

    ``effects()`` are the positive operators E_w = Σ_r |b_{r,w}⟩⟨b_{r,w}| themselves; they sum to the identity.
    Raises ``ValueError`` when the measurement cannot be complete.
    """

    def __init__(
        self, kind: str, dim: int, vocab: int, rank: int, field: Field = "complex", *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.kind, self.dim, self.vocab = kind, dim, vocab
        if kind == "povm":
            if rank < 1 or rank * vocab < dim:
                raise ValueError(
                    f"a povm readout needs rank x vocabulary >= dim, got {rank} x {vocab} < {dim}: "
                    f"raise rank to {-(-dim // vocab)}"
                )
            self.rank = rank
            self.isometry = Isometry(rank * vocab, dim, field, generator=generator)
        elif kind == "projective":
            if dim < vocab or dim % vocab:
                raise ValueError(
                    f"a projective readout needs dim to be a multiple of the vocabulary {vocab}, got dim {dim}: "
                    f"take {max(1, -(-dim // vocab)) * vocab}, or readout povm"
                )
            self.rank = dim // vocab
        else:
            raise ValueError(f"readout must be 'povm' or 'projective', got {kind!r}")

    def frame(self) -> Shaped[Tensor, "rows dim"] | None:
        """The isometry B whose rows are the measured vectors; ``None`` for the projective readout, where B = 1."""
        return self.isometry() if self.kind == "povm" else None

    def forward(
        self, phi: Shaped[Tensor, "*batch dim"], after: Shaped[Tensor, "dim dim"] | None = None
    ) -> Float[Tensor, "*batch vocab"]:
        """p(w) of ``phi``, or of Wφ for a unitary ``after`` = W, which then turns the measurement: B → BW."""
        frame = self.frame()
        if after is not None:
            frame = after if frame is None else frame @ after
        amplitudes = phi if frame is None else phi @ frame.mT
        return born(amplitudes.unflatten(-1, (self.rank, self.vocab)))

    def density(self, rho: Shaped[Tensor, "*batch dim dim"]) -> Float[Tensor, "*batch vocab"]:
        """p(w) = Tr(ρ E_w): the same measurement of a mixed state."""
        return expectation(rho, self.effects())

    def of_populations(self, chances: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """p(w) = Σ_s c_s ⟨s|E_w|s⟩: the same measurement of the diagonal state Σ_s c_s |s⟩⟨s|."""
        frame = self.frame()
        rows = chances if frame is None else chances @ squared_modulus(frame).mT
        return rows.unflatten(-1, (self.rank, self.vocab)).sum(-2)

    def effects(self) -> Shaped[Tensor, "vocab dim dim"]:
        """E_w = B_w† B_w, each positive, together the identity (completeness)."""
        frame = self.frame()
        if frame is None:
            frame = torch.eye(self.dim)
        rows = frame.unflatten(0, (self.rank, self.vocab))
        return torch.einsum("rwa,rwb->wab", rows.conj(), rows)

    def completeness(self) -> float:
        """Largest entry of |Σ_w E_w − 1|, which is |B†B − 1|: no need to hold every effect at once."""
        frame = self.frame()
        return 0.0 if frame is None else isometry_defect(frame)


class Bits(nn.Module):
    """All wires of a register of dimension ``dim`` = 2^m read in the computational basis: bit string b means token
    b mod ``vocab``.

    p(w) = ‖P_w φ‖², P_w = Σ_{b ≡ w} |b⟩⟨b|: a complete projective measurement without parameters; ``rank`` is the
    largest number of bit strings of one token. Raises ``ValueError`` where a token would have none.
    """

    kind = "projective"

    def __init__(self, dim: int, vocab: int) -> None:
        super().__init__()
        if dim < vocab:
            need = (vocab - 1).bit_length()
            raise ValueError(
                f"{dim} bit strings cannot name a vocabulary of {vocab}: take {need} qubits or more, or readout povm"
            )
        self.dim, self.vocab, self.rank = dim, vocab, -(-dim // vocab)

    def frame(self) -> None:
        """The isometry B is the identity."""
        return

    def forward(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        padded = F.pad(squared_modulus(phi), (0, self.rank * self.vocab - self.dim))
        return padded.unflatten(-1, (self.rank, self.vocab)).sum(-2)

    def completeness(self) -> float:
        """|Σ_w P_w − 1| is zero: every bit string belongs to exactly one token."""
        return 0.0


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
        return F.softmax(self.logits(phi), -1)

    def logits(self, phi: Shaped[Tensor, "*batch dim"]) -> Float[Tensor, "*batch vocab"]:
        """What the softmax is taken of."""
        parts = torch.view_as_real(phi).flatten(-2) if phi.is_complex() else phi
        return math.sqrt(self.dim) * parts @ self.weight + self.bias

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


def softmax_amplitudes(
    logits: Float[Tensor, "*batch vocab"], phases: Float[Tensor, "*batch vocab"], temperature: float = 1.0
) -> Shaped[Tensor, "*batch vocab"]:
    """a_i ∝ exp(z_i/2T) e^{iφ_i}: the state whose Born probabilities are softmax(z/T), whatever the phases.

    Svozil, section XI.1, after Eq. 7. Raises ``ValueError`` unless ``temperature`` > 0.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    modulus = (torch.log_softmax(logits / temperature, -1) / 2).exp()
    return torch.polar(modulus, phases)
