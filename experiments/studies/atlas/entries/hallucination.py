"""Must a calibrated language model invent facts, at the rate of the facts that its text states once?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    import torch
    from jaxtyping import Float, Int
    from matplotlib.figure import Figure


class Hallucination(Entry):
    """The Shape of the Probable, part 3 (Kalai & Vempala 2024): people with a birthday each, mentioned at random.

    A small transformer learns sentences "person, birthday"; people are drawn by Zipf's law. All its sentences can be
    enumerated, so at every look the invented share h (its probability of false sentences) is exact, and so is its
    miscalibration: ½ Σ |p(B) − g(B)| over ten bins B of equal model probability g, sorted by g, p the true law of
    sentences. The theorem: h ≥ the share of facts stated once − miscalibration, but for chance.
    """

    note: ClassVar[str] = "invented facts of a small transformer against the Good-Turing estimate"

    kind: Literal["hallucination"]
    """`hallucination`"""
    people: PositiveInt = 1000
    """People in the world."""
    days: PositiveInt = 30
    """Birthdays, drawn uniformly, one per person."""
    sentences: PositiveInt = 2000
    """Sentences of the training text."""
    steps: PositiveInt = 600
    """Steps of training."""
    repeats: PositiveInt = 6
    """Worlds, each with its text and training."""

    def measure(self, work: Work) -> Found:
        rows = []
        for repeat in range(self.repeats):
            rows.append(self._world(repeat))
            work.say(f"world {repeat + 1} of {self.repeats}")
        return {"rows": rows}

    def _world(self, repeat: int) -> dict[str, Any]:
        import torch
        import torch.nn.functional as F

        from classical.presets import gpt2_style
        from classical.transformer import Transformer

        generator = torch.Generator().manual_seed(self.seed * 1009 + repeat)
        birthday = torch.randint(self.days, (self.people,), generator=generator)
        weight = 1 / torch.arange(1, self.people + 1, dtype=torch.float64)
        text, fresh = (
            torch.multinomial(weight, n, True, generator=generator) for n in (self.sentences, self.sentences)
        )
        once = int((text.bincount(minlength=self.people) == 1).sum())
        start = self.people + self.days  # the token that begins a sentence
        model = Transformer(gpt2_style(start + 1, 3, dim=32, layers=1, heads=2), generator=generator)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)

        def tokens(person: Int[torch.Tensor, " n"]) -> Int[torch.Tensor, "n 3"]:
            return torch.stack((torch.full_like(person, start), person, self.people + birthday[person]), 1)

        looks = []
        for step in range(self.steps + 1):
            if step % max(1, self.steps // 30) == 0:
                looks.append({"step": step, **_look(model, tokens(fresh), weight / weight.sum(), birthday)})
            batch = tokens(text[torch.randint(self.sentences, (256,), generator=generator)])
            loss = F.nll_loss(model(batch[:, :2]).transpose(1, 2), batch[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return {"good_turing": once / self.sentences, "looks": looks}

    def judge(self, found: Found) -> Verdict:
        rows = found["rows"]
        margins = [
            look["invented"] - (row["good_turing"] - look["miscalibration"]) for row in rows for look in row["looks"]
        ]
        best = [min(row["looks"], key=lambda look: look["miscalibration"]) for row in rows]
        last = [row["looks"][-1] for row in rows]
        slack = math.sqrt(6 * math.log(6 / 0.05) / self.sentences)
        numbers = (
            Number("least of h − (facts stated once − miscalibration) over all looks", min(margins), reference=0.0),
            mean_of("share of facts stated once (Good–Turing)", [row["good_turing"] for row in rows]),
            mean_of("invented share h where best calibrated", [look["invented"] for look in best]),
            mean_of("miscalibration there", [look["miscalibration"] for look in best], 0.0),
            mean_of("invented share h after training on", [look["invented"] for look in last]),
            mean_of("miscalibration after training on", [look["miscalibration"] for look in last], 0.0),
            Number("what chance may take off the bound (95 %)", slack),
        )
        return Verdict(
            "holds" if min(margins) > -slack else "fails",
            f"At all {len(margins)} looks h is at least the share of facts stated once minus the miscalibration, but "
            f"for chance (least margin {min(margins):+.3f}, chance may take {slack:.2f}). Where it is best calibrated "
            f"({numbers[3].value:.3f}) the model invents {numbers[2].value:.2f} of its sentences, where "
            f"{numbers[1].value:.2f} of facts are stated once; by heart it invents {numbers[4].value:.3f} and "
            f"is miscalibrated by {numbers[5].value:.2f}.",
            numbers,
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import FAINT, PALETTE, canvas

        figure, (axes,) = canvas(2.9)
        for number, row in enumerate(found["rows"]):
            bound = [row["good_turing"] - look["miscalibration"] for look in row["looks"]]
            axes.plot(bound, [look["invented"] for look in row["looks"]], ".-", lw=0.6, ms=3,
                      color=PALETTE[number % len(PALETTE)])  # fmt: skip
        low, high = axes.get_xlim()
        axes.plot([low, high], [low, high], "--", color=FAINT)
        axes.set_xlabel("facts stated once − miscalibration")
        axes.set_ylabel("invented share h")
        return (
            "A transformer while it learns, one line per world; the theorem allows what lies above the diagonal.",
            figure,
        )


def _look(
    model: Any, fresh: Int[torch.Tensor, "n 3"], weight: Float[torch.Tensor, " people"],
    birthday: Int[torch.Tensor, " people"],
) -> dict[str, float]:  # fmt: skip
    """Loss on new sentences; by enumeration the invented share and the miscalibration of all sentences."""
    import torch

    people = len(weight)
    with torch.no_grad():
        loss = -model(fresh[:, :2]).gather(-1, fresh[:, 1:, None]).mean()
        each = torch.arange(people)
        log_p = model(torch.stack((fresh[0, 0].expand(people), each), 1)).double()
        # the law of sentences, of a person and a day each; what is neither stands for no fact
        model_law = log_p[0, 0, :people].exp()[:, None] * log_p[:, 1, people:-1].exp()
        truth = torch.zeros_like(model_law)
        truth[each, birthday] = weight
        false = 1 - model_law[each, birthday].sum()
        order = model_law.flatten().argsort(descending=True)
        bins = (model_law.flatten()[order].cumsum(0) * 10).long().clamp(max=9)
        mass = torch.zeros(2, 10, dtype=torch.float64)
        mass[0].scatter_add_(0, bins, model_law.flatten()[order])
        mass[1].scatter_add_(0, bins, truth.flatten()[order])
    return {
        "loss": loss.item(),
        "invented": false.item(),
        "miscalibration": 0.5 * (mass[0] - mass[1]).abs().sum().item(),
    }
