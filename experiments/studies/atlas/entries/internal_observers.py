"""The three levels of an internal state, by intervention: exchange or erase it, and see what later predictions feel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from matplotlib.figure import Figure
    from torch import Tensor

FELT = 0.001
"""Nats of divergence from which a prediction feels an intervention."""


class InternalObservers(Entry):
    """Perspectives, XI.4: snapshot (a state that predicts its own inputs), process (it lasts through tokens), resident
    (it lasts through sessions by a scratchpad). A state is a function of what was read, so a cache, a cell or a memory
    of angles is exchanged by having the model read another text before the same continuation, and erased by none.
    """

    note: ClassVar[str] = "what predictions feel, token by token, of an exchanged or erased state and of a scratchpad"

    kind: Literal["internal_observers"]
    """`internal_observers`"""
    models: tuple[str, ...] = ("transformer", "lstm", "unitary")
    """Shared models."""
    windows: PositiveInt = 96
    """Windows of held-out text, which the intervals are over; the exchanged state is that of the next window."""
    read: PositiveInt = 24
    """Characters read before the intervention."""
    many: PositiveInt = 16
    """Characters after it that count as many."""
    notes: PositiveInt = 12
    """Characters that the model writes, greedily, for its next session."""

    def measure(self, work: Work) -> Found:
        import torch

        from experiments.studies.atlas.shared_models import held_out
        from qattn.core.parametrization_cache import cached

        models, rows = work.models(), {}
        for name in self.models:
            model = models[name].model
            inputs, targets = held_out(models[name], self.windows)
            with torch.no_grad(), cached(model):
                rows[name] = self._levels(model, inputs, targets)
            work.say(f"{name}: states exchanged")
        return {"rows": rows}

    def _levels(
        self, model: Any, inputs: Int[Tensor, "windows time"], targets: Int[Tensor, "windows time"]
    ) -> dict[str, Any]:
        import torch

        from classical.sampling import generate
        from experiments.lm.evaluate import token_nats

        past, later, wanted = inputs[:, : self.read], inputs[:, self.read :], targets[:, self.read :]
        fresh = model(later)
        own = model(inputs)[:, self.read :]
        exchanged = model(torch.cat([past.roll(1, 0), later], 1))[:, self.read :]
        notes = torch.stack(list(generate(model, past, self.notes, temperature=0)), 1)
        room = later[:, : inputs.shape[1] - self.notes]  # a session no longer than the models were trained on
        noted, foreign = (model(torch.cat([text, room], 1))[:, self.notes :] for text in (notes, notes.roll(1, 0)))
        return {
            "divergence": divergence(own, exchanged).tolist(), "erased": divergence(own, fresh).tolist(),
            "scratchpad": divergence(noted, foreign).tolist(),
            "forgotten": (model(later) - fresh).abs().max().item(),  # the same session after all these others
            "snapshot": (token_nats(exchanged, wanted) - token_nats(own, wanted))[:, 0].tolist(),
        }  # fmt: skip

    def judge(self, found: Found) -> Verdict:
        numbers, passed, horizons = [], {}, {}
        for name, row in found["rows"].items():
            snapshot = mean_of(f"{name}: loss of the next prediction, state exchanged", row["snapshot"], 0.0, "nats")
            process = mean_of(f"{name}: divergence {self.many} characters later",
                              [window[self.many] for window in row["divergence"]], 0.0, "nats")  # fmt: skip
            resident = mean_of(f"{name}: divergence {self.many} characters later, scratchpad exchanged",
                               [window[self.many] for window in row["scratchpad"]], 0.0, "nats")  # fmt: skip
            forgotten = Number(f"{name}: change by earlier sessions, no scratchpad", row["forgotten"], reference=0.0)
            numbers += [snapshot, process, resident, forgotten]
            levels = (snapshot.lowest > 0, process.lowest > FELT, resident.lowest > FELT and row["forgotten"] == 0)
            passed[name], horizons[name] = levels, horizon(row["divergence"])
        every = [all(levels) for levels in passed.values()]
        verdict = "holds" if all(every) else "open" if any(every) else "fails"
        said = "; ".join(f"{name}: {'yes' if a else 'no'}, {'yes' if b else 'no'}, {'yes' if c else 'no'}"
                         for name, (a, b, c) in passed.items())  # fmt: skip
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"Snapshot, process and resident by intervention: {said}. An exchanged state is felt (> {FELT} nats) for "
            + ", ".join(f"{characters} characters by the {name}" for name, characters in horizons.items())
            + f" of {len(found['rows'][self.models[0]]['divergence'][0])} that follow. A new session feels nothing of "
            f"an earlier one, to the bit; what the model left for itself in {self.notes} characters is felt "
            f"{self.many} characters later by "
            + (" and ".join(name for name, levels in passed.items() if levels[2]) or "none of them")
            + ".",
            tuple(numbers),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(3.2)
        for at, (name, row) in enumerate(found["rows"].items()):
            for key, style in (("divergence", "-"), ("scratchpad", ":")):
                means = [max(mean_of("", list(column)).value, 1e-6) for column in zip(*row[key], strict=True)]
                axes.semilogy(range(len(means)), means, style, color=PALETTE[at],
                              label=name if key == "divergence" else f"{name}, scratchpad")  # fmt: skip
        axes.axhline(FELT, color="k", lw=0.8, ls="--")
        axes.set_xlabel("characters after the exchange")
        axes.set_ylabel("divergence, nats")
        axes.legend(frameon=False, fontsize=8, ncols=2)
        return "What predictions feel of an exchanged state, and in a new session of an exchanged scratchpad.", figure


def divergence(p: Float[Tensor, "*text vocab"], q: Float[Tensor, "*text vocab"]) -> Float[Tensor, "*text"]:
    """D(p‖q) of log-probabilities at every position, in nats."""
    return (p.exp() * (p - q)).sum(-1)


def horizon(rows: list[list[float]]) -> int:
    """Characters until the mean divergence is first not surely above what is felt."""
    columns = [mean_of("", list(column)) for column in zip(*rows, strict=True)]
    return next((at for at, mean in enumerate(columns) if mean.lowest <= FELT), len(columns))
