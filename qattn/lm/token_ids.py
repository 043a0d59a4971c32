"""Token ids are checked once, before they index a table, where −1 and the vocabulary's size would pass in silence."""

from __future__ import annotations

from jaxtyping import Int
from torch import Tensor


def expect_tokens(tokens: Int[Tensor, "*batch"], vocab: int) -> None:
    """Raise ``ValueError`` unless all tokens lie in 0…vocab−1."""
    if tokens.numel():
        low, high = (int(end) for end in tokens.aminmax())
        if low < 0 or high >= vocab:
            raise ValueError(f"tokens must lie in 0…{vocab - 1}, got {low}…{high}")
