"""A Lag system inside the context window: Rule 110 computed token by token by a transformer whose weights are known."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    import torch
    from jaxtyping import Float, Int
    from matplotlib.figure import Figure

SHARPNESS = 200.0
"""Of the attention of the hand-written heads: the weight of any other position is below exp(−SHARPNESS/10)."""
DIM = 128
"""Components of the positions that the hand-written heads compare."""


class LagSystem(Entry):
    """Perspectives, VI: generated text as the tape of a Lag system, which finite context windows stop.

    The queue's first three symbols a, b, c are read, one symbol 110(a, b, c) is appended and the first is deleted: Rule
    110 on a helix, a Lag system whose window is the text's last W + 1 tokens. Rule 110 on an unbounded tape is
    universal (Cook 2004).
    """

    note: ClassVar[str] = "Rule 110 as a Lag system by hand-written and by trained weights; where the window ends it"

    kind: Literal["lag_system"]
    """`lag_system`"""
    width: PositiveInt = 16
    """Cells W of the tape."""
    generations: PositiveInt = 40
    """Generations of the automaton."""
    steps: PositiveInt = 300
    """Training steps of the learned transformer."""
    repeats: PositiveInt = 3
    """Trainings."""

    def measure(self, work: Work) -> Found:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        first = torch.randint(2, (self.width + 1,), generator=generator)
        true = run_rule(first, self.width, self.generations * self.width)
        windows = sorted({self.width // 2, self.width - 1, self.width, self.width + 1, 2 * self.width})
        by_hand = [written_by_hand(first, self.width, self.generations * self.width, window) for window in windows]
        shares = [(text == true).double()[self.width + 1 :].mean().item() for text in by_hand]
        trained = []
        for repeat in range(self.repeats):
            trained.append(self._trained(true, self.seed + repeat))
            work.say(f"training {repeat + 1} of {self.repeats}")
        return {"true": true, "windows": windows, "shares": shares, "trained": trained, **reversible(6)}

    def _trained(self, true: Int[torch.Tensor, " text"], seed: int) -> float:
        """The share of next symbols that a transformer trained on random tapes has right on another tape."""
        import torch
        import torch.nn.functional as F

        from classical.presets import modern
        from classical.transformer import Transformer

        generator = torch.Generator().manual_seed(seed)
        length = 2 * (self.width + 1)
        model = Transformer(modern(2, length, dim=64, layers=2, heads=4), generator=generator)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, self.steps)
        for _ in range(self.steps):
            starts = torch.randint(2, (32, self.width + 1), generator=generator)
            texts = torch.stack([run_rule(start, self.width, self.width) for start in starts])
            loss = F.nll_loss(model(texts[:, :-1])[:, self.width :].transpose(1, 2), texts[:, self.width + 1 :])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        windows = true.unfold(0, length, 1)
        with torch.no_grad():
            guesses = torch.cat([model(part)[:, -1].argmax(-1) for part in windows[:-1].split(256)])
        return (guesses == windows[1:, -1]).double().mean().item()

    def judge(self, found: Found) -> Verdict:
        shares = dict(zip(found["windows"], found["shares"], strict=True))
        enough = [share for window, share in shares.items() if window > self.width]
        short = max(share for window, share in shares.items() if window <= self.width)
        trained = mean_of("symbols right by trained weights", found["trained"], 1.0)
        holds = min(enough) == 1 and short < 1 and found["distinct"] == found["states"]
        return Verdict(
            "holds" if holds else "fails",
            "One layer of three hand-written heads and three ReLU neurons continues the Lag system without an error "
            f"over {self.generations * self.width:,} symbols as long as its window holds W + 1 = {self.width + 1} "
            f"tokens; with one fewer {100 * (1 - shares[self.width]):.0f} % are wrong: a window of L tokens is a tape "
            f"of L − 1 cells, a finite machine. Trained weights have {trained.value:.4f} of symbols right. The rule "
            f"forgets ({found['images']} of {found['tapes']} tapes have a predecessor); its second-order form is a "
            f"permutation of its {found['states']} states, which unitaries can do.",
            (
                Number("symbols right by hand-written weights", min(enough), reference=1.0),
                Number(f"with a window of {self.width} tokens", shares[self.width]),
                trained,
                Number("tapes of 6 cells with a predecessor under Rule 110, of 64", found["images"]),
                Number("states of the second-order rule with one predecessor", found["distinct"],
                       reference=found["states"]),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import canvas

        figure, (axes,) = canvas(3.2)
        rows = found["true"][: self.generations * self.width].reshape(-1, self.width)
        axes.imshow(rows.tolist(), cmap="Greys", interpolation="nearest", aspect="auto")
        axes.grid(visible=False)
        axes.set_xlabel("cell")
        axes.set_ylabel("generation")
        return "The text that the hand-written transformer generates, broken into lines of W tokens.", figure


def rule_110(
    a: Int[torch.Tensor, "*n"], b: Int[torch.Tensor, "*n"], c: Int[torch.Tensor, "*n"]
) -> Int[torch.Tensor, "*n"]:
    """(b or c) and not (a and b and c)."""
    return (b | c) & (1 - a * b * c)


def run_rule(first: Int[torch.Tensor, " queue"], width: int, symbols: int) -> Int[torch.Tensor, " text"]:
    """``first`` and ``symbols`` more, each of the three that stand W + 1, W and W − 1 places before it."""
    text = first.tolist()
    for _ in range(symbols):
        a, b, c = text[-width - 1], text[-width], text[-width + 1]
        text.append((b | c) & (1 - a * b * c))
    return first.new_tensor(text)


def written_by_hand(
    first: Int[torch.Tensor, " queue"], width: int, symbols: int, window: int
) -> Int[torch.Tensor, " text"]:
    """The same text by one transformer layer that sees the last ``window`` tokens.

    Head δ attends to the position δ before, whose sines are its own turned back by δ (the identity of the sine
    formula); the neurons' relu(b + c) − relu(b + c − 1) − relu(a + b + c − 2) is the rule.
    """
    import torch

    from classical.attention import attention_weights
    from classical.positions import shift_matrix, sinusoidal

    places = sinusoidal(window, DIM) / (DIM / 2) ** 0.5
    keys = SHARPNESS * DIM**0.5 * places
    offsets = (width, width - 1, width - 2)  # from the newest token, which stands one before the one to be written
    weights = torch.stack([attention_weights((places @ shift_matrix(-o, DIM).T)[-1:], keys)[0] for o in offsets])
    text = first.tolist()
    for _ in range(symbols):
        seen: Float[torch.Tensor, " window"] = torch.tensor(([0] * window + text)[-window:], dtype=torch.float64)
        a, b, c = weights @ seen
        text.append(int(((b + c).relu() - (b + c - 1).relu() - (a + b + c - 2).relu()).round()))
    return first.new_tensor(text)


def reversible(cells: int) -> dict[str, int]:
    """How many rings of so many cells have a predecessor, and how many pairs of them under the second-order rule, where
    the next is 110(now) xor before.
    """
    import torch

    rings = torch.tensor(list(product((0, 1), repeat=cells)))
    after = rule_110(rings.roll(1, 1), rings, rings.roll(-1, 1))
    place = 2 ** torch.arange(cells)
    number, image = rings @ place, after @ place
    pairs = number[:, None] * 2**cells + (image[:, None] ^ number[None, :])  # (now, before) → (next, now)
    return {
        "tapes": 2**cells, "images": len(image.unique()), "states": 4**cells, "distinct": len(pairs.flatten().unique()),
    }  # fmt: skip
