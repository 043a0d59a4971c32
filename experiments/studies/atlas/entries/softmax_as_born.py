"""Can a softmax be written as a Born rule, and do the phases that it leaves free mean anything?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class SoftmaxAsBorn(Entry):
    """Perspectives, XI.1, Eqs. 6 and 7: amplitudes exp(z/2T) e^{iφ} with arbitrary phases."""

    note: ClassVar[str] = "softmax probabilities as squared amplitudes with arbitrary phases"

    kind: Literal["softmax_as_born"]
    """`softmax_as_born`"""
    draws: PositiveInt = 500
    """Random logits, temperatures and phases."""
    vocab: PositiveInt = 50
    """Tokens."""

    def measure(self, work: Work) -> Found:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        same, other, temperatures = [], [], []
        fourier = torch.fft.fft(torch.eye(self.vocab, dtype=torch.complex128), norm="ortho")
        for _ in range(self.draws):
            z = 3 * torch.randn(self.vocab, generator=generator, dtype=torch.float64)
            temperature = float(torch.rand((), generator=generator, dtype=torch.float64)) * 3 + 0.1
            p = (z / temperature).softmax(-1)
            bare = ((z - z.max()) / (2 * temperature)).exp()
            phases = 6.283185307179586 * torch.rand(2, self.vocab, generator=generator, dtype=torch.float64)
            states = torch.polar(bare / bare.norm(), phases)
            same.append((states.abs() ** 2 - p).abs().max().item())
            read = (states @ fourier.T).abs() ** 2  # the same two states, read in another context
            other.append(0.5 * (read[0] - read[1]).abs().sum().item())
            temperatures.append(temperature)
        return {"same": same, "other": other, "temperatures": temperatures}

    def judge(self, found: Found) -> Verdict:
        worst, apart = (
            max(found["same"]),
            mean_of("distance of two choices of phases in the Fourier basis", found["other"]),
        )
        return Verdict(
            "holds" if worst < 1e-12 else "fails",
            f"In the basis of tokens the probabilities agree to {worst:.0e} whatever the phases. Read in one other "
            f"basis two choices of phases are {apart.value:.2f} apart in total variation: the phases are free only as "
            "long as one context is ever measured, which is all that a transformer does.",
            (
                Number("largest |p_Born − p_softmax|", worst, reference=0.0),
                apart,
            ),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        axes.plot(found["temperatures"], found["other"], ".", ms=3, color=PALETTE[1], label="read in the Fourier basis")
        axes.plot(
            found["temperatures"], found["same"], ".", ms=3, color=PALETTE[0], label="read in the basis of tokens"
        )
        axes.set_xlabel("temperature T")
        axes.set_ylabel("difference of probabilities")
        axes.legend(frameon=False, fontsize=9)
        return "What phases change: nothing in the basis of tokens, much in another.", figure
