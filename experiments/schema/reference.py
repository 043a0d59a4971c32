"""The schema for editors (JSON Schema) and for people (``docs/configuration.md``), both generated from the classes.

``python -m experiments.schema.reference`` writes the two files; a test keeps them current.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from experiments.located.tagged_union import ByKind, peel
from experiments.schema.experiment import (
    Comparison,
    ExperimentFile,
    Output,
    Sample,
    Search,
    TaskTraining,
    Training,
)
from experiments.schema.model_kinds import MODELS
from experiments.schema.optimizer_options import Optimizer
from experiments.schema.task_kinds import TASKS

DOCS = Path(__file__).parents[2] / "docs"
BASICS = {int: "integer", float: "number", str: "text", bool: "true or false", Any: "any"}
BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}"}

INTRODUCTION = """\
# Experiment files

<!-- Generated from the schema by `python -m experiments.schema.reference`: change the schema, not this file. -->

`qattn run FILE` reads one YAML file. Two keys are enough:

```yaml
task: {kind: text, path: tinyshakespeare}
models:
  classical: {kind: transformer}
  unitary: {kind: unitary}
```

**One spelling.** An unknown key is an error. Names known from other programs (`learning_rate`, `n_embd`,
`block_size`, `max_iters`, …) are not accepted beside ours; the message suggests ours:
`expected a known key, got 'n_embd' (did you mean 'dim'?)`.

**All errors at once**, each as `file:line:column: key.path: expected X, got Y`, before anything heavy is loaded:
typos, wrong types, duplicate keys, missing keys, missing files, and values that contradict each other (`dim` no
multiple of `heads`, `min_lr` above `lr`, `warmup` or `evaluate_every` above `steps`, `rank` with a projective readout,
a learning rate for a parameter group that the kind does not have, …). Two checks come later, when the text has been
read and its vocabulary is known: a `projective` readout needs a `dim` that is a multiple of the vocabulary, and a
`povm` needs `rank` times the vocabulary to be at least `dim`.

**YAML 1.2**: `1e-3` is a number, `no` is text, `true` and `false` are the only truth values. Anchors and `<<:` work.
Tags are refused: no object is built and no code is run from a file.

**Overrides**: `--set key.path=value`, as often as needed, as if the value stood in the file
(`--set models.unitary.dim=64`, `--set "seeds=[0, 1]"`, `--set "grid.models.unitary.dim=[32, 64]"`).
A null takes a named entry away: `--set models.lstm=null` compares the others.
`qattn run FILE --print-config` prints the resolved experiment with the origin of each value.

**Variants**: `grid` makes every combination a model (or task) of its own, `zip` goes through its lists together.
Keys below `models.NAME`, `tasks.NAME` (or `task`) and `training.optimizer` (which varies every model) can vary.

```yaml
grid: {models.unitary.dim: [32, 64]}       # models "unitary dim=32" and "unitary dim=64"
```

**Quick forms**: the keys of `quick`, written as for `--set`, apply only with `qattn run FILE --quick`; `--set` comes
after them. The results go to a folder of their own, `DIR-quick`.

```yaml
quick: {seeds: 2, training.steps: 120}
```

**Learning rates.** A model's `optimizer` overrides `training.optimizer` field by field. Where neither has `lr` or
`rates`, the kind's recommended rates hold (kind `unitary`: control 2e-3, mixers and readout 4e-3, embedding 4e-3 with
control mlp and 1e-2 otherwise), since one rate for all moves the angles of a unitary model by a radian a step.
`training.search` multiplies all rates of a model by factors and takes the best one, with the same trials for every
model: on a seed that is not compared, judged by the validation loss. While a model's best factor is the outermost one,
the next is tried, at most `beyond` of them, so that the best one lies inside or the report says that the bound was hit.
The trials can be resumed like runs; budget,
trials and choices stand in `results.json` and in the report. Counted models have no rate and are left out.

**Splits.** A text is cut by position into training, validation and test (90, 5 and 5 percent). Whatever is chosen,
rates, orders of counts, the best classical model, is chosen by the validation loss (`val_nats`); tables, intervals and
tests show `test_nats`. With `test_fraction: 0` there are two splits and results are those of the validation split, as
published comparisons have it and as version 0.1 did.

**Equal sizes.** `comparison.match` changes the widths of the models, in the proportions they are written in, until all
cost the same: as many parameters, or operations per token, as `match_to` (or `size`, a number) within two percent, or
as much processor time a training step to within ten. Times are those of this machine, measured step by step beside
`match_to`; the widths found are kept in `matching.json`, so that going on does not change them.

**Identity.** A run is known by a hash of all that changes its result: the task with the contents of its files, the
model with its optimizer, the training, the seed. Names, folders, `workers`, `log_every` and `checkpoint_every` are not
in it. Editing a text trains again, as does giving a model or task of a finished folder another name or dropping it: the
folder then refuses the file, and `qattn report RUN --models NAME --out DIR` shows a part without training. More models,
tasks and seeds train these alone. Another `output.sample` is drawn from the trained models.
"""


def json_schema() -> str:
    """The JSON Schema of experiment files, for editors and for ``qattn list schema``."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **ExperimentFile.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def markdown() -> str:
    """``docs/configuration.md``: a table for each mapping of the schema."""
    sections: list[tuple[str, type[BaseModel]]] = [
        ("The file", ExperimentFile),
        *((f"Task of kind `{kind}`", task) for kind, task in TASKS.items()),
        *((f"Model of kind `{kind}`", model) for kind, model in MODELS.items()),
        ("`optimizer`", Optimizer),
        ("`training`", Training),
        ("`training.tasks.NAME`", TaskTraining),
        ("`training.search`", Search),
        ("`comparison`", Comparison),
        ("`output`", Output),
        ("`output.sample`", Sample),
    ]
    return INTRODUCTION + "".join("\n" + "\n".join(_section(title, model)) + "\n" for title, model in sections)


def _section(title: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"## {title}\n"
    yield " ".join((model.__doc__ or "").split())
    groups = getattr(model, "groups", ())
    if groups:
        yield f"\nParameter groups for `optimizer.rates`: {', '.join(f'`{group}`' for group in groups)}."
    yield "\n| key | value | default | meaning |\n| --- | --- | --- | --- |"
    for name, info in sorted(model.model_fields.items(), key=lambda item: item[0] == "optimizer"):
        meaning = " ".join((info.description or "").split())
        cells = (f"`{name}`", type_text(Annotated[(info.annotation, None, *info.metadata)]), _default(info), meaning)
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "*required*"
    value = info.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "see below"
    if value is None:
        return "null"
    return f"`{value:g}`" if isinstance(value, float) else f"`{json.dumps(value)}`"


def type_text(annotation: Any) -> str:
    """A type in the words of the messages: ``integer ≥ 1``, ``list of numbers``, `` `adamw`, `muon` ``."""
    inner, metadata = peel(annotation)
    optional = " or null" if type(None) in get_args(_bare(annotation)) else ""
    if any(isinstance(mark, ByKind) for mark in metadata):
        return "one of the kinds below" + optional
    bounds = [
        text.format(f"{getattr(mark, name):g}")
        for part in metadata
        for mark in (*getattr(part, "metadata", ()), part)
        for name, text in BOUNDS.items()
        if getattr(mark, name, None) is not None
    ]
    arguments, origin = get_args(inner), get_origin(inner)
    if origin is Literal:
        text = ", ".join(f"`{option}`" for option in arguments)
    elif origin is dict:
        text = f"mapping of names to {type_text(arguments[1])}"
    elif origin is list:
        text = "list" if arguments[0] is Any else f"list of {type_text(arguments[0])}"
    elif origin is tuple:
        text = f"list of {len(arguments)}: {type_text(arguments[0])}"
    elif arguments:
        text = " or ".join(type_text(part) for part in arguments if part is not type(None))
    elif isinstance(inner, type) and issubclass(inner, BaseModel):
        text = "mapping"
    else:
        text = BASICS.get(inner, str(inner))
    return " ".join([text, *([" and ".join(bounds)] if bounds else [])]) + optional


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def main() -> None:
    """Write both files into ``docs/``."""
    DOCS.mkdir(exist_ok=True)
    (DOCS / "experiment.schema.json").write_text(json_schema(), encoding="utf-8")
    (DOCS / "configuration.md").write_text(markdown(), encoding="utf-8")


if __name__ == "__main__":
    main()
