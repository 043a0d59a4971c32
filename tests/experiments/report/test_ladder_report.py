"""The opening of a report of several tasks: the order of the ladder, signs of differences, the price in a sentence."""

from __future__ import annotations

import pytest

from experiments.report.ladder import order, price, rows, sort_of
from experiments.report.page import Made, html
from experiments.stats.compare import summarise

TASK = "tiny_shakespeare"


def test_models_stand_from_the_lowest_rung_up_and_on_one_rung_as_the_file_has_them(runs, tasks):
    kinds = {"d": ("permutation", "4"), "c": ("unitary", "2"), "a": ("lstm", "0"), "b": ("transformer", "0")}
    kinds |= {"n": ("ngram", ""), "i": ("instrument", "2i"), "r": ("unitary_recurrent", "2r"), "m": ("mean_field", "1")}
    made = [
        {**run, "model": name, "kind": kind, "rung": rung, "strict": name in "drc", "classical": name in "ab"}
        for name, (kind, rung) in kinds.items()
        for run in runs
        if run["model"] == "modern"
    ]
    summary = summarise(made, tasks, {}, "invented", {"models": list(kinds)})
    assert order(summary) == ["n", "a", "b", "m", "c", "r", "i", "d"]
    found = {name: sort_of(model) for name, model in summary["tasks"][TASK]["models"].items()}
    assert {name for name, sort in found.items() if sort == "classical"} == {"n", "a", "b"}
    assert {name for name, sort in found.items() if sort == "gives something up"} == {"m", "i"}


@pytest.mark.parametrize("reference", ["best classical", "modern", None])
def test_differences_are_model_minus_reference_however_the_test_was_written(runs, tasks, reference):
    summary = summarise(runs, tasks, {"reference": reference}, "invented")
    mean = {name: model["val_nats"]["mean"] for name, model in summary["tasks"][TASK]["models"].items()}
    for row in rows(summary)[TASK]:
        if row["name"] == "modern":
            assert row["is_reference"]
            assert row["test"] is None
            continue
        assert row["test"]["mean"] == pytest.approx(mean[row["name"]] - mean["modern"])
        assert row["test"]["low"] < row["test"]["mean"] < row["test"]["high"]
    found = price(TASK, summary["tasks"][TASK])
    assert found is not None
    assert (found["strict"], found["classical"]) == ("unitary", "modern")
    assert found["difference"] == pytest.approx(mean["unitary"] - mean["modern"])
    assert "unitary, is behind the best classical one, modern, by" in found["text"]


def test_without_a_classical_or_a_strict_model_there_is_no_price(runs, tasks):
    for left_out in ("unitary", "classical"):
        kept = [run for run in runs if (run["model"] == "unitary") != (left_out == "unitary")]
        summary = summarise(kept, tasks, {"reference": "best classical"}, "invented")
        assert price(TASK, summary["tasks"][TASK]) is None


def test_the_page_shows_what_a_search_found(runs, tasks):
    found = {"factor": 4.0, "val_nats": {"1": 2.5, "4": None}, "at_edge": True}
    search = {"factors": [1.0, 4.0], "steps": 77, "seed": 1000, "tasks": {TASK: {"unitary": found}}}
    summary = summarise(runs, tasks, {"reference": "best classical"}, "invented", {"search": search})
    page = html(summary, runs, tasks, {TASK: {}}, "<svg></svg>", Made("", {}, ""))
    assert "2 trials of 77 steps" in page
    assert "at the edge" in page
    assert "2.5000" in page
    assert summary["search"]["tasks"][TASK]["unitary"]["factor"] == 4.0
