"""Equal sizes: solved, within two percent, said, and refused where impossible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.config import Experiment, load_experiment
from experiments.engine import plan, run_experiment, summary
from experiments.errors import UserError
from experiments.matching import COSTS, matched_jobs
from experiments.store import read_json
from tests.experiments.tiny import experiment

MODELS = """\
task: {kind: text, path: tinyshakespeare}
models:
  gpt: {kind: transformer}
  modern: {kind: transformer, preset: modern}
  mlp: {kind: unitary}
  ngram_control: {kind: unitary, control: ngram, field: real}
  mean_field: {kind: mean_field, control: ngram}
  reflections: {kind: unitary_recurrent}
  hamiltonian: {kind: unitary_recurrent, transition: cayley}
  circuit: {kind: circuit, qubits: 7}
  lstm: {kind: lstm}
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
        one = replace(one, models={n: m for n, m in one.models.items() if n not in ("reflections", "hamiltonian")})
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
    with pytest.raises(UserError, match="expected a reference beside it, whose size is to be met, got 'parameters'"):
        shakespeare(tmp_path, "comparison: {match: parameters}\n")
    one = shakespeare(
        tmp_path, "  coarse: {kind: instrument, rank: 64}\ncomparison: {reference: gpt, match: parameters}\n"
    )
    with pytest.raises(UserError, match=r"^models\.coarse: no dim comes within 2 % of the reference's"):
        matched_jobs(one)
