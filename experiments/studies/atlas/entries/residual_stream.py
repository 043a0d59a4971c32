"""How far each layer moves a token, and what the model would predict if it were read after each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from jaxtyping import Shaped
    from matplotlib.figure import Figure
    from torch import Tensor

    from qattn.lm.unitary import UnitaryLM

SLIGHT = 0.1
"""What "≪ 1" is read as."""


class ResidualStream(Entry):
    """Lecture notes, 3.4: E⁽ˡ⁾ = E⁽ˡ⁻¹⁾ + ΔE⁽ˡ⁾ with |ΔE⁽ˡ⁾| ≪ |E⁽ˡ⁻¹⁾|; and a register between its unitaries."""

    note: ClassVar[str] = "|ΔE|/|E| of each half block, and the logit lens of a transformer and of a register"

    kind: Literal["residual_stream"]
    """`residual_stream`"""
    windows: PositiveInt = 64
    """Windows of held-out text, which the intervals are over."""

    def measure(self, work: Work) -> Found:
        import torch

        from classical.lens import half_steps, logit_lens
        from experiments.lm.evaluate import token_nats
        from experiments.studies.atlas.shared_models import held_out

        models = work.models()
        inputs, targets = held_out(models["transformer"], self.windows)
        with torch.no_grad():
            steps = half_steps(models["transformer"].model, inputs).median(-1).values  # of a window's tokens
            lens = {"transformer": logit_lens(models["transformer"].model, inputs)}
            for name in ("unitary", "unitary softmax"):
                states = between_unitaries(models[name].model, inputs)
                lens[name] = torch.stack([models[name].model.read(state) for state in states])
                if name == "unitary":
                    overlap = torch.linalg.vecdot(states[:-1], states[1:]).abs()
                    turns = overlap.clamp_max(1).acos().rad2deg().median(-1).values
                    norm = (states.norm(dim=-1) - 1).abs().max().item()
        nats = {name: token_nats(read, targets.expand(len(read), -1, -1)).mean(-1) for name, read in lens.items()}
        return {"steps": steps.tolist(), "turns": turns.tolist(), "norm": norm,
                "nats": {name: rows.tolist() for name, rows in nats.items()}}  # fmt: skip

    def judge(self, found: Found) -> Verdict:
        numbers = [mean_of(f"|ΔE|/|E|, {half(at)}", row) for at, row in enumerate(found["steps"])]
        most, later = max(numbers, key=lambda n: n.value), numbers[1:]
        high = max(n.highest for n in numbers)
        verdict = "holds" if high < SLIGHT else "fails" if most.lowest > SLIGHT else "open"
        shorter = sum(n.highest < 1 for n in later)
        slight = sum(n.highest < SLIGHT for n in later)
        turned = max(mean_of("", row).value for row in found["turns"])
        mixers = [
            mean_of(f"loss read after mixer {at}" if at else "loss read from |ψ₀⟩", row, unit="nats")
            for at, row in enumerate(found["nats"]["unitary"])
        ]
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"The largest step is {most.value:.3g} times the vector ({most.name.split(', ')[1]}), the first one "
            f"{numbers[0].value:.3g} times. Of the {len(later)} half blocks after the first, {shorter} move the "
            f"typical token by less than its length and {slight} by less than a tenth of it. In the unitary model "
            f"every layer keeps the norm (to {found['norm']:.0e}) and turns the state by up to {turned:.0f} degrees; "
            f"read before its last mixer it loses {mixers[-2].value - mixers[-1].value:.2f} nats.",
            (
                *numbers,
                *(mean_of(f"loss read after block {at}" if at else "loss read from the embeddings", row, unit="nats")
                  for at, row in enumerate(found["nats"]["transformer"])),
                *mixers,
                Number("change of the register's norm, largest", found["norm"], reference=0.0),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import MARKERS, PALETTE, canvas

        figure, (left, right) = canvas(4.6, rows=2)
        means = [mean_of("", row).value for row in found["steps"]]
        left.bar(range(len(means)), means, color=PALETTE[0], width=0.6)
        left.axhline(SLIGHT, color=PALETTE[1], ls="--", lw=1.2)
        left.set_yscale("log")
        left.set_xticks(range(len(means)), [half(at).replace(" of block", "\nof block") for at in range(len(means))])
        left.set_ylabel("|ΔE| / |E|")
        for at, (name, rows) in enumerate(found["nats"].items()):
            right.plot(range(len(rows)), [mean_of("", row).value for row in rows], MARKERS[at] + "-",
                       color=PALETTE[at], label=name)  # fmt: skip
        right.set_xlabel("read after this many layers")
        right.set_ylabel("nats per character")
        right.set_xticks(range(max(map(len, found["nats"].values()))))
        right.legend(frameon=False, fontsize=9)
        return (
            "Above: how far each half block moves a token (dashed: a tenth). Below: the loss read after each layer.",
            figure,
        )


def half(at: int) -> str:
    """The name of a half block by its place, from 0."""
    return f"{'feed-forward' if at % 2 else 'attention'} of block {at // 2 + 1}"


def between_unitaries(model: UnitaryLM, tokens: Any) -> Shaped[Tensor, "depth batch time dim"]:
    """|ψ₀⟩ and the register after each mixer, W_l e^{iΘ_l} ⋯ W_1 e^{iΘ_1}|ψ₀⟩ (depth = layers + 1)."""
    import torch

    from qattn.core.states import rotate

    state = model.prepare().expand(*tokens.shape, -1)
    states = [state]
    for theta, mixer in zip(model.angles(tokens), model.mixers(), strict=True):
        state = rotate(state, theta) @ mixer.mT
        states.append(state)
    return torch.stack(states)
