"""N-gram counts as a model of a comparison: counted instead of trained, its counts kept as buffers."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from classical.ngram import NGram


class CountedLM(nn.Module):
    """An :class:`classical.NGram` (or :class:`classical.KneserNey`) behind the contract of a language model.

    Call :meth:`count` once; nothing is trained.

    `forward` gives float64, whatever the experiment's dtype: counting has no rounding to save.
    """

    context_limit: int | None = None

    def __init__(self, counter: NGram):
        super().__init__()
        self.counter = counter
        for level in range(counter.order):
            for part in ("keys", "counts"):
                self.register_buffer(f"{part}_{level}", torch.zeros(0, dtype=torch.int64))

    def count(self, tokens: Int[Tensor, " time"]) -> "CountedLM":
        """Counts one text, in place of earlier counts; returns itself."""
        self.counter.fit(tokens.long())
        for level, (keys, counts) in enumerate(self.counter.levels()):
            setattr(self, f"keys_{level}", torch.from_numpy(keys))
            setattr(self, f"counts_{level}", torch.from_numpy(counts))
        return self

    def adopt(self, tensors: dict[str, Tensor]) -> None:
        """Takes stored buffers, whose sizes are known only after counting. KeyError when one is missing."""
        for name, _ in list(self.named_buffers()):
            setattr(self, name, tensors[name].clone())
        pairs = [
            (getattr(self, f"keys_{level}").numpy(), getattr(self, f"counts_{level}").numpy())
            for level in range(self.counter.order)
        ]
        self.counter.adopt(pairs)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time vocab"]:
        """log P(next | tokens so far) at every position."""
        return self.counter.forward(tokens)

    def start(self, batch: int) -> Any:
        """The empty context."""
        return self.counter.start(batch)

    def step(self, token: Int[Tensor, " batch"], state: Any) -> tuple[Float[Tensor, "batch vocab"], Any]:
        """One token further."""
        return self.counter.step(token, state)

    def parameter_groups(self) -> dict[str, list[str]]:
        """The ledger: the numbers kept are the counts of what was seen; none is trained."""
        return {"counts": [name for name, _ in self.named_buffers() if name.startswith("counts")]}

    def flops_per_token(self, length: int) -> int:
        """No matrix product anywhere."""
        return 0
