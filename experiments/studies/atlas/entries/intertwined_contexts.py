"""Two contexts that share a vector: when do their observables commute?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from experiments.schema.base import PositiveInt
from experiments.studies.atlas.entry import Entry, Found, Number, Verdict, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class IntertwinedContexts(Entry):
    """Perspectives, VIII.2, Eqs. 2 to 5: bases that share a vector, with arbitrary eigenvalues."""

    note: ClassVar[str] = "when the observables of two contexts that share a vector commute"

    kind: Literal["intertwined_contexts"]
    """`intertwined_contexts`"""
    pairs: PositiveInt = 200
    """Random eigenvalues of each kind."""

    def measure(self, work: Work) -> Found:
        import numpy as np

        from contexts.logic.observables import commute_table, maximal_observable

        rng = np.random.default_rng(self.seed)
        e = np.eye(3)
        f = np.array([[1, -1, 0], [1, 1, 0], [0, 0, 2**0.5]]) / 2**0.5
        cases: dict[str, list[bool]] = {}
        gaps, norms = [], []
        for first in (False, True):
            for second in (False, True):
                said = []
                for _ in range(self.pairs):
                    lam, mu = rng.normal(size=3), rng.normal(size=3)
                    lam[1] = lam[0] if first else lam[1]
                    mu[1] = mu[0] if second else mu[1]
                    a, b = maximal_observable(e, lam), maximal_observable(f, mu)
                    said.append(bool(commute_table(np.stack([a, b]))[1][0, 1]))
                    gaps.append(abs(lam[0] - lam[1]) * abs(mu[0] - mu[1]))
                    norms.append(float(np.linalg.norm(a @ b - b @ a)))
                cases[f"λ₁ {'=' if first else '≠'} λ₂, μ₁ {'=' if second else '≠'} μ₂"] = said
        return {"cases": cases, "gaps": gaps, "norms": norms}

    def judge(self, found: Found) -> Verdict:
        import numpy as np

        shares = {name: float(np.mean(said)) for name, said in found["cases"].items()}
        # sin and cos of the angle of 45 degrees between the two bases
        off = float(np.abs(np.array(found["norms"]) - np.array(found["gaps"]) / 2**0.5).max())
        either = [share for name, share in shares.items() if "=" in name]
        neither = next(share for name, share in shares.items() if "=" not in name)
        return Verdict(
            "fails" if min(either) == 1 and neither == 0 else "open",
            "The observables commute as soon as one of the two equalities holds: the text's “unless … and” should be "
            f"“unless … or”. ‖[A₁, A₂]‖ = |λ₁ − λ₂| |μ₁ − μ₂| / √2 to {off:.0e}; with four different eigenvalues they "
            "never commuted, so that the contexts are complementary, as the text says.",
            (
                *(Number(f"share that commute, {name}", share, reference=float("=" in name)) for name, share in
                  sorted(shares.items(), key=lambda item: item[0].count("="), reverse=True)),
                Number("largest difference of the norm from the formula", off, reference=0.0),
            ),
        )  # fmt: skip

    def draw(self, found: Found) -> tuple[str, Figure]:
        from experiments.report.figures import PALETTE, canvas

        figure, (axes,) = canvas(2.8)
        axes.plot(found["gaps"], found["norms"], ".", ms=3, color=PALETTE[0])
        axes.set_xlabel("|λ₁ − λ₂| |μ₁ − μ₂|")
        axes.set_ylabel("norm of the commutator")
        return "The commutator of the two observables against the product of their gaps.", figure
