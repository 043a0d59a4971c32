"""Which model has a privileged basis: what a rotation leaves unchanged, and how heavy-tailed coordinates are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from matplotlib.figure import Figure
    from torch import Tensor

UNCHANGED = 1e-9
"""Of log p in double precision."""


class Rotation(Entry):
    """Perspectives, XI.3: is there a privileged basis? Its coordinates would be heavier-tailed than those of a random
    basis (Elhage et al. 2023), and its rotation would change what the model computes.
    """

    note: ClassVar[str] = "functions and kurtosis of coordinates in the own, random, PCA and ICA bases"

    kind: Literal["rotation"]
    """`rotation`"""
    windows: PositiveInt = 48
    """Windows of held-out text."""
    rotations: PositiveInt = 20
    """Random bases."""

    def measure(self, work: Work) -> Found:
        from copy import deepcopy

        import torch

        from experiments.studies.atlas.rotations import (
            random_rotation,
            rotated_neurons,
            rotated_phases,
            rotated_stream,
        )
        from experiments.studies.atlas.shared_models import held_out

        models = work.models()
        inputs, _ = held_out(models["transformer"], self.windows)
        generator = torch.Generator().manual_seed(self.seed)
        former, unitary = models["transformer"].model, models["unitary"].model
        few = inputs[: max(1, self.windows // 6)]
        with torch.no_grad():
            plain = deepcopy(former).double()(few)
            stream = rotated_stream(former, random_rotation(former.config.dim, generator))(few)
            neurons = rotated_neurons(former, random_rotation(former.config.ffn_hidden, generator))(few)
            axes = random_rotation(unitary.config.dim, generator, torch.complex64)
            phases = rotated_phases(unitary, few, axes)
            states = {"transformer, residual stream": _stream(former, inputs),
                      "lstm, hidden vector": _hidden(models["lstm"].model, inputs)}  # fmt: skip
        changed = {
            "residual stream of the transformer": (stream - plain).abs().max().item(),
            "neurons of the transformer": _divergence(plain, neurons),
            "phases of the unitary model": _divergence(unitary(few), phases),
        }
        work.say("functions compared; now the coordinates")
        return {
            "changed": changed,
            "kurtosis": {name: self._kurtosis(rows, generator) for name, rows in states.items()},
        }

    def _kurtosis(self, rows: Float[Tensor, "rows dim"], generator: Any) -> dict[str, Any]:
        """Mean excess kurtosis of the coordinates by basis; ``random`` lists that of every random one."""
        import torch
        from sklearn.decomposition import FastICA

        from experiments.studies.atlas.rotations import excess_kurtosis, random_rotation

        centred = rows.double() - rows.double().mean(0)
        ica = FastICA(whiten="unit-variance", random_state=self.seed, max_iter=400, tol=1e-3)
        return {
            "own": excess_kurtosis(centred),
            "random": [excess_kurtosis(centred @ random_rotation(centred.shape[1], generator))
                       for _ in range(self.rotations)],
            "PCA": excess_kurtosis(centred @ torch.linalg.svd(centred, full_matrices=False).Vh.T),
            "ICA": excess_kurtosis(torch.from_numpy(ica.fit_transform(centred.numpy()))),
        }  # fmt: skip

    def judge(self, found: Found) -> Verdict:
        changed = found["changed"]
        stream = changed["residual stream of the transformer"]
        rows = found["kurtosis"]["transformer, residual stream"]
        alters, privileged = rows["ICA"] > max(rows["random"]), rows["own"] > max(rows["random"])
        verdict = "holds" if stream < UNCHANGED and alters and not privileged else "fails"
        chance = mean_of("", rows["random"])
        return Verdict(
            verdict,  # type: ignore[arg-type]
            f"A rotation of the residual stream, taken into the weights, changes log p by {stream:.0e}: its basis is "
            f"not privileged by the architecture. Its own coordinates have an excess kurtosis of {rows['own']:.2f}, "
            f"random bases {min(rows['random']):.2f} to {max(rows['random']):.2f}, ICA {rows['ICA']:.2f}"
            + (": training has picked its axes out all the same. " if privileged else ": training has not, either. ")
            + "Where the function itself has axes, rotating them costs: the transformer's neurons "
            f"{changed['neurons of the transformer']:.2f} nats, the unitary model's phases "
            f"{changed['phases of the unitary model']:.2f} nats.",
            (
                Number("change of log p, residual stream rotated", stream, reference=0.0),
                *(Number(f"divergence, {name} rotated", value, unit="nats") for name, value in changed.items()
                  if not name.startswith("residual")),
                *(Number(f"excess kurtosis, {name}, {basis}", row[basis], reference=0.0)
                  for name, row in found["kurtosis"].items() for basis in ("own", "PCA", "ICA")),
                Number("excess kurtosis, transformer, residual stream, random", chance.value, chance.low, chance.high),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, axes = canvas(4.4, rows=2)
        for panel, (name, row) in zip(axes, found["kurtosis"].items(), strict=True):
            panel.hist(row["random"], color=PALETTE[5], label="random bases")
            for at, basis in enumerate(("own", "PCA", "ICA")):
                panel.axvline(row[basis], color=PALETTE[at], label=basis)
            panel.set_title(name, fontsize=10)
            panel.legend(frameon=False, fontsize=8)
        axes[-1].set_xlabel("mean excess kurtosis of the coordinates")
        return "How heavy-tailed the coordinates of hidden vectors are in their own and in other bases.", figure


def _stream(model: Any, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "rows dim"]:
    """The vectors before the last block, each of unit mean square, as the norm leaves them."""
    from classical.lens import residual_stream
    from classical.norms import rms_norm

    return rms_norm(residual_stream(model, tokens)[-2]).flatten(0, 1)


def _hidden(model: Any, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "rows dim"]:
    rows: Tensor = model.recurrent(model.embedding(tokens))[0]
    return rows.flatten(0, 1)


def _divergence(p: Float[Tensor, "*batch vocab"], q: Float[Tensor, "*batch vocab"]) -> float:
    """D(p‖q) of log-probabilities, the mean over positions, in nats."""
    return (p.exp() * (p - q)).sum(-1).mean().item()
