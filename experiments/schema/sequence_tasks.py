"""The kinds of task whose sequences are drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from experiments.schema.base import Clash, Positive, PositiveInt, Seed
from experiments.schema.task_base import TaskConfig

if TYPE_CHECKING:
    from experiments.tasks import Task

Interval = tuple[PositiveInt, PositiveInt]
Lengths = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class GeneratedTask(TaskConfig):
    """Sequences drawn from a seed."""

    seed: Seed = 0
    """Of the validation and test sequences, and of a fixed training set."""


class SequenceTask(GeneratedTask):
    """Sequences with a target at every position that is asked."""

    validation: PositiveInt = 1000
    """Validation sequences; each test of other lengths has a quarter as many."""

    def intervals(self) -> Iterator[tuple[str, Interval]]:
        """The pairs of least and greatest length."""
        yield from ()

    def clashes(self) -> Iterator[Clash]:
        for key, (low, high) in self.intervals():
            if low > high:
                yield key, "the smaller length first", f"[{low}, {high}]", ()


class ParityTask(SequenceTask):
    """Is the number of ones so far odd?"""

    note: ClassVar[str] = "running parity of bits, tested on longer ones"

    kind: Literal["parity"]
    """`parity`"""
    lengths: Interval = (3, 40)
    """Least and greatest length in training."""
    test_lengths: Interval = (40, 256)
    """Least and greatest length of the test."""
    supervise: Literal["running", "last"] = "running"
    """A target at every position, or only at the last."""

    def intervals(self) -> Iterator[tuple[str, Interval]]:
        yield from (("lengths", self.lengths), ("test_lengths", self.test_lengths))

    def build(self, name: str) -> Task:
        from experiments.tasks.synthetic import parity

        return parity(name, **self.fields())


class ModularTask(SequenceTask):
    """The value of an expression such as `3 + 4 * 2 =` modulo a number; no brackets, products before sums."""

    note: ClassVar[str] = "value of an expression modulo 5, tested on longer ones"

    kind: Literal["modular_arithmetic"]
    """`modular_arithmetic`"""
    modulus: Annotated[int, Field(ge=2, le=100)] = 5
    """Values are taken modulo this."""
    lengths: Interval = (3, 40)
    """Least and greatest number of tokens before the equals sign in training; an even one loses its last token."""
    test_lengths: Interval = (40, 256)
    """The same of the test."""

    def intervals(self) -> Iterator[tuple[str, Interval]]:
        yield from (("lengths", self.lengths), ("test_lengths", self.test_lengths))

    def build(self, name: str) -> Task:
        from experiments.tasks.synthetic import modular_arithmetic

        return modular_arithmetic(name, **self.fields())


class WordTask(SequenceTask):
    """Read elements of a finite group, say their product so far."""

    note: ClassVar[str] = "running product in S3, A4, A5 or S5, tested on four times the length"

    kind: Literal["word_problem"]
    """`word_problem`"""
    group: Literal["Z2", "S3", "A4", "A5", "S5"] = "S3"
    """The group; A5 and S5 are not solvable."""
    length: PositiveInt = 32
    """Elements of the longest training sequence; lengths are uniform from 1 on."""
    test_length: PositiveInt | None = None
    """Elements of a test sequence; null is four times `length`."""
    inputs: Literal["all", "swaps"] = "all"
    """What is read: any elements, or only those that exchange two points (the products are then still any element)."""
    asked: Literal["product", "point"] = "product"
    """`product`: which element is the product so far; `point`: where it takes the first of the points (as hard for
    circuits: Barrington's programs ask no more, and a register needs the points as dimensions, not the elements)."""
    supervise: Literal["running", "last"] = "running"
    """A target at every position, or only at the last."""

    def clashes(self) -> Iterator[Clash]:
        if self.inputs == "swaps" and self.group.startswith("A"):
            yield "inputs", "'all' for a group of even permutations, in which no swap is", "'swaps'", ("group",)

    def filled(self, folder: object) -> dict[str, object]:
        return {"test_length": 4 * self.length} if self.test_length is None else {}

    def build(self, name: str) -> Task:
        from experiments.tasks.groups import word_problem

        return word_problem(name, **self.fields())


class CopyingTask(SequenceTask):
    """Remember symbols over many blanks, then say them."""

    note: ClassVar[str] = "copying memory: symbols, a long wait, the same symbols"

    kind: Literal["copying"]
    """`copying`"""
    symbols: PositiveInt = 8
    """Different symbols."""
    keep: PositiveInt = 10
    """Symbols to remember."""
    blanks: PositiveInt = 200
    """Steps between the last symbol and the first to say."""

    def build(self, name: str) -> Task:
        from experiments.tasks.synthetic import copying

        return copying(name, **self.fields())


class DyckTask(SequenceTask):
    """Two kinds of bracket: which one would close now?"""

    note: ClassVar[str] = "which of two kinds of bracket would close now, tested on four times the length"

    kind: Literal["dyck2"]
    """`dyck2`"""
    length: PositiveInt = 32
    """Brackets of a training sequence."""
    test_length: PositiveInt | None = None
    """Brackets of a test sequence; null is four times `length`."""
    depth: PositiveInt = 6
    """Brackets open at once, at most."""

    def filled(self, folder: object) -> dict[str, object]:
        return {"test_length": 4 * self.length} if self.test_length is None else {}

    def build(self, name: str) -> Task:
        from experiments.tasks.synthetic import dyck2

        return dyck2(name, **self.fields())


class DisambiguationTask(SequenceTask):
    """Clues move an ambiguous state about dim² senses that overlap as the states of a SIC do."""

    note: ClassVar[str] = "which of dim² overlapping senses: dimension dim by the Born rule, dim² − 1 by a softmax"

    kind: Literal["disambiguation"]
    """`disambiguation`"""
    dim: Annotated[int, Field(ge=2, le=32)] = 3
    """Dimension N of the complex register that solves it exactly; there are N² clues and N² answers."""
    length: PositiveInt = 16
    """Clues of the longest training sequence; lengths are uniform from 1 on."""
    test_length: PositiveInt | None = None
    """Clues of a test sequence; null is four times `length`."""
    exact: bool = False
    """With one clue: the validation split is every clue with every answer as often as it is likely, so that losses
    have no error of sampling, and a batch of at least as many sequences is all of them (dim³ (dim + 1))."""

    def clashes(self) -> Iterator[Clash]:
        yield from super().clashes()
        if self.exact and self.length != 1:
            yield "exact", "length: 1 beside it", f"length: {self.length}; set exact: false", ("length",)

    def filled(self, folder: object) -> dict[str, object]:
        return {"test_length": 4 * self.length} if self.test_length is None else {}

    def build(self, name: str) -> Task:
        from experiments.tasks.disambiguation import disambiguation

        return disambiguation(name, **self.fields())


class RecallTask(SequenceTask):
    """Multi-query associative recall: pairs of key and value, then the keys again."""

    note: ClassVar[str] = "multi-query associative recall (MQAR): name the value that stood beside this key"

    kind: Literal["mqar"]
    """`mqar`"""
    vocab: Annotated[int, Field(ge=4)] = 128
    """Tokens; the lower half are keys, the upper half values. 8192 is the published figure."""
    length: PositiveInt = 64
    """Tokens of a sequence."""
    pairs: PositiveInt = 4
    """Pairs to remember."""
    power: Positive = 0.01
    """Exponent of the power law of the distance between pair and query; 1 is uniform."""
    train: PositiveInt = 10000
    """Training sequences; 100000 is the published figure."""

    def clashes(self) -> Iterator[Clash]:
        if 4 * self.pairs > self.length:
            yield "length", f"at least four times pairs ({4 * self.pairs})", str(self.length), ("pairs",)
        if self.pairs > self.vocab // 2:
            yield "pairs", f"at most half the vocab ({self.vocab // 2})", str(self.pairs), ("vocab",)

    def build(self, name: str) -> Task:
        from experiments.tasks.synthetic import recall

        return recall(name, **self.fields())


class LanguageTask(GeneratedTask):
    """Strings of a formal language: learn some, then write some."""

    samples: PositiveInt = 1000
    """Strings that a trained model writes of each length."""


class TomitaTask(LanguageTask):
    """A Tomita language over 0 and 1, by the protocol of u-MPS."""

    note: ClassVar[str] = "Tomita languages 3 to 7: share of written strings in the language"

    kind: Literal["tomita"]
    """`tomita`"""
    number: Annotated[int, Field(ge=3, le=7)] = 5
    """Which: 3 no odd run of ones before an odd run of zeros, 4 no 000, 5 both even, 6 #0 − #1 divisible by 3, 7
    0\\*1\\*0\\*1\\*."""
    strings: PositiveInt = 1000
    """Strings to learn."""
    longest: Annotated[int, Field(ge=1, le=20)] = 15
    """Greatest length of a string to learn."""
    test_lengths: Lengths = (16, 30)
    """Lengths of the strings written, of which the accuracy is that of the first; with asked: membership lengths of the
    strings judged, of which it is that of the last."""
    asked: Literal["next", "membership"] = "next"
    """`next`: predict the next symbol of members, then write strings; `membership`: of random strings say at every
    position whether what has been read is in the language (`strings` and `samples` are then without effect)."""
    validation: PositiveInt = 1000
    """Validation sequences with asked: membership; each test length has a quarter as many."""

    def clashes(self) -> Iterator[Clash]:
        empty = {5: lambda n: n % 2 == 1, 6: lambda n: n == 1}.get(self.number)
        none = [length for length in self.test_lengths if self.asked == "next" and empty is not None and empty(length)]
        if none:
            yield (
                "test_lengths",
                f"lengths of which Tomita {self.number} has strings",
                str(none[0]),
                ("number", "asked"),
            )

    def build(self, name: str) -> Task:
        from experiments.tasks.languages import tomita

        return tomita(name, **self.fields())


class MotzkinTask(LanguageTask):
    """Balanced brackets with free symbols between."""

    note: ClassVar[str] = "Motzkin words: balanced brackets and free symbols, share of written words that are right"

    kind: Literal["motzkin"]
    """`motzkin`"""
    length: Annotated[int, Field(ge=1, le=60)] = 15
    """Length of the words to learn."""
    strings: PositiveInt = 10000
    """Words to learn."""
    test_lengths: Lengths = (16, 1, 50)
    """Lengths of the words written; the accuracy is that of the first."""

    def build(self, name: str) -> Task:
        from experiments.tasks.languages import motzkin

        return motzkin(name, **self.fields())
