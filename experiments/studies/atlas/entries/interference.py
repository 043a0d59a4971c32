"""A double slit in the register: |a + b|² against |a|² + |b|² of the next token, and the same question to attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE = 1e-5
"""In single precision: what is below it is rounding."""
SEEN = 0.01
"""The total variation from which interference counts as seen."""


class Interference(Entry):
    """Perspectives, XI.6: the paths are the two halves of the register's axes before the last mixer; all that the last
    layer knows of the text is in the phases between axes, which a mixture of paths does not have.
    """

    note: ClassVar[str] = "visibility and worth of interference in the unitary model; attention as a mixture"

    kind: Literal["interference"]
    """`interference`"""
    windows: PositiveInt = 24
    """Windows of held-out text, which the intervals are over."""
    phases: PositiveInt = 33
    """Phases α between the two paths, from 0 to 2π."""

    def measure(self, work: Work) -> Found:
        import math

        import torch

        from experiments.lm.evaluate import token_nats
        from experiments.studies.atlas.paths import before_last_mixer, mixture_defect
        from experiments.studies.atlas.shared_models import held_out
        from qattn.core.measurement import log_probabilities, squared_modulus
        from qattn.core.parametrization_cache import cached

        models = work.models()
        model = models["unitary"].model
        inputs, targets = held_out(models["unitary"], self.windows)
        scan = torch.linspace(0, 2 * math.pi, self.phases)
        with torch.no_grad(), cached(model):
            before, last = before_last_mixer(model, inputs)
            first = torch.arange(before.shape[-1]) < before.shape[-1] // 2
            both = model.readout(before, last)
            ways = model.readout(before * first, last), model.readout(before * ~first, last)
            sum_of_ways = ways[0] + ways[1]
            fringes = torch.stack([model.readout(torch.where(first, before, before * phase), last)
                                   for phase in torch.polar(torch.ones_like(scan), scan)])  # fmt: skip
            frame = squared_modulus(model.readout.frame() @ last)
            chances = squared_modulus(before) @ frame.mT
            dephased = chances.unflatten(-1, (model.readout.rank, model.readout.vocab)).sum(-2)
            losses = {name: token_nats(log_probabilities(p, model.floor), targets).mean(-1).tolist()
                      for name, p in (("both", both), ("sum", sum_of_ways), ("dephased", dephased))}  # fmt: skip
            mixing = mixture_defect(models["transformer"].model, inputs)
        swing = (fringes.amax(0) - fringes.amin(0)) / 2
        place = (0, inputs.shape[1] // 2)
        word = swing[place].argmax()
        return {
            "variation": ((both - sum_of_ways).abs().sum(-1) / 2).mean(-1).tolist(),
            "visibility": swing.sum(-1).mean(-1).tolist(), "losses": losses, "mixing": mixing, "scan": scan.tolist(),
            "fringe": fringes[:, *place, word].tolist(), "ways": [way[*place, word].item() for way in ways],
            "norm": (before.norm(dim=-1) - 1).abs().max().item(),
        }  # fmt: skip

    def judge(self, found: Found) -> Verdict:
        variation = mean_of("|a + b|² against |a|² + |b|², total variation", found["variation"], 0.0)
        visibility = mean_of("visibility over all phases, weighted by probability", found["visibility"], 0.0)
        losses = found["losses"]
        worth = {
            how: mean_of(f"loss without interference of {what}", [w - b for w, b in zip(losses[how], losses["both"],
                         strict=True)], 0.0, "nats")
            for how, what in (("sum", "the two paths"), ("dephased", "any two axes"))
        }  # fmt: skip
        mixes = found["mixing"] < NONE
        verdict = (
            "holds"
            if variation.lowest > SEEN and mixes
            else "fails"
            if variation.highest < SEEN or not mixes
            else "open"
        )
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"With both halves of the register open the next token's distribution is {100 * variation.value:.0f} % (in "
            f"total variation) away from the sum of the halves; scanning their phase swings it with a visibility of "
            f"{visibility.value:.2f}. Without interference between axes before the last mixer the trained model loses "
            f"{worth['dephased'].value:.2f} nats. The transformer's attention with two sets of tokens open is the "
            f"mixture of the two to {found['mixing']:.0e}, and it has no phase to scan.",
            (variation, visibility, *worth.values(),
             Number("attention's distance from a mixture of two sets of tokens", found["mixing"], reference=0.0)),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.9)
        axes.plot(found["scan"], found["fringe"], "-", color=PALETTE[0], label="both paths, |a + b|²")
        axes.axhline(sum(found["ways"]), color=PALETTE[1], ls="--", label="|a|² + |b|²")
        for way, style in zip(found["ways"], (":", "-."), strict=True):
            axes.axhline(way, color=PALETTE[2], ls=style, lw=1, label="one path alone")
        axes.set_xlabel("phase between the paths")
        axes.set_ylabel("probability of one next character")
        axes.legend(frameon=False, fontsize=9)
        return "A double slit in the register of the trained unitary model.", figure
