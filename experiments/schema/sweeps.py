"""``grid:`` and ``zip:``: a model (or task) with lists of values becomes one a combination, named after what varies."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from experiments.located.error_messages import complaints, describe, suggestion
from experiments.located.yaml_positions import Contradiction
from experiments.located.yaml_source import Document, KeyPath
from experiments.schema.base import Kind
from experiments.schema.experiment import ExperimentFile
from experiments.schema.model_kinds import ModelConfig
from experiments.schema.task_kinds import TaskConfig

Config = TypeVar("Config", bound=Kind)
Setting = tuple[KeyPath, Any, KeyPath]
"""A path below the model or task, its value, and where in the file the value stands."""


MOST_VARIANTS = 1000
"""Of one grid."""


@dataclass(frozen=True)
class Axis:
    """One key of a grid or zip: what it varies, and its values."""

    table: str  # "grid" or "zip"
    key: str
    section: str  # "models" or "tasks"
    target: str | None  # a name; None is every model
    inner: KeyPath
    values: list[Any]

    def setting(self, index: int) -> Setting:
        """What one value of the axis sets, and where it stands in the file."""
        return self.inner, self.values[index], (self.table, self.key, index)


@dataclass(frozen=True)
class Variant(Generic[Config]):
    """A model or task as it will run; ``origin`` is its place in the file, ``varied`` that of each varied value."""

    name: str
    config: Config
    origin: KeyPath
    varied: dict[KeyPath, KeyPath] = field(default_factory=dict)

    def place(self, inner: KeyPath) -> KeyPath:
        """Where the value of a field was written, if it was."""
        return self.varied.get(inner, (*self.origin, *inner))


def plain_name(text: str) -> str:
    """A text as a name: what names do not allow becomes ``_``."""
    return re.sub(r"[^\w +=.,@-]", "_", text) or "_"


def tasks_of(file: ExperimentFile) -> dict[str, tuple[KeyPath, TaskConfig]]:
    """The tasks by name with their place in the file, whether written as ``task`` or ``tasks``."""
    if file.task is not None:
        return {plain_name(file.task.default_name()): (("task",), file.task)}
    return {name: (("tasks", name), task) for name, task in (file.tasks or {}).items()}


def variants(file: ExperimentFile) -> tuple[list[Variant[TaskConfig]], list[Variant[ModelConfig]], list[Contradiction]]:
    """All tasks and models after ``grid`` and ``zip``, and what is wrong with these."""
    problems: list[Contradiction] = []
    axes = [*_axes(file, "grid", file.grid, problems), *_axes(file, "zip", file.zip, problems)]
    zipped = [axis for axis in axes if axis.table == "zip"]
    if len({len(axis.values) for axis in zipped}) > 1:
        lengths = ", ".join(f"{len(axis.values)} for {axis.key}" for axis in zipped)
        problems.append(Contradiction(("zip",), f"expected lists of one length, got {lengths}"))
        axes = [axis for axis in axes if axis.table == "grid"]
    combinations = math.prod(len(axis.values) for axis in axes if axis.table == "grid")
    if combinations > MOST_VARIANTS:
        text = f"expected at most {MOST_VARIANTS} combinations, got {combinations}; give fewer values"
        problems.append(Contradiction(("grid",), text))
        axes = [axis for axis in axes if axis.table == "zip"]
    if {axis.section for axis in zipped} == {"models", "tasks"}:
        text = "expected keys of models only or of tasks only, since every model learns every task, got both; use grid"
        problems.append(Contradiction(("zip",), text))
    tasks = [
        found
        for name, (place, task) in tasks_of(file).items()
        for found in _vary(
            name, task, place, [axis for axis in axes if (axis.section, axis.target) == ("tasks", name)], problems
        )
    ]
    models = [
        found
        for name, model in file.models.items()
        for found in _vary(
            name,
            model,
            ("models", name),
            [axis for axis in axes if axis.section == "models" and axis.target in (None, name)],
            problems,
        )
    ]
    for names in ([variant.name for variant in tasks], [variant.name for variant in models]):
        for name in {name for name in names if names.count(name) > 1}:
            text = f"expected different names, got '{name}' {names.count(name)} times; remove the repeated value"
            problems.append(Contradiction(("grid",) if file.grid else ("zip",), text))
    return tasks, models, problems


def _axes(
    file: ExperimentFile, table: str, entries: Mapping[str, list[Any]], problems: list[Contradiction]
) -> Iterator[Axis]:
    tasks = list(tasks_of(file))
    for key, values in entries.items():
        section, _, rest = key.partition(".")
        names = {"models": list(file.models), "tasks": tasks}.get(section)
        target: str | None = None
        if section == "training" and rest.startswith("optimizer."):
            yield Axis(table, key, "models", None, tuple(rest.split(".")), values)
            continue
        if section == "task" and file.task is not None and rest:
            target, rest, section = tasks[0], rest, "tasks"
        elif names is not None:
            target = max((name for name in names if rest.startswith(f"{name}.")), key=len, default=None)
            if target is None:
                written = rest.partition(".")[0]
                hint = suggestion(written, names)
                text = f"expected {section}.NAME.key with a NAME of {', '.join(names)}, got '{key}'{hint}"
                problems.append(Contradiction((table, key), text, ((section,),)))
                continue
            rest = rest[len(target) + 1 :]
        if target is None or not rest:
            text = f"expected a key below models.NAME, tasks.NAME or training.optimizer, got '{key}', which cannot vary"
            problems.append(Contradiction((table, key), text))
        elif rest == "kind":
            problems.append(
                Contradiction((table, key), f"expected a key other than kind, got '{key}'; write two {section} instead")
            )
        else:
            yield Axis(table, key, section, target, tuple(rest.split(".")), values)


def _vary(
    name: str, config: Config, place: KeyPath, axes: list[Axis], problems: list[Contradiction]
) -> Iterator[Variant[Config]]:
    """Every combination of the values on ``axes``; those of ``zip`` move together."""
    if not axes:
        yield Variant(name, config, place)
        return
    for one, other in itertools.combinations(axes, 2):
        if one.inner == other.inner:
            text = f"expected each value to vary once, got '{other.key}' beside '{one.key}'"
            problems.append(Contradiction((other.table, other.key), text))
            return
    steps: list[list[list[Setting]]] = [
        [[axis.setting(index)] for index in range(len(axis.values))] for axis in axes if axis.table == "grid"
    ]
    together = [axis for axis in axes if axis.table == "zip"]
    if together:
        steps.append([[axis.setting(index) for axis in together] for index in range(len(together[0].values))])
    leaves = [axis.inner[-1] for axis in axes]
    for combination in itertools.product(*steps):
        settings = [setting for part in combination for setting in part]
        labels = [
            f"{inner[-1] if leaves.count(inner[-1]) == 1 else '.'.join(map(str, inner))}={_short(value)}"
            for inner, value, _ in settings
        ]
        varied = _with(config, settings, problems)
        if varied is not None:
            yield Variant(
                plain_name(" ".join([name, *labels])), varied, place, {inner: spot for inner, _, spot in settings}
            )


def _with(config: Config, settings: list[Setting], problems: list[Contradiction]) -> Config | None:
    """``config`` with other values, validated anew; None if they are wrong."""
    data = config.model_dump(mode="json", exclude_unset=True)
    for inner, value, _ in settings:
        here = data
        for part in inner[:-1]:
            if not isinstance(here.get(str(part)), dict):
                here[str(part)] = {}
            here = here[str(part)]
        here[str(inner[-1])] = value
    try:
        return type(config).model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        for problem, _ in complaints(error, type(config), Document("", data)):
            spots = [
                spot
                for inner, _, spot in settings
                if problem.path[: len(inner)] == inner or inner[: len(problem.path)] == problem.path
            ]
            problems.append(Contradiction(spots[0] if spots else settings[0][2], problem.text))
        return None


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_short, value))
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else describe(value)
