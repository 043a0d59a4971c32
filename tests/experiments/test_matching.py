"""Equal sizes: solved, within two percent, said, and refused where impossible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.errors import UserError
from experiments.lm import matching, timing
from experiments.lm.engine import plan, run_experiment, summary
from experiments.lm.matching import COSTS, matched_jobs
from experiments.runs.json_files import read_json
from experiments.schema import Experiment, Job, jobs, load_experiment
from tests.experiments.tiny import experiment

MODELS = """\
task: {kind: text, path: tinyshakespeare}
models:
  gpt: {kind: transformer}
  modern: {kind: transformer, preset: modern}
  mlp: {kind: unitary}
  ngram_control: {kind: unitary, control: additive, field: real}
  mean_field: {kind: mean_field, control: additive}
  reflections: {kind: unitary_recurrent}
  hamiltonian: {kind: unitary_recurrent, transition: cayley}
  circuit: {kind: circuit, qubits: 7}
  lstm: {kind: lstm}
  angles: {kind: no_register}
  control: {kind: no_register, reads: control}
  chain: {kind: classical_recurrent}
  counts: {kind: ngram}
seeds: 1
"""


def shakespeare(folder: Path, extra: str) -> Experiment:
    path = folder / "match.yaml"
    path.write_text(MODELS.replace("seeds: 1\n", "") + extra + "seeds: 1\n")
    return load_experiment(path)


@pytest.mark.parametrize("match", ["parameters", "flops"])
def test_every_model_meets_the_reference_within_two_percent(tmp_path: Path, match: str) -> None:
    one = shakespeare(tmp_path, f"comparison: {{reference: gpt, match: {match}}}\n")
    if match == "flops":  # a unitary a token of D x D costs little a token and much memory
        tables = ("reflections", "hamiltonian", "chain")
        one = replace(one, models={n: m for n, m in one.models.items() if n not in tables})
    todo, notes = matched_jobs(one)
    goal = COSTS[match](todo[0])
    for job in todo:
        if job.model_name != "counts":
            assert COSTS[match](job) == pytest.approx(goal, rel=0.02), job.model_name
    assert len(notes["tinyshakespeare"]) == len(todo) - 2
    assert all("% of gpt's" in line for line in notes["tinyshakespeare"])


def test_without_match_nothing_changes(tmp_path: Path) -> None:
    one = shakespeare(tmp_path, "")
    todo, notes = matched_jobs(one)
    assert not notes
    assert [job.model for job in todo] == list(one.models.values())


def test_a_matched_experiment_runs_and_says_what_it_changed(tmp_path: Path) -> None:
    one = experiment(tmp_path, "comparison.match=parameters", "comparison.reference=classical", "seeds=1")
    sizes = {row["model"]: row["parameters"] for row in plan(one)}
    assert sizes["unitary"] == pytest.approx(sizes["classical"], rel=0.02)
    assert sum(summary(one)["unitary"].values()) == sizes["unitary"]
    assert run_experiment(one, out=tmp_path / "out") == 0
    record = read_json(tmp_path / "out" / "experiment.json")
    assert any("unitary has" in note and "% of classical's" in note for note in record["tasks"]["verse"]["notes"])
    assert run_experiment(one, out=tmp_path / "out") == 0  # again: nothing to do, nothing refused


def test_what_cannot_be_matched_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"comparison\.match: expected a model beside it whose size is to be met"):
        shakespeare(tmp_path, "comparison: {match: parameters}\n")
    one = shakespeare(tmp_path, "  coarse: {kind: instrument, rank: 64}\ncomparison: {match: parameters, size: 2000}\n")
    one = replace(one, models={"coarse": one.models["coarse"]})
    with pytest.raises(
        UserError, match=r"^models\.coarse on tinyshakespeare: no dim or rank comes within 2 % of 2,000"
    ):
        matched_jobs(one)


def test_a_size_is_met_by_every_model_on_every_task_in_the_proportions_written(tmp_path: Path) -> None:
    path = tmp_path / "sizes.yaml"
    path.write_text(
        "tasks: {p: {kind: parity}, S3: {kind: word_problem}}\nseeds: 1\nmodels:\n"
        "  gpt: {kind: transformer, layers: 2, dim: 32}\n  lstm: {kind: lstm}\n"
        "  unitary: {kind: unitary, layers: 2, dim: 32, hidden: 128, embedding: 32, key_dim: 8, rank: fit}\n"
        "  table: {kind: unitary_recurrent, transition: table, rank: fit}\n"
        "  permutation: {kind: permutation, rank: fit}\n"
        "comparison: {reference: best classical, match: parameters, size: {p: 9000, S3: 15000}}\n"
    )
    todo, notes = matched_jobs(load_experiment(path))
    for job in todo:
        assert COSTS["parameters"](job) == pytest.approx({"p": 9000, "S3": 15000}[job.task_name], rel=0.02), job
    assert {task: len(lines) for task, lines in notes.items()} == {"p": 5, "S3": 5}
    (unitary,) = (job.model for job in todo if (job.task_name, job.model_name) == ("S3", "unitary"))
    assert unitary.hidden / unitary.embedding == pytest.approx(4, rel=0.15)  # type: ignore[attr-defined]


def test_equal_times_are_measured_in_turn_kept_and_not_solved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that counts operations, so that the test does not depend on the machine."""
    calls = []

    def ratio(job: Job, other: Job) -> float:
        calls.append(job.model_name)
        return COSTS["flops"](job) / COSTS["flops"](other)

    monkeypatch.setattr(matching, "relative_time", ratio)
    one = experiment(tmp_path, "comparison={match: time, match_to: classical}", "seeds=1")
    todo, notes = matched_jobs(one, tmp_path / "matching.json")
    assert COSTS["flops"](todo[1]) == pytest.approx(COSTS["flops"](todo[0]), rel=0.1)
    assert calls
    assert set(calls) == {"unitary"}
    assert "measured side by side on this machine" in notes["verse"][0]
    calls.clear()
    assert matched_jobs(one, tmp_path / "matching.json") == (todo, notes)
    assert not calls
    other = replace(one, comparison=one.comparison.model_copy(update={"match_to": "unitary"}))
    assert matched_jobs(other, tmp_path / "matching.json")[0][1].model == one.models["unitary"]


def test_two_jobs_are_stepped_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ratio is the median of steps one beside the other, so that a slow moment of the machine meets both."""
    steps: list[str] = []

    def stepper(job: Job) -> Callable[[], float]:
        def step() -> float:
            steps.append(job.model_name)
            return {"classical": 2.0, "unitary": 3.0}[job.model_name] * (10 if len(steps) in (5, 6) else 1)

        return step

    monkeypatch.setattr(timing, "stepper", stepper)
    classical, unitary = jobs(experiment(tmp_path, "seeds=1"))
    assert timing.relative_time(unitary, classical, rounds=5) == 1.5
    assert steps == ["unitary", "classical"] * 6
    monkeypatch.undo()
    assert timing.stepper(classical)() > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{match: parameters, match_to: clasical}", r"match_to: expected the name .* \(did you mean 'classical'"),
        ("{match_to: classical}", "match_to: expected match: parameters, flops or time beside it, got none"),
        ("{match: time, size: 9}", "size: expected match: parameters or flops beside it, got 'time'"),
        ("{match: flops, size: 9, match_to: unitary}", "size: expected either match_to or size, got both"),
        ("{match: flops, size: {verze: 9}}", r"size.verze: expected the name of a task \('verse'\), got 'verze'"),
        ("{match: flops, size: {}}", "size: expected a size for every task, got none for 'verse'"),
        ("{match: flops, reference: best classical}", "match: expected a model beside it whose size is to be met"),
        ("{reference: best clasical}", r"reference: expected the name of a model \('classical' or 'unitary'\)"),
    ],
)  # fmt: skip
def test_a_comparison_that_cannot_be_is_said_with_its_place(tmp_path: Path, given: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        experiment(tmp_path, f"comparison={given}")


def test_the_best_classical_model_must_be_possible(tmp_path: Path) -> None:
    assert experiment(tmp_path, "comparison.reference=best classical").comparison.reference == "best classical"
    with pytest.raises(UserError, match=r"expected a trained classical model .* among the models, got none"):
        experiment(tmp_path, "comparison.reference=best classical", "models.classical={kind: ngram}")
