"""Whatever happens to the bytes of a results folder: the same numbers or one sentence. Never others, no traceback.

``python tests/experiments/runs/test_damaged_folders.py 500`` damages a folder so many times.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.errors import UserError
from experiments.lm import results_schema, trained_models
from experiments.lm.run import run_job
from experiments.schema import jobs
from tests.experiments.tiny import experiment


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with a bit flipped, an end cut off, or two stretches of them exchanged."""
    if not raw:
        return b"\x00"
    how = rng.integers(4)
    a, b = sorted(int(k) for k in rng.integers(len(raw), size=2))
    if how < 2:
        return raw[:a] + bytes([raw[a] ^ (1 << int(rng.integers(8)))]) + raw[a + 1 :]
    if how == 2:
        return raw[:a]
    size = int(rng.integers(1, 9))
    first, second = raw[a : a + size], raw[b : b + size]
    return raw if b < a + size else raw[:a] + second + raw[a + size : b] + first + raw[b + len(second) :]


def read(folder: Path) -> Any:
    """All that a finished folder says: its records, and its models' weights and tokens."""
    found = results_schema.load(folder)
    models = [trained_models.load(path) for path in trained_models.finished(folder)]
    return found, [(one.job, one.tokenizer.to_json(), one.model.state_dict()) for one in models]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def try_finished(out: Path, whole: Any, rng: np.random.Generator) -> str:
    """One file of a finished folder damaged, read, and put back; how it went."""
    path = rng.choice(sorted(path for path in out.rglob("*.json*") if path.is_file()) + sorted(out.rglob("*.saf*")))
    raw = path.read_bytes()
    path.write_bytes(damaged(raw, rng))
    try:
        assert same(read(out), whole), path
        return "the same"
    except UserError as error:
        return "a sentence" if "\n" not in str(error) else str(error)
    finally:
        path.write_bytes(raw)


def half_trained(folder: Path) -> tuple[Any, dict[str, Any]]:
    """A run killed after its second checkpoint, and the record of the same run undisturbed."""
    job = jobs(experiment(folder))[0]
    whole = run_job(job, folder / "whole", None)

    class Killed(Exception):
        pass

    def kill(event: dict[str, Any]) -> None:
        if event["step"] == 15:
            raise Killed

    try:
        run_job(job, folder / "half", None, kill)
    except Killed:
        return job, whole
    raise AssertionError("not killed")


def try_half(folder: Path, job: Any, whole: dict[str, Any], rng: np.random.Generator) -> str:
    """One file of a killed run damaged, and the run resumed in a copy of its folder; how it went."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / "half", copy)
    path = rng.choice(sorted(path for path in copy.iterdir() if path.is_file()))
    path.write_bytes(damaged(path.read_bytes(), rng))
    try:
        record = run_job(job, copy, None)
        assert (record["val_nats"], record["history"]) == (whole["val_nats"], whole["history"]), path
        return "the same"
    except UserError as error:
        return "a sentence" if "\n" not in str(error) else str(error)


def test_a_damaged_finished_folder_says_the_same_or_one_sentence(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(trained / "out", out)
    whole, rng = read(out), np.random.default_rng(0)
    went = [try_finished(out, whole, rng) for _ in range(60)]
    assert set(went) == {"the same", "a sentence"}


def test_a_damaged_killed_run_ends_the_same_or_in_one_sentence(tmp_path: Path) -> None:
    job, whole = half_trained(tmp_path)
    rng = np.random.default_rng(0)
    went = [try_half(tmp_path, job, whole, rng) for _ in range(8)]
    assert set(went) <= {"the same", "a sentence"}
    assert "the same" in went


def main(cases: int) -> None:
    """Damage a finished folder and a killed run in turn; says how often which answer came."""
    from experiments.lm.engine import run_experiment

    folder = Path(tempfile.mkdtemp())
    run_experiment(experiment(folder, "seeds=1"), out=folder / "out", as_json=True)
    job, whole = half_trained(folder)
    finished, rng = read(folder / "out"), np.random.default_rng(1)
    for name, tried in (
        ("finished", [try_finished(folder / "out", finished, rng) for _ in range(cases // 2)]),
        ("killed", [try_half(folder, job, whole, rng) for _ in range(cases - cases // 2)]),
    ):
        print(name, {answer: tried.count(answer) for answer in sorted(set(tried))})


if __name__ == "__main__":
    main(int(sys.argv[1]))
