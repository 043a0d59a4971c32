"""A choice between models by a ``kind:`` key, open for growth: one class and one line make a new kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, get_args, get_origin, runtime_checkable

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


@runtime_checkable
class Explains(Protocol):
    """A registry that may know why a name is not in it."""

    def why_not(self, name: object) -> str:
        """A whole sentence, or nothing."""
        ...


class ByKind:
    """Annotation for a field whose class is looked up in ``registry`` by the text under ``key``.

    ``Annotated[Model, ByKind(MODELS)]`` is a Model for the type checker and a discriminated union for pydantic; unlike
    pydantic's own it also works for a registry of one.
    """

    def __init__(self, registry: Mapping[str, type[BaseModel]], key: str = "kind") -> None:
        self.registry = registry
        self.key = key

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {kind: handler.generate_schema(model) for kind, model in self.registry.items()}
        return core_schema.tagged_union_schema(choices, discriminator=self.key)


def union_members(annotation: Any, metadata: tuple[Any, ...]) -> Mapping[str, Any] | None:
    """The members by discriminator of a :class:`ByKind` or of a pydantic discriminated union; else None."""
    for mark in metadata:
        if isinstance(mark, ByKind):
            return mark.registry
    discriminator = next((mark.discriminator for mark in metadata if getattr(mark, "discriminator", None)), None)
    if not isinstance(discriminator, str):
        return None
    members: dict[str, Any] = {}
    for member in get_args(annotation):
        literal = member.model_fields[discriminator].annotation
        if get_origin(literal) is Literal:
            members.update({str(option): member for option in get_args(literal)})
    return members


def peel(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """An annotation without ``Annotated`` and ``| None``, and the metadata found on the way."""
    metadata: tuple[Any, ...] = ()
    while True:
        if get_origin(annotation) is Annotated:
            metadata += get_args(annotation)[1:]
            annotation = get_args(annotation)[0]
            continue
        members = [part for part in get_args(annotation) if part is not type(None)]
        if (
            type(None) in get_args(annotation)
            and len(members) == 1
            and not any(isinstance(m, ByKind) for m in metadata)
        ):
            annotation = members[0]
            continue
        return annotation, metadata
