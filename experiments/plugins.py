"""Kinds of models and tasks from other packages, by packaging entry points.

A package declares ``[project.entry-points."qattn.models"]`` with ``name = "module:Class"``, and experiment files may
name the kind; no file ever names code. Packages are loaded when a registry is first looked at. A broken one stops
nobody who does not ask for it: whoever does gets one sentence that names the package (:meth:`Registry.why_not`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar, get_args

Member = TypeVar("Member")


class Registry(MutableMapping[str, Member], Generic[Member]):
    """Our own members by name, then those that installed packages declare in the entry-point ``group``.

    ``check(name, found)`` raises ValueError unless what a package declares can be a member.
    """

    def __init__(self, group: str, own: dict[str, Member], check: Callable[[str, Any], None]) -> None:
        self.group = group
        self.own = dict(own)
        self.broken: dict[str, str] = {}
        """Why a declared member cannot be used, in one sentence each."""
        self._check = check
        self._members = dict(own)
        self._complete = False

    def __getitem__(self, name: str) -> Member:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __setitem__(self, name: str, member: Member) -> None:
        self._check(name, member)
        self._all()[name] = member

    def __delitem__(self, name: str) -> None:
        del self._all()[name]

    def why_not(self, name: object) -> str:
        """Why a member that a package declares is not here; empty for a name that nobody declares."""
        self._all()
        return self.broken.get(str(name), "")

    def _all(self) -> dict[str, Member]:
        if not self._complete:
            self._complete = True  # first: a package may look here while it is loaded
            for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
                try:
                    if point.name in self._members:
                        raise ValueError("the name is taken")
                    member = point.load()
                    self._check(point.name, member)
                    self._members[point.name] = member
                except (Exception, SystemExit) as error:  # another's code may fail in any way
                    self.broken.setdefault(point.name, self._sentence(point, error))
        return self._members

    def _sentence(self, point: Any, error: BaseException) -> str:
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "a package without a name"
        reason = " ".join(str(error).split())
        named = "" if type(error) is ValueError else f"{type(error).__name__}: "
        return (
            f"'{point.name}' of the package {package} ({point.value}, entry point {self.group}) cannot be used: "
            f"{named}{reason}; fix the package or uninstall it"
        )


def kind_class(base: Any) -> Callable[[str, Any], None]:
    """The check of a registry of kinds: subclasses of ``base`` whose `kind` is their name and that say how they are
    built.

    It raises ValueError saying what it expected.
    """

    def check(name: str, found: Any) -> None:
        if not isinstance(found, type) or not issubclass(found, base):
            raise ValueError(f"expected a subclass of {base.__module__}.{base.__name__}, got {found!r}")
        kind: Any = found
        kinds = get_args(kind.model_fields["kind"].annotation)
        if kinds != (name,):
            raise ValueError(f"expected the field kind: Literal['{name}'], got {', '.join(map(repr, kinds)) or 'none'}")
        if kind.build is base.build:
            raise ValueError(f"expected a method build in {kind.__name__}, got none")

    return check
