"""Whole experiments: resumable, idempotent, refused where they must be, and nothing computed is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from experiments.cli.summary import published
from experiments.errors import UserError
from experiments.lm.engine import plan, run_experiment, summary
from experiments.lm.run import folder_name, identity_in, run_job
from experiments.runs import dask_backend
from experiments.runs.dask_backend import alone
from experiments.runs.run_folder import RunFolder
from experiments.schema import jobs
from tests.experiments.tiny import experiment, losses

ROOT = Path(__file__).parents[2]
VERB = [sys.executable, "-c", "from experiments.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def results(out: Path) -> dict[str, object]:
    return json.loads((out / "results.json").read_text(encoding="utf-8"))


def test_results_have_the_keys_machines_read(trained: Path) -> None:
    found = results(trained / "out")
    task = found["tasks"]["verse"]
    counted = [name for name in task["floor"] if name.startswith("Kneser–Ney")]
    assert set(task["floor"]) - set(counted) == {"unigram", "bigram", "trigram", "4-gram"}
    assert "Kneser–Ney 5-gram" in counted
    assert sum(name.endswith(", same windows") for name in counted) == 1
    for name, kind in (("classical", "transformer"), ("unitary", "unitary")):
        model = task["models"][name]
        assert model["kind"] == kind
        assert len(model["val_nats"]["values"]) == 2
        assert model["val_nats"]["low"] <= model["val_nats"]["mean"] <= model["val_nats"]["high"]
        assert {"parameters", "flops_per_token", "tokens_per_second", "bits_per_char"} <= set(model)
        assert {"norm_drift", "linearity", "reversal", "causality", "completeness"} <= set(model["audit"])
    assert task["models"]["unitary"]["audit"]["passed"] is True
    assert task["models"]["classical"]["audit"]["passed"] is None
    assert task["models"]["classical"]["audit"]["linearity"] > 1e-3
    page = (trained / "out" / "report.html").read_text(encoding="utf-8")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert (trained / "out" / "results.csv").read_text(encoding="utf-8").count("\n") == 5


def test_repeating_the_command_trains_nothing_again(trained: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (trained / "out").glob("runs/*/*")}
    assert run_experiment(experiment(trained), out=trained / "out") == 0
    assert before == {path: path.stat().st_mtime_ns for path in (trained / "out").glob("runs/*/*")}


def test_more_seeds_go_on_in_the_same_folder(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(trained / "out", out)
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/*")}
    assert run_experiment(experiment(tmp_path, "seeds=3"), out=out) == 0
    assert len(results(out)["tasks"]["verse"]["models"]["unitary"]["val_nats"]["values"]) == 3
    assert all(path.stat().st_mtime_ns == time_ for path, time_ in before.items())
    assert run_experiment(experiment(tmp_path), out=out) == 0
    assert len(results(out)["tasks"]["verse"]["models"]["unitary"]["val_nats"]["values"]) == 2


def test_more_models_go_on_in_the_same_folder_and_fewer_are_refused(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(trained / "out", out)
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/*")}
    more = experiment(tmp_path, "models.recurrent={kind: lstm, dim: 4}")
    assert run_experiment(more, out=out) == 0
    assert len(results(out)["tasks"]["verse"]["models"]) == len(more.models) == len(experiment(tmp_path).models) + 1
    assert all(path.stat().st_mtime_ns == time_ for path, time_ in before.items())
    with pytest.raises(UserError, match=r"\(model recurrent on task verse is in the folder but not asked for\)"):
        run_experiment(experiment(tmp_path), out=out)


def test_another_configuration_is_refused_and_fresh_starts_over(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_experiment(experiment(tmp_path, "seeds=1"), out=out) == 0
    longer = experiment(tmp_path, "seeds=1", "training.steps=25")
    told = (
        r"another configuration \(model classical on task verse differs, model unitary on task verse differs\); choose"
    )
    with pytest.raises(UserError, match=told):
        run_experiment(longer, out=out)
    assert run_experiment(longer, out=out, fresh=True) == 0
    assert len(list((out / "runs").iterdir())) == 2


def test_an_experiment_of_the_first_version_is_refused_by_name_and_opens(trained: Path, tmp_path: Path, capsys) -> None:
    """Its runs had other identities, and its records no checksums."""
    out = tmp_path / "out"
    shutil.copytree(trained / "out", out)
    record = json.loads((out / "experiment.json").read_text(encoding="utf-8"))
    del record["sha256"]
    record["identity"] = dict.fromkeys(record["identity"], "0" * 12)
    (out / "experiment.json").write_text(json.dumps(record), encoding="utf-8")
    tiny = experiment(tmp_path)
    with pytest.raises(UserError, match=r"the experiment 'tiny' of qattn 0\.1\.0, which this version reports"):
        run_experiment(tiny, out=out)
    stated = {"output": tiny.output.model_copy(update={"dir": str(out)})}
    assert published(replace(tiny, **stated)) == []
    assert "its runs are of qattn 0.1.0" in capsys.readouterr().err


def test_fresh_deletes_nothing_for_an_experiment_that_cannot_start(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(trained / "out", out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.name != ".lock"}
    wrong = experiment(tmp_path, "models.unitary.readout=projective", "models.unitary.rank=null")
    with pytest.raises(UserError, match=r"^models\.unitary"):
        run_experiment(wrong, out=out, fresh=True)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_record_that_is_none_is_one_sentence(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(trained / "out", out)
    record = next(out.glob("runs/*/result.json"))
    for text in ("{}", "[]", "3"):
        record.write_text(text, encoding="utf-8")
        with pytest.raises(
            UserError, match=r"result\.json: is not the record of a run \(.*\); delete it and repeat the command$"
        ):
            run_experiment(experiment(tmp_path), out=out)
    (out / "experiment.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match=r"experiment\.json: is not the record of an experiment \(.*\); delete it"):
        run_experiment(experiment(tmp_path), out=out)


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "chapter1.tex").write_text("precious", encoding="utf-8")
    for fresh in (False, True):
        with pytest.raises(UserError, match="already contains files that are not from an experiment"):
            run_experiment(experiment(tmp_path), out=out, fresh=fresh)
    assert (out / "chapter1.tex").read_text(encoding="utf-8") == "precious"
    with pytest.raises(UserError, match="is a file; --out wants a folder"):
        run_experiment(experiment(tmp_path), out=out / "chapter1.tex")


def test_one_run_that_diverges_does_not_take_the_others_along(tmp_path: Path) -> None:
    wild = experiment(tmp_path, "models.classical.optimizer.lr=1e30", "seeds=1")
    assert run_experiment(wild, out=tmp_path / "out") == 1
    task = results(tmp_path / "out")["tasks"]["verse"]
    assert task["models"]["unitary"]["val_nats"]["mean"] is not None
    assert task["models"]["classical"]["val_nats"]["mean"] is None
    failure = next(iter((tmp_path / "out").glob("runs/*classical*/result.json")))
    record = json.loads(failure.read_text(encoding="utf-8"))
    assert record["status"] == "failed"
    assert "is not a finite number at step" in record["failure"]["reason"]
    kept = (failure.parent / "checkpoint.safetensors").exists()
    assert record["failure"]["reason"].endswith("the last checkpoint before it is kept") is kept
    assert "not a finite number" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_impossible_sizes_stop_before_any_training(tmp_path: Path) -> None:
    wrong = experiment(tmp_path, "models.unitary.readout=projective", "models.unitary.rank=null")
    with pytest.raises(UserError, match=r"models\.unitary on a vocabulary of \d+: a projective readout needs dim"):
        run_experiment(wrong, out=tmp_path / "out")
    assert not (tmp_path / "out" / "runs").exists()


def test_two_commands_on_one_folder_do_not_fight(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with (
        FileLock(tmp_path / "out" / ".lock"),
        pytest.raises(UserError, match="another qattn is running an experiment there"),
    ):
        run_experiment(experiment(tmp_path), out=tmp_path / "out")


def test_plan_and_summary_say_what_would_run(tmp_path: Path) -> None:
    tiny = experiment(tmp_path)
    rows = plan(tiny)
    assert [(row["model"], row["seed"]) for row in rows] == [(job.model_name, job.seed) for job in jobs(tiny)]
    assert all(row["seconds"] > 0 for row in rows)
    parts = summary(tiny)
    assert sum(parts["unitary"].values()) == next(row["parameters"] for row in rows if row["model"] == "unitary")
    assert set(parts["unitary"]) >= {"control", "mixers", "readout"}


LONG = ("training.steps=400", "training.evaluate_every=400", "training.checkpoint_every=20", "seeds=1")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The last run of an experiment that nobody killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    tiny = experiment(folder, *LONG)
    assert run_experiment(tiny, out=folder / "out") == 0
    return RunFolder(folder / "out" / "runs" / folder_name(jobs(tiny)[-1]))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_at_any_moment_loses_at_most_the_steps_since_the_checkpoint(
    tmp_path: Path, how: signal.Signals, undisturbed: RunFolder
) -> None:
    """Killed in the middle, the same command ends with the same numbers as an undisturbed run."""
    tiny = experiment(tmp_path, *LONG)
    arguments = ["run", "tiny.yaml", *(part for override in LONG for part in ("--set", override))]
    last = jobs(tiny)[-1]
    victim = subprocess.Popen(
        [*VERB, *arguments, "--out", "killed"], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    run = RunFolder(tmp_path / "killed" / "runs" / folder_name(last))
    deadline = time.monotonic() + 120
    while not run.checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    victim.send_signal(how)
    _, errors = victim.communicate(timeout=60)
    assert victim.returncode != 0
    assert run.result() is None
    assert "Traceback" not in errors
    if how == signal.SIGINT:
        assert "stopped" in errors
        assert (tmp_path / "killed" / "report.html").exists()
    assert run_experiment(tiny, out=tmp_path / "killed") == 0
    assert losses(run.events()) == losses(undisturbed.events())
    assert run.result()["val_nats"] == undisturbed.result()["val_nats"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_workers_give_the_same_results_and_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    """Two processes side by side; one is killed as soon as it has a checkpoint. All runs end as in one process."""
    overrides = ("training.steps=300", "training.evaluate_every=300", "training.checkpoint_every=20")
    tiny = experiment(tmp_path, *overrides)
    settings = [part for override in overrides for part in ("--set", override)]
    boss = subprocess.Popen(
        [*VERB, "run", "tiny.yaml", *settings, "--workers", "2", "--out", "side"],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 240
    while not list((tmp_path / "side").glob("runs/*/checkpoint.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = [child for child in psutil.Process(boss.pid).children() if "spawn_main" in " ".join(child.cmdline())]
    assert len(workers) == 2
    workers[-1].kill()
    output, _ = boss.communicate(timeout=280)
    assert boss.returncode == 0, output
    assert "Traceback" not in output
    assert run_experiment(tiny, out=tmp_path / "serial") == 0
    for job in jobs(tiny):
        one, two = (RunFolder(tmp_path / out / "runs" / folder_name(job)).result() for out in ("side", "serial"))
        assert one["val_nats"] == two["val_nats"]


def test_four_threads_of_a_worker_give_the_results_of_one(tmp_path: Path) -> None:
    """Dropout draws from the process's generator, so that two runs at once would give each other other numbers."""
    todo = jobs(experiment(tmp_path, "models.classical.dropout=0.3", "seeds=4"))[::2]
    serial = [run_job(job, tmp_path / "serial" / folder_name(job), None)["val_nats"] for job in todo]
    with ThreadPoolExecutor(4) as pool:
        calls = [partial(run_job, job, tmp_path / "threads" / folder_name(job), None) for job in todo]
        found = [record["val_nats"] for record in pool.map(alone, calls)]
    assert found == serial


def test_a_text_edited_while_runs_go_on_is_refused_and_the_runs_keep_their_identity(tmp_path: Path) -> None:
    verse = tmp_path / "verse.txt"
    tiny = experiment(tmp_path, "seeds=1")
    before = [job.identity() for job in jobs(tiny)]
    places = [(job, tmp_path / "runs" / folder_name(job)) for job in jobs(tiny)]

    def edit(event: dict[str, object]) -> None:
        if event["step"] == 20:
            verse.write_text(verse.read_text(encoding="utf-8") + " and on", encoding="utf-8")

    (job, folder), (other, later) = places
    assert run_job(job, folder, None, edit, identity_in(folder))["identity"] == before[0]
    assert job.identity() != before[0]
    with pytest.raises(UserError, match=r"verse\.txt: changed while the experiment was running"):
        run_job(other, later, None, asked=identity_in(later))


def test_another_sample_is_drawn_without_training(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(trained / "out", out)
    weights = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/model.safetensors")}
    sample = "output.sample={prompt: 'rain ', tokens: 5, temperature: 0}"
    assert run_experiment(experiment(tmp_path, sample), out=out) == 0
    for path in out.glob("runs/*/result.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        old = json.loads((trained / path.relative_to(tmp_path)).read_text(encoding="utf-8"))
        (text,) = record["samples"]
        assert text["prompt"] == "rain "
        assert 0 < len(text["text"]) <= 5
        assert record["val_nats"] == old["val_nats"]
    assert {path: path.stat().st_mtime_ns for path in weights} == weights
    assert "rain " in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_existing_dask_cluster_takes_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--scheduler tcp://…`: the runs happen in somebody else's worker, here four threads behind a socket."""
    from distributed import LocalCluster

    tiny = experiment(tmp_path, "seeds=1")
    kept = {"processes": False, "protocol": "tcp", "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=4, **kept) as cluster:
        assert run_experiment(tiny, out=tmp_path / "there", scheduler=cluster.scheduler_address) == 0
    assert (tmp_path / "there" / "report.html").exists()
    monkeypatch.setattr(dask_backend, "PATIENCE", 0.1)
    with pytest.raises(UserError, match=r"^--scheduler tcp://127\.0\.0\.1:1: no dask scheduler answers"):
        run_experiment(tiny, out=tmp_path / "nowhere", scheduler="tcp://127.0.0.1:1")
