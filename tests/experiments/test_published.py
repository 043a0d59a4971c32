"""Published figures beside ours: stated in YAML, checked where they stand, told in the report, summary and results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.cli.summary import published
from experiments.errors import UserError
from experiments.lm.engine import run_experiment
from experiments.runs.json_files import read_json
from experiments.schema import load_experiment
from experiments.stats.compare import summarise
from experiments.stats.published import against_published, lines
from tests.experiments.tiny import experiment

ENTRY = {
    "model": "a", "task": None, "metric": "val_nats", "split": None, "step": None, "value": 2.0, "within": 0.05,
    "source": "a paper",
}  # fmt: skip


def run(seed: int, nats: float, status: str = "done") -> dict[str, Any]:
    history = {"train": [], "validation": [[10, nats + 1], [20, nats]]}
    return {
        "task": "t", "model": "a", "kind": "lstm", "seed": seed, "status": status, "val_nats": nats,
        "splits": {"length 30": 0.25}, "history": history, "parameters": 3,
    }  # fmt: skip


def rows(*entries: dict[str, Any], runs: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    given = [run(0, 2.01), run(1, 2.03)] if runs is None else runs
    return against_published([{**ENTRY, **entry} for entry in entries], "t", True, given, 0.95)


def test_ours_is_the_mean_over_seeds_and_the_difference_says_who_is_higher() -> None:
    end, early, split = rows({}, {"step": 10, "value": 3.5}, {"metric": "accuracy", "split": "length 30", "value": 0.5})
    assert end["ours"]["mean"] == pytest.approx(2.02)
    assert end["difference"] == pytest.approx(0.02)
    assert end["reproduced"] is True
    assert early["ours"]["mean"] == pytest.approx(3.02)
    assert early["difference"] == pytest.approx(-0.48)
    assert early["reproduced"] is False
    assert split["ours"]["mean"] == 0.25
    assert lines([early])[0][1:] == ["nats per token, 10 steps", "3.5", "3.02 [2.893, 3.147]", "-0.4800",
                                     "0.05 not reproduced", "a paper"]  # fmt: skip


def test_what_was_not_measured_says_so_and_claims_nothing() -> None:
    failed, missing, free = rows({}, runs=[run(0, 2.0, "failed")]) + rows({"split": "length 99"}, {"within": None})
    assert (failed["reason"], failed["reproduced"], failed["difference"]) == ("no run finished", None, None)
    assert (missing["reason"], missing["reproduced"]) == ("not measured", None)
    assert free["reproduced"] is None
    assert free["difference"] is not None


def test_a_figure_of_another_task_stays_there() -> None:
    summary = summarise([run(0, 2.01)], {"t": {}, "u": {}}, {"published": [{**ENTRY, "task": "t"}]}, "x")
    assert [row["task"] for row in summary["tasks"]["t"]["published"]] == ["t"]
    assert summary["tasks"]["u"]["published"] == []


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("{model: unitry, metric: val_nats, value: 1, source: x}",
         "comparison.published[0].model: expected the name of a model ('classical' or 'unitary'), got 'unitry' "
         "(did you mean 'unitary'?)"),
        ("{model: unitary, task: moby, metric: val_nats, value: 1, source: x}",
         "comparison.published[0].task: expected the name of a task ('verse'), got 'moby'"),
        ("{model: unitary, metric: val_nats, step: 7, value: 1, source: x}",
         "comparison.published[0].step: expected a step that is evaluated (every 10, up to 20), got 7"),
        ("{model: unitary, metric: accuracy, step: 10, value: 1, source: x}",
         "comparison.published[0].step: expected metric: val_nats beside it, of which the history is kept"),
        ("{model: unitary, metric: accuracy, value: 99.8, source: x}",
         "comparison.published[0].value: expected a share between 0 and 1 for metric accuracy, got 99.8"),
        ("{model: unitary, metric: val_nats, value: 1}", "comparison.published[0].source: "),
        ("{model: unitary, metric: loss, value: 1, source: x}", "comparison.published[0].metric: expected 'val_nats'"),
        ("{model: unitary, metric: val_nats, step: 10, split: length 30, value: 1, source: x}",
         "comparison.published[0].step: expected either step or split, got both; remove one"),
    ],
)  # fmt: skip
def test_an_impossible_figure_is_one_sentence_where_it_stands(tmp_path: Path, entry: str, sentence: str) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        experiment(tmp_path, f"comparison.published=[{entry}]")


def test_several_tasks_want_a_task(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "tasks: {a: {kind: parity}, b: {kind: dyck2}}\nmodels: {m: {kind: lstm}}\n"
        "comparison: {published: [{model: m, metric: accuracy, value: 1, source: x}]}\n"
    )
    with pytest.raises(UserError, match=re.escape("expected a task beside it ('a' or 'b')")):
        load_experiment(tmp_path / "two.yaml")


def test_report_results_and_summary_show_published_beside_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from typer.testing import CliRunner

    from experiments.cli import app

    stated = "[{model: classical, metric: val_nats, step: 10, value: 9.25, within: 0.1, source: a paper}]"
    tiny = experiment(tmp_path, f"comparison.published={stated}", "seeds=1")
    assert run_experiment(tiny, out=tmp_path / "out") == 0
    (row,) = read_json(tmp_path / "out" / "results.json")["tasks"]["verse"]["published"]
    assert (row["value"], row["reproduced"]) == (9.25, False)
    assert row["difference"] == pytest.approx(row["ours"]["mean"] - 9.25)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Published figures" in page
    assert "not reproduced" in page
    told = capsys.readouterr().out
    assert "published" in told
    assert "9.25" in told
    overrides = ["--set", f"comparison.published={stated}", "--set", f"output.dir={tmp_path / 'out'}"]
    result = CliRunner().invoke(app, ["summary", str(tmp_path / "tiny.yaml"), *overrides, "--json"])
    assert json.loads(result.output)["published"] == [row]
    result = CliRunner().invoke(
        app, ["summary", str(tmp_path / "tiny.yaml"), *overrides[:2], "--set", "output.dir=none"]
    )
    assert "no run finished" in result.output


def test_the_summary_leaves_out_runs_of_another_configuration(trained: Path, tmp_path: Path) -> None:
    said = "comparison.published=[{model: unitary, metric: val_nats, value: 2.0, source: a paper}]"
    place = f"output.dir={trained / 'out'}"
    (same,) = published(experiment(tmp_path, said, place))
    (other,) = published(experiment(tmp_path, said, place, "training.steps=21"))
    assert same["ours"]["n"] == 2
    assert other["reason"] == "no run finished"
