"""U(x)|ψ⟩ = W_L e^{iΘ_L} ⋯ W_1 e^{iΘ_1}|ψ⟩ for a batch of angles, with a derivative by hand.

Phases and matrix products have derivatives of one line each; taken together they save most of the passes over memory
that automatic differentiation of sines, cosines and complex products makes.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor


def differentiated_once() -> None:
    """Refuse ``create_graph=True`` in a backward pass: half of a second derivative would come out, without a word.

    Raises ``RuntimeError``.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(
            "this fast path is differentiable once; circuits have naive.state_vector for higher derivatives"
        )


def evolve(
    psi: Shaped[Tensor, "points dim"],
    angles: Float[Tensor, "layers points angles"],
    mixers: Shaped[Tensor, "mixers dim dim"],
) -> Shaped[Tensor, "points dim"]:
    """Every layer in turn: e^{iΘ_l} (phases, or planar rotations of real pairs), then the mixer W_l.

    The last layer may come without a mixer. Differentiable once in all three; equals applying
    :func:`qattn.core.states.rotate` and the matrices one by one.
    """
    out: Tensor = _Evolve.apply(psi, angles, mixers)
    return out


class _Evolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, psi: Tensor, angles: Tensor, mixers: Tensor) -> Tensor:
        phases = torch.complex(angles.cos(), angles.sin())
        turned, state = [], psi
        for layer, phase in enumerate(phases):
            turned.append(_times(state, phase))
            state = turned[-1] @ mixers[layer].mT if layer < len(mixers) else turned[-1]
        ctx.save_for_backward(phases, mixers, *turned)
        return state

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        differentiated_once()
        phases, mixers, *turned = ctx.saved_tensors
        to_angles, to_mixers = phases.real.new_empty(phases.shape), torch.empty_like(mixers)
        inverse, conjugates = phases.conj().resolve_conj(), mixers.conj().resolve_conj()
        for layer in range(len(phases) - 1, -1, -1):
            if layer < len(mixers):
                torch.mm(gradient.mT, turned[layer].conj(), out=to_mixers[layer])
                gradient = gradient @ conjugates[layer]
            pulled, state = _paired(gradient), _paired(turned[layer])
            torch.mul(pulled.imag, state.real, out=to_angles[layer])  # Im(ḡ s*): how the loss turns with the phase
            to_angles[layer].addcmul_(pulled.real, state.imag, value=-1)
            gradient = _times(gradient, inverse[layer])
        return gradient, to_angles, to_mixers


def _paired(state: Tensor) -> Tensor:
    """A complex view: real states as one complex number a pair of axes."""
    return state if state.is_complex() else torch.view_as_complex(state.unflatten(-1, (-1, 2)))


def _times(state: Tensor, phases: Tensor) -> Tensor:
    out = _paired(state) * phases
    return out if state.is_complex() else torch.view_as_real(out).flatten(-2)
