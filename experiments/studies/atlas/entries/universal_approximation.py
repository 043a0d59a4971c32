"""One hidden layer approximates any function; layers without a nonlinearity are one layer; angles are frequencies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from jaxtyping import Float
    from matplotlib.figure import Figure


class UniversalApproximation(Entry):
    """The Shape of the Probable, part 3: Cybenko's theorem, and what is left of it without a nonlinearity."""

    note: ClassVar[str] = "width against error, deep linear networks, Fourier degree of re-uploaded angles"

    kind: Literal["universal_approximation"]
    """`universal_approximation`"""
    widths: tuple[PositiveInt, ...] = (1, 4, 16, 64, 256)
    """Sigmoid neurons of the one hidden layer."""
    depth: PositiveInt = 20
    """Layers of the network without nonlinearity."""
    uploads: tuple[PositiveInt, ...] = (1, 2, 3, 5, 8)
    """How often a qubit reads its input."""

    def measure(self, work: Work) -> Found:
        import numpy as np

        rng = np.random.default_rng(self.seed)
        x = np.linspace(-1, 1, 801)
        targets: dict[str, Callable[[Float[np.ndarray, " points"]], Float[np.ndarray, " points"]]] = {
            "sin 8x": lambda x: np.sin(8 * x), "|x|": np.abs, "step (smooth)": lambda x: np.tanh(20 * x),
        }  # fmt: skip
        errors: dict[str, list[float]] = {name: [] for name in targets}
        for width in self.widths:
            slopes = rng.normal(size=width) * 20
            hidden = 1 / (1 + np.exp(-(slopes * (x[:, None] - rng.uniform(-1, 1, width)))))
            features = np.column_stack((np.ones_like(x), hidden))
            for name, f in targets.items():
                weights = np.linalg.lstsq(features, f(x), rcond=1e-10)[0]
                errors[name].append(float(np.abs(features @ weights - f(x)).max()))
        layers = [rng.normal(size=(6, 6)) / 6**0.5 for _ in range(self.depth)]
        inputs = rng.normal(size=(40, 6))
        through = inputs
        for layer in layers:
            through = through @ layer
        one = np.linalg.lstsq(inputs, through, rcond=None)[0]
        linear = float(np.abs(inputs @ one - through).max() / np.abs(through).max())
        return {"errors": errors, "linear": linear, "spectra": [self._spectrum(n) for n in self.uploads]}

    def _spectrum(self, uploads: int) -> list[float]:
        """Sizes of ⟨Z⟩'s Fourier coefficients by frequency, of a qubit that reads its input ``uploads`` times."""
        import torch

        from qattn.circuits.ir.ansatz import build, draw_parameters
        from qattn.circuits.ir.encode import encoded
        from qattn.circuits.simulate.statevector import state_vector

        name, points = "StronglyEntanglingLayers", 4 * uploads + 8
        circuit = encoded(build(name, 1, uploads, reupload="X"), "reupload")
        angles = torch.from_numpy(draw_parameters(name, 1, uploads, self.seed + uploads))
        x = torch.arange(points, dtype=torch.float64)[:, None] * (2 * math.pi / points)
        state = state_vector(circuit, angles, x)
        expected = (state.abs() ** 2 @ torch.tensor([1.0, -1.0], dtype=torch.float64)).reshape(points)
        return [value.item() for value in (torch.fft.rfft(expected) / points).abs()]

    def judge(self, found: Found) -> Verdict:
        last = {name: values[-1] for name, values in found["errors"].items()}
        worst = max(last.values())
        beyond = max(max(row[n + 1 :]) for n, row in zip(self.uploads, found["spectra"], strict=True))
        inside = min(row[n] for n, row in zip(self.uploads, found["spectra"], strict=True))
        falls = all(values[-1] < 0.1 * values[0] for values in found["errors"].values())
        holds = falls and found["linear"] < 1e-9 and beyond < 1e-12 < inside
        return Verdict(
            "holds" if holds else "fails",
            f"{self.widths[-1]} sigmoid neurons, output weights by least squares, come within {worst:.2g} of all three "
            f"functions; {self.depth} linear layers equal one to {found['linear']:.0e}. The unitary counterpart: a "
            f"qubit that reads its angle L times is a Fourier series of degree L (coefficients beyond: {beyond:.0e}), "
            "so without re-uploading it approximates no more than one sine.",
            (
                *(Number(f"largest error of {name}, {self.widths[-1]} neurons", value, reference=0.0)
                  for name, value in last.items()),
                Number(f"difference of {self.depth} linear layers from one", found["linear"], reference=0.0),
                Number("largest Fourier coefficient beyond the number of uploads", beyond, reference=0.0),
                Number("smallest coefficient at the number of uploads", inside),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import MARKERS, PALETTE, canvas

        figure, (axes,) = canvas(2.9)
        for at, (name, values) in enumerate(found["errors"].items()):
            axes.loglog(self.widths, values, f"{MARKERS[at]}-", color=PALETTE[at], label=name)
        axes.set_xlabel("sigmoid neurons of the hidden layer")
        axes.set_ylabel("largest error on [−1, 1]")
        axes.legend(frameon=False, fontsize=9)
        return "One hidden layer with random inner weights: the error is an upper bound on the best network's.", figure
