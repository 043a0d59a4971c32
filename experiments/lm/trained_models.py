"""Trained models from their folders: weights in safetensors, the job in the metadata, no code and no pickle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.lm.builders import build, load_task
from experiments.runs import checkpoint, state_file
from experiments.runs.json_files import checksum, read_text
from experiments.runs.run_folder import RunFolder
from experiments.schema import Job
from experiments.schema.task_kinds import TextTask
from experiments.tasks.tokenizers import Tokenizer, from_json


@dataclass
class Trained:
    """One finished run: its job, its model in evaluation mode, its tokenizer."""

    folder: Path
    job: Job
    model: Any
    tokenizer: Tokenizer

    @property
    def name(self) -> str:
        """Model, task and seed, for a reader."""
        return f"{self.job.model_name} on {self.job.task_name}, seed {self.job.seed}"


def finished(path: Path) -> list[Path]:
    """The run folders with a trained model in ``path``, itself one or an experiment's folder.

    Raises :class:`UserError` when no model qualifies.
    """
    if not path.exists():
        raise UserError(f"{path}: no such folder; give an experiment's --out folder or one of its runs")
    inside = sorted(model.parent for model in path.glob("runs/*/model.safetensors"))
    folders = [path] if RunFolder(path).model.exists() else inside
    if not folders:
        raise UserError(f"{path}: no finished run here; give an experiment's --out folder or one of its runs")
    return folders


def load(folder: Path, dtype: str | None = None) -> Trained:
    """The trained model of one run folder, optionally in another precision.

    Raises :class:`UserError` for a folder that this version cannot read.
    """
    run = RunFolder(folder)
    tensors, metadata = state_file.load(run.model)
    job = Job.from_dict(metadata["job"], run.model)
    text = read_text(run.tokenizer, state_file.FIX)
    if metadata.get("tokenizer") not in (None, checksum(text)):
        raise UserError(
            f"{run.tokenizer}: damaged, it is not the tokenizer that the model was trained with; {state_file.FIX}"
        )
    tokenizer = from_json(text, run.tokenizer)
    model = build(job.model_name, job.model, tokenizer.size, context(job), job.seed, dtype or job.training.dtype)
    checkpoint.restore(model, tensors, run.model)
    return Trained(folder, job, model.eval(), tokenizer)


def context(job: Job) -> int:
    """Tokens of the longest sequence that the job's task has."""
    return job.task.block if isinstance(job.task, TextTask) else load_task(job).block


def one_a_model(path: Path, seed: int | None = None) -> list[Trained]:
    """One trained run for every model and task: of ``seed``, or of the smallest seed finished.

    Raises :class:`UserError` where no run of that seed has finished.
    """
    chosen: dict[tuple[str, str], Trained] = {}
    for trained in map(load, finished(path)):
        key = (trained.job.task_name, trained.job.model_name)
        if seed is not None and trained.job.seed != seed:
            continue
        if key not in chosen or trained.job.seed < chosen[key].job.seed:
            chosen[key] = trained
    if not chosen:
        raise UserError(f"{path}: no finished run with seed {seed}")
    return list(chosen.values())
