"""From what a file says to what runs: variants spelled out, optimizers merged, nothing left to a default.

An optimizer's value comes from the first of: the model's own ``optimizer``, ``training.optimizer``, the kind's
recommended rates (only where nobody wrote ``lr`` or ``rates``), the schema's default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from experiments.located.yaml_positions import Loaded
from experiments.located.yaml_source import KeyPath
from experiments.schema.experiment import (
    Comparison,
    ExperimentFile,
    Output,
    ResolvedTraining,
    TaskTraining,
    Training,
)
from experiments.schema.model_kinds import ModelConfig
from experiments.schema.optimizer_options import Optimizer
from experiments.schema.sweeps import Variant, plain_name, variants
from experiments.schema.task_kinds import TaskConfig


@dataclass(frozen=True)
class Experiment:
    """An experiment in full. Every model carries its merged optimizer; ``origins`` says where each value came from."""

    name: str
    description: str
    tasks: dict[str, TaskConfig]
    models: dict[str, ModelConfig]
    training: ResolvedTraining
    seeds: tuple[int, ...]
    comparison: Comparison
    output: Output
    workers: int
    origins: dict[KeyPath, str]
    sweeps: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Models that a grid made differ in one number: `model`, `key` and its `values` by model, for a curve."""

    def data(self) -> dict[str, Any]:
        """Plain data that, written as YAML, is a file of the same experiment."""
        return {
            "name": self.name,
            "description": self.description,
            "tasks": {name: task.model_dump(mode="json") for name, task in self.tasks.items()},
            "models": {name: _optimizer_last(model.model_dump(mode="json")) for name, model in self.models.items()},
            "training": self.training.model_dump(mode="json"),
            "seeds": list(self.seeds),
            "comparison": self.comparison.model_dump(mode="json"),
            "output": self.output.model_dump(mode="json"),
            "workers": self.workers,
        }


def resolve(loaded: Loaded[ExperimentFile]) -> Experiment:
    """The experiment of a file that :func:`load_experiment` found free of contradictions."""
    file = loaded.value
    tasks, models, _ = variants(file)
    training = file.training
    every = training.evaluate_every or max(1, training.steps // 4)
    optimizer = _complete(training.optimizer, training.steps)
    written = {name: getattr(training, name) for name in Training.model_fields}
    by_task = {task: _full_task(own, training, every) for task, own in training.tasks.items()}
    full = ResolvedTraining(**{**written, "evaluate_every": every, "optimizer": optimizer, "tasks": by_task})
    name = file.name or plain_name(loaded.path.stem)
    experiment = Experiment(
        name=name,
        description=file.description,
        tasks={task.name: task.config.model_copy(update=task.config.filled(loaded.path.parent)) for task in tasks},
        models={model.name: full_model(model.config, training) for model in models},
        training=full,
        seeds=tuple(range(file.seeds)) if isinstance(file.seeds, int) else tuple(file.seeds),
        comparison=file.comparison,
        output=file.output.model_copy(update={"dir": file.output.dir or f"runs/{name}"}),
        workers=file.workers,
        origins={},
        sweeps=_sweeps(file, models),
    )
    places = {("tasks", task.name): task for task in tasks} | {("models", model.name): model for model in models}
    for path, _ in leaves(experiment.data()):
        experiment.origins[path] = _origin(path, loaded, places, experiment)
    return experiment


def _sweeps(file: ExperimentFile, models: list[Variant[ModelConfig]]) -> dict[str, dict[str, Any]]:
    """The models that one axis of numbers made of one, where there are three or more."""
    found: dict[str, dict[str, Any]] = {}
    for model in models:
        if len(model.varied) != 1:
            continue
        ((inner, (table, axis, index)),) = model.varied.items()
        value = getattr(file, str(table))[axis][index]
        if isinstance(value, int | float) and not isinstance(value, bool):
            base, key = str(model.origin[1]), ".".join(map(str, inner))
            sweep = found.setdefault(f"{base}.{key}", {"model": base, "key": key, "values": {}})
            sweep["values"][model.name] = value
    return {name: sweep for name, sweep in found.items() if len(sweep["values"]) >= 3}


def merged(model: ModelConfig, training: Training) -> Optimizer:
    """The optimizer of a model: its own fields, then the training's, then the kind's rates, then the defaults."""
    written = {**_written(training.optimizer), **_written(model.optimizer)}
    if "lr" not in written and "rates" not in written:
        written["rates"] = model.recommended_rates()
    return Optimizer(**written)


def leaves(data: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """The values of nested mappings; a list and an empty mapping are values."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    else:
        yield path, data


def full_model(model: ModelConfig, training: Training) -> ModelConfig:
    """A model with its optimizer merged, and nothing left null that follows from something else."""
    optimizer = _complete(merged(model, training), training.steps)
    return model.model_copy(update={**model.filled(), "optimizer": optimizer})


def _complete(optimizer: Optimizer, steps: int) -> Optimizer:
    """The null fields of an optimizer, filled as their documentation says."""
    values: dict[str, object] = {}
    if optimizer.min_lr is None:
        values["min_lr"] = float(f"{optimizer.lr / 10:.12g}")
    if optimizer.muon_lr is None and optimizer.kind == "muon":
        values["muon_lr"] = 0.02
    if optimizer.warmup is None:
        values["warmup"] = min(100, steps // 10)
    return optimizer.model_copy(update=values)


def _full_task(own: TaskTraining, training: Training, every: int) -> TaskTraining:
    """What a task's own training leaves null, from the training of all and from its own steps."""
    steps = own.steps or training.steps
    asked = own.evaluate_every or (every if own.steps is None else max(1, steps // 4))
    return TaskTraining(steps=steps, batch=own.batch or training.batch, evaluate_every=asked)


def _optimizer_last(data: dict[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in data.items() if key != "optimizer"}, "optimizer": data["optimizer"]}


def _written(optimizer: Optimizer) -> dict[str, Any]:
    return {name: getattr(optimizer, name) for name in optimizer.model_fields_set}


def _origin(
    path: KeyPath, loaded: Loaded[ExperimentFile], places: dict[tuple[str, str], Variant[Any]], experiment: Experiment
) -> str:
    """Where the value at a path of the resolved experiment came from."""
    variant = places.get((str(path[0]), str(path[1]))) if len(path) > 2 else None
    inner = path[2:]
    candidates = (
        [variant.place(inner[:1]), variant.place(inner[:2]), variant.place(inner)] if variant is not None else [path]
    )
    if variant is not None and inner[0] == "optimizer":
        candidates = [variant.place(inner), variant.place(inner[:2]), ("training", *inner), ("training", *inner[:2])]
    for candidate in candidates:
        if candidate in loaded.origins:
            return loaded.origins[candidate]
    return _default(path, experiment, loaded)


def _default(path: KeyPath, experiment: Experiment, loaded: Loaded[ExperimentFile]) -> str:
    model = experiment.models.get(str(path[1])) if path[0] == "models" else None
    if path == ("name",):
        return f"the name of {loaded.path.name}"
    if model is not None and path[2:4] == ("optimizer", "rates") and model.optimizer.rates:
        return f"default of kind {model.kind}"
    if model is not None and len(path) == 3 and getattr(model, str(path[2])) is None and hasattr(model, "preset"):
        return f"preset {model.preset}"
    return "default: lr / 10" if path[-1] == "min_lr" else "default"
