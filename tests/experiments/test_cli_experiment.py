"""The verbs run, list and summary: exit codes, one-sentence errors, JSON, what the engine is handed, and no torch."""
# ruff: noqa: E501  (the messages are quoted whole)

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from experiments.cli import main
from experiments.located.error_messages import choices
from experiments.schema import Experiment
from experiments.schema.model_kinds import MODELS
from experiments.schema.task_kinds import TASKS

ROOT = Path(__file__).parents[2]


class Engine(types.ModuleType):
    """In place of the real engine: remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__("experiments.lm.engine")
        self.asked: dict[str, Any] = {}
        self.code = 0

    def run_experiment(self, experiment: Experiment, **options: Any) -> int:
        self.asked = {"experiment": experiment, **options}
        return self.code

    def plan(self, experiment: Experiment) -> list[dict[str, Any]]:
        return [
            {"task": task, "model": model, "seed": seed, "parameters": 1000, "seconds": 60.0}
            for task in experiment.tasks
            for model in experiment.models
            for seed in experiment.seeds
        ]

    def summary(self, experiment: Experiment) -> dict[str, dict[str, int]]:
        return {name: {"embedding": 700, "control" if name == "unitary" else "head": 50} for name in experiment.models}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    import experiments

    double = Engine()
    monkeypatch.setitem(sys.modules, "experiments.lm.engine", double)
    monkeypatch.setattr(experiments, "engine", double, raising=False)
    return double


@pytest.fixture
def qattn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the console script in this process: exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["qattn", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rum"], "qattn: no such command 'rum'"),
        (["run", "quickstart", "--sed", "3"], "qattn: no such option: --sed"),
        (["run"], "qattn: missing argument 'CONFIG'"),
        (["run", "quickstart", "more"], "qattn: got unexpected extra argument"),
        (["run", "nowhere.yaml"], "qattn: nowhere.yaml: expected a YAML file or one of the shipped"),
        (["run", "quickstart", "--seeds", "x"], "qattn: --seeds x: seeds: expected an integer or a list, got 'x'"),
        (["run", "quickstart", "--seeds", "0"], "qattn: --seeds 0: seeds: expected a number of at least 1 or a list, got 0"),
        (["run", "quickstart", "--workers", "0"], "qattn: --workers 0: workers: expected a number of at least 1, got 0"),
        (["run", "quickstart", "--set", "steps"], "qattn: --set steps: expected key.path=value"),
        (["run", "quickstart", "--set", "steps=3"], "qattn: --set steps=3: steps: expected a known key, got 'steps' (did you mean 'training.steps'?)"),
        (["run", "quickstart", "--resume", "--fresh"], "qattn: --resume --fresh: expected one of the two, got both"),
        (["run", "quickstart", "--dry-run", "--print-config"], "qattn: --dry-run --print-config: expected one of the two"),
        (["run", "quickstart", "--scheduler", "here"], "qattn: --scheduler here: expected an address such as tcp://"),
        (["list", "model"], "qattn: list model: expected one of tasks, models, configs, hypergraphs, ansatze, schema, got 'model' (did you mean 'models'?)"),
        (["summary", "quickstart", "--max-parameters", "0"], "qattn: --max-parameters 0: expected a number of at least 1, got 0"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_exit_code_2(qattn: Any, arguments: list[str], told: str) -> None:
    code, out, error = qattn(*arguments)
    assert (code, out) == (2, "")
    assert error.startswith(told)
    assert error.count("\n") == 1


def test_suggestions_for_options_and_verbs(qattn: Any) -> None:
    assert "--seeds" in qattn("run", "quickstart", "--sed", "3")[2]
    assert "'run'" in qattn("rum")[2]


def test_all_errors_of_a_file_are_printed(qattn: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("task: {kind: txt, path: moby_dick}\nmodels: {a: {kind: unitary, dimm: 3}}\nseeds: x\n")
    code, _, error = qattn("run", str(path))
    assert code == 2
    assert error.splitlines() == [
        f"qattn: {path}:1:14: task.kind: expected {choices(TASKS)}, got 'txt' (did you mean 'text'?)",
        f"{path}:2:29: models.a.dimm: expected a known key, got 'dimm' (did you mean 'dim'?)",
        f"{path}:3:8: seeds: expected an integer or a list, got 'x'",
    ]


@pytest.mark.parametrize("code", [0, 1])
def test_run_hands_everything_to_the_engine(qattn: Any, engine: Engine, tmp_path: Path, code: int) -> None:
    engine.code = code
    arguments = [
        "run",
        "quickstart",
        "--seeds",
        "2",
        "--workers",
        "3",
        "--scheduler",
        "tcp://127.0.0.1:8786",
        "--fresh",
    ]
    arguments += [
        "--smoke",
        "--json",
        "--out",
        "12",
        "--set",
        "training.steps=50",
        "--set",
        "training.evaluate_every=10",
    ]
    assert qattn(*arguments)[0] == code
    asked = engine.asked
    experiment = asked["experiment"]
    assert (experiment.seeds, experiment.training.steps, experiment.output.dir) == ((0, 1), 50, "12")
    assert (asked["out"], asked["workers"], asked["scheduler"]) == (Path("12"), 3, "tcp://127.0.0.1:8786")
    assert asked["fresh"] is asked["smoke"] is asked["as_json"] is True
    assert experiment.name == "quickstart"
    assert asked["command"] == " ".join(["qattn", *arguments])


def test_a_tilde_behind_an_equals_sign_is_the_home_folder(qattn: Any, engine: Engine) -> None:
    for arguments in (["--out=~/x"], ["--set", "output.dir=~/x"]):
        assert qattn("run", "quickstart", *arguments)[0] == 0
        assert engine.asked["out"] == Path.home() / "x"


def test_a_file_of_the_user_wins_over_a_shipped_name(
    qattn: Any, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").write_text("task: {kind: text, path: moby_dick}\nmodels: {mine: {kind: unitary}}\n")
    assert qattn("run", "quickstart", "--resume")[0] == 0
    assert list(engine.asked["experiment"].models) == ["mine"]
    assert engine.asked["fresh"] is False


def test_print_config_shows_origins_and_can_be_run_again(qattn: Any, tmp_path: Path) -> None:
    code, out, _ = qattn(
        "run", "quickstart", "--print-config", "--seeds", "2", "--set", "training.batch=4", "--out", "here"
    )
    assert code == 0
    comments = {line.split(":")[0].strip(): line.split(" # ")[-1] for line in out.splitlines() if " # " in line}
    assert comments["batch"] == "--set"
    assert comments["seeds"] == "--seeds"
    assert comments["dir"] == "--out"
    assert comments["steps"].startswith("quickstart.yaml:")
    assert comments["threads"] == "default"
    (tmp_path / "again.yaml").write_text(out)
    again = qattn("run", str(tmp_path / "again.yaml"), "--print-config", "--json")[1]
    first = qattn(
        "run", "quickstart", "--print-config", "--json", "--seeds", "2", "--set", "training.batch=4", "--out", "here"
    )[1]
    assert json.loads(again)["config"] == json.loads(first)["config"] == YAML(typ="safe", pure=True).load(out)
    assert json.loads(first)["origins"]["training.batch"] == "--set"


def test_dry_run_lists_the_runs(qattn: Any, engine: Engine) -> None:
    code, out, _ = qattn("run", "quickstart", "--dry-run", "--seeds", "2", "--workers", "2")
    assert code == 0
    assert "8 runs, 8 min of training, 2 side by side" in out
    assert out.count("1,000") == 8
    found = json.loads(qattn("run", "quickstart", "--dry-run", "--seeds", "2", "--json")[1])
    assert (len(found["runs"]), found["seconds"]) == (8, 480.0)
    assert engine.asked == {}  # nothing was trained


def test_list(qattn: Any) -> None:
    code, out, _ = qattn("list")
    assert code == 0
    headings = [line for line in out.splitlines() if not line.startswith(" ")]
    assert headings == ["tasks:", "models:", "configs:", "hypergraphs:"]
    assert len(json.loads(qattn("list", "ansatze", "--json")[1])["ansatze"]) > 19
    models = json.loads(qattn("list", "models", "--json")[1])["models"]
    assert [model["name"] for model in models] == list(MODELS)
    schema = json.loads(qattn("list", "schema")[1])
    assert schema["properties"]["models"]


def test_summary_and_its_budget(qattn: Any, engine: Engine) -> None:
    code, out, _ = qattn("summary", "quickstart", "--max-parameters", "750")
    assert code == 0
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert rows["embedding"] == ["700"] * 4
    assert rows["total"] == ["750"] * 4
    code, out, _ = qattn("summary", "quickstart", "--max-parameters", "700", "--json")
    assert code == 1
    found = json.loads(out)
    assert found["over"] == ["transformer", "unitary", "unitary softmax", "no register"]
    assert found["models"]["unitary"] == {"groups": {"embedding": 700, "control": 50}, "total": 750}


@pytest.mark.parametrize("verb", ["run", "list", "summary"])
def test_every_help_has_an_example(qattn: Any, verb: str) -> None:
    code, out, _ = qattn(verb, "--help")
    assert code == 0
    assert f"Example: qattn {verb}" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["run", "--help"], 0),
        (["run", "BAD"], 2),
        (["run", "quickstart", "--print-config"], 0),
        (["list"], 0),
        (["list", "schema"], 0),
        (["rum"], 2),
    ],
)
def test_torch_is_not_imported_before_it_is_needed(tmp_path: Path, arguments: list[str], code: int) -> None:
    """Nor the other libraries that take long to load; in a process of its own, since this one has them."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("models: 3\ntrainin: {}\n")
    script = (
        "import sys\nfrom experiments.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as stop:\n    code = stop.code or 0\n"
        "heavy = {'torch', 'pennylane', 'matplotlib', 'scipy', 'cvxpy', 'distributed'} & set(sys.modules)\n"
        "sys.exit(99 if heavy else code)\n"
    )
    words = [str(bad) if word == "BAD" else word for word in arguments]
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_has_seen_enough_is_no_error(unbuffered: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from experiments.cli import main; main()", "list", "configs"],
            stdout=write, stderr=subprocess.PIPE, text=True, timeout=120,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.stderr == ""
    assert done.returncode == 141
