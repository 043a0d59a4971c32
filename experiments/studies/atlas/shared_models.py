"""The small language models that entries of the atlas look into: one experiment, trained once per folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from experiments.lm.trained_models import Trained

CONFIG = "atlas_models"
"""The shipped experiment that trains them."""


def shared_models(out: Path, say: Callable[[str], None]) -> Mapping[str, Trained]:
    """The trained models by name, seed 0, trained in ``out`` where they are not there yet.

    Raises :class:`UserError` where ``out`` holds another experiment.
    """
    from experiments.api import run
    from experiments.lm.trained_models import one_a_model

    say(f"the models that entries share ({out})")
    run(CONFIG, out)
    return {trained.job.model_name: trained for trained in one_a_model(out)}
