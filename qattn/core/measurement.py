"""Born readouts: one terminal measurement turns the meaning register into next-token probabilities (Svozil, Eq. 6)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from qattn.core.born import squared_modulus
from qattn.core.density_matrix import expectation
from qattn.core.unitaries import Field, Isometry, isometry_defect


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
