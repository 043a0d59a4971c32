"""The ledger of a model: which trainable parameters belong together, and which of them stay as they started."""

from __future__ import annotations

from typing import Any

from torch import nn


class GroupedLM(nn.Module):
    """A language model that says what each of its parameters is for.

    A subclass names in ``owners`` the group of each parameter (by its whole name, else by its first part). A part may
    divide its own parameters in the same way, as the classical control does.
    """

    owners: dict[str, str] = {}  # noqa: RUF012  (read only)

    def parameter_groups(self) -> dict[str, list[str]]:
        """Where the trainable parameters sit: group → names."""
        groups: dict[str, list[str]] = {}
        for name, parameter in self.named_parameters():
            if parameter.requires_grad:
                groups.setdefault(self._owner(name), []).append(name)
        return groups

    def _owner(self, name: str) -> str:
        """The group of the parameter ``name``."""
        part, _, inner = name.partition(".")
        own: dict[str, str] = getattr(getattr(self, part), "owners", {})
        return own.get(inner) or self.owners.get(name) or self.owners[part]

    @property
    def context_limit(self) -> int | None:
        """Longest text the model reads: that of its control; None when there is no limit."""
        control: Any = getattr(self, "control", None)
        return None if control is None else control.context_limit

    def freeze(self, frozen: tuple[str, ...]) -> None:
        """Keep whole parameter groups as they started. Raises ``ValueError`` for an unknown group."""
        groups, parameters = self.parameter_groups(), dict(self.named_parameters())
        for group in frozen:
            if group not in groups:
                raise ValueError(f"frozen must name parameter groups ({', '.join(groups)}), got {group!r}")
            for name in groups[group]:
                parameters[name].requires_grad_(False)

    def hidden_matrices(self) -> list[str]:
        """Trainable matrices between hidden vectors of the control, which an optimiser may orthogonalise the steps of.

        The map from the control to the angles is none: steps of unit singular values there turn angles by a radian.
        """
        control: Any = getattr(self, "control", None)
        inner = [] if control is None else [f"control.{name}" for name in control.hidden_matrices()]
        return [name for name, parameter in self.named_parameters() if name in inner and parameter.requires_grad]
