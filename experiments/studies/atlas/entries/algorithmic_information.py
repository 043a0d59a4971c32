"""Models as compressors, and how much information a text has that a model draws with fair coins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VASTLY = 10.0
"""How many times a model's own information a text must have to exceed it vastly."""
AGREES = 0.01
"""How close a code's length must come to the loss."""


class AlgorithmicInformation(Entry):
    """Perspectives, X.1: K(text) against the size of the model that wrote it. Of a text x drawn from P with fair coins,
    any fixed way of describing texts saves c bits on −log₂ P(x) with probability below 2^−c (Kraft and Markov).
    """

    note: ClassVar[str] = "models as arithmetic coders; the information of drawn and of greedy text against the model's"

    kind: Literal["algorithmic_information"]
    """`algorithmic_information`"""
    windows: PositiveInt = 48
    """Windows of held-out text that every model codes and reads back."""
    streams: PositiveInt = 1024
    """Texts drawn side by side."""
    characters: PositiveInt = 2000
    """Characters of each."""
    bits: PositiveInt = 4
    """Bits per weight of the model that draws them."""

    def measure(self, work: Work) -> Found:
        import torch

        from experiments.lm.builders import load_task
        from experiments.studies.atlas.damage import rounded
        from experiments.studies.atlas.texts import description, packed, write

        models = work.models()
        coded = {name: self._coded(trained) for name, trained in models.items()}
        work.say("every model has coded the held-out text")
        lstm = models["lstm"]
        task: Any = load_task(lstm.job)
        model = rounded(lstm.model, self.bits)
        generator = torch.Generator().manual_seed(self.seed)
        first = torch.randint(task.vocab, (self.streams,), generator=generator)
        drawn, information = write(model, first, self.characters, generator)
        greedy, _ = write(model, first, self.characters, None)
        held = task.validation if task.test is None else task.test
        length = min(len(held), drawn.numel())  # texts of equal length for the compressors, which learn as they go
        texts = {"training": task.train, "held-out": held, "drawn": drawn.flatten(), "greedy": greedy.flatten()}
        plain = {name: task.tokenizer.decode(text[:length].tolist()).encode() for name, text in texts.items()}
        return {
            "coded": coded, "information": information, "own": description(model, self.bits),
            "greedy": [packed(task.tokenizer.decode(greedy[:, : n + 1].flatten().tolist()).encode())["lzma"]
                       for n in self._points()],
            "packed": {name: {how: bits / len(text) for how, bits in packed(text).items()}
                       for name, text in plain.items()},
        }  # fmt: skip

    def _points(self) -> list[int]:
        return sorted({min(self.characters - 1, 2**power) for power in range(self.characters.bit_length())})

    def _coded(self, trained: Any) -> dict[str, float | bool]:
        """Bits per character of held-out text as coded, as the loss has it, and whether it came back unchanged."""
        import math

        import torch

        from classical.arithmetic_coding import compress, decompress
        from experiments.lm.evaluate import mean_nats
        from experiments.studies.atlas.shared_models import held_out
        from qattn.core.parametrization_cache import cached

        text, _ = held_out(trained, self.windows)
        vocab = trained.tokenizer.size
        with torch.no_grad(), cached(trained.model):
            code = compress(trained.model, text, vocab)
            back = decompress(trained.model, code, len(text), text.shape[1], vocab)
            loss = mean_nats(trained.model(text[:, :-1]), text[:, 1:]).item() / math.log(2)
        predicted = text[:, 1:].numel()
        coded = (len(code) - len(text) * math.log2(vocab)) / predicted
        return {"coded": coded, "loss": loss, "exact": torch.equal(back, text)}

    def judge(self, found: Found) -> Verdict:
        total, own = found["information"][-1], found["own"]
        ratio, characters = total / own, self.streams * self.characters
        off = max(abs(row["coded"] / row["loss"] - 1) for row in found["coded"].values())
        exact = all(row["exact"] for row in found["coded"].values())
        packs = found["packed"]
        verdict = "open" if not exact or off > AGREES or ratio < VASTLY else "fails"
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"{characters:,} characters that a model of {own / 8000:.0f} kB ({self.bits} bits per weight, and its "
            f"source text) draws carry {total / 8000:.0f} kB of fresh coin flips, {ratio:.1f} times its own "
            f"information. What it writes greedily adds none: lzma packs it to {packs['greedy']['lzma']:.3f} bits "
            "per character. Drawn with a seeded generator instead of coins, as here, the text is as short as model "
            f"and seed: the claim holds of deterministic writing alone. As coders all models come within "
            f"{100 * off:.2f} % of their loss, and every text is read back unchanged.",
            (
                Number("information of the drawn text over the model's own", ratio, reference=1.0),
                Number("−log₂ P of the drawn text", total / characters, unit="bits per character"),
                *(Number(f"held-out text coded by {name}", row["coded"], reference=row["loss"],
                         unit="bits per character") for name, row in found["coded"].items()),
                *(Number(f"{text} text packed by {how}", bits, unit="bits per character")
                  for text, row in packs.items() for how, bits in row.items()),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(3.0)
        axes.loglog([self.streams * (n + 1) for n in range(self.characters)], found["information"], "-",
                    color=PALETTE[0], label="−log₂ P of the drawn text")  # fmt: skip
        axes.loglog([self.streams * (n + 1) for n in self._points()], found["greedy"], "o-", color=PALETTE[2],
                    label="the greedy text, packed by lzma")  # fmt: skip
        axes.axhline(found["own"], color=PALETTE[1], ls="--", label="the model that writes both")
        axes.set_xlabel("characters")
        axes.set_ylabel("bits")
        axes.legend(frameon=False, fontsize=9)
        return "Information in what one model writes, against the model's own.", figure
