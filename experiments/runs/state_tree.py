"""Nested states (dictionaries, lists, tuples of tensors and plain values, as optimisers keep them) in state files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from experiments.errors import UserError
from experiments.runs import state_file

TENSOR, TUPLE, PAIRS = "$tensor", "$tuple", "$pairs"


def save_tree(path: Path, tree: dict[str, Any]) -> None:
    """Keep ``tree`` in a state file, and the state before it beside it."""
    tensors, packed = pack(tree)
    state_file.save_next(path, tensors, {"tree": packed})


def load_tree(path: Path, fix: str) -> tuple[dict[str, Any], str | None]:
    """What :func:`save_tree` kept, and what was wrong with the newest state where the one before it is used.

    Raises :class:`UserError` naming the file and the ``fix`` when neither is whole.
    """
    tensors, data, problem = state_file.load_newest(path, fix)
    try:
        tree = unpack(data["tree"], tensors)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise UserError(f"{path}: not a state of this kind of work ({error!r}); {fix}") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: not a state of this kind of work; {fix}")
    return tree, problem


def pack(tree: Any) -> tuple[dict[str, Tensor], Any]:
    """The tensors of a nested state by name, and the rest of it as JSON that says where they were."""
    tensors: dict[str, Tensor] = {}
    packed = _pack(tree, "", tensors)
    return tensors, packed


def unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """The nested state that :func:`pack` took apart. Raises ``KeyError`` for a tensor that is not there."""
    if isinstance(value, list):
        return [unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if TENSOR in value:
        return tensors[value[TENSOR]]
    if TUPLE in value:
        return tuple(unpack(item, tensors) for item in value[TUPLE])
    if PAIRS in value:
        return {key: unpack(item, tensors) for key, item in value[PAIRS]}
    return {key: unpack(item, tensors) for key, item in value.items()}


def _pack(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """``value`` as JSON, its tensors moved to ``tensors`` under names that say where they were."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().clone()  # a copy: safetensors refuses tensors that share memory
        return {TENSOR: name}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _pack(item, f"{name}.{key}".lstrip("."), tensors) for key, item in value.items()}
        return {PAIRS: [[key, _pack(item, f"{name}.{key}", tensors)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        items = [_pack(item, f"{name}.{index}", tensors) for index, item in enumerate(value)]
        return {TUPLE: items} if isinstance(value, tuple) else items
    return value
