"""What is shipped loads, and what is generated from the schema is current."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from experiments.errors import UserError
from experiments.located.yaml_source import read_file
from experiments.schema import CONFIGS, LOADERS, Experiment, load_experiment, shipped_configs
from experiments.schema.model_kinds import MODELS
from experiments.schema.reference import DOCS, json_schema, markdown
from experiments.schema.task_kinds import TASKS
from experiments.studies.atlas.atlas_file import load_entry

FILES = sorted(CONFIGS.rglob("*.yaml"))
EVERY_LOADER = LOADERS | {"atlas": lambda path: load_entry(str(path))}
REGENERATE = "regenerate it: python -m experiments.schema.reference"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_every_shipped_file_loads_with_the_loader_of_its_top_level_key(path: Path) -> None:
    keys = [key for key in EVERY_LOADER if key in read_file(path).data]
    assert len(keys) == 1, f"{path}: expected one of the top-level keys {', '.join(EVERY_LOADER)}; register its loader"
    assert EVERY_LOADER[keys[0]](path)


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if "models" in read_file(path).data],
    ids=lambda path: path.relative_to(CONFIGS).as_posix(),
)
def test_shipped_experiments_point_editors_to_the_schema_and_satisfy_it(path: Path) -> None:
    """The exported schema judged by a validator that is not pydantic's."""
    text = path.read_text(encoding="utf-8")
    target = os.path.relpath(DOCS / "experiment.schema.json", path.parent)
    assert text.startswith(f"# yaml-language-server: $schema={target}\n")
    jsonschema.Draft202012Validator(json.loads(json_schema())).validate(YAML(typ="safe", pure=True).load(text))


def test_quickstart_and_shakespeare_are_the_comparison_they_claim() -> None:
    for name in ("quickstart", "shakespeare"):
        experiment: Experiment = load_experiment(name)
        assert {model.kind for model in experiment.models.values()} == {"transformer", "unitary", "no_register"}
        assert len(experiment.seeds) == 6  # fewer cannot show a difference at p < 0.05
        assert experiment.comparison.reference in {None, *experiment.models}


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"seeds": [1, 2]}, True),
        ({"traning": {}}, False),
        ({"training": {"steps": "many"}}, False),
        ({"models": {"a": {"kind": "unitary", "dimm": 3}}}, False),
        ({"models": {"a": {"kind": "gru"}}}, False),
        ({"models": {}}, False),
        ({"training": {"optimizer": {"betas": [0.9]}}}, False),
        ({"grid": {"models.a.dim": []}}, False),
    ],
)
def test_the_json_schema_judges_as_the_loader_does(tmp_path: Path, change: dict[str, Any], fits: bool) -> None:
    data = {"task": {"kind": "text", "path": "moby_dick"}, "models": {"a": {"kind": "unitary"}}} | change
    assert jsonschema.Draft202012Validator(json.loads(json_schema())).is_valid(data) is fits
    path = tmp_path / "data.yaml"
    path.write_text(json.dumps(data))
    if fits:
        load_experiment(path)
    else:
        with pytest.raises(UserError):
            load_experiment(path)


def test_generated_files_are_current() -> None:
    assert (DOCS / "experiment.schema.json").read_text(encoding="utf-8") == json_schema(), REGENERATE
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == markdown(), REGENERATE


def test_every_field_is_documented() -> None:
    schema = json.loads(json_schema())
    for name, model in [*schema["$defs"].items(), ("ExperimentFile", schema)]:
        for field, facts in model["properties"].items():
            assert facts.get("description"), f"{name}.{field} has no line of documentation"


def test_kinds_carry_their_own_name_and_a_note() -> None:
    for registry in (TASKS, MODELS):
        for kind, cls in registry.items():
            assert cls.model_json_schema()["properties"]["kind"]["const"] == kind
            assert cls.note


def test_the_example_of_the_reference_is_an_experiment(tmp_path: Path) -> None:
    block = markdown().split("```yaml\n")[1].split("```")[0]
    path = tmp_path / "example.yaml"
    path.write_text(block)
    assert list(load_experiment(path).models) == ["classical", "unitary"]


def test_shipped_names() -> None:
    assert {"quickstart", "shakespeare"} <= set(shipped_configs())
    with pytest.raises(
        UserError, match=r"^quikstart: expected a YAML file or one of the shipped .*\(did you mean 'quickstart'\?\)$"
    ):
        load_experiment("quikstart")
