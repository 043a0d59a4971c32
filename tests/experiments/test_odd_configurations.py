"""Numbers, files and whole configurations that no one should write: one sentence each, exit code 2, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.errors import UserError
from experiments.schema import load_experiment
from tests.fuzz_configuration import RAW, odd_file, told, wrong

TINY = "task: {kind: parity}\nmodels:\n  a: {kind: lstm}\n"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("seeds: 1000000000", "seeds: expected a count of at most 1000, got 1000000000 "
         "(did you mean [1000000000], this one seed?)"),
        ("seeds: 1337", "(did you mean [1337], this one seed?)"),
        ("seeds: [18446744073709551616]", "seeds[0]: expected a number of at most 9223372036854775807, got 18446744"),
        ("seeds: [9223372036854775808]", "seeds[0]: expected a number of at most 9223372036854775807, got 92233720"),
        ("seeds: null", "seeds: expected "),
        ("training: {search: {seed: 18446744073709551616}}", "training.search.seed: expected a number of at most"),
        (f"grid: {{models.a.dim: {list(range(1, 41))}, models.a.layers: {list(range(1, 41))}}}",
         "grid: expected at most 1000 combinations, got 1600; give fewer values"),
    ],
)  # fmt: skip
def test_numbers_beyond_all_bounds(tmp_path: Path, lines: str, sentence: str) -> None:
    code, err = told(tmp_path, f"{TINY}{lines}\n".encode())
    assert code == 2, code
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_the_greatest_seed_is_a_seed(tmp_path: Path) -> None:
    from experiments.lm.train import stream

    (tmp_path / "x.yaml").write_text(f"{TINY}seeds: [{2**63 - 1}]\n", encoding="utf-8")
    seed = load_experiment(tmp_path / "x.yaml").seeds[0]
    assert stream(seed).initial_seed() == 1_000_003 + seed
    with pytest.raises(UserError, match="this one seed"):
        load_experiment(tmp_path / "x.yaml", ["seeds=1001"])


@pytest.mark.parametrize("raw", RAW)
def test_what_is_hardly_yaml(tmp_path: Path, raw: str) -> None:
    assert not wrong(*told(tmp_path, raw.encode("utf-8")))


@given(chance=st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_odd_files_are_told_in_sentences(tmp_path: Path, chance) -> None:
    raw = odd_file(chance)
    assert not wrong(*told(tmp_path, raw)), raw


@pytest.mark.parametrize("dim", [10**12, 10**18, 10**30])
@pytest.mark.parametrize("kind", ["lstm", "transformer", "unitary", "unitary_recurrent", "instrument"])
def test_a_model_larger_than_any_memory_is_one_sentence(kind: str, dim: int) -> None:
    from experiments.lm.builders import build
    from experiments.schema.model_kinds import MODELS

    config = MODELS[kind](kind=kind).model_copy(update={"dim": dim})
    with pytest.raises(UserError, match=r"^models\.a: needs more memory than there is \(dim 10+"):
        build("a", config, 2**20 if kind == "unitary" else 16, 8, 0)
