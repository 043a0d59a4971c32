"""A search of learning rates: the same trials for every model, resumable, judged by the validation loss, shown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from experiments.errors import UserError
from experiments.lm import engine
from experiments.lm.engine import one_batch, plan, run_experiment
from experiments.lm.rate_search import choose, cooled, further, scaled, trials
from experiments.lm.results_schema import load
from experiments.runs.json_files import read_json
from experiments.schema import jobs, load_experiment
from experiments.schema.experiment import Search
from experiments.schema.jobs import identities, with_warmup
from tests.experiments.tiny import experiment

SEARCH = ("training.search={factors: [0.25, 4], steps: 6}", "training.steps=8", "training.evaluate_every=8", "seeds=1")


def result(nats: float | None, status: str = "done") -> dict[str, Any]:
    return {"status": status, "val_nats": nats}


def test_the_least_loss_wins_a_failed_trial_never_does_and_of_equal_ones_the_rate_as_written() -> None:
    search = Search(factors=[0.5, 1.0, 2.0], steps=10)
    losses = {"a": (2.0, 1.9, 1.8), "b": (2.0, 1.9, None), "tied": (1.5, 1.5, 1.5), "lost": (None, None, None)}
    given = {
        ("text", model, factor): result(nats, "done" if nats is not None else "failed")
        for model, row in losses.items()
        for factor, nats in zip(search.factors, row, strict=True)
    }
    given["text", "a", 2.0]["collapse"] = None
    given |= {("text", "fell", factor): result(1.0) for factor in search.factors}
    given["text", "fell", 1.0]["collapse"] = {"step": 5, "from": 1.0, "to": 3.0}
    found = choose(given, search)["tasks"]["text"]
    assert found.pop("fell")["factor"] == 0.5
    assert {model: one["factor"] for model, one in found.items()} == {"a": 2.0, "b": 1.0, "tied": 1.0, "lost": 1.0}
    assert [one["at_edge"] for one in found.values()] == [True, False, False, False]
    assert "every trial failed" in found["lost"]["reason"]


def test_a_long_warm_up_keeps_its_share_in_a_trial_and_a_short_one_is_a_tenth_at_most(tmp_path: Path) -> None:
    for written, expected in ((4, 3), (8, 6), (0, 0)):  # of 8 steps, in a trial of 6
        one = experiment(tmp_path, *SEARCH, f"training.optimizer.warmup={written}")
        assert one.training.search is not None
        found = {job.model.optimizer.warmup for job in trials(jobs(one), one.training.search).values()}
        assert found == {expected}
    model = jobs(experiment(tmp_path, "training.steps=2000", "training.optimizer.warmup=100"))[0].model
    assert with_warmup(model, 300, 2000).optimizer.warmup == 30


def test_every_model_that_trains_has_the_same_budget_on_a_seed_of_its_own(tmp_path: Path) -> None:
    one = experiment(tmp_path, *SEARCH, "models.counts={kind: ngram}")
    search = one.training.search
    assert search is not None
    sought = trials(jobs(one), search)
    assert {(model, factor) for _, model, factor in sought} == {
        (model, factor) for model in ("classical", "unitary") for factor in (0.25, 4.0)
    }
    assert {job.training.steps for job in sought.values()} == {6}
    assert {job.seed for job in sought.values()} == {1000}
    assert not {job.seed for job in sought.values()} & set(one.seeds)
    assert len(plan(one)) == len(sought) + 3  # the plan lists the trials, too


def test_a_factor_multiplies_every_rate_and_nothing_else(tmp_path: Path) -> None:
    before = experiment(tmp_path, "models.classical.optimizer={kind: muon}").models
    for model in before.values():
        after = scaled(model.optimizer, 2.0)
        assert after.lr == 2 * model.optimizer.lr
        assert after.min_lr == 2 * (model.optimizer.min_lr or 0)
        assert after.rates == {group: 2 * rate for group, rate in model.optimizer.rates.items()}
        assert (after.muon_lr, model.optimizer.muon_lr) in ((None, None), (0.04, 0.02))
        same = {"lr", "min_lr", "rates", "muon_lr"}
        assert after.model_dump(exclude=same) == model.optimizer.model_dump(exclude=same)


def test_an_interrupted_search_goes_on_and_its_choice_is_recorded_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, out = experiment(tmp_path, *SEARCH), tmp_path / "out"
    whole, calls = engine.run_job, []

    def breaks(*arguments: Any) -> dict[str, Any]:
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(arguments)
        return whole(*arguments)

    monkeypatch.setattr(engine, "run_job", breaks)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(one, out=out)
    finished = {path: path.stat().st_mtime_ns for path in out.glob("search/*/result.json")}
    assert len(finished) == 3
    monkeypatch.setattr(engine, "run_job", whole)
    assert run_experiment(one, out=out) == 0
    assert all(path.stat().st_mtime_ns == time for path, time in finished.items())

    search = json.loads((out / "results.json").read_text())["search"]
    assert (search["written"], search["steps"], search["seed"]) == ([0.25, 4.0], 6, 1000)
    records = [read_json(path) for path in out.glob("search/*/result.json")]
    for model in ("classical", "unitary"):
        found = search["tasks"]["verse"][model]
        mine = {r["model"].rpartition("×")[2]: r["val_nats"] for r in records if r["model"].startswith(model)}
        assert found["val_nats"] == mine
        assert f"{found['factor']:g}" == min(mine, key=mine.__getitem__)
        (record,) = out.glob(f"runs/verse-{model}-*/config.yaml")
        rate = one.models[model].optimizer.lr * found["factor"]
        assert f"lr: {rate:g}" in record.read_text().replace("e-0", "e-") or f"lr: {rate}" in record.read_text()
    assert all(record["audit"] is None and not record["samples"] for record in records)  # nothing but its loss
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/*")}
    assert run_experiment(one, out=out) == 0
    assert before == {path: path.stat().st_mtime_ns for path in out.glob("runs/*/*")}


def test_another_search_is_another_experiment_and_a_smoke_run_has_none(tmp_path: Path) -> None:
    one, other = experiment(tmp_path, *SEARCH), experiment(tmp_path, *SEARCH, "training.search.steps=5")
    assert identities(one) != identities(other)
    assert one_batch(one).training.search is None
    plain = [job.identity() for job in jobs(experiment(tmp_path, *SEARCH[1:]))]
    assert [job.identity() for job in jobs(one)] == plain  # a run is known by its rates, not by how they were found


def test_a_search_goes_on_past_an_edge_until_the_best_factor_lies_inside(tmp_path: Path) -> None:
    one = experiment(tmp_path, "training.search={factors: [1, 2, 4], steps: 6, beyond: 3}", "models.b={kind: lstm}")
    search, todo = one.training.search, jobs(one)
    assert search is not None
    valley = {"classical": 16.0, "unitary": 2.0, "b": 1e-6}  # where each model's loss is least
    results: dict[Any, Any] = {}
    rounds, sought = [], trials(todo, search)
    while sought:
        rounds.append(sorted((model, factor) for _, model, factor in sought))
        assert all(f"×{factor:g}" in job.model_name for (_, _, factor), job in sought.items())
        for task, model, factor in sought:
            results[task, model, factor] = result(abs(math.log(factor / valley[model])))
        sought = further(todo, results, search)
    assert rounds[1:] == [[("b", 0.5), ("classical", 8.0)], [("b", 0.25), ("classical", 16.0)],
                          [("b", 0.125), ("classical", 32.0)]]  # fmt: skip
    found = choose(results, search)
    chosen = found["tasks"]["verse"]
    assert {model: (each["factor"], each["at_edge"]) for model, each in chosen.items()} == {
        "classical": (16.0, False), "unitary": (2.0, False), "b": (0.125, True),
    }  # fmt: skip
    assert (found["written"], found["beyond"]) == ([1.0, 2.0, 4.0], 3)
    assert found["factors"] == [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    hot = [{"task": "verse", "model": "classical", "seed": 0, "collapse": {"step": 9}}]
    cooler = cooled(found, hot)
    assert cooler is not None
    assert cooler["tasks"]["verse"]["classical"]["factor"] == 8.0


def test_a_trial_past_the_edge_that_fails_ends_the_search_and_a_bound_of_none_is_the_written_factors(
    tmp_path: Path,
) -> None:
    one = experiment(tmp_path, "training.search={factors: [1, 2], steps: 6}", "models.unitary=null")
    search, todo = one.training.search, jobs(one)
    assert search is not None
    results = {("verse", "classical", f): result(3 - f) for f in (1.0, 2.0)}
    assert [factor for *_, factor in further(todo, results, search)] == [4.0]
    assert further(todo, results, search.model_copy(update={"beyond": 0})) == {}
    results["verse", "classical", 4.0] = result(None, "failed")
    assert further(todo, results, search) == {}
    assert choose(results, search)["tasks"]["verse"]["classical"]["at_edge"] is False


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.search={factors: [1]}", "training.search.factors: expected at least 2 of them, got a list of 1"),
        ("training.search={factors: [1, 1], steps: 2}", "factors: expected each factor once, got 1, 1"),
        ("training.search={steps: 21}", r"search.steps: expected at most training.steps \(20\), got 21"),
        ("training.search={steps: 2, seed: 1}", "search.seed: expected a seed that is not compared, got 1"),
        ("training.search={factor: [1, 2]}", r"expected a known key, got 'factor' \(did you mean 'factors'\?\)"),
        ("training.tasks={verze: {steps: 3}}", r"expected the name of a task \('verse'\), got 'verze'"),
        ("training.tasks={verse: {evaluate_every: 30}}", "tasks.verse.evaluate_every: expected at most"),
        ("training.tasks={verse: {steps: 3, evaluate_every: 4}}", r"evaluate_every: expected at most steps \(3\)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        experiment(tmp_path, override)


def test_a_task_may_have_its_own_steps_and_batch(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        "tasks: {a: {kind: parity}, b: {kind: parity, lengths: [3, 9]}}\nmodels: {m: {kind: lstm}}\nseeds: 1\n"
        "training: {steps: 400, batch: 8, tasks: {b: {steps: 50, batch: 4}}}\n"
    )
    a, b = jobs(load_experiment(path))
    assert (a.training.steps, a.training.batch, a.training.evaluate_every, a.model.optimizer.warmup) == (
        400,
        8,
        100,
        40,
    )
    assert (b.training.steps, b.training.batch, b.training.evaluate_every, b.model.optimizer.warmup) == (50, 4, 12, 5)
    alone = tmp_path / "alone.yaml"
    alone.write_text(path.read_text().replace(", tasks: {b: {steps: 50, batch: 4}}", ""))
    assert jobs(load_experiment(alone))[0].identity() == a.identity()


def test_a_rate_past_the_edge_of_stability_is_cooled_step_by_step() -> None:
    search = Search(factors=[0.5, 1.0, 2.0], steps=10)
    given = {("text", m, f): result(3 - f) for m in ("a", "b") for f in search.factors}
    found = choose(given, search)
    runs = [{"task": "text", "model": "a", "seed": s, "collapse": {"step": 9} if s else None} for s in (0, 1)]
    runs.append({"task": "text", "model": "b", "seed": 0, "collapse": None})
    first = cooled(found, runs)
    assert first is not None
    assert {m: one["factor"] for m, one in first["tasks"]["text"].items()} == {"a": 1.0, "b": 2.0}
    second = cooled(first, runs)
    assert second is not None
    assert second["tasks"]["text"]["a"]["collapsed"] == [2.0, 1.0]
    assert cooled(second, runs) is None  # nothing smaller to try: the report names the collapse
    assert cooled(found, runs[2:]) is None
    assert found["tasks"]["text"]["a"]["factor"] == 2.0


def test_collapsed_runs_are_trained_again_at_the_smaller_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose hotter rate wins the search and falls in the comparison: the report has the cooler one alone."""
    trained: list[tuple[str, float]] = []

    def falls(job: Any, folder: Path, *rest: Any) -> Any:
        record = real(job, folder, *rest)
        if job.model_name == "unitary" and job.seed == 0:
            trained.append((job.model_name, job.model.optimizer.lr))
            if job.model.optimizer.lr > hot / 2:
                record = {**record, "collapse": {"step": 4, "from": 1.0, "to": 3.0}}
                (folder / "result.json").write_text(json.dumps(record))
        return record

    one = experiment(tmp_path, *SEARCH, "training.optimizer.schedule=constant")
    hot = 4 * next(job.model.optimizer.lr for job in jobs(one) if job.model_name == "unitary")
    real = engine.run_job
    monkeypatch.setattr(engine, "run_job", falls)
    out = tmp_path / "out"
    for _ in range(2):  # the second call finds everything done and says the same
        assert run_experiment(one, out=out) == 0
        found = read_json(out / "results.json")
        chosen = found["search"]["tasks"]["verse"]["unitary"]
        assert (chosen["factor"], chosen["collapsed"]) == (0.25, [4.0])
        assert not found["collapsed"]
        assert sorted(run["model"] for run in load(out).runs) == ["classical", "unitary"]  # what `qattn report` reads
        assert len(list((out / "collapsed").iterdir())) == 1
    assert [rate for _, rate in trained[:2]] == [hot, hot / 16]
    assert "× 4 collapsed" in (out / "report.html").read_text(encoding="utf-8")
