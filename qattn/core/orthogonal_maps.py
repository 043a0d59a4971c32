"""Five ways to keep a square matrix on its manifold while it trains, all from one matrix near the identity.

    qr           the unique Q of A = QR, R with a positive diagonal (:func:`qattn.core.unitaries.orthonormal_columns`)
    cayley       (1 − S/2)⁻¹(1 + S/2),  S = (A − A†)/2;  never has the eigenvalue −1 exactly
    matrix_exp   e^S
    householder  −∏_i (1 − 2 v_i v_iᵀ/‖v_i‖²), v_i the i-th column of A from its diagonal down, that set to 1; real only
    geotorch     e^S by the library of that name (Lezcano-Casado 2019); real only, determinant +1

Near A = 1 all of them are near the identity. geotorch replaces a module's class, so such a module can be copied and its
state dict saved, but not pickled.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.utils import parametrize

NAMES = ("qr", "cayley", "matrix_exp", "householder", "geotorch")
REAL_ONLY = ("householder", "geotorch")


def cayley(matrix: Shaped[Tensor, "*batch dim dim"]) -> Shaped[Tensor, "*batch dim dim"]:
    """(1 − S/2)⁻¹(1 + S/2) with the skew-Hermitian part S of ``matrix``."""
    half = (matrix - matrix.mH) / 4
    one = torch.eye(half.shape[-1], dtype=half.dtype, device=half.device)
    return torch.linalg.solve(one - half, one + half)


def exponential(matrix: Shaped[Tensor, "*batch dim dim"]) -> Shaped[Tensor, "*batch dim dim"]:
    """e^S with the skew-Hermitian part S of ``matrix``."""
    return torch.matrix_exp((matrix - matrix.mH) / 2)


def householder(matrix: Float[Tensor, "*batch dim dim"]) -> Float[Tensor, "*batch dim dim"]:
    """−∏_i (1 − 2 v_i v_iᵀ/‖v_i‖²): as many reflections as axes; the sign brings the product near the identity."""
    tau = 2 / (1 + matrix.tril(-1).square().sum(-2))
    return -torch.linalg.householder_product(matrix, tau)


MAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "cayley": cayley,
    "matrix_exp": exponential,
    "householder": householder,
}


class GeotorchMatrices(nn.Module):
    """A batch of special orthogonal matrices e^S that geotorch keeps on the manifold, S made of the numbers ``free``.

    The base point is the identity, which every precision and every seed has exactly: a base drawn at random in float32
    would be orthogonal to 1e-7 alone after a move to float64.
    """

    weight: Tensor

    def __init__(self, free: Float[Tensor, "count dim dim"]) -> None:
        super().__init__()
        import geotorch

        one = torch.eye(free.shape[-1]).expand_as(free).clone()
        self.weight = nn.Parameter(one)
        group = geotorch.SO(free.shape)
        group.base.copy_(one)
        parametrize.register_parametrization(self, "weight", group, unsafe=True)
        with torch.no_grad():
            self.get_parameter("parametrizations.weight.original").copy_(free)

    def forward(self) -> Float[Tensor, "count dim dim"]:
        return self.weight
