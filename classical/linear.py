"""Linear maps and tables with an explicit random start: no layer here draws from the global generator unasked."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn


def make_linear(
    inputs: int, outputs: int, *, bias: bool, std: float | int, generator: torch.Generator | None = None
) -> nn.Linear:
    """x ↦ Wx + b with W ~ N(0, std²) from ``generator`` (None: the global one) and b = 0; std 0 starts at zero.

    The layer of neurons of The Shape of the Probable, part 3, "The neuron and the layer", before its φ.
    """
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias, **_placement())
    fill_normal(layer.weight, std, generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def make_table(rows: int, dim: int, *, std: float | int, generator: torch.Generator | None = None) -> nn.Embedding:
    """``rows`` learned vectors ~ N(0, std²); looking up row t is Eᵀu_t (part 3, "The prompt is a matrix")."""
    table = nn.utils.skip_init(nn.Embedding, rows, dim, **_placement())
    fill_normal(table.weight, std, generator)
    return table


@torch.no_grad()
def fill_normal(weight: Float[Tensor, "..."], std: float | int, generator: torch.Generator | None) -> None:
    """Overwrites ``weight`` with N(0, std²); std 0 writes zeros and draws nothing."""
    if std == 0:
        weight.zero_()
    else:
        weight.normal_(0.0, std, generator=generator)


def _placement() -> dict[str, Any]:
    # skip_init would otherwise build on the CPU even under `with torch.device("meta")`.
    return {"device": torch.get_default_device(), "dtype": torch.get_default_dtype()}
