"""Experiment files: contradictions, optimizers, variants, identities, and what may not change them."""
# ruff: noqa: E501  (the messages are quoted whole)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.errors import UserError
from experiments.located.error_messages import choices
from experiments.located.yaml_dump import config_text
from experiments.schema import Experiment, Job, jobs, load_experiment
from experiments.schema.jobs import identities
from experiments.schema.model_kinds import MODELS, TransformerModel

SMALL = """\
task: {kind: text, path: tinyshakespeare}
models:
  a: {kind: transformer}
  b: {kind: unitary}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def load(tmp_path: Path, *overrides: str, text: str = SMALL) -> Experiment:
    return load_experiment(write(tmp_path, text), overrides)


def lines(tmp_path: Path, *overrides: str, text: str = SMALL) -> list[str]:
    with pytest.raises(UserError) as caught:
        load(tmp_path, *overrides, text=text)
    return str(caught.value).replace(f"{tmp_path}/", "").split("\n")


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("models.a.dim=130", "models.a.dim: expected a multiple of heads (4), got 130"),
        ("models.b.dim=42", "models.b.dim: expected a multiple of heads (4), got 42"),
        ("models.a={kind: transformer, preset: modern, dim: 12}",
         "models.a.dim: expected an even head size, since rotary positions turn pairs, got 3 (dim 12 over 4 heads)"),
        ("models.a={kind: transformer, position: rotary, dim: 12}",
         "models.a.dim: expected an even head size, since rotary positions turn pairs, got 3 (dim 12 over 4 heads)"),
        ("models.a={kind: transformer, preset: vanilla, dim: 3, heads: 3}",
         "models.a.dim: expected an even number, since sinusoidal positions come in pairs, got 3"),
        ("models.b={kind: unitary, field: real, dim: 5, heads: 1}",
         "models.b.dim: expected a multiple of twice the heads (2), since a real register turns in planes, got 5"),
        ("models.b={kind: unitary, control: additive, hidden: 9}",
         "models.b.hidden: expected control: mlp or transformer beside it, got control: additive, which has no hidden layer; remove hidden"),
        ("models.b={kind: unitary, control: token, hidden: 9}",
         "models.b.hidden: expected control: mlp or transformer beside it, got control: token, which has no hidden layer; remove hidden"),
        ("models.b={kind: unitary, control: token, ngram: 2}",
         "models.b.ngram: expected control: additive or mlp beside it, got control: token, which sees one token; remove ngram"),
        ("models.b={kind: unitary, readout: projective, rank: 2}",
         "models.b.rank: expected readout: povm beside it, "
         "got readout: projective, whose rank is dim over the vocabulary; remove rank"),
        ("models.b.optimizer={lr: 1e-3, min_lr: 1e-2}", "models.b.optimizer.min_lr: expected at most lr (0.001), got 0.01"),
        ("training.optimizer={min_lr: 1e-2}", "training.optimizer.min_lr: expected at most lr (0.001), got 0.01"),
        ("training.optimizer.warmup=3000", "training.optimizer.warmup: expected at most training.steps (2000), got 3000"),
        ("models.a.optimizer.warmup=3000", "models.a.optimizer.warmup: expected at most training.steps (2000), got 3000"),
        ("training.evaluate_every=3000", "training.evaluate_every: expected at most steps (2000), got 3000"),
        ("models.a.optimizer.rates={mixers: 1}",
         "models.a.optimizer.rates.mixers: expected a parameter group of 'a' "
         "(transformer: embedding, position, attention, feedforward, norm, head), got 'mixers'"),
        ("models.b.optimizer.rates={mixer: 1}",
         "models.b.optimizer.rates.mixer: expected a parameter group of 'b' "
         "(unitary: embedding, control, mixers, readout, start, floor), got 'mixer' (did you mean 'mixers'?)"),
        ("comparison.reference=c", "comparison.reference: expected the name of a model ('a' or 'b'), got 'c'"),
        ("seeds=[0, 1, 0]", "seeds[2]: expected each seed once, got 0 again"),
        ("seeds=[]", "seeds: expected an integer or at least 1 of them, got an empty list"),
        ("seeds=0", "seeds: expected a number of at least 1 or a list, got 0"),
        ("seeds=[-1]", "seeds[0]: expected a number of at least 0, got -1"),
        ("task.vocab=300", "task.vocab: expected tokenizer: bpe beside it, "
         "got tokenizer: char, whose vocabulary follows from the text; remove vocab or choose bpe"),
        ("task={kind: text, path: moby_dick, tokenizer: bpe, vocab: 256}", "task.vocab: expected a number of at least 257, got 256"),
        ("task.train_fraction=1", "task.train_fraction: expected a number less than 1, got 1"),
        ("task.test_fraction=0.1",
         "task.test_fraction: expected less than 0.1, got 0.1 beside train_fraction 0.9; nothing is left to validate"),
        ("models.a={kind: ngram, discount: 0.5}",
         "models.a.discount: expected smoothing: kneser_ney beside it, got smoothing: add_k"),
        ("models.a={kind: ngram, smoothing: kneser_ney, k: 0.5}",
         "models.a.k: expected smoothing: add_k beside it, got smoothing: kneser_ney"),
        ("task.block=0", "task.block: expected a number of at least 1, got 0"),
        ("training.threads=100000", "training.threads: expected a number of at most 256, got 100000"),
        ("task.path=nowhere.txt", "task.path: expected a shipped text (moby_dick, tinyshakespeare) or a file "
         "beside the YAML file or here, got 'nowhere.txt', which is no file"),
        ("output.sample.prompt=''", "output.sample.prompt: expected text of at least 1 characters, got ''"),
        ("output.sample.temperature=-1", "output.sample.temperature: expected a number of at least 0, got -1"),
        ("models.b.angle_init_scale=.inf", "models.b.angle_init_scale: expected a finite number, got inf"),
        ("models.b.init_scale=.nan", "models.b.init_scale: expected a finite number, got nan"),
        ("models.b.control=ngram",
         "models.b.control: expected 'token', 'additive', 'mlp' or 'transformer', got 'ngram' (did you mean 'additive'?)"),
        ("models.b.optimizer={z_loss: 1e-4}",
         "models.b.optimizer.z_loss: expected a model that a softmax reads, got 'b', which has no sum Z; remove z_loss"),
        ("models.b={kind: unitary, qk_norm: true, attention: false}",
         "models.b.qk_norm: expected attention: true beside it, got attention: false; remove qk_norm"),
        ("models.b.blocks=2", "models.b.blocks: expected control: transformer beside it, got control: mlp; remove blocks"),
        ("models.b={kind: unitary, control: transformer, embedding: 20}", "models.b.embedding: expected a multiple of "
         "twice the heads (8) with control transformer, got 20"),
        ("models.b={kind: unitary, control: transformer, ngram: 3}", "models.b.ngram: expected control: additive or mlp "
         "beside it, got control: transformer, which sees the whole text; remove ngram"),
        ("models.b.near=0.3", "models.b.near: expected a known key, got 'near' (did you mean 'init_scale'?)"),
        ("models.b.gain=1", "models.b.gain: expected a known key, got 'gain' (did you mean 'angle_init_scale'?)"),
        ("models.b.layers=-1", "models.b.layers: expected a number of at least 1, got -1"),
        ("training.optimizer.lr=0", "training.optimizer.lr: expected a number greater than 0, got 0"),
        ("training.optimizer.betas=[0.9, 1]", "training.optimizer.betas[1]: expected a number less than 1, got 1"),
        ("models={}", "models: expected at least 1 of them, got an empty mapping"),
        ("models.c={kind: transformer}", "models.c: expected a difference from 'a', got the same in every field; remove one or change it"),
        ("models.a.n_embd=3", "models.a.n_embd: expected a known key, got 'n_embd' (did you mean 'dim'?)"),
        ("models.a.kind=rnn", f"models.a.kind: expected {choices(MODELS)}, got 'rnn'"),
        ("models.a/b={kind: unitary, dim: 8}",
         "models.a/b: expected a name of letters, digits, spaces and _+-=.,@ only, got 'a/b'"),
        ("grid={models.b.dimm: [1]}", "grid.models.b.dimm[0]: expected a known key, got 'dimm' (did you mean 'dim'?)"),
        ("grid={models.b.dim: [32, x]}", "grid.models.b.dim[1]: expected an integer, got 'x'"),
        ("grid={models.b.dim: [32, 33]}", "grid.models.b.dim[1]: expected a multiple of heads (4), got 33"),
        ("grid={models.bb.dim: [32]}", "grid.models.bb.dim: expected models.NAME.key with a NAME of a, b, got 'models.bb.dim' (did you mean 'b'?)"),
        ("grid={training.steps: [1, 2]}",
         "grid.training.steps: expected a key below models.NAME, tasks.NAME or training.optimizer, got 'training.steps', "
         "which cannot vary"),
        ("grid={models.b.kind: [unitary]}",
         "grid.models.b.kind: expected a key other than kind, got 'models.b.kind'; write two models instead"),
        ("grid={models.b.dim: 32}", "grid.models.b.dim: expected a list, got 32"),
        ("grid={models.b.dim: []}", "grid.models.b.dim: expected at least 1 of them, got an empty list"),
        ("grid={training.optimizer.lr: [1, -1]}", "grid.training.optimizer.lr[1]: expected a number greater than 0, got -1"),
        ("zip={models.b.dim: [32, 64], models.b.layers: [1]}",
         "zip: expected lists of one length, got 2 for models.b.dim, 1 for models.b.layers"),
        ("zip={models.b.dim: [32], task.block: [8]}",
         "zip: expected keys of models only or of tasks only, since every model learns every task, got both; use grid"),
    ],
)  # fmt: skip
def test_contradictions_and_wrong_values(tmp_path: Path, override: str, told: str) -> None:
    assert f"--set {override}: {told}" in lines(tmp_path, override)


def test_a_contradiction_in_the_file_has_its_line_and_stands_beside_typos(tmp_path: Path) -> None:
    text = (
        SMALL
        + "  c: {kind: transformer, heads: 3, dim: 128}\ntraning: {steps: 3}\nseeds: [1, 1]\ncomparison: {reference: d}\n"
    )
    assert lines(tmp_path, text=text) == [
        "small.yaml:5:41: models.c.dim: expected a multiple of heads (3), got 128",
        "small.yaml:6:1: traning: expected a known key, got 'traning' (did you mean 'training'?)",
        "small.yaml:7:12: seeds[1]: expected each seed once, got 1 again",
        "small.yaml:8:25: comparison.reference: expected the name of a model ('a', 'b' or 'c'), got 'd'",
    ]


def test_neither_task_nor_models(tmp_path: Path) -> None:
    assert lines(tmp_path, text="name: x") == [
        "small.yaml:1:1: models: expected a value, since it has no default, got nothing"
    ]
    text = "models: {a: {kind: unitary}}"
    assert lines(tmp_path, text=text) == ["small.yaml:1:1: expected a 'task' or 'tasks', got neither"]
    both = lines(tmp_path, "tasks={x: {kind: text, path: moby_dick}}")
    assert both == ["small.yaml:1:7: task: expected either 'task' or 'tasks', got both; move the one into the other"]


def test_a_text_is_found_beside_the_file_then_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (elsewhere / "mine.txt").write_text("there")
    found = load(tmp_path, "task.path=mine.txt").tasks["mine"]
    assert found.files() == [elsewhere / "mine.txt"]
    (tmp_path / "mine.txt").write_text("beside")
    assert load(tmp_path, "task.path=mine.txt").tasks["mine"].files() == [tmp_path / "mine.txt"]
    (tmp_path / "mine.txt").write_text("")
    assert lines(tmp_path, "task.path=mine.txt")[0].endswith(
        "task.path: expected a text, got 'mine.txt', which is empty"
    )
    assert "which is a folder" in lines(tmp_path, "task.path=elsewhere")[0]
    assert load(tmp_path).tasks["tinyshakespeare"].files()[0].stat().st_size == 1_115_394


def test_defaults_are_spelled_out(tmp_path: Path) -> None:
    experiment = load(tmp_path)
    a, b = experiment.models["a"], experiment.models["b"]
    assert (experiment.name, experiment.output.dir, experiment.seeds) == ("small", "runs/small", (0, 1, 2, 3, 4, 5))
    assert experiment.training.evaluate_every == 500
    assert (a.optimizer.min_lr, a.optimizer.warmup, a.optimizer.rates) == (1e-4, 100, {})
    assert b.optimizer.rates == {"embedding": 4e-3, "control": 2e-3, "mixers": 4e-3, "readout": 4e-3}
    assert b.model_dump(include={"ngram", "hidden", "rank"}) == {"ngram": 4, "hidden": 512, "rank": 4}
    assert load(tmp_path, "training.steps=50").models["a"].optimizer.warmup == 5
    projective = load(tmp_path, "models.b={kind: unitary, readout: projective, control: token}").models["b"]
    assert projective.model_dump(include={"ngram", "hidden", "rank"}) == {"ngram": None, "hidden": None, "rank": None}


def test_the_optimizer_of_a_model_overrides_field_by_field(tmp_path: Path) -> None:
    training = "training.optimizer={lr: 2e-3, betas: [0.8, 0.9], warmup: 7}"
    experiment = load(tmp_path, training, "models.a.optimizer={lr: 5e-3, kind: muon}")
    a, b = experiment.models["a"].optimizer, experiment.models["b"].optimizer
    assert (a.kind, a.lr, a.min_lr, a.muon_lr, a.betas, a.warmup) == ("muon", 5e-3, 5e-4, 0.02, (0.8, 0.9), 7)
    assert (b.kind, b.lr, b.min_lr, b.muon_lr, b.betas, b.warmup) == ("adamw", 2e-3, 2e-4, None, (0.8, 0.9), 7)
    assert b.rates == {}  # a written lr wins over the kind's rates
    assert load(tmp_path, "models.b.optimizer.rates={mixers: 1e-3}").models["b"].optimizer.rates == {"mixers": 1e-3}


def test_origins(tmp_path: Path) -> None:
    text = SMALL + "training:\n  optimizer: {clip: 0.5, lr: 2e-3}\n"
    origins = load(tmp_path, "models.a.optimizer.lr=1e-2", "grid.models.b.dim=[32, 64]", text=text).origins
    expected = {
        ("name",): "the name of small.yaml",
        ("tasks", "tinyshakespeare", "path"): "small.yaml:1",
        ("tasks", "tinyshakespeare", "block"): "default",
        ("models", "a", "kind"): "small.yaml:3",
        ("models", "a", "position"): "preset gpt2_style",
        ("models", "a", "optimizer", "lr"): "--set",
        ("models", "a", "optimizer", "clip"): "small.yaml:6",
        ("models", "a", "optimizer", "min_lr"): "default: lr / 10",
        ("models", "b dim=32", "dim"): "--set",
        ("models", "b dim=64", "kind"): "small.yaml:4",
        ("models", "b dim=64", "optimizer", "lr"): "small.yaml:6",
        ("training", "optimizer", "clip"): "small.yaml:6",
        ("seeds",): "default",
    }
    assert {path: origins[path] for path in expected} == expected
    assert load(tmp_path).origins["models", "b", "optimizer", "rates", "mixers"] == "default of kind unitary"


def test_grid_makes_every_combination_and_zip_goes_together(tmp_path: Path) -> None:
    grid = load(tmp_path, "grid={models.b.dim: [32, 64], models.b.optimizer.lr: [1e-3, 2e-3], task.block: [8, 16]}")
    assert list(grid.models) == ["a", *(f"b dim={dim} lr={lr}" for dim in (32, 64) for lr in ("0.001", "0.002"))]
    assert list(grid.tasks) == ["tinyshakespeare block=8", "tinyshakespeare block=16"]
    assert [task.block for task in grid.tasks.values()] == [8, 16]
    assert grid.models["b dim=64 lr=0.002"].model_dump(include={"dim"}) == {"dim": 64}
    zipped = load(tmp_path, "zip={models.b.dim: [32, 64], models.b.layers: [1, 2], models.a.dim: [8, 16]}")
    assert list(zipped.models) == ["a dim=8", "a dim=16", "b dim=32 layers=1", "b dim=64 layers=2"]
    every = load(tmp_path, "grid.training.optimizer.lr=[1e-3, 2e-3]", "comparison.reference=a lr=0.001")
    assert {name: model.optimizer.lr for name, model in every.models.items()} == {
        "a lr=0.001": 1e-3, "a lr=0.002": 2e-3, "b lr=0.001": 1e-3, "b lr=0.002": 2e-3,
    }  # fmt: skip


def test_the_printed_config_is_a_file_of_the_same_experiment(tmp_path: Path) -> None:
    experiment = load(
        tmp_path, "grid.models.b.dim=[32, 64]", 'description="two\\nlines: # é 😀"', "models.a.optimizer.kind=muon"
    )
    again = load_experiment(write(tmp_path, config_text(experiment.data())))
    assert again.data() == experiment.data()
    assert [job.identity() for job in jobs(again)] == [job.identity() for job in jobs(experiment)]


def identity(tmp_path: Path, *overrides: str) -> str:
    return jobs(load(tmp_path, *overrides))[0].identity()


@pytest.mark.parametrize(
    "override",
    [
        "name=other", "description=other", "output.dir=other", "output.sample.tokens=3", "workers=2", "seeds=9",
        "training.log_every=1", "training.checkpoint_every=7", "comparison.equivalence=0.1", "models.b.dim=64",
        "training.optimizer.min_lr=1e-4", "models.a.dim=128", "training.optimizer.z_loss=0",
    ],
)  # fmt: skip
def test_what_does_not_change_a_run_keeps_its_identity(tmp_path: Path, override: str) -> None:
    assert identity(tmp_path, override) == identity(tmp_path)


@pytest.mark.parametrize(
    "override",
    [
        "task.block=32", "task.path=moby_dick", "task.tokenizer=byte", "models.a.dim=64", "models.a.preset=modern",
        "models.a.dropout=0.1", "models.a.optimizer.lr=2e-3", "training.optimizer.clip=0.5", "training.steps=100",
        "training.batch=8", "training.dtype=float64", "training.threads=2", "training.evaluate_every=100", "seeds=[3]",
        "models.a.optimizer.z_loss=1e-4", "training.optimizer.z_loss=1e-4",
    ],
)  # fmt: skip
def test_what_changes_a_run_changes_its_identity(tmp_path: Path, override: str) -> None:
    assert identity(tmp_path, override) != identity(tmp_path)


def test_identity_follows_the_content_of_a_text_not_its_path(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("to be or not to be")
    (tmp_path / "two.txt").write_text("to be or not to be")
    (tmp_path / "three.txt").write_text("to be or not to bee")
    one, two, three = (identity(tmp_path, f"task.path={name}.txt") for name in ("one", "two", "three"))
    assert one == two != three


def test_jobs_come_paired_by_seed_with_the_merged_optimizer(tmp_path: Path) -> None:
    todo = jobs(load(tmp_path, "seeds=[4, 2]", "training.optimizer.lr=5e-3"))
    assert [(job.model_name, job.seed) for job in todo] == [("a", 4), ("b", 4), ("a", 2), ("b", 2)]
    assert {job.model.optimizer.lr for job in todo} == {5e-3}
    assert len({job.identity() for job in todo}) == 4


def test_a_job_written_with_the_old_names_of_keys_is_the_same_job(tmp_path: Path) -> None:
    _, unitary = jobs(
        load(tmp_path, "seeds=1", "models.b={kind: unitary, init_scale: 0.5, angle_init_scale: 0.1, control: additive}")
    )
    data: dict[str, Any] = unitary.to_dict()
    for new, old in (("init_scale", "near"), ("angle_init_scale", "gain")):
        data["model"][old] = data["model"].pop(new)
    data["model"]["control"] = "ngram"
    assert Job.from_dict(data, "run") == unitary


def test_a_run_from_before_the_test_split_is_the_same_run(tmp_path: Path) -> None:
    """Identity and stored form as version 0.1 wrote them, when texts had two splits and counts one smoothing."""
    (tmp_path / "old.txt").write_text("to be or not to be " * 40, encoding="utf-8")
    text = (
        "task: {kind: text, path: old.txt, block: 8%s}\nmodels: {m: {kind: ngram}}\nseeds: 1\ntraining: {steps: 20}\n"
    )
    (job,) = jobs(load(tmp_path, text=text % ", test_fraction: 0"))
    assert job.identity() == "49ba1db30e0d"
    data: dict[str, Any] = job.to_dict()
    for part, keys in (("task", ["test_fraction"]), ("model", ["smoothing", "discount"])):
        data[part] = {key: value for key, value in data[part].items() if key not in keys}
    assert Job.from_dict(data, "run") == job
    (new,) = jobs(load(tmp_path, text=text % ""))
    assert (new.task.model_dump()["test_fraction"], new.identity() == job.identity()) == (0.05, False)


def test_a_job_survives_its_plain_form_and_damage_is_told(tmp_path: Path) -> None:
    for job in jobs(load(tmp_path, "seeds=1")):
        assert Job.from_dict(job.to_dict(), "run") == job
    data: dict[str, Any] = jobs(load(tmp_path))[0].to_dict()
    data["model"]["heds"] = 3
    with pytest.raises(
        UserError, match=r"^run: not a run of this version of qattn: model\.heds: expected a known key, got 'heds'"
    ):
        Job.from_dict(data, "run")
    with pytest.raises(UserError, match=r"^run: not a run of this version"):
        Job.from_dict([1], "run")


def test_the_identity_of_an_experiment_allows_more_seeds_and_no_other_training(tmp_path: Path) -> None:
    own = identities(load(tmp_path))
    same = ["seeds=2", "comparison.reference=a", "output.sample.tokens=9", "workers=2", "training.log_every=3"]
    assert all(identities(load(tmp_path, override)) == own for override in same)
    other = ["training.steps=9", "models.a.dim=64", "models.c={kind: unitary, dim: 8}", "task.block=8"]
    assert all(identities(load(tmp_path, override)) != own for override in other)


@pytest.mark.parametrize("kind", ["transformer", "unitary"])
def test_the_groups_of_a_kind_are_those_of_its_model(kind: str) -> None:
    """The groups of rates against the built model's own ledger."""
    from classical.presets import gpt2_style
    from classical.transformer import Transformer
    from qattn.lm.unitary import UnitaryConfig, UnitaryLM

    model = (
        Transformer(gpt2_style(vocab=7, block=4, tie=False))
        if kind == "transformer"
        else UnitaryLM(UnitaryConfig(vocab=30))
    )
    assert set(MODELS[kind].groups) == {group for group, members in model.parameter_groups().items() if members}


@pytest.mark.parametrize("preset", ["gpt2_style", "modern", "vanilla", "llama"])
def test_presets_place_tokens_as_the_transformer_does(preset: str) -> None:
    from classical.presets import PRESETS

    assert TransformerModel(kind="transformer", preset=preset).places == PRESETS[preset](vocab=7, block=4).position
