"""Open to others: packages that declare kinds, ansätze and hypergraphs, and the laboratory from Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

import experiments
from experiments import ModelConfig, UserError, make_experiment, register, run
from experiments.api import rebuild
from experiments.plugins import Registry, kind_class
from experiments.schema.model_kinds import MODELS, LstmModel

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "plugin"


def install(folder: Path, name: str, declared: str) -> None:
    """What an installer leaves of a package ``name`` 1.0 for others to find."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(declared, encoding="utf-8")


def qattn(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(experiments.__file__).parents[1]), str(EXAMPLE), str(folder)])
    command = [sys.executable, "-c", "from experiments.cli import main; main()", *words]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, and beside it one that does not load."""
    import tomllib

    folder = tmp_path_factory.mktemp("site")
    points = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    sections = [f"[{g}]\n" + "\n".join(f"{n} = {v}" for n, v in each.items()) for g, each in points.items()]
    install(folder, "qattn_example", "\n".join(sections))
    install(folder, "qattn_broken", "[qattn.models]\nrnn = qattn_nowhere:Rnn\n[qattn.hypergraphs]\nlost = json:loads\n")
    return folder


def test_what_packages_declare_is_listed_and_a_broken_one_says_why(site: Path) -> None:
    listed = qattn(site, "list", "models", "--json")
    assert listed.returncode == 0, listed.stderr
    models = {row["name"]: row for row in json.loads(listed.stdout)["models"]}
    assert models["gru"]["groups"] == ["embedding", "recurrent", "head"]
    assert "the package qattn_broken 1.0" in models["rnn"]["about"]
    assert "No module named 'qattn_nowhere'" in models["rnn"]["about"]


def test_kinds_of_a_package_are_checked_like_ours(site: Path) -> None:
    plan = qattn(site, "run", str(EXAMPLE / "majority.yaml"), "--print-config", "--json")
    assert plan.returncode == 0, plan.stderr
    config = json.loads(plan.stdout)["config"]
    assert config["tasks"] == {"majority": {"kind": "majority", "length": 15, "validation": 400, "seed": 0}}
    wrong = qattn(site, "run", str(EXAMPLE / "majority.yaml"), "--set", "models.gru.dims=3", "--print-config")
    assert wrong.returncode == 2
    assert "--set models.gru.dims=3: models.gru.dims: expected a known key, got 'dims' (did you mean 'dim'?)" in (
        wrong.stderr
    )


def test_a_kind_of_a_broken_package_is_one_sentence(site: Path) -> None:
    wrong = qattn(site, "run", str(EXAMPLE / "majority.yaml"), "--set", "models.gru.kind=rnn", "--print-config")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("qattn: --set models.gru.kind=rnn: models.gru.kind: 'rnn' of the package qattn_brok")
    assert "Traceback" not in wrong.stderr
    lost = qattn(site, "contexts", "states", "lost")
    assert lost.returncode == 2
    assert "the hypergraph 'lost' of qattn_broken (json:loads) cannot be used: TypeError" in lost.stderr
    assert "Traceback" not in lost.stderr


def test_a_hypergraph_of_a_package_has_its_states(site: Path) -> None:
    states = qattn(site, "contexts", "states", "grid_3x3")
    assert states.stdout.startswith("6 two-valued states"), states.stderr  # the permutation matrices


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("Thing = 5", "expected a subclass of experiments.schema.model_base.ModelConfig, got 5"),
        ("from experiments.schema.model_kinds import LstmModel as Thing", "expected the field kind: Literal['thing']"),
        ("from experiments import ModelConfig\nclass Thing(ModelConfig):\n    pass", "expected the field kind"),
        (
            "from typing import Literal\nfrom experiments import ModelConfig\n"
            "class Thing(ModelConfig):\n    kind: Literal['thing']",
            "expected a method build in Thing, got none",
        ),
        ("", "has no attribute 'Thing'"),
    ],
)
def test_packages_break_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    module = f"broken_{abs(hash(source))}"
    (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
    install(tmp_path, "their-package", f"[qattn.tests]\nthing = {module}:Thing\nours = {module}:Thing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry: Registry[Any] = Registry("qattn.tests", {"ours": LstmModel}, kind_class(ModelConfig))
    assert dict(registry) == {"ours": LstmModel}
    assert "the name is taken" in registry.broken["ours"]
    assert reason in registry.why_not("thing")
    assert "their-package 1.0" in registry.why_not("thing")
    assert "\n" not in registry.why_not("thing")
    assert registry.why_not("unknown") == ""


def test_the_example_model_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """As its author would test it."""
    import torch

    from experiments.lm.contract_checks import check_language_model

    monkeypatch.syspath_prepend(EXAMPLE)
    from qattn_example.gru import GRU

    check_language_model(GRU(7, 5, torch.Generator().manual_seed(0)).double().eval(), vocab=7)


@pytest.fixture
def own_kind() -> Iterator[type[ModelConfig]]:
    """A kind that only this process knows, forgotten afterwards."""

    @register
    class Own(ModelConfig):
        groups = ("embedding", "recurrent", "head")
        rung = "0"
        kind: Literal["own"]
        dim: int = 4

        def build(self, vocab: int, block: int, generator: Any) -> Any:
            from classical import LSTM

            return LSTM(vocab, dim=self.dim, embedding=4, generator=generator)

    yield Own
    del MODELS["own"]
    rebuild()


def test_an_experiment_from_python_with_a_kind_of_ones_own(own_kind: type[ModelConfig], tmp_path: Path) -> None:
    experiment = make_experiment(
        name="mine",
        task={"kind": "parity", "lengths": [1, 4], "test_lengths": [4, 6], "validation": 20},
        models={"own": own_kind(kind="own", dim=3), "lstm": {"kind": "lstm", "dim": 4, "embedding": 4}},
        training={"steps": 4, "batch": 4},
        seeds=2,
    )
    assert experiment.models["own"].model_dump()["dim"] == 3
    results = run(experiment, tmp_path / "out")
    assert set(results["tasks"]["parity"]["models"]) == {"own", "lstm"}
    assert results["tasks"]["parity"]["models"]["own"]["rung"] == "0"
    assert results["failed"] == []
    before = (tmp_path / "out" / "results.csv").read_bytes()
    assert run(experiment, tmp_path / "out")["tasks"] == results["tasks"]  # nothing is trained twice
    assert (tmp_path / "out" / "results.csv").read_bytes() == before


def test_mistakes_from_python_are_the_sentences_of_a_file() -> None:
    with pytest.raises(UserError) as told:
        make_experiment(task={"kind": "parity"}, models={"a": {"kind": "lstm", "dims": 3}, "b": {"kind": "own"}})
    lines = str(told.value).splitlines()
    assert lines[0] == "the experiment: models.a.dims: expected a known key, got 'dims' (did you mean 'dim'?)"
    assert lines[1].startswith("the experiment: models.b.kind: expected 'transformer'")
    with pytest.raises(UserError, match="expected numbers, texts, lists and mappings: a set is not plain data"):
        make_experiment(task={"kind": "parity"}, models={"a"})


def test_our_own_names_cannot_be_taken() -> None:
    with pytest.raises(ValueError, match="kind 'lstm' is taken"):
        register(LstmModel)


def circuit_models(ansatz: str) -> Any:
    model = {"kind": "circuit", "qubits": 3, "heads": 2, "ansatz": ansatz}
    return make_experiment(task={"kind": "parity"}, models={"a": model, "b": {"kind": "lstm"}}).models["a"]


def test_an_ansatz_of_a_package_makes_the_mixers_of_a_circuit_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from qattn.circuits.ir.ansatz import ANSATZE

    install(tmp_path, "their-circuits", "[qattn.ansaetze]\nYChain = qattn_example.quantum:Y_CHAIN\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    try:
        model = circuit_models("YChain").build(4, 8, torch.Generator().manual_seed(0))
    finally:
        ANSATZE.pop("YChain", None)
    names = {op.name for op in model.mixer.operations}
    assert names == {"RY", "CZ"}
    assert torch.allclose(model(torch.tensor([[0, 1, 2]])).exp().sum(-1), torch.ones(1, 3), atol=1e-6)


@pytest.mark.parametrize(
    ("ansatz", "reason"),
    [
        ("HeisenbergRng", "unknown ansatz 'HeisenbergRng'; did you mean HeisenbergRing?"),
        ("QAOAEmbedding", "QAOAEmbedding, which reads data"),
        ("Permutation", "Permutation, which has no parameters to learn"),
    ],
)
def test_what_is_no_mixer_says_why(ansatz: str, reason: str) -> None:
    with pytest.raises(UserError) as told:
        circuit_models(ansatz)
    assert str(told.value) == (
        f"the experiment: models.a.ansatz: expected one of `qattn list ansatze` that reads no data, got {reason}"
    )
