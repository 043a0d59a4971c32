"""The summary: the keys machines rely on, pairing by seed, and nothing dropped in silence."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest
from scipy import stats

from experiments.report.headline import answer
from experiments.schema.audit_columns import AUDIT_COLUMNS
from experiments.stats.compare import chosen_first, metric_of, summarise, table

TASK = "tiny_shakespeare"


def of(runs, *, model=None, seeds=None):
    return [r for r in runs if (model is None or r["model"] == model) and (seeds is None or r["seed"] in seeds)]


def test_keys_for_machines(runs, tasks):
    summary = summarise(runs, tasks, {}, "invented")
    assert summary["name"] == "invented"
    task = summary["tasks"][TASK]
    assert task["floor"]["bigram"] == 2.483
    assert {"a", "b", "p", "effect"} <= task["tests"][0].keys()
    for model in task["models"].values():
        assert {"kind", "parameters", "flops_per_token", "tokens_per_second", "peak_memory_mib"} <= model.keys()
        assert {"mean", "low", "high", "values"} <= model["val_nats"].keys() & model["bits_per_char"].keys()
        assert {*AUDIT_COLUMNS, "dtype", "budget", "passed"} <= model["audit"].keys()


def test_means_and_intervals_are_scipys(runs, tasks):
    summary = summarise(runs, tasks, {"confidence": 0.9}, "invented")
    for name, model in summary["tasks"][TASK]["models"].items():
        values = [r["val_nats"] for r in of(runs, model=name)]
        low, high = stats.t.interval(0.9, len(values) - 1, np.mean(values), stats.sem(values))
        assert model["val_nats"]["values"] == values
        assert (model["val_nats"]["low"], model["val_nats"]["high"]) == pytest.approx((low, high), rel=1e-12)
        assert model["perplexity"]["mean"] == pytest.approx(stats.gmean(np.exp(values)), rel=1e-12)


def test_pairs_are_matched_by_seed_not_by_order(runs, tasks):
    shuffled = [runs[i] for i in np.random.default_rng(0).permutation(len(runs))]
    ours = of(runs, model="unitary")
    other = of(runs, model="modern")
    expected = stats.ttest_rel([r["val_nats"] for r in other], [r["val_nats"] for r in ours]).pvalue
    summary = summarise(shuffled, tasks, {}, "invented")
    assert summary == summarise(runs, tasks, {}, "invented")
    test = next(t for t in summary["tasks"][TASK]["tests"] if (t["a"], t["b"]) == ("modern", "unitary"))
    assert test["p_t"] == pytest.approx(expected, rel=1e-10)
    assert (test["p"], test["n"]) == (2 / 64, 6)


def test_only_shared_seeds_are_compared(runs, tasks):
    some = of(runs, model="unitary", seeds={1, 2, 4}) + of(runs, model="modern", seeds={0, 1, 2})
    summary = summarise(some, tasks, {}, "invented")
    (test,) = summary["tasks"][TASK]["tests"]
    assert test["seeds"] == [1, 2]
    assert "better" not in test["verdict"]
    assert summary["tasks"][TASK]["models"]["unitary"]["val_nats"]["seeds"] == [1, 2, 4]


def test_best_comes_first_and_a_reference_limits_the_tests(runs, tasks):
    summary = summarise(runs, tasks, {"reference": "gpt2_style"}, "invented")
    assert list(summary["tasks"][TASK]["models"]) == ["modern", "unitary", "gpt2_style"]
    assert [(t["a"], t["b"]) for t in summary["tasks"][TASK]["tests"]] == [
        ("modern", "gpt2_style"), ("unitary", "gpt2_style"),
    ]  # fmt: skip
    best = summarise(runs, tasks, {"reference": "best classical"}, "invented")
    assert {t["b"] for t in best["tasks"][TASK]["tests"]} == {"modern"}


def test_the_best_classical_model_is_found_task_by_task_and_never_is_a_table_of_counts(runs, tasks):
    def task(name, **means):
        return [
            {
                **run,
                "task": name,
                "model": model,
                "kind": kind,
                "strict": False,
                "val_nats": mean + run["val_nats"] / 100,
            }
            for model, (kind, mean) in means.items()
            for run in of(runs, model="modern")
        ]

    more = task("a", one=("lstm", 1.0), two=("transformer", 2.0), counts=("ngram", 0.1), quantum=("unitary", 0.2))
    more += task("b", one=("lstm", 3.0), two=("transformer", 2.0))
    more += task("tied", two=("lstm", 1.0), one=("transformer", 1.0))
    more += task("none", quantum=("unitary", 1.0), counts=("ngram", 0.1))
    found = summarise(more, tasks, {"reference": "best classical"}, "invented")["tasks"]
    assert {name: found[name]["reference"] for name in ("a", "b", "tied", "none")} == {
        "a": "one", "b": "two", "tied": "one", "none": None,
    }  # fmt: skip
    assert {(t["a"], t["b"]) for t in found["a"]["tests"]} == {(m, "one") for m in ("two", "counts", "quantum")}
    assert found["none"]["tests"] == []
    assert all(t["n"] == 6 for t in found["a"]["tests"])


def test_strictness_is_what_the_record_says_and_an_ablation_of_a_strict_kind_claims_nothing(runs, tasks):
    ablated = [{**run, "model": "dephased", "strict": False} for run in of(runs, model="unitary")]
    new = [{**run, "model": "new", "kind": "a kind to come"} for run in of(runs, model="unitary")]
    old = [{k: v for k, v in run.items() if k != "strict"} | {"model": "old"} for run in of(runs, model="unitary")]
    models = summarise(ablated + new + old + of(runs, model="modern"), tasks, {}, "invented")["tasks"][TASK]["models"]
    said = {name: model["strict"] for name, model in models.items()}
    assert said == {"dephased": False, "new": True, "old": True, "modern": False}


def test_preparations_are_averaged_over_seeds_and_the_most_is_the_most_of_all(runs, tasks):
    repeated = [
        {**run, "preparations": {"mean": 6.0 + run["seed"], "median": 5.0, "most": 30.0 + run["seed"]}}
        for run in of(runs, model="unitary")
    ]
    models = summarise(repeated + of(runs, model="modern"), tasks, {}, "invented")["tasks"][TASK]["models"]
    assert models["unitary"]["preparations"] == {"mean": 8.5, "median": 5.0, "most": 35.0}
    assert models["modern"]["preparations"] is None


def test_a_failed_run_is_listed_and_counted(runs, tasks, make_run):
    runs.append(make_run(TASK, "unitary", 6, failed=True))
    summary = summarise(runs, tasks, {}, "invented")
    expected = {"task": TASK, "model": "unitary", "seed": 6, "step": 512, "reason": "the loss is not finite"}
    assert summary["failed"] == [expected]
    model = summary["tasks"][TASK]["models"]["unitary"]
    assert model["val_nats"]["n"] == 6
    assert model["seeds"] == {"attempted": 7, "done": [0, 1, 2, 3, 4, 5]}


def test_all_failed(tasks, make_run):
    runs = [make_run(TASK, model, seed, failed=True) for model in ("modern", "unitary") for seed in range(2)]
    summary = summarise(runs, tasks, {}, "invented")
    model = summary["tasks"][TASK]["models"]["unitary"]
    assert model["val_nats"]["mean"] is None
    assert model["val_nats"]["reason"] == "no run finished"
    assert model["parameters"] == 719_040  # known although nothing finished
    (test,) = summary["tasks"][TASK]["tests"]
    assert (test["n"], test["p"], test["reasons"]["p"]) == (0, None, "no seed finished with both models")
    json.dumps(summary, allow_nan=False)


def test_one_seed_has_a_mean_and_no_interval(runs, tasks):
    summary = summarise(of(runs, seeds={0}), tasks, {}, "invented")
    estimate = summary["tasks"][TASK]["models"]["unitary"]["val_nats"]
    assert estimate["low"] is None
    assert estimate["reason"] == "one seed has no interval"


def test_one_model_alone(runs, tasks):
    task = summarise(of(runs, model="unitary"), tasks, {}, "invented")["tasks"][TASK]
    assert (task["tests"], task["tests_reason"]) == ([], "no second model to compare with")


def test_no_runs_and_no_facts(tasks, runs):
    assert summarise([], tasks, None, "empty")["tasks"][TASK]["models"] == {}
    assert summarise(runs, {}, None, "bare")["tasks"][TASK]["floor"] == {}


def test_no_number_is_ever_nan(runs, tasks):
    runs[0]["val_nats"] = math.nan
    runs[1]["tokens_per_second"] = math.inf
    runs[12]["audit"]["linearity"] = math.nan  # a unitary run
    tasks[TASK]["chance"] = math.inf
    summary = summarise(runs, tasks, {}, "invented")
    json.dumps(summary, allow_nan=False)
    gpt = summary["tasks"][TASK]["models"]["gpt2_style"]
    assert gpt["val_nats"]["n"] == 5
    assert gpt["val_nats"]["without"]["seeds"] == [0]
    audit = summary["tasks"][TASK]["models"]["unitary"]["audit"]
    assert (audit["linearity"], audit["reasons"]["linearity"]) == (None, "not a finite number")


def test_a_huge_loss_has_no_perplexity(runs, tasks):
    for run in of(runs, model="unitary"):
        run["val_nats"] = 1e4
    perplexity = summarise(runs, tasks, {}, "invented")["tasks"][TASK]["models"]["unitary"]["perplexity"]
    assert (perplexity["mean"], perplexity["reason"]) == (None, "too large for a float")


def test_the_audit_keeps_the_worst_seed(runs, tasks):
    ours = of(runs, model="unitary")
    ours[3]["audit"] |= {"reversal": 2e-5, "passed": False}
    audit = summarise(runs, tasks, {}, "invented")["tasks"][TASK]["models"]["unitary"]["audit"]
    assert audit["reversal"] == 2e-5
    assert audit["passed"] is False
    assert audit["norm_drift"] == max(r["audit"]["norm_drift"] for r in ours)


def test_holm_runs_over_all_tasks(runs, tasks):
    two = [*runs, *({**run, "task": "other"} for run in runs)]
    tests = [t for task in summarise(two, tasks, {}, "invented")["tasks"].values() for t in task["tests"]]
    assert len(tests) == 6
    assert [t["p_holm"] for t in tests] == pytest.approx([6 * 2 / 64] * 6)
    assert all("over 6 comparisons" in t["verdict"] for t in tests)


def test_an_accuracy_stays_within_its_range_and_knows_the_test_set(runs, tasks):
    """All right on 50 sequences by all seeds: Wilson's interval begins at 50/(50 + z²). Without their number: none."""
    for run in runs:
        run |= {"val_nats": None, "bits_per_char": None, "accuracy": 1.0, "splits": {"length 30": 0.5}}
        run["examples"] = {"accuracy": 50, "length 30": 50}
    told = summarise(runs, tasks, {}, "invented")["tasks"][TASK]["models"]["unitary"]
    assert told["accuracy"]["low"] == pytest.approx(50 / (50 + stats.norm.ppf(0.975) ** 2))
    assert told["accuracy"]["high"] == 1
    expected = stats.binomtest(25, 50).proportion_ci(method="wilson")
    assert (told["splits"]["length 30"]["low"], told["splits"]["length 30"]["high"]) == pytest.approx(tuple(expected))
    for run in runs:
        del run["examples"]
    untold = summarise(runs, tasks, {}, "invented")["tasks"][TASK]["models"]["unitary"]["accuracy"]
    assert (untold["mean"], untold["low"]) == (1, None)
    assert untold["reason"] == "all seeds agree: no spread, no interval"


def test_accuracy_is_the_metric_where_no_loss_was_measured(runs, tasks):
    for run in runs:
        gain = 0.5 if run["model"] == "unitary" else 0.3
        run |= {"val_nats": None, "bits_per_char": None, "accuracy": gain + 0.01 * run["seed"] ** 1.5}
    task = summarise(runs, tasks, {}, "invented")["tasks"][TASK]
    assert metric_of(runs) == task["metric"] == "accuracy"
    assert next(iter(task["models"])) == "unitary"
    with pytest.raises(ValueError, match="test_nats, val_nats or accuracy, got 'loss'"):
        metric_of(runs, "loss")


def test_results_are_those_of_the_test_split_and_the_best_classical_model_is_chosen_by_validation(runs, tasks):
    """The model that is ahead on the test split alone must not become the reference because of it."""
    shift = {"gpt2_style": -0.3, "modern": 0.1, "unitary": 0.05}
    runs = [{**run, "test_nats": run["val_nats"] + shift[run["model"]]} for run in runs]
    summary = summarise(runs, tasks, {"reference": "best classical"}, "invented")
    task = summary["tasks"][TASK]
    assert task["metric"] == "test_nats"
    assert list(task["models"]) == ["gpt2_style", "unitary", "modern"]
    assert (task["reference"], task["best_classical"]) == ("modern", "modern")
    assert chosen_first(task) == ["modern", "unitary", "gpt2_style"]
    entry = task["models"]["unitary"]
    assert entry["test_nats"]["values"] == [run["test_nats"] for run in of(runs, model="unitary")]
    assert entry["perplexity"]["mean"] == pytest.approx(math.exp(entry["test_nats"]["mean"]))
    test = next(t for t in task["tests"] if t["a"] == "unitary")
    gap = np.mean([run["test_nats"] for run in of(runs, model="unitary")]) - np.mean(
        task["models"]["modern"]["test_nats"]["values"]
    )
    assert test["difference"]["mean"] == pytest.approx(gap)
    assert entry["curves"]["3"] == of(runs, model="unitary")[3]["history"]["validation"]
    assert "gpt2_style had the lowest test loss" in " ".join(answer(summary)[TASK])


def test_a_double_run_is_refused(runs, tasks):
    with pytest.raises(ValueError, match="two runs of task 'tiny_shakespeare', model 'modern', seed 0"):
        summarise([*runs, of(runs, model="modern")[0]], tasks, {}, "invented")


def test_csv_has_a_row_a_run(runs, make_run):
    runs.append(make_run(TASK, "unitary", 6, failed=True))
    rows = list(csv.DictReader(io.StringIO(table(runs))))
    assert len(rows) == 19
    assert float(rows[0]["val_nats"]) == of(runs, model="gpt2_style")[0]["val_nats"]
    failed = next(row for row in rows if row["status"] == "failed")
    assert (failed["failure_step"], failed["failure_reason"], failed["val_nats"]) == (
        "512",
        "the loss is not finite",
        "",
    )
    assert rows[0]["ledger_control"] == ""
    assert rows[-1]["ledger_control"] == "512000"
    assert "nan" not in table(runs).lower()
