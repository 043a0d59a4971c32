"""What is impossible together in an experiment file whose values are fine one by one, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.located.error_messages import choices, suggestion
from experiments.located.yaml_positions import Contradiction
from experiments.located.yaml_source import KeyPath
from experiments.schema.base import Clash
from experiments.schema.experiment import BEST_CLASSICAL, Comparison, ExperimentFile, Training
from experiments.schema.model_kinds import MODELS, ModelConfig
from experiments.schema.resolve import full_model, merged
from experiments.schema.sweeps import Variant, tasks_of, variants
from experiments.schema.twins import problem

MOST_SEEDS = 1000
"""Of a count of seeds; a larger number is a seed where a count is meant, as a list of one."""


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
    yield from _same([Variant(m.name, full_model(m.config, file.training), m.origin, m.varied) for m in models])
    names, task_names = [model.name for model in models], [task.name for task in tasks]
    yield from _twins(models)
    yield from _learners(models, task_names)
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


def _learners(models: list[Variant[ModelConfig]], tasks: list[str]) -> Iterator[Contradiction]:
    """Models of tasks that do not exist, and tasks that no model learns."""
    for model in models:
        for index, name in enumerate(model.config.tasks or ()):
            if name not in tasks:
                text = f"expected the name of a task ({choices(tasks)}), got '{name}'{suggestion(name, tasks)}"
                yield Contradiction((*model.place(("tasks",)), index), text, (("tasks",),))
    for task in tasks:
        if not any(model.config.learns(task) for model in models):
            text = f"expected a model that learns task '{task}', got none; name it under a model's tasks, or remove it"
            yield Contradiction(("tasks", task), text, (("models",),))


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
