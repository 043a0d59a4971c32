"""The schema of an experiment file: which models learn which tasks, how, with which seeds, and what is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from experiments.located.tagged_union import ByKind
from experiments.schema.base import (
    Clash,
    Fraction,
    Name,
    NonNegative,
    Positive,
    PositiveInt,
    Seed,
    Strict,
)
from experiments.schema.model_kinds import MODELS, ModelConfig
from experiments.schema.optimizer_options import Optimizer
from experiments.schema.task_kinds import TASKS, TaskConfig

AnyTask = Annotated[TaskConfig, ByKind(TASKS)]
AnyModel = Annotated[ModelConfig, ByKind(MODELS)]
BEST_CLASSICAL = "best classical"
"""The `comparison.reference` that is found out by the results, task by task."""

Variations = dict[str, Annotated[list[Any], Field(min_length=1)]]


class TaskTraining(Strict):
    """What is different in the training on one task, for every model. A warm-up is at most a tenth of its steps, or
    as large a share of them as it is of `training.steps`."""

    steps: PositiveInt | None = None
    """Updates of the parameters; null is `training.steps`."""
    batch: PositiveInt | None = None
    """Sequences a step; null is `training.batch`."""
    evaluate_every: PositiveInt | None = None
    """Steps between evaluations; null is a quarter of the steps."""

    def clashes(self) -> Iterator[Clash]:
        if self.evaluate_every is not None and self.steps is not None and self.evaluate_every > self.steps:
            yield "evaluate_every", f"at most steps ({self.steps})", str(self.evaluate_every), ("steps",)


class Search(Strict):
    """The same search of a learning rate for every model on every task, on a seed that is not compared.

    Each factor multiplies all rates of a model's optimizer; the least validation loss after `steps` wins. Where it is
    the outermost factor, the search continues past it. What was found, and the budget, stand in the report.
    """

    factors: Annotated[list[Positive], Field(min_length=2)] = Field(default_factory=lambda: [0.5, 1.0, 2.0])
    """What the rates are multiplied by, each once."""
    steps: PositiveInt = 300
    """Steps of each trial, with a warm-up and a schedule of their own; at most those of the task."""
    seed: Seed = 1000
    """The seed of every trial."""
    beyond: Annotated[int, Field(ge=0, le=12)] = 4
    """The most trials past the written factors, for every model on every task: while the largest (smallest) factor is
    the best, the next one is tried, at the ratio of the outermost two. 0 is none. The report says where the bound was
    hit."""

    def clashes(self) -> Iterator[Clash]:
        if len(set(self.factors)) < len(self.factors):
            yield "factors", "each factor once", ", ".join(f"{factor:g}" for factor in self.factors), ()


class Training(Strict):
    """How long and with what every model is trained: the same steps on the same tokens in the same order."""

    steps: PositiveInt = 2000
    """Updates of the parameters."""
    batch: PositiveInt = 12
    """Sequences a step."""
    evaluate_every: PositiveInt | None = None
    """Steps between evaluations on the whole validation split; null is a quarter of the steps. The end always is."""
    log_every: PositiveInt = 10
    """Steps between lines in the training log."""
    checkpoint_every: PositiveInt = 250
    """Steps between checkpoints; a killed run loses at most so many."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision of the parameters (complex ones have two such numbers)."""
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    """Processor threads a run. One is the fastest for small models; use workers for more processors."""
    optimizer: Optimizer = Optimizer()
    """The optimizer of every model, where the model has no own."""
    tasks: dict[Name, TaskTraining] = Field(default_factory=dict)
    """By the name of a task: what is different there."""
    search: Search | None = None
    """Search every model's learning rate first, with the same budget; null: rates as written."""

    def clashes(self) -> Iterator[Clash]:
        if self.evaluate_every is not None and self.evaluate_every > self.steps:
            yield "evaluate_every", f"at most steps ({self.steps})", str(self.evaluate_every), ("steps",)


class ResolvedTraining(Training):
    """A training with nothing left to a default."""

    evaluate_every: PositiveInt

    def of(self, task: str) -> ResolvedTraining:
        """The training on one task."""
        own = self.tasks.get(task, TaskTraining())
        different = {key: value for key, value in own.model_dump().items() if value is not None}
        return self.model_copy(update={**different, "tasks": {}, "search": None})


class Published(Strict):
    """A figure that somebody has published, to stand beside ours in the report."""

    model: str
    """The model of this experiment that it is compared with."""
    task: str | None = None
    """The task; null is the only one."""
    metric: Literal["val_nats", "test_nats", "bits_per_char", "accuracy"]
    """What was measured: nats per token on the validation or the test split, bits per character (on the test
    split, where there is one), or a share of right answers between 0 and 1."""
    split: str | None = Field(default=None, min_length=1)
    """Which of the task's own measurements, by its name there (`length 30`); null is the metric itself."""
    step: PositiveInt | None = None
    """The loss after so many steps, with metric val_nats; null is that of the end."""
    value: NonNegative
    """The published figure."""
    within: NonNegative | None = None
    """The largest difference that is called reproduced; null leaves that to the reader."""
    source: str = Field(min_length=1)
    """Where it was published."""

    def clashes(self) -> Iterator[Clash]:
        if self.step is not None and self.metric != "val_nats":
            yield (
                "step",
                "metric: val_nats beside it, of which the history is kept",
                f"metric: {self.metric}",
                ("metric",),
            )
        if self.step is not None and self.split is not None:
            yield "step", "either step or split", "both; remove one", ("split",)
        if self.metric == "accuracy" and self.value > 1:
            yield "value", "a share between 0 and 1 for metric accuracy", f"{self.value:g}", ("metric",)


class Comparison(Strict):
    """How the models are compared: paired by seed."""

    reference: str | None = None
    """The model that every other one is tested against; `best classical` is, task by task, the trained model of
    a classical kind (transformer, lstm) with the best mean; null tests every pair."""
    confidence: Fraction = 0.95
    """Of the intervals over seeds."""
    equivalence: NonNegative = 0.02
    """Half width of the region of practical equivalence, in nats per token."""
    match: Literal["parameters", "flops", "time"] | None = None
    """Change the width of every other model until it has the parameters, or the operations per token, of `match_to` to
    within two percent, or its processor time a training step, measured side by side on this machine, to within ten;
    the report says what was changed. null: sizes as written."""
    match_to: str | None = None
    """The model whose size is met; null is the reference."""
    size: PositiveInt | dict[Name, PositiveInt] | None = None
    """Instead of a model's size the number itself, one for all tasks or one per task; every model is brought to it."""
    published: list[Published] = Field(default_factory=list)
    """Published figures; the report has each beside ours, with the difference."""

    def clashes(self) -> Iterator[Clash]:
        named = self.match_to is not None or self.reference not in (None, BEST_CLASSICAL)
        if self.match is None:
            for key in ("match_to", "size"):
                if getattr(self, key) is not None:
                    yield key, "match: parameters, flops or time beside it", "none", ()
        elif self.size is not None and self.match_to is not None:
            yield "size", "either match_to or size", "both; remove one", ("match_to",)
        elif self.size is not None and self.match == "time":
            yield "size", "match: parameters or flops beside it", "'time', which needs match_to: a model", ("match",)
        elif self.size is None and not named:
            got = f"'{self.match}' without"
            yield "match", "a model beside it whose size is to be met (reference or match_to), or a size", got, ()


class Sample(Strict):
    """The text that each model writes for the report."""

    prompt: str | None = Field(default=None, min_length=1)
    """What the models continue; null is the first line of the validation split."""
    tokens: PositiveInt = 200
    """How many tokens to write."""
    temperature: NonNegative = 0.8
    """0 always takes the likeliest token."""
    top_k: PositiveInt | None = None
    """Draw among the k likeliest tokens; null is among all."""


class Output(Strict):
    """What is written, and where."""

    dir: str | None = Field(default=None, min_length=1)
    """The folder of the results, from the working directory; null is `runs/` and the name."""
    sample: Sample = Sample()
    """The samples in the report."""


class ExperimentFile(Strict):
    """An experiment as written in a file. Only a task and a model must be given."""

    model_config = ConfigDict(defer_build=True)  # until its first use, when the packages with more kinds are loaded

    name: Name | None = None
    """A short name; null is the file's own."""
    description: str = ""
    """What the experiment is to find out; printed in the report."""
    task: AnyTask | None = None
    """The one task, named after its file or kind. Write either `task` or `tasks`."""
    tasks: dict[Name, AnyTask] | None = Field(default=None, min_length=1)
    """The tasks by name."""
    models: dict[Name, AnyModel] = Field(min_length=1)
    """The models by name; each learns each task, or those that its `tasks` name."""
    training: Training = Training()
    """How every model is trained."""
    seeds: PositiveInt | Annotated[list[Seed], Field(min_length=1)] = 6
    """A count n (at most 1000), for the seeds 0 to n−1, or a list of seeds. Six are the fewest that can tell two
    models apart."""
    comparison: Comparison = Comparison()
    """How the models are compared."""
    output: Output = Output()
    """The folder of the results, and the samples in the report."""
    workers: PositiveInt = 1
    """Runs side by side, each in its own process."""
    grid: Variations = Field(default_factory=dict)
    """Keys such as `models.NAME.dim` with lists of values: every combination becomes a model (or task) of its own."""
    zip: Variations = Field(default_factory=dict)
    """The same with lists of one length, whose values go together."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """Keys as for `--set` (`training.steps`) with the values of the quick form, `qattn run --quick`."""
