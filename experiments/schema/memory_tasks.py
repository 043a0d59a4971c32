"""The kinds of task that ask how little memory is enough: where a quantum register provably needs less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from experiments.schema.base import Clash, PositiveInt
from experiments.schema.sequence_tasks import GeneratedTask, SequenceTask

if TYPE_CHECKING:
    from experiments.tasks import Task


class RandomAccessTask(GeneratedTask):
    """Read some bits, then be asked for one of them: a random access code."""

    note: ClassVar[str] = (
        "random access code: one of the bits read is asked for at the end; 3/4 by a bit, 0.85 by a qubit"
    )

    kind: Literal["random_access"]
    """`random_access`"""
    bits: Annotated[int, Field(ge=2, le=8)] = 2
    """Bits to read. All strings with all questions are the validation split, so that its numbers are exact, and a batch
    of at least as many sequences (bits · 2^bits) is all of them."""

    reading: Literal["string", "bits"] = "string"
    """`string`: a symbol per string, the code of the theorems; `bits`: bit by bit, so that the code must be one that
    the register can extend (three bits in a qubit then lose: the last one would have to be a reflection)."""

    def build(self, name: str) -> Task:
        from experiments.tasks.random_access import random_access

        return random_access(name, **self.fields())


class PeriodicTask(SequenceTask):
    """Is the number of symbols read so far a multiple of the period?"""

    note: ClassVar[str] = "is the length a multiple of a prime p? p states of an automaton, of order log p dimensions"

    kind: Literal["periodic"]
    """`periodic`"""
    period: Annotated[int, Field(ge=2, le=1009)] = 31
    """The period; the theorems are about primes. Sequences of twice the period train, of four times test."""

    def build(self, name: str) -> Task:
        from experiments.tasks.periodic import periodic

        return periodic(name, **self.fields())


class RenewalTask(SequenceTask):
    """Say the next tick of a process whose events depend on the time since the last one alone."""

    note: ClassVar[str] = "next tick of a renewal process, such as a monitored qubit, which no finite automaton has"

    kind: Literal["renewal"]
    """`renewal`"""
    source: Literal["monitored_qubit", "simple_nonunifilar"] = "monitored_qubit"
    """`monitored_qubit`: turned by `angle` at every tick, looked at with `strength`, reset by an event;
    `simple_nonunifilar`: no event in n ticks with chance (n + 1)/2^n."""
    angle: Annotated[float, Field(gt=0, lt=1.5707963)] = 0.5
    """Radians per tick in the plane of the two amplitudes, with source monitored_qubit."""
    strength: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Share of a certain look, with source monitored_qubit."""
    length: PositiveInt = 32
    """Ticks of a sequence, the first after an event."""

    def clashes(self) -> Iterator[Clash]:
        for key in ("angle", "strength"):
            if self.source != "monitored_qubit" and key in self.model_fields_set:
                yield key, "source: monitored_qubit beside it", f"source: {self.source}; remove {key}", ("source",)

    def build(self, name: str) -> Task:
        from experiments.tasks.renewal import renewal

        return renewal(name, **self.fields())
