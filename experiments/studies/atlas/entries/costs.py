"""Parameters of published models from three numbers, and what the length of a text costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = {"GPT-2": 124_439_808, "LLaMA-7B": 6_738_415_616, "Gemma 2 2B": 2_614_341_888}
"""Exact counts of the released weights (tied weights once)."""


class Costs(Entry):
    """The Shape of the Probable, part 3, "Counting the parameters"; lecture notes, 3.5 and 3.7."""

    note: ClassVar[str] = "parameter counts of published models; operations against length"

    kind: Literal["costs"]
    """`costs`"""
    lengths: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096)
    """Tokens of text at which the operations of one attention layer are counted."""
    dim: int = 64
    """Its dimension."""

    def measure(self, work: Work) -> Found:
        import torch
        from torch.utils.flop_counter import FlopCounterMode

        from classical.counting import count_parameters, kv_cache_numbers, rule_of_thumb
        from classical.presets import gpt2_style, llama

        gpt2 = gpt2_style(50257, 1024, dim=768, layers=12, heads=12, bias=True)
        seven = llama(32000, 2048, dim=4096, layers=32, heads=32, hidden=11008)
        parts = count_parameters(gpt2)
        exact = {
            "GPT-2": sum(parts.values()),
            "LLaMA-7B": sum(count_parameters(seven).values()),
            "Gemma 2 2B": gemma(256_000, 2304, 26, 8, 4, 256, 9216),
        }
        scores, weighed = [], []
        for length in self.lengths:
            q = torch.zeros(1, length, self.dim)
            with FlopCounterMode(display=False) as counter:
                weights = (q @ q.transpose(-2, -1)).softmax(-1)
                _ = weights @ q
            scores.append(counter.get_total_flops())
            weighed.append(kv_cache_numbers(gpt2, length))
        return {
            "exact": exact, "rule": rule_of_thumb(32, 4096, 32000), "share": parts["feedforward"] / exact["GPT-2"],
            "attention": scores, "cache": weighed,
        }  # fmt: skip

    def judge(self, found: Found) -> Verdict:
        import numpy as np

        x = np.log(self.lengths)
        slope = float(np.polyfit(x, np.log(found["attention"]), 1)[0])
        memory = float(np.polyfit(x, np.log(found["cache"]), 1)[0])
        off = {name: found["exact"][name] - count for name, count in PUBLISHED.items()}
        rule = found["rule"] / PUBLISHED["LLaMA-7B"] - 1
        holds = not any(off.values()) and abs(slope - 2) < 0.01 and abs(rule) < 0.05
        return Verdict(
            "holds" if holds else "fails",
            f"All three counts agree to the last parameter; 12Ld² + |V|d is {100 * rule:+.1f} % off for the seven "
            f"billion. The operations of attention grow with the length to the power {slope:.3f}, the key-value cache "
            f"with {memory:.3f}; the feed-forward matrices are {100 * found['share']:.0f} % of GPT-2.",
            (
                Number("exponent of attention's operations in the length", slope, reference=2.0),
                Number("exponent of the key-value cache in the length", memory, reference=1.0),
                *(Number(f"parameters of {name}", found["exact"][name], reference=PUBLISHED[name]) for name in off),
                Number("12Ld² + |V|d for L = 32, d = 4096, |V| = 32,000", found["rule"], reference=6.7e9),
                Number("share of feed-forward parameters in GPT-2", found["share"], reference=0.5),
            ),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        axes.loglog(self.lengths, found["attention"], "o-", color=PALETTE[0], label="operations of one attention layer")
        axes.loglog(self.lengths, found["cache"], "s--", color=PALETTE[1], label="numbers in GPT-2's key-value cache")
        axes.set_xlabel("tokens of text")
        axes.legend(frameon=False, fontsize=9)
        return f"Counted operations (dimension {self.dim}) and memory against the length of the text.", figure


def gemma(vocab: int, dim: int, layers: int, heads: int, kv_heads: int, head_dim: int, hidden: int) -> int:
    """Parameters of Gemma 2 (arXiv:2408.00118, table 1): grouped queries, gated feed-forward, four norms per layer,
    tied embeddings.
    """
    attention = dim * head_dim * (2 * heads + 2 * kv_heads)
    return vocab * dim + layers * (attention + 3 * dim * hidden + 4 * dim) + dim
