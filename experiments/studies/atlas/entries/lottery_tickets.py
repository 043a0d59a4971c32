"""How much the seed decides: the spread over seeds, and magnitude pruning with rewinding beside a fresh start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.errors import UserError
from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CRIPPLED = 0.5
"""A seed is crippled that learns less than this part of what the median seed learns over letter frequencies."""


class LotteryTickets(Entry):
    """Perspectives, X.2; Frankle and Carbin 2019: iterative magnitude pruning, the rest rewound to its own start,
    against the same mask from a fresh start. Small networks of three characters (Bengio et al. 2003), many at once.
    """

    note: ClassVar[str] = "loss over seeds; pruned networks from their own start and from a fresh one"

    kind: Literal["lottery_tickets"]
    """`lottery_tickets`"""
    seeds: PositiveInt = 50
    """Networks trained from as many starts."""
    tickets: PositiveInt = 10
    """How many of them are pruned, which the intervals are over."""
    rounds: PositiveInt = 5
    """Rounds of pruning."""
    keep: float = 0.5
    """Share of the weights that each round keeps."""
    hidden: PositiveInt = 64
    """Hidden neurons."""
    steps: PositiveInt = 400
    """Steps of every training."""
    rows: PositiveInt = 256
    """Places of the text per step."""
    characters: PositiveInt = 5000
    """Held-out characters on which losses are measured."""

    def measure(self, work: Work) -> Found:
        import torch

        from experiments.studies.atlas.tickets import losses, pruned, random_nets, trained
        from experiments.tasks.text import text_task

        task: Any = text_task("text", "tinyshakespeare")
        test, generator = task.validation[: self.characters], torch.Generator().manual_seed(self.seed)
        size = (task.vocab, 16, self.hidden)
        start = random_nets(self.seeds, *size, generator)
        dense = {name: torch.ones_like(value) for name, value in start.items()}
        ends = trained(start, dense, task.train, self.steps, self.rows, self.seed)
        spread = losses(ends, test).tolist()
        work.say(f"{self.seeds} seeds trained")
        own, masks, net = (
            {name: value[: self.tickets] for name, value in nets.items()} for nets in (start, dense, ends)
        )
        rewound, fresh, shares = [], [], []
        for at in range(self.rounds):
            masks = pruned(net, masks, self.keep)
            net = trained(own, masks, task.train, self.steps, self.rows, self.seed)
            other = trained(
                random_nets(self.tickets, *size, generator), masks, task.train, self.steps, self.rows, self.seed
            )
            rewound.append(losses(net, test).tolist())
            fresh.append(losses(other, test).tolist())
            shares.append(self.keep ** (at + 1))
            work.say(f"{100 * shares[-1]:.2g} % of the weights left")
        counts = torch.bincount(task.train.long(), minlength=task.vocab).double() + 1
        frequencies = (counts / counts.sum()).log()
        return {"spread": spread, "rewound": rewound, "fresh": fresh, "shares": shares,
                "letters": -frequencies[test.long()].mean().item()}  # fmt: skip

    def judge(self, found: Found) -> Verdict:
        """Raises :class:`UserError` where the median seed has learnt nothing that pruning could keep."""
        import numpy as np

        learnt = found["letters"] - np.asarray(found["spread"])
        middle = float(np.median(learnt))
        if middle <= 0:  # then half of what is learnt means nothing
            raise UserError(
                f"atlas.entry.steps: after {self.steps} steps the median seed knows no more than the letters' "
                "frequencies; train longer"
            )
        worst = float(learnt.min()) / middle
        numbers = [
            mean_of(f"loss of a fresh start minus that of the own, {100 * share:.2g} % of the weights",
                    [b - a for a, b in zip(own, other, strict=True)], 0.0, "nats")
            for share, own, other in zip(found["shares"], found["rewound"], found["fresh"], strict=True)
        ]  # fmt: skip
        best = max(numbers, key=lambda number: number.lowest)
        crippled, ticket = worst < CRIPPLED, best.lowest > 0
        no_ticket = all(number.highest < 0 for number in numbers)
        verdict = "holds" if crippled and ticket else "fails" if not crippled or no_ticket else "open"
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"The worst of {self.seeds} seeds learns {100 * worst:.1f} % of what the median one does: "
            + ("a seed is crippled" if crippled else "no seed is crippled")
            + f" (losses {min(found['spread']):.3f} to {max(found['spread']):.3f} nats). Pruned networks "
            + (f"do train better from their own start than from a fresh one, by {best.value:.3f} nats where it shows "
               "most: there are tickets." if ticket else "train no better from their own start than from a fresh one."),
            (Number("what the worst seed learns, over the median", worst, reference=1.0),
             mean_of("loss over seeds", found["spread"], unit="nats"), *numbers),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(3.2)
        for at, (key, label) in enumerate((("rewound", "from their own start"), ("fresh", "from a fresh start"))):
            means = [mean_of("", row) for row in found[key]]
            axes.errorbar([100 * share for share in found["shares"]], [mean.value for mean in means],
                          yerr=[(mean.highest - mean.lowest) / 2 for mean in means], fmt="o-", color=PALETTE[at],
                          label=label)  # fmt: skip
        for loss in found["spread"]:
            axes.axhline(loss, color=PALETTE[2], lw=0.4, alpha=0.5)
        axes.set_xscale("log")
        axes.invert_xaxis()
        axes.set_xlabel("weights left, per cent")
        axes.set_ylabel("nats per character")
        axes.legend(frameon=False, fontsize=9)
        return "Pruned networks trained again (lines: every seed before pruning).", figure
