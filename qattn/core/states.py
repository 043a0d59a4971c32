"""State vectors: preparation, random states, phases and planar rotations acting on them."""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from qattn.core.unitaries import Field, as_field


def normalize(psi: Shaped[Tensor, "*batch dim"]) -> Shaped[Tensor, "*batch dim"]:
    """The unit vector along ``psi`` (state preparation; never used between preparation and readout)."""
    return psi / torch.linalg.vector_norm(psi, dim=-1, keepdim=True)


def random_states(
    shape: tuple[int, ...], field: Field = "complex", *, generator: torch.Generator, dtype: torch.dtype = torch.float64
) -> Shaped[Tensor, "*shape"]:
    """Unit vectors along the last axis of ``shape``, uniform on the sphere of the field."""
    parts = 2 if field == "complex" else 1
    return normalize(as_field(torch.randn(*shape, parts, generator=generator, dtype=dtype)))


def inner(a: Shaped[Tensor, "*batch dim"], b: Shaped[Tensor, "*batch dim"]) -> Shaped[Tensor, "*batch"]:
    """⟨a|b⟩, conjugate-linear in ``a``."""
    return torch.linalg.vecdot(a, b)


def rotate(psi: Shaped[Tensor, "*batch dim"], angles: Float[Tensor, "*batch angles"]) -> Shaped[Tensor, "*batch dim"]:
    """Apply e^{iΘ}. Complex field: one phase an axis. Real field: one planar rotation a pair of axes (2a, 2a+1).

    A planar rotation by θ is the phase e^{iθ} on the pair read as one complex number. Norm-preserving for every angle;
    the inverse is ``rotate(psi, -angles)``.
    """
    phases = torch.complex(angles.cos(), angles.sin())
    if psi.is_complex():
        return psi * phases
    pairs = torch.view_as_complex(psi.reshape(*psi.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * phases).flatten(-2)
