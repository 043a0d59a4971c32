"""The kinds of model with a register for each position, turned by angles that a classical control sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from experiments.schema.audit_columns import OF_REGISTERS
from experiments.schema.base import Clash, NonNegative, PositiveInt
from experiments.schema.controlled_models import ControlledModel
from experiments.schema.model_base import ModelConfig
from experiments.schema.readout_fields import Rank, Share, softmax_of, with_rank

if TYPE_CHECKING:
    import torch


class UnitaryModel(ControlledModel):
    """States move by unitaries alone: phases set by the tokens, learned mixers, one Born measurement at the end."""

    note: ClassVar[str] = "strictly unitary attention, read out by one Born measurement; complex or real"
    rung: ClassVar[str] = "2"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("embedding", "control", "mixers", "readout", "start", "floor")

    kind: Literal["unitary"]
    """`unitary`"""
    field: Literal["complex", "real"] = "complex"
    """`complex`: unitaries and phases; `real`: orthogonal matrices and planar rotations (`dim` must be even)."""
    dim: PositiveInt = 96
    """Dimension of the register, divisible by `heads`. A `projective` readout also needs a multiple of the vocabulary,
    which can be checked only when the text has been read."""
    layers: PositiveInt = 4
    """Number of controlled phases, each followed by a mixer."""
    readout: Literal["povm", "projective", "overlap", "softmax"] = "povm"
    """`povm`: an isometry to vocabulary times `rank` outcomes; `projective`: projectors of the register itself. To
    compare with: `overlap` with the tokens' input states, renormalised, and `softmax` of a linear map of the state."""
    rank: Rank | None = None
    """Outcomes summed for one token, with readout povm, of which rank times the vocabulary must reach `dim`; null is 4,
    `fit` the least that does, and at least 4."""
    floor: bool = True
    """A learned depolarising channel before the readout, so that no token has probability zero."""
    init_scale: NonNegative = 0.3
    """How far from the identity the mixers start. Random mixers (Haar) scramble the angles and do not train."""
    parametrization: Literal["qr", "cayley", "matrix_exp", "householder", "geotorch"] = "qr"
    """How the mixers stay on their manifold; `householder` and `geotorch` are for the real field."""
    dephasing: Share = 0.0
    """Ablation: share of every coherence lost before each mixer. Costs a factor `dim` (a density matrix)."""
    unistochastic: bool = False
    """Ablation: no coherence in the start and in the end, so that |U(x)|² acts on probabilities. Same cost."""
    frozen: tuple[Literal["embedding", "control", "mixers", "readout", "start", "floor"], ...] = ()
    """Ablation: parameter groups that stay as they started."""

    def clashes(self) -> Iterator[Clash]:
        if self.field == "real" and self.dim % (2 * self.heads):
            expected = f"a multiple of twice the heads ({2 * self.heads}), since a real register turns in planes"
            yield "dim", expected, str(self.dim), ("field",)
        elif self.dim % self.heads:
            yield "dim", f"a multiple of heads ({self.heads})", str(self.dim), ("heads",)
        yield from super().clashes()
        if self.parametrization in ("householder", "geotorch") and self.field == "complex":
            yield "parametrization", "field: real beside it", f"{self.parametrization} and field: complex", ("field",)
        if self.rank is not None and self.readout != "povm":
            why = "whose rank is dim over the vocabulary" if self.readout == "projective" else "which has no rank"
            yield "rank", "readout: povm beside it", f"readout: {self.readout}, {why}; remove rank", ("readout",)
        if self.readout == "softmax" and (self.dephasing or self.unistochastic):
            got = "'softmax', which reads a state vector, beside dephasing or unistochastic"
            yield "readout", "a measurement", got, ("dephasing", "unistochastic")

    def widths(self) -> dict[str, int]:
        return {"dim": self.heads * (2 if self.field == "real" else 1), **super().widths()}

    def filled(self) -> dict[str, object]:
        return super().filled() | ({"rank": 4} if self.readout == "povm" and self.rank is None else {})

    def settings(self, vocab: int) -> dict[str, Any]:
        return with_rank(super().settings(vocab), self.dim, vocab)

    def twins(self) -> dict[str, ModelConfig]:
        if self.readout == "softmax" or self.dephasing or self.unistochastic:
            return {}
        angles = self.dim // 2 if self.field == "real" else self.dim
        return {"readout": softmax_of(self), "register": self.without_register(angles, self.layers)}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.unitary import UnitaryConfig, UnitaryLM

        control = self.given_control(vocab, block, generator)
        return UnitaryLM(UnitaryConfig(vocab=vocab, **self.settings(vocab)), generator, control)

    def recommended_rates(self) -> dict[str, float]:
        return {**self.control_rates(), "mixers": 4e-3, "readout": 4e-3}


class MeanFieldModel(UnitaryModel):
    """Rung 1: the angles also come from expectation values of earlier positions' states. Not linear in the state."""

    note: ClassVar[str] = "angles also from earlier states' expectation values (time-dependent Hartree); not linear"
    rung: ClassVar[str] = "1"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("embedding", "control", "mixers", "field", "readout", "start", "floor")

    kind: Literal["mean_field"]  # type: ignore[assignment]
    """`mean_field`"""
    features: PositiveInt = 48
    """Expectation values a layer that join the control."""

    def clashes(self) -> Iterator[Clash]:
        yield from super().clashes()
        for name, value in (("dephasing", self.dephasing), ("unistochastic", self.unistochastic)):
            if value:
                yield name, "0 or false in kind mean_field, whose angles need state vectors", str(value).lower(), ()
        if self.readout == "overlap":
            yield "readout", "'povm', 'projective' or 'softmax' in kind mean_field", "'overlap'", ()
        if self.frozen:
            yield "frozen", "an empty list in kind mean_field", ", ".join(self.frozen), ()

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.mean_field import MeanFieldConfig, MeanFieldLM

        control = self.given_control(vocab, block, generator)
        return MeanFieldLM(MeanFieldConfig(vocab=vocab, **self.settings(vocab)), generator, control)

    def recommended_rates(self) -> dict[str, float]:
        return {**super().recommended_rates(), "field": 4e-3}


class SelectedModel(ControlledModel):
    """Rung 2s: rung 2 read by selection, on several copies of the register, prepared anew until a token comes out."""

    note: ClassVar[str] = "rung 2 on several copies, read jointly and anew until the reading says a token"
    rung: ClassVar[str] = "2s"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("embedding", "control", "mixers", "readout", "start", "floor")

    kind: Literal["selected"]
    """`selected`"""
    field: Literal["complex", "real"] = "complex"
    """`complex`: unitaries and phases; `real`: orthogonal matrices and planar rotations (`dim` must be even)."""
    dim: PositiveInt = 96
    """Dimension of one copy of the register, divisible by `heads`."""
    layers: PositiveInt = 4
    """Number of controlled phases, each followed by a mixer."""
    copies: Annotated[int, Field(ge=1, le=16)] = 2
    """Copies k of the register in one reading: p(w) is proportional to a sum of |⟨b|φ⟩|^(2k)."""
    rank: PositiveInt = 2
    """Measured vectors summed for one token."""
    acceptance: NonNegative = 0.1
    """Weight in the loss of −log(chance that a reading says a token): what a preparation of the register costs."""
    floor: bool = True
    """A learned depolarising channel on the tokens that are read, so that none has probability zero."""
    init_scale: NonNegative = 0.3
    """How far from the identity the mixers start."""
    frozen: tuple[Literal["embedding", "control", "mixers", "readout", "start", "floor"], ...] = ()
    """Ablation: parameter groups that stay as they started."""

    def clashes(self) -> Iterator[Clash]:
        planes = 2 if self.field == "real" else 1
        if self.dim % (planes * self.heads):
            yield "dim", f"a multiple of {planes * self.heads} (heads, in planes if real)", str(self.dim), ("heads",)
        yield from super().clashes()

    def widths(self) -> dict[str, int]:
        return {"dim": self.heads * (2 if self.field == "real" else 1), **super().widths()}

    def twins(self) -> dict[str, ModelConfig]:
        shared = {name: getattr(self, name) for name in SelectedModel.model_fields if name in UnitaryModel.model_fields}
        softmax = UnitaryModel(**shared | {"kind": "unitary", "readout": "softmax", "rank": None, "floor": False})
        angles = self.dim // 2 if self.field == "real" else self.dim
        return {"readout": softmax, "register": self.without_register(angles, self.layers)}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.selected import SelectedConfig, SelectedLM

        control = self.given_control(vocab, block, generator)
        return SelectedLM(SelectedConfig(vocab=vocab, **self.settings(vocab)), generator, control)

    def recommended_rates(self) -> dict[str, float]:
        return {**self.control_rates(), "mixers": 4e-3, "readout": 4e-3}


USUAL_MIXERS = ("HeisenbergRing", "StronglyEntanglingLayers", "HardwareEfficient", "Brickwork")
"""What can be a mixer for sure; of anything else, also of what packages declare, the circuits' own registry knows."""


def no_mixer(ansatz: str, qubits: int) -> str:
    """Why an ansatz cannot be a mixer of so many qubits; empty where it can. Imports torch and the circuits."""
    from qattn.circuits.ir.ansatz import build

    try:
        circuit = build(ansatz, qubits, 1)
    except ValueError as error:
        return str(error)
    if circuit.n_inputs:
        return f"{ansatz}, which reads data"
    return "" if circuit.n_parameters else f"{ansatz}, which has no parameters to learn"


class CircuitModel(ControlledModel):
    """Rung 3: rung 2 on qubits, mixers and angle layers made of gates; the text sets the angles anew in every layer."""

    note: ClassVar[str] = "rung 2 on qubits, everything between start and measurement made of one- and two-qubit gates"
    rung: ClassVar[str] = "3"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("embedding", "control", "mixers", "readout", "start", "floor")

    kind: Literal["circuit"]
    """`circuit`"""
    qubits: Annotated[int, Field(ge=1, le=12)] = 8
    """Wires of the register; its dimension 2^qubits is at least the vocabulary with readout `projective`."""
    layers: PositiveInt = 6
    """Number of angle layers, each followed by a mixer."""
    ansatz: str = "HeisenbergRing"
    """Gates of a mixer: any ansatz of `qattn list ansatze` that reads no data, an installed package's too.
    `HeisenbergRing`: RX, RY, RZ on every wire and XX, YY, ZZ couplings around a ring, the identity at zero.
    `StronglyEntanglingLayers`, `HardwareEfficient` or `Brickwork` have fixed CNOT or CZ gates and start far from it."""
    depth: PositiveInt = 1
    """Repetitions of the ansatz within a mixer."""
    pairs: Literal["ring", "all"] = "all"
    """Which wires a ZZ angle set by the text couples: neighbours on a ring, or all pairs."""
    readout: Literal["projective", "povm", "softmax"] = "projective"
    """`projective`: every wire is measured, bit string b means token b modulo the vocabulary; `povm`: a dense isometry
    to vocabulary times `rank` outcomes, one large matrix that is not made of gates. To compare with: `softmax` of an
    affine map of the state, which is no measurement."""
    rank: Rank | None = None
    """Outcomes summed for one token, with readout povm: `rank` times the vocabulary is at least 2^qubits; null is 4,
    `fit` the least that does, and at least 4."""
    floor: bool = True
    """A learned depolarising channel before the readout, so that no token has probability zero."""
    init_scale: NonNegative = 0.3
    """Size of the mixers' angles at the start (radians)."""
    frozen: tuple[Literal["embedding", "control", "mixers", "readout", "start", "floor"], ...] = ()
    """Ablation: parameter groups that stay as they started."""

    @property
    def dim(self) -> int:
        """Of the register."""
        return int(2**self.qubits)

    @property
    def angles(self) -> int:
        """Angles of a layer."""
        n = self.qubits
        return n * (n + 1) // 2 if self.pairs == "all" or n < 3 else 2 * n

    def clashes(self) -> Iterator[Clash]:
        if self.angles % self.heads:
            got = f"{self.heads}; {self.qubits} qubits and pairs {self.pairs} have {self.angles}"
            yield "heads", "a divisor of the angles of a layer", got, ("qubits", "pairs")
        yield from super().clashes()
        if self.rank is not None and self.readout != "povm":
            got = f"readout: {self.readout}, which has no rank; remove rank"
            yield "rank", "readout: povm beside it", got, ("readout",)
        reason = "" if self.ansatz in USUAL_MIXERS else no_mixer(self.ansatz, self.qubits)
        if reason:
            yield "ansatz", "one of `qattn list ansatze` that reads no data", reason, ("qubits",)

    def widths(self) -> dict[str, int]:
        widths = super().widths()  # none of them the register's, so that the embedding is the coarse one
        return {"embedding": widths["embedding"], **widths}

    def filled(self) -> dict[str, object]:
        return super().filled() | ({"rank": 4} if self.readout == "povm" and self.rank is None else {})

    def settings(self, vocab: int) -> dict[str, Any]:
        return with_rank(super().settings(vocab), self.dim, vocab)

    def twins(self) -> dict[str, ModelConfig]:
        if self.readout == "softmax":
            return {}
        return {"readout": softmax_of(self), "register": self.without_register(self.angles, self.layers)}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.circuit import CircuitConfig, CircuitLM

        control = self.given_control(vocab, block, generator)
        return CircuitLM(CircuitConfig(vocab=vocab, **self.settings(vocab)), generator, control)

    def recommended_rates(self) -> dict[str, float]:
        return {**self.control_rates(), "mixers": 4e-3, "readout": 4e-3, "start": 4e-3}
