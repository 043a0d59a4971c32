"""Why scores are divided by the square root of the dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SATURATED = 0.8
"""On nearly a single value: the mean of the largest weight."""
PRACTICALLY_ZERO = 0.05
"""Of the derivative with the factor."""


class ScaledScores(Entry):
    """The Shape of the Probable, part 3, "Attention"; Perspectives, C.2, Eq. 41."""

    note: ClassVar[str] = "the variance of dot products, and what a softmax of them does to gradients"

    kind: Literal["scaled_scores"]
    """`scaled_scores`"""
    dimensions: tuple[PositiveInt, ...] = (8, 32, 128)
    """Dimensions d_k of queries and keys."""
    keys: PositiveInt = 64
    """Keys of each query."""
    queries: PositiveInt = 2000
    """Random queries."""

    def measure(self, work: Work) -> Found:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        rows = []
        for d in self.dimensions:
            q, k = (torch.randn(self.queries, n, d, generator=generator, dtype=torch.float64) for n in (1, self.keys))
            scores = (q @ k.transpose(-2, -1))[:, 0]
            row: dict[str, float | list[float]] = {"d": d, "variances": scores.var(-1).tolist()}
            for name, z in (("raw", scores), ("scaled", scores / d**0.5)):
                p = z.softmax(-1)
                row[f"{name} top"] = p.max(-1).values.mean().item()
                # the softmax's Jacobian diag(p) − p pᵀ, through which every gradient passes
                jacobian = torch.diag_embed(p) - p[..., None] * p[..., None, :]
                row[f"{name} gradient"] = jacobian.norm(dim=(-2, -1)).median().item()
            rows.append(row)
        return {"rows": rows}

    def judge(self, found: Found) -> Verdict:
        numbers, variance = [], True
        for row in found["rows"]:
            ratio = mean_of(f"Var(q·k) / d_k, d_k = {row['d']}", [value / row["d"] for value in row["variances"]], 1.0)
            variance &= abs(ratio.value - 1) < 0.05
            numbers.append(ratio)
        last = found["rows"][-1]
        lost = last["raw gradient"] / last["scaled gradient"]
        gone = lost < PRACTICALLY_ZERO
        numbers = [
            Number(
                f"derivative of the softmax without the factor over with it, d_k = {last['d']}", lost, reference=0.0
            ),
            Number(f"largest weight without the factor, d_k = {last['d']}", last["raw top"], reference=1.0),
            Number(f"largest weight with it, d_k = {last['d']}", last["scaled top"]),
            *numbers,
        ]
        end = (
            f"then {lost:.2g} times as large, practically nothing."
            if gone
            else f"in the median still {lost:.2g} times that with it: it saturates without ending the gradient."
        )
        return Verdict(
            "holds" if variance and last["raw top"] > SATURATED and gone else "fails",
            f"The variance is d_k, and without the factor the softmax of {self.keys} scores puts {last['raw top']:.2f} "
            f"on one key at d_k = {last['d']} (with it {last['scaled top']:.2f}). Its derivative is " + end,
            tuple(numbers),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        for at, name in enumerate(("raw", "scaled")):
            axes.plot(self.dimensions, [row[f"{name} top"] for row in found["rows"]], "o-s--"[2 * at: 2 * at + 2],
                      color=PALETTE[at], label=f"{name} scores: largest weight")  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlabel("dimension d_k of queries and keys")
        axes.legend(frameon=False, fontsize=9)
        return "The largest of the attention weights of random queries and keys.", figure
