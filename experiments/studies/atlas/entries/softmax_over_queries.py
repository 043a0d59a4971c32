"""A softmax that is normalised over queries: the index that the lecture notes sum over."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class SoftmaxOverQueries(Entry):
    """Lecture notes, 3.5: z_mn = K_m·Q_n, then p_mn = exp(z_mn) / Σ_o exp(z_mo): the sum runs over queries."""

    note: ClassVar[str] = "attention normalised over queries, as printed: rows and causality"

    kind: Literal["softmax_over_queries"]
    """`softmax_over_queries`"""
    length: PositiveInt = 16
    """Tokens."""
    texts: PositiveInt = 100
    """Random sequences."""

    def measure(self, work: Work) -> Found:
        import torch

        from classical.attention import may_attend

        generator = torch.Generator().manual_seed(self.seed)
        sums, leaks = [], {"keys": 0.0, "queries": 0.0}
        mean = torch.zeros(2, self.length, self.length, dtype=torch.float64)
        hidden = ~may_attend(self.length, self.length)
        for _ in range(self.texts):
            q, k, v = torch.randn(3, self.length, 8, generator=generator, dtype=torch.float64)
            changed = torch.randn(2, 8, generator=generator, dtype=torch.float64)
            for at, (name, dim) in enumerate((("keys", -1), ("queries", -2))):

                def weights(q: torch.Tensor, k: torch.Tensor, dim: int = dim) -> torch.Tensor:
                    return (q @ k.T / 8**0.5).masked_fill(hidden, -torch.inf).softmax(dim)

                before = weights(q, k)
                mean[at] += before / self.texts
                if name == "queries":
                    sums += before.sum(-1).tolist()
                q2, k2 = torch.cat((q[:-1], changed[:1])), torch.cat((k[:-1], changed[1:]))
                moved = ((weights(q2, k2) - before) @ v)[:-1].norm(dim=-1).max() / v.norm(dim=-1).mean()
                leaks[name] = max(leaks[name], moved.item())
        return {"sums": sums, "leaks": leaks, "mean": mean}

    def judge(self, found: Found) -> Verdict:
        low, high = min(found["sums"]), max(found["sums"])
        leak, right = found["leaks"]["queries"], found["leaks"]["keys"]
        wrong = leak > 1e-6 and right < 1e-12 and (low < 0.9 or high > 1.1)
        return Verdict(
            "fails" if wrong else "open",
            f"Summed over queries, as printed, the weights of one token add up to anything from {low:.2g} to "
            f"{high:.2g}, and changing the last token moves earlier outputs by up to {leak:.2g} of a value's length: "
            "the future leaks in through the denominator although masked. Summed over keys (Perspectives, Eq. 42) "
            f"rows add up to 1 and nothing earlier moves ({right:.0e}).",
            (
                Number("what the last token changes earlier, normalised over queries", leak, reference=0.0),
                Number("the same, normalised over keys", right, reference=0.0),
                Number("smallest sum of one token's weights", low, reference=1.0),
                Number("largest sum of one token's weights", high, reference=1.0),
            ),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        for at, name in enumerate(("over keys", "over queries, as printed")):
            axes.plot(range(self.length), found["mean"][at].sum(-1).tolist(), "o-s-"[2 * at: 2 * at + 2],
                      color=PALETTE[at], label=f"normalised {name}")  # fmt: skip
        axes.set_xlabel("position of the token that attends")
        axes.set_ylabel("sum of its weights")
        axes.legend(frameon=False, fontsize=9)
        return "What the attention weights of a token add up to, mean over texts.", figure
