"""How often the greedy token depends on the order of sums and on the size of the batch, and the cure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from jaxtyping import Int
    from matplotlib.figure import Figure
    from torch import Tensor

DTYPES = ("float64", "float32", "bfloat16")
PROMPT = 16


class Nondeterminism(Entry):
    """Perspectives, IX: the source of nondeterminism at temperature zero is the absence of batch invariance."""

    note: ClassVar[str] = "greedy tokens under other batch sizes and orders of summation, in three precisions"

    kind: Literal["nondeterminism"]
    """`nondeterminism`"""
    batches: tuple[PositiveInt, ...] = (2, 4, 8, 16, 32, 64)
    """Batch sizes, each against every row computed alone."""
    splits: tuple[PositiveInt, ...] = (2, 4, 8, 16)
    """Into how many parts the last sum, of the logits, is cut before they are added."""
    prompts: PositiveInt = 24
    """Requests continued greedily, alone and in one batch."""
    windows: PositiveInt = 64
    """Windows of held-out text whose last sum is taken in another order."""
    triples: PositiveInt = 100_000
    """Random triples a, b, c."""

    def measure(self, work: Work) -> Found:
        from experiments.studies.atlas.shared_models import held_out

        models = work.models()
        windows, _ = held_out(models["transformer"], self.windows)
        requests, _ = held_out(models["transformer"], max(self.batches))
        rows: dict[str, Any] = {}
        for name in ("transformer", "lstm", "unitary"):
            for dtype in DTYPES if name != "unitary" else DTYPES[:2]:  # there are no complex numbers of 16-bit floats
                rows[f"{name}, {dtype}"] = self._in_batches(models[name].model, dtype, requests)
            work.say(f"{name} in {len(self.batches)} batch sizes")
        sums = {dtype: self._sums(models["transformer"].model, dtype, windows) for dtype in DTYPES}
        return {"rows": rows, "sums": sums}

    def _in_batches(self, model: Any, dtype: str, windows: Int[Tensor, "windows time"]) -> dict[str, Any]:
        """Against every row alone: the largest difference of log p and the share of greedy tokens that change, by batch
        size; when greedy continuations part; and whether rows computed alone come out the same in another order.
        """
        from copy import deepcopy

        import torch

        from qattn.core.parametrization_cache import cached

        model = deepcopy(model).to(getattr(torch, dtype))
        with torch.no_grad(), cached(model):
            alone = torch.cat([model(row[None]) for row in windows])
            backwards = torch.cat([model(row[None]) for row in windows.flip(0)]).flip(0)
            apart, changed = [], []
            for batch in self.batches:
                together = torch.cat([model(rows) for rows in windows.split(batch)])
                apart.append((together - alone).abs().max().item())
                changed.append((together.argmax(-1) != alone.argmax(-1)).double().mean().item())
            prompts = windows[: self.prompts, :PROMPT]
            length = windows.shape[1] - PROMPT
            one = torch.cat([_continued(model, row[None], length) for row in prompts])
            many = _continued(model, prompts, length)
        parted = (one != many).int().argmax(1)[(one != many).any(1)]
        return {
            "apart": apart, "changed": changed, "cure": torch.equal(alone, backwards),
            "parted": len(parted) / len(prompts), "after": parted.double().mean().item() if len(parted) else None,
        }  # fmt: skip

    def _sums(self, model: Any, dtype: str, windows: Int[Tensor, "windows time"]) -> dict[str, Any]:
        """The share of random sums of three, and of greedy tokens, that another order of summation changes."""
        import torch

        from experiments.studies.atlas.rounding import order_matters, split_sum

        kind = getattr(torch, dtype)
        with torch.no_grad():
            hidden = model.norm(model.evolve(model.embed(windows))).flatten(0, 1).to(kind)
            weight = (model.embedding if model.head is None else model.head).weight.to(kind)
            whole = (hidden @ weight.T).argmax(-1)
            changed = [(split_sum(hidden, weight, parts).argmax(-1) != whole).double().mean().item()
                       for parts in self.splits]  # fmt: skip
        return {"triples": order_matters(self.triples, kind, self.seed), "changed": changed}

    def judge(self, found: Found) -> Verdict:
        from experiments.stats.accuracy import wilson

        rows, sums = found["rows"], found["sums"]
        by_sum = {dtype: max(row["changed"]) for dtype, row in sums.items()}
        by_batch = {name: max(row["changed"]) for name, row in rows.items()}
        parted = max(rows, key=lambda name: rows[name]["parted"])
        apart, cure = max(max(row["apart"]) for row in rows.values()), all(row["cure"] for row in rows.values())
        answers = max(by_batch.values()) > 0 or rows[parted]["parted"] > 0
        none = apart == 0 and max(by_sum.values()) == 0
        verdict = "fails" if none or not cure else "holds" if answers else "open"
        most, after = max(by_batch, key=lambda name: by_batch[name]), rows[parted]["after"]
        parts = (
            "none" if after is None else f"{100 * rows[parted]['parted']:.0f} % ({parted}, after {after:.0f} tokens)"
        )
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"Here the batch moves log p by up to {apart:.1g} and changes up to {100 * by_batch[most]:.2f} % of the "
            f"greedy tokens ({most}); of {self.prompts} continuations {parts} part from those computed alone. "
            f"Another order of the logits' sum alone changes {100 * by_sum['bfloat16']:.2f} % of the transformer's "
            f"tokens in bfloat16, {100 * by_sum['float32']:.2f} % in float32 and {100 * by_sum['float64']:.2f} % in "
            "float64. Computed row by row every bit is the same in whatever order and company: the cure is a batch "
            "that does not matter, not a lower temperature.",
            (
                *(Number(f"sums of three that their order changes, {dtype}", row["triples"],
                         *wilson(row["triples"], self.triples)) for dtype, row in sums.items()),
                *(Number(f"greedy tokens changed by the order of one sum, {dtype}", share, reference=0.0)
                  for dtype, share in by_sum.items()),
                *(Number(f"greedy tokens changed by the batch, {name}", share, reference=0.0)
                  for name, share in by_batch.items()),
                *(Number(f"continuations that part, {name}", row["parted"], *wilson(row["parted"], self.prompts))
                  for name, row in rows.items()),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import MARKERS, PALETTE, canvas

        figure, (axes,) = canvas(3.2)
        for at, (name, row) in enumerate(found["rows"].items()):
            axes.loglog(self.batches, [max(value, 1e-17) for value in row["apart"]], MARKERS[at] + "-", ms=4,
                        color=PALETTE[at], label=name)  # fmt: skip
        axes.set_xlabel("batch size")
        axes.set_ylabel("largest change of log p")
        axes.legend(frameon=False, fontsize=8, ncols=2)
        return "How far the batch moves a prediction from that of the row alone (no change at all: 1e-17).", figure


def _continued(model: Any, prompts: Int[Tensor, "prompts time"], length: int) -> Int[Tensor, "prompts length"]:
    import torch

    from classical.sampling import generate

    return torch.stack(list(generate(model, prompts, length, temperature=0)), 1)
