"""Matrices made from parameters (QR factors, tables of unitaries, permutations), made once while nothing trains.

Generation calls `step` token by token, and a factorisation per token would cost more than the token. Nothing can go
stale: a matrix is kept only inside :func:`cached` and only while gradients are off, so training never sees one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn


def cacheable(make: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    """Mark a method without arguments that makes a matrix from a module's parameters."""

    @wraps(make)
    def value(module: Any) -> Tensor:
        kept: dict[str, Tensor] | None = module.__dict__.get("_cached")
        if kept is None or torch.is_grad_enabled():
            return make(module)
        if make.__name__ not in kept:
            kept[make.__name__] = make(module)
        return kept[make.__name__]

    return value


@contextmanager
def cached(model: nn.Module) -> Iterator[None]:
    """Inside, without gradients, each cacheable matrix of ``model`` is made once; its parameters must not change."""
    modules = [module for module in model.modules() if "_cached" not in module.__dict__]
    for module in modules:
        module.__dict__["_cached"] = {}
    try:
        yield
    finally:
        for module in modules:
            module.__dict__.pop("_cached", None)
