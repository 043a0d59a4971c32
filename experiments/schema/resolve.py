"""From what a file says to what runs: variants spelled out, optimizers merged, nothing left to a default.

An optimizer's value comes from the first of: the model's own ``optimizer``, ``training.optimizer``, the kind's
recommended rates (only where nobody wrote ``lr`` or ``rates``), the schema's default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.located.error_messages import choices, suggestion
from experiments.located.yaml_positions import Contradiction, Loaded
from experiments.located.yaml_source import KeyPath
from experiments.schema.base import Clash
from experiments.schema.experiment import (
    BEST_CLASSICAL,
    Comparison,
    ExperimentFile,
    Output,
    ResolvedTraining,
    TaskTraining,
    Training,
)
from experiments.schema.model_kinds import MODELS, ModelConfig
from experiments.schema.optimizer_options import Optimizer
from experiments.schema.sweeps import Variant, plain_name, tasks_of, variants
from experiments.schema.task_kinds import TaskConfig
from experiments.schema.twins import problem

MOST_SEEDS = 1000
"""Of a count of seeds; a larger number is a seed where a count is meant, as a list of one."""


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
        models={model.name: _full_model(model.config, training) for model in models},
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


def contradictions(file: ExperimentFile, path: Path) -> Iterator[Contradiction]:
    """All that is impossible together in an experiment whose values are fine one by one.

    Whether a projective readout fits the vocabulary is not among it: that is known only when the text has been read.
    """
    if file.task is not None and file.tasks is not None:
        yield Contradiction(
            ("task",), "expected either 'task' or 'tasks', got both; move the one into the other", (("tasks",),)
        )
    if not tasks_of(file):
        yield Contradiction((), "expected a 'task' or 'tasks', got neither")
    tasks, models, problems = variants(file)
    yield from problems
    for task in tasks:
        yield from (_contradiction(clash, task) for clash in task.config.clashes())
        missing = task.config.problem_with_files(path.parent)
        if missing is not None:
            yield _contradiction(missing, task)
    for model in models:
        yield from (_contradiction(clash, model) for clash in model.config.clashes())
        yield from _optimizer(model, file.training)
    yield from (_at(("training",), clash) for clash in file.training.clashes())
    yield from (_at(("comparison",), clash) for clash in file.comparison.clashes())
    yield from _by_task(file.training, [task.name for task in tasks])
    yield from _search(file)
    yield from _same([task for task in tasks if not _at_its_own_size(task.name, file)])
    yield from _same([Variant(m.name, _full_model(m.config, file.training), m.origin, m.varied) for m in models])
    names, task_names = [model.name for model in models], [task.name for task in tasks]
    yield from _twins(models)
    yield from _comparison(file.comparison, models, task_names)
    yield from _published(file, names, task_names)
    if isinstance(file.seeds, int) and file.seeds > MOST_SEEDS:
        text = (
            f"expected a count of at most {MOST_SEEDS}, got {file.seeds} (did you mean [{file.seeds}], this one seed?)"
        )
        yield Contradiction(("seeds",), text)
    if isinstance(file.seeds, list):
        for index, seed in enumerate(file.seeds):
            if seed in file.seeds[:index]:
                yield Contradiction(("seeds", index), f"expected each seed once, got {seed} again", (("seeds",),))


def _twins(models: list[Variant[ModelConfig]]) -> Iterator[Contradiction]:
    """Twins of a model that does not exist, or from which they do not differ in one thing."""
    configs = {model.name: model.config for model in models}
    pairs = [(model, original) for model in models for original in model.config.originals]
    for model, original in pairs:
        place = model.place(("twin_of",))
        if original not in configs:
            text = f"expected the name of a model ({choices(configs)}), got '{original}'{suggestion(original, configs)}"
            yield Contradiction(place, text, (("models",),))
        elif (wrong := problem(model.config, original, configs)) is not None:
            yield Contradiction(place, wrong, (("models", original),))


def _comparison(
    comparison: Comparison, models: list[Variant[ModelConfig]], tasks: list[str]
) -> Iterator[Contradiction]:
    """Names of models and tasks that do not exist; a best classical model where none is classical."""
    names = [model.name for model in models]
    for key, name in (("reference", comparison.reference), ("match_to", comparison.match_to)):
        if name is None or name in names:
            continue
        if key == "reference" and name == BEST_CLASSICAL:
            if not any(model.config.classical for model in models):
                kinds = " or ".join(kind for kind, model in MODELS.items() if model.classical)
                text = f"expected a trained classical model (kind {kinds}) among the models, got none"
                yield Contradiction(("comparison", key), text, (("models",),))
            continue
        text = f"expected the name of a model ({choices(names)}), got '{name}'{suggestion(name, names)}"
        yield Contradiction(("comparison", key), text, (("models",),))
    if isinstance(comparison.size, dict):
        yield from _names_of_tasks(("comparison", "size"), comparison.size, tasks)
        missing = [task for task in tasks if task not in comparison.size]
        if missing:
            text = f"expected a size for every task, got none for {choices(missing)}"
            yield Contradiction(("comparison", "size"), text, (("tasks",),))


def _by_task(training: Training, tasks: list[str]) -> Iterator[Contradiction]:
    yield from _names_of_tasks(("training", "tasks"), training.tasks, tasks)
    for name, own in training.tasks.items():
        yield from (_at(("training", "tasks", name), clash) for clash in own.clashes())
        if own.steps is None and own.evaluate_every is not None and own.evaluate_every > training.steps:
            text = f"expected at most training.steps ({training.steps}), got {own.evaluate_every}"
            yield Contradiction(("training", "tasks", name, "evaluate_every"), text, (("training", "steps"),))


def _names_of_tasks(place: KeyPath, given: dict[str, Any], tasks: list[str]) -> Iterator[Contradiction]:
    for name in given:
        if name not in tasks:
            text = f"expected the name of a task ({choices(tasks)}), got '{name}'{suggestion(name, tasks)}"
            yield Contradiction((*place, name), text, (("tasks",),))


def _search(file: ExperimentFile) -> Iterator[Contradiction]:
    search, training = file.training.search, file.training
    if search is None:
        return
    place: KeyPath = ("training", "search")
    yield from (_at(place, clash) for clash in search.clashes())
    seeds = range(file.seeds) if isinstance(file.seeds, int) else file.seeds
    if search.seed in seeds:
        text = f"expected a seed that is not compared, got {search.seed}, which is among the seeds"
        yield Contradiction((*place, "seed"), text, (("seeds",),))
    if search.steps > training.steps:
        text = f"expected at most training.steps ({training.steps}), got {search.steps}"
        yield Contradiction((*place, "steps"), text, (("training", "steps"),))


def _published(file: ExperimentFile, models: list[str], tasks: list[str]) -> Iterator[Contradiction]:
    """Published figures of models, tasks or steps that this experiment does not have."""
    every = file.training.evaluate_every or max(1, file.training.steps // 4)
    for index, entry in enumerate(file.comparison.published):
        place: KeyPath = ("comparison", "published", index)
        yield from (_at(place, clash) for clash in entry.clashes())
        if entry.model not in models:
            text = f"expected the name of a model ({choices(models)}), got '{entry.model}'"
            yield Contradiction((*place, "model"), text + suggestion(entry.model, models), (("models",),))
        if entry.task is None and len(tasks) > 1:
            yield Contradiction(
                place, f"expected a task beside it ({choices(tasks)}), since there are several, got none"
            )
        elif entry.task is not None and entry.task not in tasks:
            text = f"expected the name of a task ({choices(tasks)}), got '{entry.task}'{suggestion(entry.task, tasks)}"
            yield Contradiction((*place, "task"), text, (("tasks",),))
        if entry.step is not None and entry.step != file.training.steps and (
            entry.step % every or entry.step > file.training.steps
        ):  # fmt: skip
            text = f"expected a step that is evaluated (every {every}, up to {file.training.steps}), got {entry.step}"
            yield Contradiction((*place, "step"), text, (("training", "evaluate_every"),))


def _optimizer(model: Variant[ModelConfig], training: Training) -> Iterator[Contradiction]:
    """Contradictions of a merged optimizer, said where the value was written: at the model or at the training."""
    optimizer = merged(model.config, training)
    own = model.config.optimizer.model_fields_set

    def place(key: str) -> KeyPath:
        if key in own or key not in training.optimizer.model_fields_set:
            return model.place(("optimizer", key))
        return ("training", "optimizer", key)

    for key, expected, got, others in optimizer.clashes():
        yield Contradiction(place(key), f"expected {expected}, got {got}", tuple(map(place, others)))
    if optimizer.warmup is not None and optimizer.warmup > training.steps:
        text = f"expected at most training.steps ({training.steps}), got {optimizer.warmup}"
        yield Contradiction(place("warmup"), text, (("training", "steps"),))
    if model.config.optimizer.z_loss and not model.config.has_softmax:
        text = f"expected a model that a softmax reads, got '{model.name}', which has no sum Z; remove z_loss"
        yield Contradiction(model.place(("optimizer", "z_loss")), text)
    known = model.config.groups
    for group in optimizer.rates:
        if group not in known:
            whose = f"a parameter group of '{model.name}' ({model.config.kind}: {', '.join(known)})"
            yield Contradiction((*place("rates"), group), f"expected {whose}, got '{group}'{suggestion(group, known)}")


def _contradiction(clash: Clash, variant: Variant[Any]) -> Contradiction:
    key, expected, got, others = clash
    against = tuple(variant.place((other,)) for other in others)
    return Contradiction(variant.place((key,)), f"expected {expected}, got {got}", against)


def _at(place: KeyPath, clash: Clash) -> Contradiction:
    key, expected, got, others = clash
    return Contradiction((*place, key), f"expected {expected}, got {got}", tuple((*place, other) for other in others))


def _at_its_own_size(task: str, file: ExperimentFile) -> bool:
    """Whether a task is told apart by its steps, batch or size of the models: the axes of a scaling law."""
    sizes = file.comparison.size
    return task in file.training.tasks and isinstance(sizes, dict) and task in sizes


def _same(entries: list[Variant[Any]]) -> Iterator[Contradiction]:
    """Two names for one thing: it would be trained twice to compare it with itself."""
    for index, entry in enumerate(entries):
        for earlier in entries[:index]:
            if entry.config == earlier.config:
                text = (
                    f"expected a difference from '{earlier.name}', got the same in every field; remove one or change it"
                )
                yield Contradiction(entry.origin, text, (earlier.origin,))
                break


def _full_model(model: ModelConfig, training: Training) -> ModelConfig:
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
