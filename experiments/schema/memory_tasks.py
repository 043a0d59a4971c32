"""The kinds of task that ask how little memory is enough: where a quantum register provably needs less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from experiments.schema.sequence_tasks import GeneratedTask

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
