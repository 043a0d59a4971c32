"""What damage costs a unitary model, its twin that is read by a softmax, and the classical models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jaxtyping import Int
    from matplotlib.figure import Figure
    from torch import Tensor

MODELS = ("unitary", "unitary softmax", "transformer", "lstm")
RIVALS = MODELS[1:3]
"""Whom the unitary model must be less fragile than: its twin, and the transformer."""


class Robustness(Entry):
    """Perspectives, XII.4. Every model gets the same damage; its cost is the loss with it minus the loss without, on
    the same windows. What the damage cannot touch is measured too: the norm of the register, the sum of probabilities.
    """

    note: ClassVar[str] = "loss under weight noise, rounding, dropped and exchanged characters, model beside model"

    kind: Literal["robustness"]
    """`robustness`"""
    windows: PositiveInt = 32
    """Windows of held-out text, which the intervals are over."""
    noise: tuple[float, ...] = (0.05, 0.2)
    """Standard deviations of weight noise, as shares of each tensor's root mean square."""
    bits: tuple[PositiveInt, ...] = (8, 4, 3)
    """Bits that weights are rounded to, with one scale per row."""
    draws: PositiveInt = 3
    """Draws of the weight noise, over which each window's loss is averaged."""
    tokens: float = 0.1
    """Share of the characters read that are dropped (each becomes a space) or exchanged (each becomes a random one)."""

    def measure(self, work: Work) -> Found:
        import torch

        from experiments.lm.evaluate import token_nats
        from experiments.studies.atlas.shared_models import held_out

        models = work.models()
        inputs, targets = held_out(models["unitary"], self.windows)
        rows: dict[str, dict[str, list[float]]] = {}
        sums = 0.0
        for name in MODELS:
            rows[name] = {}
            for damage, model, read in self._damaged(models[name], inputs):
                with torch.no_grad():
                    log_probs = model(read)
                sums = max(sums, (log_probs.exp().sum(-1) - 1).abs().max().item())
                nats = token_nats(log_probs, targets).double().mean(-1)
                before = torch.tensor(rows[name].get(damage, [0.0] * len(nats)), dtype=torch.float64)
                share = 1 / self.draws if damage.startswith("noise") else 1.0
                rows[name][damage] = (before + share * nats).tolist()
            work.say(f"{name} damaged in {len(rows[name]) - 1} ways")
        return {"rows": rows, "sums": sums, "norm": self._norm(models["unitary"].model, inputs)}

    def _damaged(self, trained: Any, inputs: Int[Tensor, "windows time"]) -> Iterator[tuple[str, Any, Any]]:
        """Each damage: its name, the model, the text that it reads; the same seed gives every model the same draws."""
        import torch

        from experiments.studies.atlas.damage import noisy, rounded

        model = trained.model
        yield "none", model, inputs
        for share in self.noise:
            for draw in range(self.draws):
                generator = torch.Generator().manual_seed(self.seed + draw)
                yield f"noise of {100 * share:g} %", noisy(model, share, generator), inputs
        for bits in self.bits:
            yield f"{bits} bits", rounded(model, bits), inputs
        generator = torch.Generator().manual_seed(self.seed)
        struck = torch.rand(inputs.shape, generator=generator) < self.tokens
        other = torch.randint(trained.tokenizer.size, inputs.shape, generator=generator)
        space = trained.tokenizer.encode(" ")[0]
        yield "dropped characters", model, inputs.masked_fill(struck, space)
        yield "exchanged characters", model, torch.where(struck, other, inputs)

    def _norm(self, model: Any, inputs: Int[Tensor, "windows time"]) -> float:
        """The largest change of the register's norm in a model with the most weight noise."""
        import torch

        from experiments.studies.atlas.damage import noisy

        broken = noisy(model, max(self.noise), torch.Generator().manual_seed(self.seed))
        with torch.no_grad():
            return float((broken.states(inputs).norm(dim=-1) - 1).abs().max())

    def _costs(self, found: Found) -> dict[str, dict[str, list[float]]]:
        """By damage and model the loss added in each window."""
        rows = found["rows"]
        return {
            damage: {name: [after - before for after, before in zip(rows[name][damage], rows[name]["none"],
                                                                  strict=True)] for name in MODELS}
            for damage in rows[MODELS[0]] if damage != "none"
        }  # fmt: skip

    def judge(self, found: Found) -> Verdict:
        from experiments.stats.statistics import holm, paired

        costs = self._costs(found)
        pairs = {(damage, rival): paired(row["unitary"], row[rival])
                 for damage, row in costs.items() for rival in RIVALS}  # fmt: skip
        corrected = zip(pairs.values(), holm([pair.p_t for pair in pairs.values()]), strict=True)
        decided = [pair.difference.mean or 0.0 for pair, p in corrected if p is not None and p < 0.05]
        count, less, more = len(pairs), sum(mean < 0 for mean in decided), sum(mean > 0 for mean in decided)
        verdict = "holds" if 2 * less > count and not more else "fails" if 2 * more > count or not less else "open"
        losses = [mean_of(f"loss of {name}, undamaged", found["rows"][name]["none"], unit="nats") for name in MODELS]
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"In {count} comparisons of equal damage (each with the softmax twin and with the transformer) the unitary "
            f"model loses less in {less}, more in {more}, and {count - less - more} are not decided (Holm over all). "
            f"Undamaged, the three lose {losses[0].value:.2f}, {losses[1].value:.2f} and {losses[2].value:.2f} nats. "
            f"What is conserved stays so under every damage: the register's norm is 1 to {found['norm']:.0e} with "
            f"the weights {100 * max(self.noise):g} % off, as all models' probabilities sum to 1 (to "
            f"{found['sums']:.0e}).",
            (
                *(Number(f"added loss of unitary minus {rival}, {damage}", pair.difference.mean or 0.0,
                         pair.difference.low, pair.difference.high, 0.0, "nats")
                  for (damage, rival), pair in pairs.items()),
                *losses,
                Number("change of the register's norm under the most noise", found["norm"], reference=0.0),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import MARKERS, PALETTE, canvas

        costs = self._costs(found)
        figure, (axes,) = canvas(3.4)
        for at, name in enumerate(MODELS):
            means = [mean_of("", row[name]) for row in costs.values()]
            axes.errorbar([mean.value for mean in means], [place + 0.15 * at for place in range(len(costs))],
                          xerr=[(mean.highest - mean.lowest) / 2 for mean in means], fmt=MARKERS[at], ms=5,
                          color=PALETTE[at], label=name)  # fmt: skip
        axes.set_yticks([place + 0.2 for place in range(len(costs))], list(costs))
        axes.invert_yaxis()
        axes.set_xlabel("added loss, nats per character")
        axes.legend(frameon=False, fontsize=9)
        return "What the same damage costs each model (95 % over windows).", figure
