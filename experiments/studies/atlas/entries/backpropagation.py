"""Every equation of the paper's appendix B beside automatic differentiation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

NAMES = {"E": "Eq. 36", "W1": "Eq. 32", "b1": "Eq. 33", "W2": "Eq. 27", "b2": "Eq. 28"}
TOLERANCE = 1e-12
"""Of a difference of gradients, relative to the largest entry of the gradient, in double precision."""


class Backpropagation(Entry):
    """Perspectives, appendix B; The Shape of the Probable, part 3: gradients by hand."""

    note: ClassVar[str] = "the equations of backpropagation beside automatic differentiation"

    kind: Literal["backpropagation"]
    """`backpropagation`"""
    networks: PositiveInt = 200
    """Random networks."""

    def measure(self, work: Work) -> Found:
        import torch

        from classical.backprop import Network, backward, forward, loss, random_network
        from classical.perplexity import cross_entropy_gradient, token_nats

        generator = torch.Generator().manual_seed(self.seed)
        worst: dict[str, list[float]] = {name: [] for name in NAMES}
        softmax = []
        for number in range(self.networks):
            vocab, dim, hidden = 2 + number % 9, 1 + number % 7, 1 + number % 11
            net = random_network(vocab, dim, hidden, generator)
            k, y = int(torch.randint(vocab, (), generator=generator)), number % 2
            by_hand = backward(net, forward(net, k), y)
            leaves = Network(*(getattr(net, name).clone().requires_grad_() for name in NAMES))
            loss(forward(leaves, k).y_hat, y).backward()
            for name in NAMES:
                auto = getattr(leaves, name).grad
                worst[name].append(_apart(getattr(by_hand, name), auto))
            logits = torch.randn(vocab, generator=generator, dtype=torch.float64, requires_grad=True)
            token_nats(logits.log_softmax(-1), torch.tensor(k)).backward()
            assert logits.grad is not None
            softmax.append(_apart(cross_entropy_gradient(logits.detach(), torch.tensor(k)), logits.grad))
        return {"worst": worst, "softmax": softmax}

    def judge(self, found: Found) -> Verdict:
        numbers = [
            *(
                Number(f"∂L/∂{name}, {NAMES[name]}", max(values), reference=0.0)
                for name, values in found["worst"].items()
            ),
            Number("∂ℓ/∂z = p − 1[y]", max(found["softmax"]), reference=0.0),
        ]
        numbers.sort(key=lambda number: -number.value)
        most = numbers[0].value
        return Verdict(
            "holds" if most < TOLERANCE else "fails",
            f"Over {self.networks} random networks the worst relative difference from automatic differentiation is "
            f"{most:.1e}.",
            tuple(numbers),
        )

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import MARKERS, PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        series = {**found["worst"], "p − 1[y]": found["softmax"]}
        for at, (name, values) in enumerate(series.items()):
            shown = sorted(max(value, 1e-18) for value in values)
            axes.semilogy(shown, MARKERS[at], ms=2.5, color=PALETTE[at], label=name)
        axes.set_xlabel("networks, sorted")
        axes.set_ylabel("relative difference")
        axes.legend(frameon=False, ncols=3, fontsize=9)
        return "Gradients by hand against automatic differentiation (differences of exactly zero at 1e-18).", figure


def _apart(a: Tensor, b: Tensor) -> float:
    scale = b.abs().max().item()
    return (a - b).abs().max().item() / scale if scale else (a - b).abs().max().item()
