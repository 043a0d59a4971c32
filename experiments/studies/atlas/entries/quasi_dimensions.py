"""Do exponentially many almost orthogonal directions fit, between two constants for every tolerance?"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class QuasiDimensions(Entry):
    """Perspectives, VII: exp(cε²d) ≤ N_ε(d) ≤ exp(Cε²d) with universal constants, real vectors."""

    note: ClassVar[str] = "the constants of the exponential packing, at fixed tolerance and at 1/√d"

    kind: Literal["quasi_dimensions"]
    """`quasi_dimensions`"""
    dimensions: tuple[int, ...] = (4, 16, 64, 256, 1024, 4096)
    """Dimensions; powers of 4 have real Kerdock sets."""
    eps: float = 0.2
    """The fixed tolerance beside ε = 1/√d."""

    def measure(self, work: Work) -> Found:
        from contexts.packing.bounds.capacity import greedy, upper_capacity
        from contexts.packing.constructions.combine import largest_construction

        rows = []
        for d in self.dimensions:
            small = 1 / math.sqrt(d)
            lower, upper = greedy(d, self.eps, "real"), upper_capacity(d, self.eps, "real")
            n = largest_construction(d, small, "real").n
            # what C has to be at least for N <= exp(C eps^2 d), from vectors that exist
            rows.append({
                "d": d, "n": int(n), "needed": math.log(n) / (small**2 * d), "orthonormal": math.log(d) / (0.01**2 * d),
                "lower": None if lower is None else lower / (self.eps**2 * d),
                "upper": None if upper is None else upper[0] / (self.eps**2 * d),
            })  # fmt: skip
        return {"rows": rows}

    def judge(self, found: Found) -> Verdict:
        rows = found["rows"]
        first, last = rows[0], rows[-1]
        lower = min(row["lower"] for row in rows if row["lower"] is not None)
        upper = [row["upper"] for row in rows if row["upper"] is not None]
        grows = all(b["needed"] > a["needed"] for a, b in pairwise(rows))
        return Verdict(
            "fails" if grows else "open",
            f"The lower form holds: a greedy choice gives c of at least {lower:.2f} at ε = {self.eps:g}. The upper "
            f"form has no universal C: at ε = 1/√d there are {last['n']:,} real vectors in dimension {last['d']}, "
            f"which needs C ≥ {last['needed']:.1f} (in dimension {first['d']}: {first['needed']:.1f}), growing like "
            f"ln d. At fixed ε = {self.eps:g} proved bounds allow C = {upper[-1]:.2f}.",
            (
                Number(f"C needed at ε = 1/√d in dimension {last['d']}", last["needed"], reference=last["upper"]),
                Number(f"C needed at ε = 1/√d in dimension {first['d']}", first["needed"]),
                Number(f"c reached at ε = {self.eps:g} by the greedy choice", lower, reference=0.0),
                Number(f"C that is proved enough at ε = {self.eps:g}, d = {last['d']}", upper[-1]),
            ),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.9)
        rows = found["rows"]
        axes.plot([r["d"] for r in rows], [r["needed"] for r in rows], "o-", color=PALETTE[1],
                  label="needed at ε = 1/√d (vectors exist)")  # fmt: skip
        for key, style, at, label in (
            ("upper", "s--", 0, f"enough at ε = {self.eps:g} (proved)"),
            ("lower", "^:", 2, f"reached at ε = {self.eps:g} (greedy)"),
        ):
            shown = [row for row in rows if row[key] is not None]
            axes.plot([r["d"] for r in shown], [r[key] for r in shown], style, color=PALETTE[at], label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("dimension d")
        axes.set_ylabel("ln N / (ε² d)")
        axes.legend(frameon=False, fontsize=9)
        return "The constant C that N ≤ exp(Cε²d) would need, where vectors are known, and what is proved.", figure
