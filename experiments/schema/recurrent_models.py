"""The kinds of model with one register for the whole text, which every token turns, permutes or measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from experiments.schema.audit_columns import OF_PREDICTIONS, OF_REGISTERS
from experiments.schema.base import Clash, NonNegative, Positive, PositiveInt
from experiments.schema.controlled_models import Control
from experiments.schema.model_base import ModelConfig
from experiments.schema.readout_fields import Rank, Share, softmax_of, with_rank

if TYPE_CHECKING:
    import torch


class BornReadout(ModelConfig):
    """Fields of a register read once, by the Born rule unless told otherwise."""

    readout: Literal["povm", "projective", "softmax"] = "povm"
    """`povm`: an isometry to vocabulary times `rank` outcomes; `projective`: projectors of the register itself. To
    compare with: `softmax` of an affine map of the state, which is no measurement."""
    rank: Rank | None = None
    """Outcomes summed for one token, with readout povm, of which rank times the vocabulary must reach `dim`; null is 4,
    `fit` the least that does, and at least 4."""
    floor: bool = True
    """A learned depolarising channel before the readout, so that no token has probability zero."""

    def clashes(self) -> Iterator[Clash]:
        if self.rank is not None and self.readout != "povm":
            why = "whose rank is dim over the vocabulary" if self.readout == "projective" else "which has no rank"
            got = f"readout: {self.readout}, {why}; remove rank"
            yield "rank", "readout: povm beside it", got, ("readout",)

    def filled(self) -> dict[str, object]:
        return {"rank": 4} if self.readout == "povm" and self.rank is None else {}

    def settings(self, vocab: int) -> dict[str, Any]:
        return with_rank(super().settings(vocab), self.model_dump()["dim"], vocab)

    def chain(self, field: Literal["complex", "real"], dim: int) -> dict[str, ModelConfig]:
        """The twins of a recurrent register: read by a softmax, or a Markov chain of as many states."""
        if self.readout == "softmax":
            return {}
        kept: dict[str, Any] = {"field": field, "dim": dim, "rank": self.rank, "floor": self.floor}
        chain = ClassicalRecurrentModel(kind="classical_recurrent", readout=self.readout, **kept)
        return {"readout": softmax_of(self), "register": chain}


class RecurrentModel(BornReadout):
    """Rung 2r: one register for the whole text, h_t = U(x_t) h_{t−1}."""

    note: ClassVar[str] = "recurrent register turned by each token: table, Householder products or Cayley steps"
    rung: ClassVar[str] = "2r"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("embedding", "control", "transition", "readout", "start", "floor")

    kind: Literal["unitary_recurrent"]
    """`unitary_recurrent`"""
    transition: Literal["table", "householder", "cayley"] = "householder"
    """`table`: a free unitary per token; `householder`: a product of reflections set by the control; `cayley`: a Cayley
    step of a Hamiltonian that is the token's mixture of shared ones."""
    field: Literal["complex", "real"] = "complex"
    """`complex`: unitaries; `real`: orthogonal matrices."""
    dim: PositiveInt = 64
    """Dimension of the register. Any of n bits of its past is answered without error only where log₂ dim ≥ n."""
    factors: PositiveInt | None = None
    """Reflections a token, with transition householder; null is 2."""
    generators: PositiveInt | None = None
    """Shared Hamiltonians, with transition cayley; null is 16."""
    control: Control = "token"
    """What sets the reflections, with transition householder: the newest token's embedding, the last `ngram`, or an
    `mlp` on these."""
    ngram: PositiveInt = 4
    """Tokens the control looks at, with control additive or mlp."""
    hidden: PositiveInt = 512
    """Width of the control's hidden layer, with control mlp."""
    embedding: PositiveInt = 64
    """Length of the control's token embeddings."""
    init_scale: NonNegative = 1.0
    """How far from the identity the unitaries start."""
    around: Literal["identity", "displacements"] = "identity"
    """What the unitaries of a table start around: `displacements` are X^q Z^p of Z_dim × Z_dim for the dim² tokens of a
    task whose clues add up so (disambiguation)."""

    def clashes(self) -> Iterator[Clash]:
        yield from super().clashes()
        if self.around == "displacements" and (self.transition, self.field) != ("table", "complex"):
            got = f"transition: {self.transition}, field: {self.field}; remove around"
            yield "around", "transition: table and field: complex beside it", got, ("transition", "field")
        for name, value, owner in (
            ("factors", self.factors, "householder"),
            ("generators", self.generators, "cayley"),
            ("control", None if self.control == "token" else self.control, "householder"),
        ):
            if value is not None and self.transition != owner:
                got = f"transition: {self.transition}; remove {name}"
                yield name, f"transition: {owner} beside it", got, ("transition",)

    @property
    def states(self) -> int | None:
        return self.dim if self.control == "token" else None  # else the last tokens are carried beside the register

    def widths(self) -> dict[str, int]:
        fine = {"householder": "embedding", "cayley": "generators"}.get(self.transition, "rank")
        return {"dim": 1} if fine == "rank" and self.readout != "povm" else {"dim": 1, fine: 1}

    def filled(self) -> dict[str, object]:
        values = super().filled()
        if self.transition == "householder" and self.factors is None:
            values["factors"] = 2
        if self.transition == "cayley" and self.generators is None:
            values["generators"] = 16
        return values

    def twins(self) -> dict[str, ModelConfig]:
        return self.chain(self.field, self.dim)

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM

        return UnitaryRecurrentLM(RecurrentConfig(vocab=vocab, **self.settings(vocab)), generator)

    def recommended_rates(self) -> dict[str, float]:
        return {"embedding": 1e-2, "control": 1e-2, "transition": 1e-2, "readout": 1e-2, "start": 1e-2}


class ClassicalRecurrentModel(BornReadout):
    """The classical twins of the recurrent rungs, with the numbers of `transition: table` and no unitaries."""

    note: ClassVar[str] = "classical twin of the recurrent rungs: a stochastic matrix or a free linear map per token"
    rung: ClassVar[str] = "0"
    audited: ClassVar[tuple[str, ...]] = ("completeness", *OF_PREDICTIONS)
    classical: ClassVar[bool] = True
    groups: ClassVar[tuple[str, ...]] = ("transition", "readout", "start", "floor")

    kind: Literal["classical_recurrent"]
    """`classical_recurrent`"""
    transition: Literal["stochastic", "linear"] = "stochastic"
    """`stochastic`: probabilities of hidden states, moved by a stochastic matrix per token (a hidden Markov model
    driven by the text); `linear`: a free linear map per token, the state normalised after each."""
    field: Literal["complex", "real"] = "complex"
    """Of the numbers that the matrices are made of."""
    dim: PositiveInt = 64
    """Dimension of the state."""
    init_scale: NonNegative = 1.0
    """How far from the identity the matrices start."""

    def clashes(self) -> Iterator[Clash]:
        yield from super().clashes()
        if self.transition == "stochastic" and self.readout == "softmax":
            got = "'softmax', which reads a state vector; probabilities are read by povm or projective"
            yield "readout", "transition: linear beside it", got, ("transition",)

    @property
    def states(self) -> int | None:
        return self.dim

    def widths(self) -> dict[str, int]:
        return {"dim": 1, "rank": 1} if self.readout == "povm" else {"dim": 1}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM

        return UnitaryRecurrentLM(RecurrentConfig(vocab=vocab, **self.settings(vocab)), generator)

    def recommended_rates(self) -> dict[str, float]:
        return {"transition": 1e-2, "readout": 1e-2, "start": 1e-2}


class PermutationModel(BornReadout):
    """Rung 4: tokens permute the basis states of one register that starts in a superposition."""

    note: ClassVar[str] = "reversible automaton: learned permutations of a superposed register"
    rung: ClassVar[str] = "4"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("transition", "readout", "start", "floor")

    kind: Literal["permutation"]
    """`permutation`"""
    field: Literal["complex", "real"] = "complex"
    """Of the start's and the readout's amplitudes; the permutations have none."""
    dim: PositiveInt = 32
    """Basis states."""
    temperature: Positive = 1.0
    """Of the relaxation to doubly stochastic matrices that the gradient goes through."""

    @property
    def states(self) -> int | None:
        return self.dim

    def widths(self) -> dict[str, int]:
        return {"dim": 1, "rank": 1} if self.readout == "povm" else {"dim": 1}

    def twins(self) -> dict[str, ModelConfig]:
        return self.chain(self.field, self.dim)

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM

        config = RecurrentConfig(vocab=vocab, transition="permutation", **self.settings(vocab))
        return UnitaryRecurrentLM(config, generator)

    def recommended_rates(self) -> dict[str, float]:
        return {"transition": 3e-2, "readout": 1e-2, "start": 1e-2}


class InstrumentModel(ModelConfig):
    """Rung 2i: a hidden quantum Markov model; emitting a token is a measurement, after which the state continues."""

    note: ClassVar[str] = "hidden quantum Markov model; with dephasing 1 a hidden Markov model of the same size"
    rung: ClassVar[str] = "2i"
    audited: ClassVar[tuple[str, ...]] = OF_REGISTERS
    groups: ClassVar[tuple[str, ...]] = ("instrument", "start", "floor")

    kind: Literal["instrument"]
    """`instrument`"""
    field: Literal["complex", "real"] = "complex"
    """Of the Kraus operators."""
    dim: PositiveInt = 24
    """Dimension of the memory."""
    rank: PositiveInt = 4
    """Kraus operators a token."""
    dephasing: Share = 0.0
    """Share of every coherence lost after each token; 1 is the classical twin."""
    floor: bool = False
    """A learned depolarising channel before the readout."""

    @property
    def claims_nothing_quantum(self) -> bool:
        return self.dephasing == 1  # a hidden Markov model

    @property
    def states(self) -> int | None:
        return self.dim

    def widths(self) -> dict[str, int]:
        return {"dim": 1, "rank": 1}

    def twins(self) -> dict[str, ModelConfig]:
        return {} if self.dephasing == 1 else {"coherence": self.model_copy(update={"dephasing": 1.0})}

    def build(self, vocab: int, block: int, generator: torch.Generator) -> Any:
        from qattn.lm.instrument import InstrumentConfig, InstrumentLM

        return InstrumentLM(InstrumentConfig(vocab=vocab, **self.settings(vocab)), generator)

    def recommended_rates(self) -> dict[str, float]:
        return {"instrument": 3e-3, "start": 3e-3}
