"""Texts that models write without a prompt, and how few bits describe a text or a model."""

from __future__ import annotations

import bz2
import inspect
import lzma
import math
import zlib
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from experiments.studies.atlas.damage import codes
from qattn.core.parametrization_cache import cached


def write(
    model: Any, first: Int[Tensor, " streams"], length: int, generator: torch.Generator | None
) -> tuple[Int[Tensor, "streams length"], list[float]]:
    """Texts (streams, length) begun with the tokens ``first``, drawn from the model's own distribution, or greedily
    without a generator; and −log₂ P of all streams together after each step (of the first tokens: uniform).
    """
    bits, token, columns, spent = [0.0], first, [first], 0.0
    with torch.no_grad(), cached(model):
        state = model.start(len(first))
        for at in range(length - 1):
            log_probs, state = model.step(token, state)
            if at == 0:
                bits = [spent := len(first) * math.log2(log_probs.shape[1])]
            draw = log_probs.double().exp()
            token = draw.argmax(-1) if generator is None else torch.multinomial(draw, 1, generator=generator)[:, 0]
            spent -= log_probs.gather(1, token[:, None]).double().sum().item() / math.log(2)
            bits.append(spent)
            columns.append(token)
    return torch.stack(columns, 1), bits


def description(model: Any, bits: int) -> float:
    """Bits of a model's rounded weights (whole numbers and scales) and of the source text of its class, packed."""
    pieces = [codes(parameter.detach(), bits) for parameter in model.parameters()]
    whole = b"".join(numbers.numpy().tobytes() for numbers, _ in pieces)
    scales = b"".join(scale.numpy().tobytes() for _, scale in pieces)
    source = Path(inspect.getfile(type(model))).read_bytes()
    return 8.0 * sum(len(lzma.compress(part)) for part in (whole, scales, source))


def packed(text: bytes) -> dict[str, float]:
    """Bits of a text packed by the three compressors of Python's library (lzma's default dictionary holds 8 MiB)."""
    return {
        "lzma": 8.0 * len(lzma.compress(text)),
        "bz2": 8.0 * len(bz2.compress(text)),
        "zlib": 8.0 * len(zlib.compress(text, 9)),
    }
