"""What copying a state costs: the best cloner of quantum states beside the exact copy of a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work, mean_of

if TYPE_CHECKING:
    import torch
    from jaxtyping import Complex
    from matplotlib.figure import Figure


class NoCloning(Entry):
    """Perspectives, XI.6: language models copy representations freely, quantum states cannot be copied."""

    note: ClassVar[str] = "fidelity of the best cloner, and what reading a clone costs a Born model"

    kind: Literal["no_cloning"]
    """`no_cloning`"""
    dimensions: tuple[PositiveInt, ...] = (2, 3, 4, 8, 16)
    """Dimensions D of the register."""
    states: PositiveInt = 100
    """Haar-random states."""

    def measure(self, work: Work) -> Found:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        rows = []
        for d in self.dimensions:
            fidelity, loss = [], []
            for _ in range(self.states):
                real, imag = torch.randn(2, d, generator=generator, dtype=torch.float64)
                state = torch.complex(real, imag)
                state = state / state.norm()
                clone = cloned(state)
                fidelity.append((state.conj() @ clone @ state).real.item())
                p, q = state.abs() ** 2, clone.diagonal().real
                loss.append((p * (p / q).log()).sum().item())  # nats that a reader of the clone pays on average
            rows.append({"d": d, "fidelity": fidelity, "loss": loss, "optimum": optimal_fidelity(d)})
        return {"rows": rows}

    def judge(self, found: Found) -> Verdict:
        off = max(max(abs(f - theory(row["d"])) for f in row["fidelity"]) for row in found["rows"])
        least = max(abs(row["optimum"] - theory(row["d"])) for row in found["rows"])
        first, last = found["rows"][0], found["rows"][-1]
        paid = mean_of(f"what reading the clone costs, D = {last['d']}", last["loss"], unit="nats")
        return Verdict(
            "holds" if off < 1e-9 and least < 1e-9 else "fails",
            f"The cloner that projects on the symmetric subspace copies every state with the same fidelity, "
            f"{first['fidelity'][0]:.4f} for D = {first['d']}, which is the largest eigenvalue that any cloner's mean "
            f"fidelity is bounded by (to {least:.0e}); a vector of a transformer is copied exactly. Reading a clone "
            f"instead of the state costs {paid.value:.3f} nats per token at D = {last['d']}: cheaper to prepare anew, "
            "since the text is classical.",
            (
                *(Number(f"fidelity of the best clone, D = {row['d']}", sum(row["fidelity"]) / len(row["fidelity"]),
                         reference=theory(row["d"])) for row in found["rows"]),
                paid,
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        rows = found["rows"]
        d = [row["d"] for row in rows]
        axes.plot(d, [row["fidelity"][0] for row in rows], "o", color=PALETTE[0], label="measured")
        axes.plot(d, [theory(each) for each in d], "--", color=PALETTE[1], label="(D + 3)/(2D + 2)")
        axes.plot(d, [1.0 for _ in rows], ":", color=PALETTE[2], label="copy of a vector")
        axes.set_xscale("log", base=2)
        axes.set_xlabel("dimension D")
        axes.set_ylabel("fidelity of a copy")
        axes.legend(frameon=False, fontsize=9)
        return "One state in, two copies out: the fidelity of each.", figure


def theory(d: int) -> float:
    """(D + 3)/(2D + 2): 5/6 for qubits (Bužek & Hillery 1996; Werner 1998)."""
    return (d + 3) / (2 * d + 2)


def cloned(state: Complex[torch.Tensor, " dim"]) -> Complex[torch.Tensor, "dim dim"]:
    """One of the two clones: 2/(D + 1) tr₂ S (|ψ⟩⟨ψ| ⊗ 1) S with S the projector on symmetric states (Werner 1998)."""
    import torch

    d = len(state)
    one = torch.eye(d, dtype=state.dtype)
    joint = torch.einsum("a,b,cd->acbd", state, state.conj(), one)  # rows ac, columns bd
    swapped = joint.transpose(0, 1)
    both = 0.25 * (joint + swapped + joint.transpose(2, 3) + swapped.transpose(2, 3))
    return 2 / (d + 1) * both.diagonal(dim1=1, dim2=3).sum(-1)


def optimal_fidelity(d: int) -> float:
    """An upper bound on the mean fidelity of any symmetric 1 → 2 cloner: D times the largest eigenvalue of the mean of
    |ψ*⟩⟨ψ*| ⊗ (|ψ⟩⟨ψ| ⊗ 1 + 1 ⊗ |ψ⟩⟨ψ|)/2, with the mean over Haar-random ψ in closed form.
    """
    import numpy as np

    # the mean of |ψ*⟩⟨ψ*| ⊗ |ψ⟩⟨ψ| is (1 + d |Φ⟩⟨Φ|)/(d(d + 1)); only span{|Φ⟩₁₂|c⟩₃, |Φ⟩₁₃|b⟩₂} lifts the eigenvalue,
    # and the two overlap by 1/d for c = b, so the largest eigenvalue of |Φ⟩⟨Φ|₁₂ + |Φ⟩⟨Φ|₁₃ is 1 + 1/d
    gram = np.array([[1, 1 / d], [1 / d, 1]])
    return float(d * (1 + d / 2 * np.linalg.eigvalsh(gram)[-1]) / (d * (d + 1)))
