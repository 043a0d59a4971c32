"""Ten tokens in two dimensions: do they settle on a polygon, and how often is one stuck at the origin?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TAMMES = {4: 109.4712, 6: 90.0, 8: 74.8585, 9: 70.5288, 10: 66.1468, 12: 63.4349}
"""The largest smallest angle between n points of the sphere, in degrees (Tammes' problem; Sloane's tables)."""
PLATONIC = (4, 6, 12)
"""Where the arrangement that is best for angles has every point alike, so that every such loss agrees with it."""
RADIUS = 3.0
INSIDE = 0.5
"""A token is stuck when it ends closer to the origin than this part of the radius."""


class TokenAutoencoder(Entry):
    """Lecture notes, 3.4: a tied embedding of more tokens than dimensions, its norm held fixed."""

    note: ClassVar[str] = "a tied autoencoder of tokens in 2 and 3 dimensions"

    kind: Literal["token_autoencoder"]
    """`token_autoencoder`"""
    tokens: PositiveInt = 10
    """Tokens in the plane."""
    steps: PositiveInt = 140
    """Steps of training, as in the text."""
    starts: PositiveInt = 1000
    """Random starts."""
    settled: PositiveInt = 200
    """How many of them are led on to where they settle."""
    solids: tuple[Literal[4, 6, 8, 9, 10, 12], ...] = (4, 6, 8, 9, 10, 12)
    """Numbers of tokens in three dimensions."""
    tries: PositiveInt = 20
    """Starts for each number of tokens in three dimensions, of which the best counts."""

    def measure(self, work: Work) -> Found:
        import torch

        from classical.autoencoder import autoencoder_nats, polygon, train_autoencoders

        generator = torch.Generator().manual_seed(self.seed)
        run = train_autoencoders(generator, self.starts, self.tokens, steps=self.steps, every=self.steps)
        early = run.vectors[-1]
        stuck = _stuck(early)
        work.say(f"{self.starts} starts in the plane")
        ends = _settle(early[: self.settled])
        return {
            "stuck": stuck.tolist(), "stuck_late": _stuck(ends).tolist(), "nats": autoencoder_nats(ends).tolist(),
            "polygon": autoencoder_nats(polygon(self.tokens, RADIUS)).item(),
            "free": early[stuck.argmin()], "caught": early[stuck.argmax()],
            "solids": [self._solid(n) for n in self.solids],
        }  # fmt: skip

    def _solid(self, n: int) -> dict[str, float | int]:
        """The smallest angle between ``n`` tokens in three dimensions, of the start with the lowest loss."""
        import torch

        from classical.autoencoder import autoencoder_nats

        generator = torch.Generator().manual_seed(self.seed + n)
        ends = _settle(torch.randn(self.tries, n, 3, generator=generator, dtype=torch.float64))
        vectors = ends[autoencoder_nats(ends).argmin()]
        unit = vectors / vectors.norm(dim=-1, keepdim=True)
        nearest = (unit @ unit.T - 2 * torch.eye(n, dtype=unit.dtype)).max().clamp(-1, 1)
        return {"n": n, "angle": torch.rad2deg(nearest.arccos()).item()}

    def judge(self, found: Found) -> Verdict:
        from experiments.stats.accuracy import wilson

        shares = [sum(count > 0 for count in found[key]) / len(found[key]) for key in ("stuck", "stuck_late")]
        best = min(found["nats"]) - found["polygon"]
        settled = len(found["nats"])
        reached = sum(nats < found["polygon"] + 1e-6 for nats in found["nats"]) / settled
        solid = {row["n"]: row["angle"] for row in found["solids"]}
        named = ", ".join(str(n) for n in solid if n in PLATONIC)
        off = max(abs(solid[n] - TAMMES[n]) for n in solid if n in PLATONIC)
        holds = abs(best) < 1e-6 and shares[0] > 0 and off < 0.1
        return Verdict(
            "holds" if holds else "fails",
            f"{100 * shares[0]:.1f} % of {self.starts} starts have a token at the origin after {self.steps} steps. Led "
            f"on to where they settle, {100 * reached:.1f} % of {settled} are on the polygon, {100 * shares[1]:.1f} % "
            f"still have a token at the origin, and none is below the polygon's loss. In three dimensions the best of "
            f"{self.tries} starts has the best angles known for {named} tokens to {off:.1g} degrees.",
            (
                Number(f"starts that leave a token at the origin after {self.steps} steps", shares[0],
                       *wilson(shares[0], self.starts), unit="of all"),
                Number("the same where they settle", shares[1], *wilson(shares[1], settled), unit="of all"),
                Number("lowest loss of all starts above the polygon's", best, reference=0.0, unit="nats"),
                *(Number(f"smallest angle of {n} tokens in R^3", angle, reference=TAMMES[n], unit="degrees")
                  for n, angle in solid.items()),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from matplotlib.figure import Figure

        from experiments.report.figures import FAINT, PALETTE, WIDTH, dress

        figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        for at, (key, title) in enumerate((("free", "a start that settles"), ("caught", "a start that is stuck"))):
            axes = figure.add_subplot(1, 2, at + 1)
            dress(axes)
            x, y = found[key].T.tolist()
            axes.plot(x, y, "o", color=PALETTE[at])
            axes.plot(0, 0, "+", color=FAINT)
            axes.set_aspect("equal")
            axes.set_title(title, fontsize=10)
        return f"Where {self.tokens} tokens end after {self.steps} steps in two dimensions.", figure


def _stuck(vectors: Any) -> Any:
    return (vectors.norm(dim=-1) < INSIDE * RADIUS).sum(-1)


def _settle(vectors: Any) -> Any:
    """Minima of the loss at fixed norm, by Adam along the sphere of that norm with a rate that falls to nothing."""
    import torch

    from classical.autoencoder import autoencoder_nats

    norm = RADIUS * vectors.shape[-2] ** 0.5
    w = vectors.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1500)

    def placed() -> Any:
        return norm * w / w.norm(dim=(-2, -1), keepdim=True)

    for _ in range(1500):
        optimizer.zero_grad()
        autoencoder_nats(placed()).sum().backward()
        optimizer.step()
        schedule.step()
    return placed().detach()
