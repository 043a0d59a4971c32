"""The verbs that look at trained models: what they print, and what they say to bad input."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from experiments import cli
from experiments.cli.sample import answering
from experiments.errors import UserError
from experiments.lm.builders import load_task
from experiments.lm.evaluate import evaluate
from experiments.lm.generate import continue_text, likeliest
from experiments.lm.trained_models import load, one_a_model
from experiments.tasks.tokenizers import CharacterTokenizer, SymbolTokenizer


def qattn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object
) -> tuple[int, str, str]:
    """The command line in this process: exit code, standard output, standard error."""
    monkeypatch.setattr("sys.argv", ["qattn", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    return lambda *arguments: qattn(capsys, monkeypatch, *arguments)


def test_sample_continues_the_prompt_with_every_model(run, trained: Path) -> None:
    code, out, _ = run("sample", trained / "out", "--prompt", "the cat", "--tokens", 30, "--top-k", 5)
    assert code == 0
    assert out.count("the cat") >= 2
    assert "classical on verse, seed 0" in out
    assert "unitary on verse, seed 0" in out
    code, out, _ = run("sample", trained / "out", "--prompt", "the cat", "--tokens", 30, "--json")
    texts = json.loads(out)["continuations"]
    assert len(texts) == 2
    assert all(len(text) == 30 for text in texts.values())


def test_logprobs_are_the_likeliest_and_add_up(run, trained: Path) -> None:
    code, out, _ = run("sample", trained / "out", "--prompt", "the ca", "--logprobs", 1000, "--json")
    assert code == 0
    for answer in json.loads(out).values():
        probabilities = [token["probability"] for token in answer["tokens"]]
        assert sum(probabilities) == pytest.approx(1, abs=1e-5)
        assert probabilities == sorted(probabilities, reverse=True)
        entropy = -sum(p * math.log(p) for p in probabilities)
        assert answer["perplexity"] == pytest.approx(math.exp(entropy), rel=1e-4)
    code, out, _ = run("sample", trained / "out", "--prompt", "the ca", "--logprobs", 3)
    assert code == 0
    assert "perplexity" in out


def test_temperature_zero_is_greedy_and_seeds_repeat(trained: Path) -> None:
    for one in one_a_model(trained / "out"):
        greedy = list(continue_text(one.model, one.tokenizer, "the ", 12, temperature=0))
        assert greedy == list(continue_text(one.model, one.tokenizer, "the ", 12, temperature=1e-9, seed=5))
        assert greedy[0] == likeliest(one.model, one.tokenizer, "the ", 1)["tokens"][0]["id"]
        drawn = [list(continue_text(one.model, one.tokenizer, "the ", 12, temperature=1.0, seed=s)) for s in (1, 1, 2)]
        assert drawn[0] == drawn[1] != drawn[2]


def test_a_prompt_longer_than_the_block_slides(trained: Path) -> None:
    """One policy: a model sees at most its block of most recent tokens, also while it writes on."""
    for one in one_a_model(trained / "out"):
        prompt = "the cat sat on the mat and the dog sat on the log while"
        ids = list(continue_text(one.model, one.tokenizer, prompt, 30, temperature=0))
        assert len(ids) == 30
        limit = one.model.context_limit
        if limit is not None:
            short = list(continue_text(one.model, one.tokenizer, prompt[-limit:], 30, temperature=0))
            assert ids == short
        assert likeliest(one.model, one.tokenizer, prompt, 1)["tokens"][0]["id"] == ids[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--prompt", "the €"), "character '€' (U+20AC) at position 4 is outside the vocabulary"),
        (("--prompt", "the", "--temperature", -1), "temperature"),
        (("--prompt", "the", "--top-k", 0), "top_k"),
        (("--prompt", "the", "--top-p", 1.5), "top_p"),
        (("--prompt", "the", "--run-seed", 7), "no finished run with seed 7"),
        ((), "an empty prompt starts from a line break, but"),
    ],
)
def test_bad_options_are_one_sentence(run, trained: Path, options: tuple[object, ...], sentence: str) -> None:
    code, out, err = run("sample", trained / "out", *options)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1
    assert "the €" not in out


def test_folders_without_a_run_are_one_sentence(run, tmp_path: Path, trained: Path) -> None:
    assert "no such folder" in run("sample", tmp_path / "gone", "--prompt", "a")[2]
    assert "no finished run here" in run("sample", tmp_path, "--prompt", "a")[2]
    broken = tmp_path / "run"
    shutil.copytree(next((trained / "out").glob("runs/*unitary*s0*")), broken)
    (broken / "model.safetensors").write_bytes(b"\x80\x04pickle")
    code, _, err = run("sample", broken, "--prompt", "the")
    assert code == 2
    assert "not a state that this program wrote" in err


def test_a_loaded_model_is_the_trained_one(trained: Path) -> None:
    for folder in (trained / "out").glob("runs/*"):
        one = load(folder)
        record = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        from experiments.lm.builders import load_task
        from experiments.lm.evaluate import evaluate

        assert evaluate(one.model, load_task(one.job).windows()) == pytest.approx(record["val_nats"], abs=1e-6)
        assert next(load(folder, "float64").model.parameters()).dtype == torch.float64


def test_audit_of_trained_models_in_double_precision(run, trained: Path) -> None:
    code, out, _ = run("audit", trained / "out", "--dtype", "float64", "--json")
    assert code == 0
    results = json.loads(out)
    assert len(results) == 4
    for name, result in results.items():
        if name.startswith("unitary"):
            assert result["passed"] is True
            assert max(result[key] for key in ("norm_drift", "inner_product_drift", "linearity", "reversal")) < 1e-12
            assert max(result[key] for key in ("causality", "completeness", "normalisation")) < 1e-12
        else:
            assert result["passed"] is None
            assert result["reversal"] is None
            assert "no inverse" in result["reasons"]["reversal"]
            assert result["norm_drift"] > 0.01


def test_the_lens_ends_at_the_models_own_loss_and_refuses_where_there_is_no_transformer(run, trained: Path) -> None:
    code, out, _ = run("lens", trained / "out", "--json")
    assert code == 0
    (name, blocks), *others = json.loads(out).items()
    assert name.startswith("classical on verse")
    assert not others
    one = next(each for each in one_a_model(trained / "out") if each.job.model_name == "classical")
    inputs, targets = load_task(one.job).windows()[0]
    assert blocks[-1]["nats"] == pytest.approx(evaluate(one.model, [(inputs[:32], targets[:32])]), abs=1e-6)
    assert blocks[0]["step"] is None
    assert blocks[-1]["step"] > 0
    code, out, _ = run("lens", trained / "out")
    assert "the embeddings" in out
    alone = next(folder for folder in (trained / "out" / "runs").iterdir() if folder.name.startswith("verse-unitary"))
    code, _, err = run("lens", alone)
    assert code == 2
    assert "no trained transformer in it" in err


def test_audit_of_a_configuration_and_of_a_cheat(run, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("audit", trained / "tiny.yaml")
    assert code == 0
    assert "untrained" in out
    from qattn.lm.unitary import UnitaryLM

    honest = UnitaryLM.evolve
    monkeypatch.setattr(UnitaryLM, "evolve", lambda self, psi, angles: 1.001 * honest(self, psi, angles))
    code, out, _ = run("audit", trained / "out", "--json")
    assert code == 1
    assert any(result["passed"] is False for result in json.loads(out).values())


def test_a_full_disk_is_one_sentence_and_loses_nothing(run, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from experiments.runs import atomic_files

    def full(path: Path, data: bytes) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(atomic_files, "write_bytes", full)
    code, _, err = run("run", trained / "tiny.yaml", "--out", trained / "full")
    assert code == 2
    assert "the disk is full" in err
    assert "Traceback" not in err


def test_an_unknown_prompt_error_is_raised_before_any_model_runs() -> None:
    from experiments.tasks.tokenizers import CharacterTokenizer

    with pytest.raises(UserError, match="outside the vocabulary"):
        next(continue_text(None, CharacterTokenizer.fit("ab"), "abc", 3))


def test_log_probabilities_are_the_models_own(run, trained: Path) -> None:
    for option in ("--temperature", "--top-k", "--top-p"):
        code, _, err = run("sample", trained / "out", "--prompt", "the", "--logprobs", 3, option, 1)
        assert (code, f"where {option} has no effect: drop one" in err) == (2, True)


def test_a_prompt_is_answered_by_the_models_that_can_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = SimpleNamespace(name="text", tokenizer=CharacterTokenizer.fit("the cat"))
    parity = SimpleNamespace(name="parity", tokenizer=SymbolTokenizer(["0", "1"]))
    assert answering([text, parity], "the") == [text]
    assert "parity does not answer: the prompt: 'the' is not among" in capsys.readouterr().err
    assert answering([text, parity], "0 1") == [parity]
    with pytest.raises(UserError, match="the prompt"):
        answering([text, parity], "xyz")


def test_a_terminal_that_is_not_utf8_breaks_no_verb(trained: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "ascii", "OMP_NUM_THREADS": "1"}
    verb = [sys.executable, "-c", "from experiments.cli import main; main()"]
    for more in (["sample", str(trained / "out"), "--tokens", "3", "--prompt", "the"], ["list"]):
        done = subprocess.run([*verb, *more], env=environment, capture_output=True, timeout=200)
        assert (done.returncode, done.stderr) == (0, b"")
