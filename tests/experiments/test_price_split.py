"""Twins in an experiment file, and the price split by them: against the definitions, term by term."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments.errors import UserError
from experiments.report import draw
from experiments.report.ladder import labels, order, rows
from experiments.report.page import Made, html
from experiments.schema import CONFIGS, jobs, load_experiment
from experiments.schema.twins import twins
from experiments.stats.compare import summarise

TASK = "verse"
FINAL = {"u": 1.80, "u softmax": 1.63, "u angles": 1.72, "u waves": 1.66, "u still": 1.85, "u token": 2.2, "lstm": 1.7}
TWINS = {
    "u softmax": {"u": "readout"},
    "u angles": {"u": "register"},
    "u waves": {"u": "register"},
    "u still": {"u": "attention"},
    "u token": {"u": "control"},
}


def run(model: str, seed: int) -> dict[str, Any]:
    noise = np.random.default_rng([seed, *model.encode()]).normal() * 0.01
    classical = model in ("lstm", "u angles", "u waves")
    record = {"schema": 1, "task": TASK, "model": model, "kind": "unitary", "seed": seed, "status": "done"}
    return record | {"val_nats": FINAL[model] + noise, "classical": classical, "strict": model == "u", "rung": "2"}


def summary(seeds: int = 6, left_out: str = "") -> dict[str, Any]:
    runs = [run(model, seed) for model in FINAL for seed in range(seeds) if model != left_out]
    about = {"models": ["lstm", "u token", *FINAL], "twins": TWINS}
    return summarise(runs, {TASK: {"floor": {}}}, {"reference": "best classical"}, "invented", about)


def test_every_term_is_the_paired_difference_it_is_defined_as() -> None:
    (terms,) = summary()["tasks"][TASK]["split"].values()
    found = {term["term"]: term for term in terms}
    asked = {
        "evolution": ("u softmax", "u waves"),
        "readout": ("u", "u softmax"),
        "price": ("u", "u waves"),
        "attention": ("u", "u still"),
        "control": ("u", "u token"),
    }
    assert {name: (term["a"], term["b"]) for name, term in found.items()} == asked  # waves are the best classical model
    for name, (a, b) in asked.items():
        d = np.array([run(a, seed)["val_nats"] - run(b, seed)["val_nats"] for seed in range(6)])
        low, high = stats.t.interval(0.95, 5, d.mean(), stats.sem(d))
        assert found[name]["n"] == 6
        assert [found[name][key] for key in ("mean", "low", "high")] == pytest.approx([d.mean(), low, high], abs=1e-12)
    assert found["price"]["mean"] == pytest.approx(found["evolution"]["mean"] + found["readout"]["mean"], abs=1e-12)


def test_the_best_classical_model_of_all_is_named_where_it_is_no_twin() -> None:
    FINAL["lstm"] = 1.5
    try:
        (terms,) = summary()["tasks"][TASK]["split"].values()
    finally:
        FINAL["lstm"] = 1.7
    assert (terms[-1]["term"], terms[-1]["b"]) == ("best classical", "lstm")


@pytest.mark.parametrize(("left_out", "missing"), [("u softmax", {"evolution", "readout"}), ("lstm", set())])
def test_a_term_whose_twin_is_missing_is_left_out(left_out: str, missing: set[str]) -> None:
    whole = {term["term"] for term in summary()["tasks"][TASK]["split"]["u"]}
    assert {term["term"] for term in summary(left_out=left_out)["tasks"][TASK]["split"]["u"]} == whole - missing


def test_one_seed_has_differences_and_no_intervals() -> None:
    for term in summary(seeds=1)["tasks"][TASK]["split"]["u"]:
        assert term["mean"] is not None
        assert term["low"] is term["high"] is None


def test_twins_stand_below_their_model_in_figure_table_and_first_sentence() -> None:
    made = summary()
    assert order(made) == ["lstm", "u", "u token", "u softmax", "u angles", "u waves", "u still"]
    assert list(labels(made).values())[:3] == ["2 · lstm", "2 · u", "– u token"]
    assert [row["twin"] for row in rows(made)[TASK]][:4] == [[], [], ["control of u"], ["readout of u"]]
    page = html(made, [], {TASK: {}}, {TASK: {}}, "<svg></svg>", Made("", {}, ""))
    first = page[page.index('<ul class="prices">') :].split("</li>")[0]
    assert "The price of u on verse in nats per token, paired by seed: its unitary evolution −0.0" in first
    assert "twin: other register of u" in page
    page = html(made, [], {TASK: {}}, {TASK: {}}, None, Made("", {}, ""))
    assert "<strong>The price of u on verse" in page


def test_two_models_with_twins_have_their_prices_in_one_figure() -> None:
    """A second model that is worse by 0.1 than the first with the same twins: the readout's marks are 0.1 apart."""
    shared = {name: {**of, "v": of["u"]} for name, of in TWINS.items() if of["u"] in ("readout", "register")}
    runs = [run(model, seed) for model in FINAL for seed in range(3)]
    runs += [one | {"model": "v", "val_nats": one["val_nats"] + 0.1} for one in runs if one["model"] == "u"]
    about = {"models": ["v", *FINAL], "twins": shared}
    made = summarise(runs, {TASK: {"floor": {}}}, {"reference": "best classical"}, "invented", about)
    (axes,) = draw(made, runs)[TASK]["price"].axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["v", "u"]
    marks = [line.get_xydata()[0] for line in axes.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert marks[0][0] - marks[1][0] == pytest.approx(0.1, abs=1e-12)
    assert "price" not in draw(summary(), [])[TASK]  # one model alone: the sentence says it


MODELS = {
    "u": {"kind": "unitary"},
    "lstm": {"kind": "lstm"},
    "t": {"kind": "unitary_recurrent", "transition": "table"},
}


def load(folder: Path, **twin: Any) -> Any:
    data = {"task": {"kind": "text", "path": "moby_dick"}, "models": MODELS | {"twin": twin}}
    (folder / "twins.yaml").write_text(json.dumps(data))
    return load_experiment(folder / "twins.yaml")


@pytest.mark.parametrize(
    ("twin", "part"),
    [
        ({"kind": "unitary", "readout": "softmax", "dim": 64, "twin_of": "u"}, "readout"),
        ({"kind": "no_register", "twin_of": "u"}, "register"),
        ({"kind": "classical_recurrent", "twin_of": "t"}, "register"),
        ({"kind": "unitary", "attention": False, "twin_of": ["u"]}, "attention"),
        ({"kind": "unitary", "control": "token", "twin_of": "u"}, "control"),
        ({"kind": "unitary", "dephasing": 1.0, "twin_of": "u"}, "coherence"),
    ],
)
def test_the_part_of_a_twin_is_read_off_and_changes_no_identity(tmp_path: Path, twin: dict, part: str) -> None:
    experiment = load(tmp_path, **twin)
    assert twins(experiment.models) == {"twin": {twin["twin_of"][0]: part}}
    identity = [job.identity() for job in jobs(experiment) if job.model_name == "twin"]
    alone = load(tmp_path, **{key: value for key, value in twin.items() if key != "twin_of"})
    assert identity == [job.identity() for job in jobs(alone) if job.model_name == "twin"]


@pytest.mark.parametrize(
    ("twin", "told"),
    [
        ({"kind": "no_register", "twin_of": "v"}, "expected the name of a model .*, got 'v'"),
        ({"kind": "lstm", "dim": 9, "twin_of": "u"}, "expected one difference from 'u' .*, got none of these"),
        (
            {"kind": "unitary", "readout": "softmax", "attention": False, "twin_of": "u"},
            "readout and attention at once",
        ),
        ({"kind": "no_register", "twin_of": "twin"}, "expected a model that is no twin itself, got 'twin'"),
    ],
)
def test_what_is_no_twin_is_refused(tmp_path: Path, twin: dict, told: str) -> None:
    with pytest.raises(UserError, match=told):
        load(tmp_path, **twin)


LADDERS = [path for path in sorted(CONFIGS.glob("*.yaml")) if "models:" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", LADDERS, ids=lambda path: path.stem)
def test_no_shipped_ladder_has_a_unitary_model_without_its_twins(path: Path) -> None:
    """Models that differ in sizes and ablations alone count as one: one of them has the twins that its kind names."""
    experiment = load_experiment(path)
    found = twins(experiment.models)
    wanted: dict[tuple[Any, ...], set[str]] = {}
    present: dict[tuple[Any, ...], set[str]] = {}
    for name, model in experiment.models.items():
        if model.originals or not model.twins():
            continue
        signature = tuple(getattr(model, key, None) for key in ("kind", "field", "transition"))
        wanted[signature] = wanted.get(signature, set()) | set(model.twins())
        present.setdefault(signature, set()).update(twin[name] for twin in found.values() if name in twin)
    missing = {signature: parts - present[signature] for signature, parts in wanted.items()}
    assert not {signature: parts for signature, parts in missing.items() if parts}, path.stem
