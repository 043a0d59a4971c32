"""The loss is the entropy of the source plus a divergence, and training lowers the divergence alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float, Int
    from matplotlib.figure import Figure


class Likelihood(Entry):
    """The Shape of the Probable, part 3: E[−log P] = H(p) + D(p‖P), on a Markov chain whose entropy is known."""

    note: ClassVar[str] = "loss = entropy + divergence on a source of known entropy, against the training text's length"

    kind: Literal["likelihood"]
    """`likelihood`"""
    symbols: PositiveInt = 8
    """Symbols of the source, a Markov chain with random transition probabilities."""
    lengths: tuple[PositiveInt, ...] = (300, 1000, 3000, 10_000, 30_000)
    """Tokens that the model, counts of pairs, is trained on."""
    fresh: PositiveInt = 100_000
    """Tokens of new text on which the loss is measured."""
    repeats: PositiveInt = 12
    """Sources."""

    def measure(self, work: Work) -> Found:
        import numpy as np

        rows = []
        for repeat in range(self.repeats):
            rng = np.random.default_rng([self.seed, repeat])
            chain = rng.dirichlet(np.ones(self.symbols), self.symbols)
            held = stationary(chain)
            entropy = float(-(held[:, None] * chain * np.log(chain)).sum())
            text, test = draw_text(chain, max(self.lengths), rng), draw_text(chain, self.fresh, rng)
            for length in self.lengths:
                counts = np.full(chain.shape, 0.5)
                np.add.at(counts, (text[: length - 1], text[1:length]), 1)
                model = counts / counts.sum(1, keepdims=True)
                loss = float(-np.log(model[test[:-1], test[1:]]).mean())
                own = float(-np.log(chain[test[:-1], test[1:]]).mean())  # the text's own surprise: H but for chance
                kl = float((held[:, None] * chain * np.log(chain / model)).sum())
                rows.append({"length": length, "entropy": entropy, "loss": loss, "own": own, "kl": kl})
        return {"rows": rows}

    def judge(self, found: Found) -> Verdict:
        import numpy as np

        first = [row for row in found["rows"] if row["length"] == self.lengths[0]]
        gap = mean_of(
            "loss − entropy − divergence", [row["loss"] - row["entropy"] - row["kl"] for row in first], 0.0, "nats"
        )
        assert gap.low is not None
        assert gap.high is not None
        means = [np.mean([row["kl"] for row in found["rows"] if row["length"] == length]) for length in self.lengths]
        slope = float(np.polyfit(np.log(self.lengths), np.log(means), 1)[0])
        theory = self.symbols * (self.symbols - 1) / (2 * self.lengths[-1])
        last = mean_of(
            f"divergence after {self.lengths[-1]:,} tokens",
            [row["kl"] for row in found["rows"] if row["length"] == self.lengths[-1]], theory, "nats",
        )  # fmt: skip
        return Verdict(
            "holds" if gap.low <= 0 <= gap.high and slope < -0.8 else "fails",
            f"Loss − H − D is {gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}] nats over {self.repeats} sources: "
            f"nothing else is in the loss. D falls with the training text's length to the power {slope:.2f} (theory: "
            "V(V − 1)/2N) while H stays.",
            (
                gap,
                Number("exponent of the divergence in the length", slope, reference=-1.0),
                last,
            ),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.9)
        rows = found["rows"]
        axes.loglog([r["length"] for r in rows], [r["loss"] - r["own"] for r in rows], ".", color=PALETTE[0],
                    label="loss − the text's own surprise, measured")  # fmt: skip
        means = [sum(r["kl"] for r in rows if r["length"] == n) / self.repeats for n in self.lengths]
        axes.loglog(self.lengths, means, "-", color=PALETTE[1], label="divergence, computed")
        theory = [self.symbols * (self.symbols - 1) / (2 * n) for n in self.lengths]
        axes.loglog(self.lengths, theory, "--", color=PALETTE[2], label="V(V − 1)/2N")
        axes.set_xlabel("tokens trained on")
        axes.set_ylabel("nats per token")
        axes.legend(frameon=False, fontsize=9)
        return "What training can lower: the divergence of the model from its source.", figure


def stationary(chain: Float[np.ndarray, "symbols symbols"]) -> Float[np.ndarray, " symbols"]:
    """The distribution that the rows of transition probabilities leave as it is."""
    import numpy as np

    values, vectors = np.linalg.eig(chain.T)
    vector = vectors[:, np.argmax(values.real)].real
    return np.asarray(vector / vector.sum())


def draw_text(
    chain: Float[np.ndarray, "symbols symbols"], length: int, rng: np.random.Generator
) -> Int[np.ndarray, " length"]:
    """A text of the chain, begun in its stationary distribution."""
    import numpy as np

    cumulative = chain.cumsum(1)
    uniform = rng.random(length)
    text = np.empty(length, dtype=np.int64)
    text[0] = rng.choice(len(chain), p=stationary(chain))
    for at in range(1, length):
        text[at] = min(int(np.searchsorted(cumulative[text[at - 1]], uniform[at], side="right")), len(chain) - 1)
    return text
