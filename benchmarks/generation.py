"""Generating one text: time per token and size of what is carried, thousand by thousand.

    python benchmarks/generation.py             # 10,000 tokens from untrained models at nanoGPT's CPU sizes

The unitary model carries a fixed state; the modern transformer's cache grows with the text; the GPT-2 style one reads
a sliding window of 64 anew for every token. Processor time, one thread; the models take turns, a thousand tokens each.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from classical import Transformer, gpt2_style, modern
from qattn import UnitaryConfig, UnitaryLM
from qattn.core.parametrization_cache import cached

VOCAB = 65


def tensors(state: Any) -> Iterator[Tensor]:
    """Every tensor of a generation state."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, list | tuple):
        for part in state:
            yield from tensors(part)
    elif hasattr(state, "__dict__"):
        yield from tensors(list(vars(state).values()))


class Text:
    """A text in the making: the model, its state, and the recent tokens where the model has a limit."""

    def __init__(self, model: Any, limit: int | None) -> None:
        self.model, self.limit = model.eval(), limit
        self.state = model.start(1)
        self.window = torch.zeros(1, 1, dtype=torch.long)
        self.generator = torch.Generator().manual_seed(0)

    def write(self, count: int) -> None:
        for _ in range(count):
            if self.limit is None:
                log_probs, self.state = self.model.step(self.window[:, -1], self.state)
            else:
                log_probs = self.model(self.window)[:, -1]
            token = torch.multinomial(log_probs.exp(), 1, generator=self.generator)
            self.window = torch.cat([self.window, token], 1)[:, -(self.limit or 1) :]

    def bytes(self) -> int:
        return self.window.nbytes if self.limit else sum(tensor.nbytes for tensor in tensors(self.state))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=10_000, help="default 10000")
    args = parser.parse_args()
    torch.set_num_threads(1)
    shape = {"dim": 128, "layers": 4, "heads": 4}
    models = {
        "unitary": UnitaryLM(UnitaryConfig(VOCAB, dim=96, hidden=512)),
        "modern": Transformer(modern(VOCAB, args.tokens, **shape)),
        "gpt2_style": Transformer(gpt2_style(VOCAB, 64, **shape)),
    }
    print(f"{'tokens':>14}" + "".join(f"{name:>24}" for name in models))
    with torch.no_grad(), ExitStack() as stack:
        for model in models.values():
            stack.enter_context(cached(model))
        texts = {name: Text(model, 64 if name == "gpt2_style" else None) for name, model in models.items()}
        for low in range(0, args.tokens, 1000):
            cells = []
            for text in texts.values():
                start, count = time.process_time(), min(1000, args.tokens - low)
                text.write(count)
                milliseconds = 1000 * (time.process_time() - start) / count
                cells.append(f"{milliseconds:8.2f} ms {text.bytes() / 1e3:9.1f} kB")
            print(f"{low + 1:>6}–{low + count:<7}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
