"""`qattn report`: from folders on disk to a page, and one sentence with exit code 2 for whatever is none."""

from __future__ import annotations

import json

import pytest

from experiments.cli import main
from experiments.lm.results_schema import Experiment, combine

TASK = "tiny_shakespeare"


@pytest.fixture
def folder(tmp_path, runs, tasks):
    return save(tmp_path / "one", runs, tasks)


@pytest.fixture
def qattn(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr("sys.argv", ["qattn", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def save(folder, runs, tasks, name="invented", **more):
    folder.mkdir()
    facts = {"schema": 1, "name": name, "comparison": {"equivalence": 0}, "tasks": tasks, "config_yaml": "a: 1\n"}
    facts |= {"environment": {"python": "3.11"}, "command": "qattn run a.yaml", **more}
    (folder / "experiment.json").write_text(json.dumps(facts))
    for run in runs:
        place = folder / "runs" / f"{run['task']}-{run['model']}-{run['seed']}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(run))
    return folder


def test_one_folder(qattn, folder):
    code, out, err = qattn("report", folder)
    assert (code, err) == (0, "")
    assert "modern is better than unitary" in out
    assert out.splitlines()[-1] == str(folder / "report.html")
    assert (folder / "report.html").is_file()


def test_json_is_results_json(qattn, folder, tmp_path):
    code, out, _ = qattn("report", folder, "--json", "--out", tmp_path / "elsewhere")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "elsewhere" / "results.json").read_text())
    assert not (folder / "report.html").exists()


def test_two_folders_become_one_report(qattn, tmp_path, runs, tasks):
    one = save(tmp_path / "one", [r for r in runs if r["model"] != "unitary"], tasks, "classical")
    two = save(tmp_path / "two", [r for r in runs if r["model"] != "modern"], tasks, "quantum")
    code, _, err = qattn("report", one, two)
    assert code == 2
    assert "--out DIR" in err
    code, out, _ = qattn("report", one, two, "--out", tmp_path / "both", "--json")
    assert code == 0
    models = json.loads(out)["tasks"][TASK]["models"]
    assert set(models) == {"modern", "unitary", "gpt2_style (classical)", "gpt2_style (quantum)"}


def test_tasks_with_other_facts_stay_apart(runs, tasks):
    other = {TASK: {**tasks[TASK], "block": 128}}
    first = Experiment("same", {}, tasks, runs, "", {}, "")
    second = Experiment("same", {}, other, runs, "", {"cores": 4}, "")
    both = combine([("a", first), ("b", second)])
    assert set(both.tasks) == {TASK, f"{TASK} (b)"}
    assert {run["task"] for run in both.runs} == set(both.tasks)
    assert {run["model"] for run in both.runs} == {"modern", "unitary", "gpt2_style"}
    assert both.environment == {"a": {}, "b": {"cores": 4}}


def change(key, value):
    def apply(run):
        run[key] = value

    return apply


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (change("seed", "one"), "seed: "),
        (change("schema", 2), "schema: "),
        (change("status", "running"), "status: "),
        (change("history", {"validation": [[1]]}), "history.validation.0.1: "),
        (change("samples", "text"), "samples: "),
        (lambda run: run.pop("model"), "model: "),
    ],
)
def test_a_damaged_record_is_named(qattn, tmp_path, runs, tasks, damage, says):
    damage(runs[0])
    folder = tmp_path / "bad"
    saved = [{"task": TASK, "model": "x", "seed": 0, **run} for run in runs[1:]]
    save(folder, saved, tasks)
    (folder / "runs" / "a").mkdir()
    (folder / "runs" / "a" / "result.json").write_text(json.dumps(runs[0]))
    code, out, err = qattn("report", folder)
    assert (code, out) == (2, "")
    assert err.startswith(f"qattn: {folder}/runs/a/result.json: {says}")
    assert err.count("\n") == 1


def test_not_json_gets_its_line(qattn, folder):
    (folder / "experiment.json").write_text('{"name": "x",\n  oops}')
    code, _, err = qattn("report", folder)
    assert code == 2
    assert f"{folder}/experiment.json:2:3: is not JSON" in err


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "no runs", "binary", "list", "too many"])
def test_folders_that_are_none(qattn, tmp_path, tasks, folder, kind):
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("x")
    elif kind == "empty":
        place.mkdir()
    elif kind == "no runs":
        save(place, [], tasks)
    elif kind == "binary":
        place = folder
        (place / "experiment.json").write_bytes(b"\xff\xfe\x00")
    elif kind == "list":
        place = folder
        (place / "experiment.json").write_text("[]")
    elif kind == "too many":
        place = folder
        (place / "runs" / "copy").mkdir()
        record = next(place.glob("runs/*/result.json")).read_text()
        (place / "runs" / "copy" / "result.json").write_text(record)
    code, out, err = qattn("report", place)
    assert (code, out) == (2, "")
    wanted = {
        "missing": "no such folder", "file": "no such folder", "empty": "holds no experiment.json",
        "no runs": "no run has finished yet", "binary": "not UTF-8", "list": "expected a JSON object, got list",
        "too many": "two runs of task",
    }  # fmt: skip
    assert wanted[kind] in err
    assert str(place) in err
    assert err.count("\n") == 1


def test_a_report_of_a_part_needs_a_folder_of_its_own_and_known_names(qattn, folder, tmp_path, runs):
    code, _, err = qattn("report", folder, "--models", "modern")
    assert (code, "add --out DIR" in err) == (2, True)
    code, _, err = qattn("report", folder, "--models", "moderm", "--out", tmp_path / "part")
    assert (code, "--models moderm: no such model here; expected" in err) == (2, True)
    part = (
        "--models",
        "modern",
        "--models",
        "unitary",
        "--seeds",
        0,
        "--seeds",
        1,
        "--out",
        tmp_path / "part",
        "--json",
    )
    code, out, _ = qattn("report", folder, *part)
    assert code == 0
    models = json.loads(out)["tasks"][TASK]["models"]
    assert set(models) == {"modern", "unitary"}
    for name, entry in models.items():
        wanted = [run["val_nats"] for run in runs if run["model"] == name and run["seed"] in (0, 1)]
        assert entry["val_nats"]["values"] == wanted


def test_seeds_of_one_experiment_in_two_folders_pool(qattn, tmp_path, runs, tasks):
    """The merged report has the numbers of one folder with all runs; a model trained otherwise is refused."""
    same = {"identity": {f"model modern on task {TASK}": "a"}}
    whole = save(tmp_path / "whole", runs, tasks, **same)
    early = save(tmp_path / "early", [run for run in runs if run["seed"] < 2], tasks, **same)
    late = save(tmp_path / "late", [run for run in runs if run["seed"] > 0], tasks, **same)
    code, merged, err = qattn("merge", early, late, "--out", tmp_path / "both", "--json")
    assert (code, err) == (0, "")
    assert json.loads(merged) == json.loads(qattn("report", whole, "--json")[1])
    other = save(tmp_path / "other", runs, tasks, identity={f"model modern on task {TASK}": "b"})
    code, _, err = qattn("merge", early, other, "--out", tmp_path / "no")
    assert (code, "holds another experiment" in err, "model modern on task" in err) == (2, True, True)
    assert not (tmp_path / "no").exists()
    code, _, err = qattn("merge", early, late, "--out", tmp_path / "both")
    assert (code, "holds an experiment already" in err) == (2, True)
