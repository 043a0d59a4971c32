"""From a model's configuration to a language model: a plain dict from kind to builder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from classical.counted import CountedLM
from classical.kneser_ney import KneserNey
from classical.lstm import LSTM
from classical.ngram import NGram
from classical.presets import PRESETS
from classical.transformer import Transformer
from experiments.errors import UserError
from experiments.schema import Job
from experiments.tasks import Task
from experiments.tasks.languages import LanguageTask
from qattn.lm.born_machine import BornMachineConfig, BornMachineLM
from qattn.lm.circuit import CircuitConfig, CircuitLM
from qattn.lm.instrument import InstrumentConfig, InstrumentLM
from qattn.lm.mean_field import MeanFieldConfig, MeanFieldLM
from qattn.lm.no_register import NoRegisterConfig, NoRegisterLM
from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM
from qattn.lm.unitary import UnitaryConfig, UnitaryLM

NOT_FOR_THE_MODEL = {"kind", "optimizer", "preset"}


def _chosen(config: Any, vocab: int) -> dict[str, Any]:
    """The fields a person or a default set; null means "as the preset has it", ``rank: fit`` depends on ``vocab``."""
    values = config.model_dump(exclude=NOT_FOR_THE_MODEL)
    if values.get("rank") == "fit":
        values["rank"] = max(4, -(-config.dim // vocab))
    return {key: value for key, value in values.items() if value is not None}


def transformer(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return Transformer(PRESETS[config.preset](vocab, block, **_chosen(config, vocab)), generator=generator)


def unitary(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return UnitaryLM(UnitaryConfig(vocab=vocab, **_chosen(config, vocab)), generator=generator)


def mean_field(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return MeanFieldLM(MeanFieldConfig(vocab=vocab, **_chosen(config, vocab)), generator=generator)


def recurrent(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return UnitaryRecurrentLM(RecurrentConfig(vocab=vocab, **_chosen(config, vocab)), generator=generator)


def no_register(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return NoRegisterLM(NoRegisterConfig(vocab=vocab, **_chosen(config, vocab)), generator=generator)


def permutation(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    chosen = RecurrentConfig(vocab=vocab, transition="permutation", **_chosen(config, vocab))
    return UnitaryRecurrentLM(chosen, generator=generator)


def instrument(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return InstrumentLM(InstrumentConfig(vocab=vocab, **_chosen(config, vocab)), generator=generator)


def born_machine(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    chosen = {"longest": block, **_chosen(config, vocab)}
    return BornMachineLM(BornMachineConfig(vocab=vocab, **chosen), generator=generator)


def circuit(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return CircuitLM(CircuitConfig(vocab=vocab, **_chosen(config, vocab)), generator=generator)


def lstm(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    return LSTM(vocab, **_chosen(config, vocab), generator=generator)


def ngram(config: Any, vocab: int, block: int, generator: torch.Generator) -> nn.Module:
    if config.smoothing == "kneser_ney":
        return CountedLM(KneserNey(config.order, vocab, config.discount))
    return CountedLM(NGram(config.order, vocab, config.k))


BUILDERS: dict[str, Callable[[Any, int, int, torch.Generator], nn.Module]] = {
    "transformer": transformer,
    "unitary": unitary,
    "mean_field": mean_field,
    "unitary_recurrent": recurrent,
    "instrument": instrument,
    "born_machine": born_machine,
    "circuit": circuit,
    "permutation": permutation,
    "no_register": no_register,
    "classical_recurrent": recurrent,
    "lstm": lstm,
    "ngram": ngram,
}


def build(name: str, config: Any, vocab: int, block: int, seed: int, dtype: str = "float32") -> Any:
    """The model ``name`` of a comparison for texts of ``vocab`` symbols and windows of ``block``, from ``seed`` alone.

    Raises :class:`UserError` naming the model when its sizes cannot fit (a readout that cannot be complete, say).
    """
    try:
        model = BUILDERS[config.kind](config, vocab, block, torch.Generator().manual_seed(seed))
    except ValueError as error:
        raise UserError(f"models.{name} on a vocabulary of {vocab}: {error}") from error
    return model.to(getattr(torch, dtype))


def _strings_for(job: Job, task: Any) -> None:
    """Raise :class:`UserError` unless the task has strings between markers, none longer than the model's prior."""
    where = f"models.{job.model_name} on {job.task_name}"
    if not isinstance(task, LanguageTask):
        wanted = "task kind motzkin, or tomita with asked: next"
        raise UserError(f"{where}: kind born_machine is for strings between markers; expected {wanted}")
    longest = max(task.span - 1, *task.sample_lengths)
    if (job.model.longest or longest) < longest:  # type: ignore[attr-defined]
        raise UserError(f"{where}: longest: expected at least the task's {longest}, got {job.model.longest}")  # type: ignore[attr-defined]


def build_for(job: Job, task: Task) -> Any:
    """The untrained model of one run. Raises :class:`UserError` for a model of strings where the task has none."""
    if job.model.kind == "born_machine":
        _strings_for(job, task)
    return build(job.model_name, job.model, task.vocab, task.block, job.seed, job.training.dtype)


def ledger(model: Any) -> dict[str, int]:
    """How many trainable (or counted) numbers sit where: group → count; tied ones once."""
    parameters = dict(model.named_buffers()) | dict(model.named_parameters())
    return {group: sum(parameters[name].numel() for name in names) for group, names in model.parameter_groups().items()}
