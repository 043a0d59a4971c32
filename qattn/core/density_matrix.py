"""Losing coherence on purpose: the register as a density matrix, to measure how much of a model is interference.

Exact, not sampled: where random phases would have to be averaged over many runs, the density matrix carries the average
itself. The price is a factor of the dimension in time and memory: D × D numbers a position instead of D.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from qattn.core.states import rotate


def dephase(rho: Shaped[Tensor, "*batch dim dim"], gamma: float) -> Shaped[Tensor, "*batch dim dim"]:
    """The dephasing channel ρ ← (1−γ)ρ + γ diag(ρ): coherences shrink by 1 − γ, populations stay."""
    if gamma == 0:
        return rho
    keep = torch.full(rho.shape[-2:], 1 - gamma, dtype=rho.real.dtype, device=rho.device).fill_diagonal_(1.0)
    return rho * keep


def density(psi: Shaped[Tensor, "*batch dim"]) -> Shaped[Tensor, "*batch dim dim"]:
    """|ψ⟩⟨ψ|."""
    return psi[..., :, None] * psi.conj()[..., None, :]


def expectation(
    rho: Shaped[Tensor, "*batch dim dim"], effects: Shaped[Tensor, "outcomes dim dim"]
) -> Float[Tensor, "*batch outcomes"]:
    """Tr(ρ E_w) for Hermitian E_w, as one real matrix product."""
    left, right = rho.flatten(-2), effects.to(rho.dtype).flatten(-2)
    if rho.is_complex():
        left, right = (torch.view_as_real(part.resolve_conj()).flatten(-2) for part in (left, right))
    return left @ right.mT


def evolve_density(
    rho: Shaped[Tensor, "*batch dim dim"],
    angles: Float[Tensor, "layers *batch angles"],
    mixers: Shaped[Tensor, "layers dim dim"],
    gamma: float,
) -> Shaped[Tensor, "*batch dim dim"]:
    """ρ ← W_l D_γ(e^{iΘ_l} ρ e^{−iΘ_l}) W_l† for every layer: rung 2 with dephasing γ in the basis of the phases.

    At γ = 1 in the complex field nothing depends on the angles: phases do not change populations. In the real field
    planar rotations do, and a classical Markov chain driven by the text remains.
    """
    for theta, mixer in zip(angles, mixers, strict=True):
        rho = dephase(_turn(_turn(rho, theta).mH, theta).mH, gamma)
        rho = mixer @ rho @ mixer.mH
    return rho


def _turn(matrix: Shaped[Tensor, "*batch dim dim"], theta: Float[Tensor, "*batch angles"]) -> Tensor:
    """e^{iΘ} times a matrix."""
    return rotate(matrix.mT.contiguous(), theta[..., None, :].expand(*matrix.shape[:-1], -1)).mT
