"""The whole training state in one state file: parameters, optimisers, random generators, counters.

Tied tensors are stored once and stay tied, because loading copies into the existing tensors. The state before the
newest one is kept until the next save, in case the newest is damaged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from experiments.errors import UserError
from experiments.lm.contract import CountedModel
from experiments.runs import state_file


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and persistent buffer of the model once, tied ones under their first name."""
    persistent = set(model.state_dict())
    buffers = {name: tensor for name, tensor in model.named_buffers() if name in persistent}
    return {name: tensor.detach().contiguous() for name, tensor in (dict(model.named_parameters()) | buffers).items()}


@torch.no_grad()
def restore(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Copy stored weights into ``model``; names and shapes must agree, but for counts, whose sizes the file knows.

    Raises :class:`UserError` naming the tensor that is missing or has another shape.
    """
    if isinstance(model, CountedModel):
        try:
            model.adopt(tensors)
        except KeyError as error:
            raise UserError(f"{path}: holds no {error.args[0]}; train the run again with --fresh") from None
        return
    own = dict(model.named_parameters()) | dict(model.named_buffers())
    for name in weights(model):
        if name not in tensors or tensors[name].shape != own[name].shape:
            found = "nothing" if name not in tensors else f"shape {tuple(tensors[name].shape)}"
            raise UserError(f"{path}: {name} should have shape {tuple(own[name].shape)}, the file has {found}")
        own[name].copy_(tensors[name])


def save_training(
    path: Path,
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    generator: torch.Generator,
    counters: dict[str, Any],
) -> None:
    """Keep all that resuming bit for bit needs: weights, optimisers, both random generators, counters."""
    tensors = {f"model.{name}": tensor for name, tensor in weights(model).items()}
    plain: dict[str, Any] = {}
    for index, optimizer in enumerate(optimizers):
        for number, state in optimizer.state_dict()["state"].items():
            for key, value in state.items():
                name = f"optimizer.{index}.{number}.{key}"
                if isinstance(value, Tensor):
                    tensors[name] = value.contiguous()
                else:
                    plain[name] = value
    tensors["generator.stream"] = generator.get_state()
    tensors["generator.global"] = torch.get_rng_state()
    state_file.save_next(path, tensors, {"counters": counters, "optimizer": plain})


def load_training(
    path: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer], generator: torch.Generator
) -> tuple[dict[str, Any], str | None]:
    """Put a saved training state back; returns the counters, and what was wrong with the newest state, if anything.

    Raises :class:`UserError` when neither the newest state nor the one before it is whole, or fits the model.
    """
    tensors, data, problem = state_file.load_newest(path)
    restore(model, {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}, path)
    values = tensors | data["optimizer"]
    for index, optimizer in enumerate(optimizers):
        state: dict[int, dict[str, Any]] = {}
        for name, value in values.items():
            if name.startswith(f"optimizer.{index}."):
                _, _, number, key = name.split(".", 3)
                state.setdefault(int(number), {})[key] = value
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    generator.set_state(tensors["generator.stream"])
    torch.set_rng_state(tensors["generator.global"])
    return data["counters"], problem
