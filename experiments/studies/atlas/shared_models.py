"""The small language models that entries of the atlas look into: one experiment, trained once per folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from experiments.errors import UserError
from experiments.lm.builders import load_task
from experiments.lm.trained_models import Trained, one_a_model
from experiments.tasks import TokenTask

CONFIG = "atlas_models"
"""The shipped experiment that trains them."""


def shared_models(out: Path, say: Callable[[str], None]) -> Mapping[str, Trained]:
    """The trained models by name, seed 0, trained in ``out`` where they are not there yet.

    Raises :class:`UserError` where ``out`` holds another experiment.
    """
    from experiments.api import run

    say(f"the models that entries share ({out})")
    run(CONFIG, out)
    return {trained.job.model_name: trained for trained in one_a_model(out)}


def held_out(trained: Trained, count: int) -> tuple[Int[Tensor, "windows time"], Int[Tensor, "windows time"]]:
    """``count`` windows spread evenly over the text that the model was not trained on, and the tokens that follow.

    Raises :class:`UserError` where there are fewer.
    """
    task = load_task(trained.job)
    assert isinstance(task, TokenTask)
    inputs, targets = task.result_windows()[0]
    if count > len(inputs):
        raise UserError(f"{count} windows of held-out text were asked for, it has {len(inputs)}; ask for fewer")
    chosen = torch.linspace(0, len(inputs) - 1, count).long()
    return inputs[chosen], targets[chosen]
