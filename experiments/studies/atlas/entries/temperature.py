"""Diversity and repetition of text over temperature, top-k and top-p, for softmax and Born models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

REPEATED = 8
"""Characters of a piece that counts as repeated."""
DISTINCT = 4
"""Characters of a piece that counts as distinct."""
PROMPT = 8
RISES = 0.9
"""The rank correlation of diversity with temperature from which it rises."""


class Temperature(Entry):
    """Perspectives, IX and Eq. 16; lecture notes, 3.3. A Born model's probabilities are tempered alike: p^(1/T)."""

    note: ClassVar[str] = "repetition within texts and diversity across them, by temperature, top-k and top-p"

    kind: Literal["temperature"]
    """`temperature`"""
    models: tuple[str, ...] = ("transformer", "lstm", "unitary")
    """Shared models."""
    temperatures: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
    """Temperatures; 0 takes the likeliest token, and it and 1 must be among them."""
    top_k: tuple[PositiveInt, ...] = (3, 10)
    """Numbers of likeliest tokens to draw among, at temperature 1."""
    top_p: tuple[float, ...] = (0.5, 0.9)
    """Probabilities to draw within, at temperature 1."""
    prompts: PositiveInt = 24
    """Pieces of held-out text that are continued, which the intervals are over."""
    characters: PositiveInt = 64
    """Characters of each continuation."""

    def measure(self, work: Work) -> Found:
        import torch

        from classical.sampling import generate
        from experiments.studies.atlas.shared_models import held_out
        from qattn.core.parametrization_cache import cached

        settings: dict[str, dict[str, Any]] = {f"T = {t:g}": {"temperature": t} for t in self.temperatures}
        settings |= {f"top-k {k}": {"top_k": k} for k in self.top_k} | {
            f"top-p {p:g}": {"top_p": p} for p in self.top_p
        }
        models, rows = work.models(), {}
        for name in self.models:
            model = models[name].model
            windows, following = held_out(models[name], self.prompts)
            for label, setting in settings.items():
                generator = torch.Generator().manual_seed(self.seed)
                with cached(model):
                    tokens = list(generate(model, windows[:, :PROMPT], self.characters, generator=generator, **setting))
                rows[f"{name}, {label}"] = _measured(torch.stack(tokens, 1).tolist())
            work.say(f"{name} has written {len(settings)} times {self.prompts} texts")
        running = torch.cat([windows, following[:, -1:]], 1)  # whole windows as they are: texts of the block's length
        return {"rows": rows, "held_out": _measured(running.tolist())}

    def judge(self, found: Found) -> Verdict:
        from scipy.stats import spearmanr

        human = mean_of("repetition of held-out text", found["held_out"]["repetition"])
        greedy, drawn, slopes = [], [], []
        for name in self.models:
            greedy.append(mean_of(f"{name}: repetition of greedy text", found["rows"][f"{name}, T = 0"]["repetition"],
                                  human.value))  # fmt: skip
            drawn.append(mean_of(f"{name}: repetition at T = 1", found["rows"][f"{name}, T = 1"]["repetition"],
                                 human.value))  # fmt: skip
            diversity = [found["rows"][f"{name}, T = {t:g}"]["diversity"] for t in self.temperatures]
            rank = float(spearmanr(self.temperatures, diversity).statistic)
            slopes.append(Number(f"{name}: rank correlation of T and diversity", rank, reference=1.0))
        loops = all(g.lowest > max(d.highest, human.highest) for g, d in zip(greedy, drawn, strict=True))
        rises = all(slope.value > RISES for slope in slopes)
        return Verdict(
            "holds" if loops and rises else "fails",
            f"Of greedy text {_range(greedy)} repeats a piece of {REPEATED} characters that the text already had, at "
            f"T = 1 {_range(drawn)}, of held-out text {100 * human.value:.1f} %. Diversity rises with T (rank "
            f"correlation at least {min(slope.value for slope in slopes):.2f}) for the transformer as for the model "
            "that is read by a measurement, whose temperature is a power of the Born probabilities.",
            (*greedy, *drawn, human, *slopes),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import MARKERS, PALETTE, canvas

        figure, (axes,) = canvas(3.4)
        for at, name in enumerate(self.models):
            points = {
                label.split(", ")[1]: row for label, row in found["rows"].items() if label.startswith(f"{name}, ")
            }
            path = [points[f"T = {t:g}"] for t in self.temperatures]
            axes.plot([_mean(row) for row in path], [row["diversity"] for row in path], "-" + MARKERS[at], ms=4,
                      color=PALETTE[at], label=f"{name}, T from {self.temperatures[0]:g}")  # fmt: skip
            for label, row in points.items():
                if not label.startswith("T"):
                    axes.plot(_mean(row), row["diversity"], MARKERS[at], mfc="none", color=PALETTE[at])
        axes.plot(_mean(found["held_out"]), found["held_out"]["diversity"], "k*", ms=10, label="held-out text")
        axes.set_xlabel(f"share of pieces of {REPEATED} characters that the text had before")
        axes.set_ylabel(f"distinct pieces of {DISTINCT}")
        axes.legend(frameon=False, fontsize=9)
        return "Repetition within a text against diversity of all texts (open marks: top-k and top-p at T = 1).", figure


def _measured(texts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Of each text the share of pieces that it already had; of all texts together the share of distinct pieces."""
    repetition = []
    for text in texts:
        pieces = _pieces(text, REPEATED)
        repetition.append(1 - len(set(pieces)) / len(pieces))
    short = [piece for text in texts for piece in _pieces(text, DISTINCT)]
    return {"repetition": repetition, "diversity": len(set(short)) / len(short)}


def _pieces(text: Sequence[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(text[at : at + size]) for at in range(len(text) - size + 1)]


def _mean(row: dict[str, Any]) -> float:
    return sum(row["repetition"]) / len(row["repetition"])


def _range(numbers: Sequence[Number]) -> str:
    low, high = (100 * bound(number.value for number in numbers) for bound in (min, max))
    return f"{low:.1f} % to {high:.1f} %"
