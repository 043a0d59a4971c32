"""What the classes of the schema have in common: strict, frozen, documented field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^\w[\w +=.,@-]*$")]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
MOST_SEED = 2**63 - 1
Seed = Annotated[int, Field(ge=0, le=MOST_SEED)]
"""Of a random generator, whose state holds 64 bits."""
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(gt=0, lt=1)]

Clash = tuple[str, str, str, tuple[str, ...]]
"""A contradiction inside one mapping: the key to blame, what was expected, what was got, the other keys it rests on."""


class Strict(BaseModel):
    """Unknown keys, wrong types, NaN and infinity are errors; values do not change once loaded."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )

    def clashes(self) -> Iterator[Clash]:
        """Contradictions between fields of this mapping."""
        yield from ()


class Kind(Strict):
    """A member of a registry, chosen by ``kind:``."""

    note: ClassVar[str] = ""
    """One line for ``qattn list``."""

    kind: str
