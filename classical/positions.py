"""Where a token stands: sinusoidal and rotary positions (learned positions are a plain table, see `transformer.py`).

Attention alone treats the text as a set; these functions tell "the dog bit the man" from "the man bit the dog".
The Shape of the Probable, part 3, "The sine formula"; lecture notes "Large Language Models", section 3.6.
"""

import torch
from jaxtyping import Float
from torch import Tensor

BASE = 10_000.0


def frequencies(dim: int, base: float | int = BASE) -> Float[Tensor, " half"]:
    """ω_i = base^(−2i/d) for i = 0 … d/2 − 1, in radians per position, float64: the hands of the clock.

    Raises ValueError for an odd dimension.
    """
    if dim < 2 or dim % 2:
        raise ValueError(f"positions come in pairs, so the dimension must be even and at least 2, got {dim}")
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def sinusoidal(length: int, dim: int, base: float | int = BASE) -> Float[Tensor, "length dim"]:
    """PE(pos, 2i) = sin(ω_i pos), PE(pos, 2i+1) = cos(ω_i pos) for pos = 0 … length − 1, float64.

    Vaswani et al. 2017. (The lecture notes put the cosine on the even components: the same pairs, swapped.)
    """
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies(dim, base)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def shift_matrix(steps: int, dim: int, base: float | int = BASE) -> Float[Tensor, "dim dim"]:
    """The block rotation that carries PE(pos) to PE(pos + steps), whatever pos is (part 3, "The sine formula")."""
    angles = steps * frequencies(dim, base)
    c, s = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack((torch.stack((c, s), -1), torch.stack((-s, c), -1)), -2))


def rotary_table(length: int, head_dim: int, base: float | int = BASE) -> Float[Tensor, "2 length head_dim"]:
    """cos(mω_i) and ± sin(mω_i) for positions m = 0 … length − 1, float64, laid out as `rotate` takes them."""
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies(head_dim, base)
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)))


def rotate(
    x: Float[Tensor, "*batch time head_dim"], table: Float[Tensor, "2 time head_dim"]
) -> Float[Tensor, "*batch time head_dim"]:
    """R_m x for every position m: rotary encoding (Su et al. 2021; lecture notes, section 3.6).

    Plane i is spanned by components i and i + d/2 (the notes pair neighbours: the same up to a fixed reordering of
    components, and cheaper). Norms do not change; ⟨R_m q, R_n k⟩ depends on n − m alone.
    """
    cos, sin = table
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, dims=-1), sin)


def rotation_matrix(steps: int, head_dim: int, base: float | int = BASE) -> Float[Tensor, "head_dim head_dim"]:
    """R_m as a matrix, float64: the slow reference of `rotate` (R_mᵀ = R_−m, R_m R_n = R_m+n)."""
    angles = steps * frequencies(head_dim, base)
    c, s = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat((torch.cat((c, -s), 1), torch.cat((s, c), 1)))
