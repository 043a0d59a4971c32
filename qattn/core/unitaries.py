"""Unitary, orthogonal and isometric matrices as trainable parameters.

An unconstrained matrix is mapped to the manifold by the *unique* QR factor, the one whose R has a positive diagonal.
LAPACK's own sign choice jumps when a pivot changes sign: a column of the unitary would flip in the middle of training.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Complex, Float, Shaped
from torch import Tensor, nn

from qattn.core import orthogonal_maps
from qattn.core.parametrization_cache import cacheable

Field = Literal["complex", "real"]


def orthonormal_columns(matrix: Shaped[Tensor, "*batch rows columns"]) -> Shaped[Tensor, "*batch rows columns"]:
    """The Q of ``matrix = Q R`` with a positive diagonal of R: orthonormal columns, smooth in ``matrix`` at full rank.

    Raises ``ValueError`` when there are more columns than rows.
    """
    if matrix.shape[-1] > matrix.shape[-2]:
        raise ValueError(f"orthonormal columns need rows >= columns, got {matrix.shape[-2]} x {matrix.shape[-1]}")
    q, r = torch.linalg.qr(matrix)
    pivots = r.diagonal(dim1=-2, dim2=-1).detach()
    return q * torch.sgn(pivots).unsqueeze(-2)


def haar(
    dim: int, field: Field = "complex", *, generator: torch.Generator, dtype: torch.dtype = torch.float64
) -> Shaped[Tensor, "dim dim"]:
    """One unitary (orthogonal) matrix from the Haar measure (Mezzadri, Notices AMS 54, 592, 2007)."""
    return orthonormal_columns(as_field(torch.randn(dim, dim, _parts(field), generator=generator, dtype=dtype)))


def displacements(dim: int, dtype: torch.dtype = torch.complex128) -> Complex[Tensor, "{dim}*{dim} {dim} {dim}"]:
    """X^q Z^p, number q·dim + p, of the discrete phase space Z_N × Z_N: X|j⟩ = |j+1⟩, Z|j⟩ = e^{2πij/N}|j⟩ (Weyl 1927).

    They compose like their indices, up to a phase.
    """
    place = torch.arange(dim)
    shifted = torch.stack([torch.eye(dim, dtype=torch.float64).roll(q, 0) for q in range(dim)])
    turns = 2 * math.pi / dim * torch.outer(place, place).double()
    phases = torch.polar(torch.ones_like(turns), turns)
    return (shifted[:, None] * phases[:, None, :]).flatten(0, 1).to(dtype)


def isometry_defect(matrix: Shaped[Tensor, "*batch rows columns"]) -> float:
    """Largest entry of |M†M − 1| over the batch: zero for unitary matrices and isometries."""
    gram = matrix.mH @ matrix
    return (gram - torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)).abs().max().item()


def as_field(parts: Float[Tensor, "*shape parts"]) -> Shaped[Tensor, "*shape"]:
    """Read a trailing axis of one (real) or two (real, imaginary) numbers as one number of the field."""
    return parts[..., 0] if parts.shape[-1] == 1 else torch.view_as_complex(parts)


def _parts(field: Field) -> int:
    if field not in ("complex", "real"):
        raise ValueError(f"field must be 'complex' or 'real', got {field!r}")
    return 2 if field == "complex" else 1


class Mixers(nn.Module):
    """``count`` trainable unitary (orthogonal) matrices of size ``dim``, started near the identity.

    ``init_scale`` s is the size of the start's departure from the identity: QR of 1 + s·G/√(2·dim). Haar mixers
    scramble the angles of the layers below and leave no gradient (a barren plateau in miniature). ``parametrization``
    is one of :data:`qattn.core.orthogonal_maps.NAMES`. Raises ``ValueError`` for another one, or where it is for real
    matrices alone.
    """

    def __init__(
        self,
        count: int,
        dim: int,
        field: Field = "complex",
        init_scale: float = 0.3,
        parametrization: str = "qr",
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        if parametrization not in orthogonal_maps.NAMES:
            known = ", ".join(orthogonal_maps.NAMES)
            raise ValueError(f"parametrization must be one of {known}, got {parametrization!r}")
        if field == "complex" and parametrization in orthogonal_maps.REAL_ONLY:
            raise ValueError(f"parametrization {parametrization} is for the real field, got field 'complex'")
        self.field: Field = field
        self.parametrization = parametrization
        self.raw = nn.Parameter(torch.empty(count, dim, dim, _parts(field)))
        self.initialize_(init_scale, generator=generator)
        self.on_manifold: orthogonal_maps.GeotorchMatrices | None = None
        if parametrization == "geotorch":
            self.on_manifold = orthogonal_maps.GeotorchMatrices(self.raw.detach()[..., 0])
            del self.raw

    @torch.no_grad()
    def initialize_(self, init_scale: float, *, generator: torch.Generator) -> None:
        """Start ``init_scale`` away from the identity."""
        dim = self.raw.shape[-2]
        self.raw.normal_(generator=generator).mul_(init_scale / math.sqrt(2 * dim))
        self.raw[..., 0] += torch.eye(dim)

    @cacheable
    def forward(self) -> Shaped[Tensor, "count dim dim"]:
        if self.on_manifold is not None:
            return self.on_manifold()
        return orthogonal_maps.MAPS.get(self.parametrization, orthonormal_columns)(as_field(self.raw))

    def in_manifold(self, eps: float = 1e-5) -> bool:
        """Whether every matrix is unitary to within ``eps`` (largest entry of |W†W − 1|)."""
        return isometry_defect(self()) <= eps


class Isometry(nn.Module):
    """One trainable isometry C^columns → C^rows: ``B†B = 1`` (a point of the complex Stiefel manifold)."""

    def __init__(self, rows: int, columns: int, field: Field = "complex", *, generator: torch.Generator) -> None:
        super().__init__()
        if rows < columns:
            raise ValueError(f"an isometry needs at least as many rows as columns, got {rows} rows, {columns} columns")
        parts = torch.randn(rows, columns, _parts(field), generator=generator)
        self.raw = nn.Parameter(parts / math.sqrt(2 * rows))

    @cacheable
    def forward(self) -> Shaped[Tensor, "rows columns"]:
        return orthonormal_columns(as_field(self.raw))

    def in_manifold(self, eps: float = 1e-5) -> bool:
        """Whether B†B = 1 to within ``eps``."""
        return isometry_defect(self()) <= eps
