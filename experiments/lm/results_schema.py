"""What a finished experiment leaves on disk, and reading it back: one ``experiment.json`` and a ``result.json`` a run.

The models below say what those files hold and are checked on reading, since a person may hand over any folder. Readers
go on with the plain dictionaries: unknown keys are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError, create_model

from experiments.errors import UserError
from experiments.runs.json_files import read_record
from experiments.schema.audit_columns import AUDIT_COLUMNS

SAME_WINDOWS = ", same windows"
"""How the name of a floor ends that was measured inside the models' windows instead of on the running text."""


def floor_title(name: str) -> str:
    """A floor's name as a row of a table says it: bigram counts; Kneser–Ney 7-gram counts, same windows."""
    counted, windows, _ = name.partition(SAME_WINDOWS)
    return f"{counted} counts{windows}"


class Failure(BaseModel):
    """Where and why a run stopped."""

    step: int | None
    reason: str


class History(BaseModel):
    """(step, nats) pairs of a training; null where the loss was not finite."""

    train: list[tuple[int, float | None]] = []
    validation: list[tuple[int, float | None]] = []


class Sample(BaseModel):
    """One text a model wrote."""

    prompt: str
    text: str
    temperature: float | None = None
    top_k: int | None = None


class _Audit(BaseModel):
    """Largest errors of one run (null with a reason); ``passed`` is null where the model makes no claim."""

    dtype: str | None = None
    budget: float | None = None
    passed: bool | None = None
    reasons: dict[str, str] | None = None


Audit = create_model("Audit", __base__=_Audit, **dict.fromkeys(AUDIT_COLUMNS, (float | None, None)))  # type: ignore[call-overload]


class Result(BaseModel):
    """``result.json`` of one run. Losses are in nats per token, rates in tokens per second, memory in MiB."""

    schema_: Literal[1]
    task: str
    model: str
    kind: str
    rung: str | None = None
    classical: bool | None = None
    strict: bool | None = None
    states: int | None = None
    seed: int
    status: Literal["done", "failed"]
    failure: Failure | None = None
    parameters: int | None = None
    ledger: dict[str, int] | None = None
    flops_per_token: float | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None
    peak_memory_mib: float | None = None
    steps: int | None = None
    tokens_seen: int | None = None
    threads: int | None = None
    val_nats: float | None = None
    test_nats: float | None = None
    bits_per_char: float | None = None
    accuracy: float | None = None
    examples: dict[str, int] | None = None
    preparations: dict[str, float] | None = None
    audit: Audit | None = None  # type: ignore[valid-type]
    samples: list[Sample] | None = None
    history: History | None = None


class Facts(BaseModel):
    """What is known of a task before any training: its size, chance and the floors of n-gram counts, in nats."""

    kind: str | None = None
    vocab: int | None = None
    block: int | None = None
    train_tokens: int | None = None
    validation_tokens: int | None = None
    test_tokens: int | None = None
    characters_per_token: float | None = None
    chance: float | None = None
    floor: dict[str, float | None] | None = None


class Sweep(BaseModel):
    """Models that differ in one number: which key it is, and its value by model."""

    model: str
    key: str
    values: dict[str, float]


class Described(BaseModel):
    """``experiment.json``: everything about an experiment that is not a run."""

    name: str
    comparison: dict[str, Any] | None = None
    tasks: dict[str, Facts]
    description: str = ""
    models: list[str] = []
    sweeps: dict[str, Sweep] = {}
    twins: dict[str, dict[str, str]] = {}
    search: dict[str, Any] | None = None
    config_yaml: str = ""
    environment: dict[str, Any] = {}
    command: str = ""


@dataclass(frozen=True)
class Experiment:
    """An experiment read back, or several put together: plain data for `compare.summarise` and `report.write`."""

    name: str
    comparison: dict[str, Any]
    tasks: dict[str, dict[str, Any]]
    runs: list[dict[str, Any]]
    config_yaml: str
    environment: dict[str, Any]
    command: str
    about: dict[str, Any] = field(default_factory=dict)


def about(described: Mapping[str, Any]) -> dict[str, Any]:
    """Of what ``experiment.json`` says the part that a summary repeats: the models in the order of the file, what a
    search of learning rates found, which models differ in one number, and which are twins.
    """
    wanted: dict[str, Any] = {"description": "", "models": [], "sweeps": {}, "twins": {}, "search": None}
    return {key: described.get(key) or default for key, default in wanted.items()}


def load(folder: Path) -> Experiment:
    """Read an experiment's folder. Raises UserError, naming the file and the fix, for anything that is none."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give the --out folder of a `qattn run`")
    if not (folder / "experiment.json").is_file():
        raise UserError(f"{folder}: holds no experiment.json, so no `qattn run` wrote it; give the --out folder of one")
    described = _read(folder / "experiment.json", Described)
    runs = finished_runs(folder)
    if not runs:
        raise UserError(f"{folder}: no run has finished yet (runs/*/result.json); repeat its `qattn run` to go on")
    return Experiment(
        described["name"],
        described.get("comparison") or {},
        described["tasks"],
        runs,
        described.get("config_yaml") or "",
        described.get("environment") or {},
        described.get("command") or "",
        about(described),
    )


def finished_runs(folder: Path) -> list[dict[str, Any]]:
    """The records of all finished runs in an experiment's folder; none where there is no such folder."""
    return [_read(path, Result) for path in sorted(folder.glob("runs/*/result.json"))]


def combine(experiments: Sequence[tuple[str, Experiment]]) -> Experiment:
    """Several experiments (each with a label, such as its folder) as one.

    Tasks of one name are one task only where their facts agree, and models of one name on one task are told apart by
    their experiment: nothing is averaged across experiments. The first one's confidence and margin hold for all.
    """
    if len(experiments) == 1:
        return experiments[0][1]
    names = [experiment.name for _, experiment in experiments]
    labels = [name if names.count(name) == 1 else label for name, (label, _) in zip(names, experiments, strict=True)]
    tasks: dict[str, dict[str, Any]] = {}
    runs: list[dict[str, Any]] = []
    for label, (_, experiment) in zip(labels, experiments, strict=True):
        renamed = {}
        for task, facts in experiment.tasks.items():
            renamed[task] = task if tasks.get(task, facts) == facts else f"{task} ({label})"
            tasks[renamed[task]] = facts
        runs += [{**run, "task": renamed.get(run["task"], run["task"]), "from": label} for run in experiment.runs]
    owners: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        owners.setdefault((run["task"], run["model"]), set()).add(run["from"])
    for run in runs:
        shared = len(owners[run["task"], run["model"]]) > 1
        run["model"] = f"{run['model']} ({run['from']})" if shared else run["model"]
    first = experiments[0][1]
    environments = {label: each.environment for label, (_, each) in zip(labels, experiments, strict=True)}
    same = all(environment == first.environment for environment in environments.values())
    return Experiment(
        " + ".join(labels),
        {key: first.comparison[key] for key in ("confidence", "equivalence", "metric") if key in first.comparison},
        tasks,
        runs,
        "\n".join(f"# {label}\n{each.config_yaml}" for label, (_, each) in zip(labels, experiments, strict=True)),
        first.environment if same else dict(environments),
        "\n".join(each.command for _, each in experiments),
    )


def _read(path: Path, shape: type[BaseModel]) -> dict[str, Any]:
    value = read_record(path, "delete it and repeat the command that trained it")
    try:
        shape.model_validate({"schema_": value.get("schema"), **value})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join("schema" if part == "schema_" else str(part) for part in first["loc"])
        raise UserError(f"{path}: {key}: {first['msg']}, got {_short(first['input'])}") from error
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
