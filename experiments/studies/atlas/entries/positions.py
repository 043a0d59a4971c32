"""The sine formula: moving by k positions is one fixed rotation, and rotated queries see distances alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-9
"""Of double precision at angles of up to some thousand radians, relative to the vectors' norms."""


class Positions(Entry):
    """The Shape of the Probable, part 3, "The sine formula"; lecture notes, 3.6."""

    note: ClassVar[str] = "sinusoidal positions as rotations, rotary encoding as a function of the distance"

    kind: Literal["positions"]
    """`positions`"""
    dim: PositiveInt = 64
    """Even dimension."""
    length: PositiveInt = 2048
    """Positions."""

    def measure(self, work: Work) -> Found:
        import torch

        from classical.positions import rotary_table, rotate, shift_matrix, sinusoidal

        table = sinusoidal(self.length, self.dim)
        shifts = [1, 2, 3, 10, 100, 1000]
        sine = [
            ((table[k:] - table[:-k] @ shift_matrix(k, self.dim).T).norm(dim=-1).max() / table[0].norm()).item()
            for k in shifts
            if k < self.length
        ]
        generator = torch.Generator().manual_seed(self.seed)
        q, k = torch.randn(2, self.dim, generator=generator, dtype=torch.float64)
        turned = rotary_table(self.length, self.dim)
        scores = rotate(q.expand(self.length, -1), turned) @ rotate(k.expand(self.length, -1), turned).T
        spread = [
            (diagonal.max() - diagonal.min()).item() / (q.norm() * k.norm()).item()
            for diagonal in (scores.diagonal(-offset) for offset in range(0, self.length - 1, 16))
        ]
        absolute = (q + table) @ (k + table).T  # added instead of rotated: the same distance, another score
        added = [
            (diagonal.max() - diagonal.min()).item() / (q.norm() * k.norm()).item()
            for diagonal in (absolute.diagonal(-offset) for offset in range(0, self.length - 1, 16))
        ]
        norm = (rotate(q.expand(self.length, -1), turned).norm(dim=-1) / q.norm() - 1).abs().max().item()
        return {"shifts": shifts[: len(sine)], "sine": sine, "rotary": spread, "added": added, "norm": norm}

    def judge(self, found: Found) -> Verdict:
        sine, rotary, added = max(found["sine"]), max(found["rotary"]), max(found["added"])
        return Verdict(
            "holds" if max(sine, rotary, found["norm"]) < TOLERANCE < added else "fails",
            f"One matrix per distance carries every position on to {sine:.0e}; at equal distance rotary scores differ "
            f"by at most {rotary:.0e} of |q||k| over {self.length} positions, scores with added sines by {added:.2g}.",
            (
                Number("PE(n + k) − M_k PE(n), largest over n and k", sine, reference=0.0),
                Number("spread of rotary scores at equal distance", rotary, reference=0.0),
                Number("spread with sines added instead", added),
                Number("change of the norm by rotation", found["norm"], reference=0.0),
            ),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        at = [16 * index for index in range(len(found["rotary"]))]
        axes.semilogy(at, [max(v, 1e-18) for v in found["added"]], color=PALETTE[1], label="sines added to the vectors")
        axes.semilogy(at, [max(v, 1e-18) for v in found["rotary"]], color=PALETTE[0], label="queries and keys rotated")
        axes.set_xlabel("distance of the two positions")
        axes.set_ylabel("spread of the score over |q||k|")
        axes.legend(frameon=False, fontsize=9)
        return "How much a score depends on more than the distance.", figure
