"""Scaling laws: known laws found again, with and without noise, and what a report makes of sizes and budgets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.report import draw_laws
from experiments.report.page import Made, html
from experiments.stats import scaling
from experiments.stats.compare import summarise
from experiments.stats.scaling import ScalingLaw, fit_law, intervals, scaling_laws

CHINCHILLA = ScalingLaw(1.69, 406.4, 0.34, 410.7, 0.28)
"""Hoffmann et al. (2022), Eq. 10."""
REPLICATION = ScalingLaw(1.8172, 482.01, 0.3478, 2085.43, 0.3658)
"""Besiroglu et al. (2024), their fit to the points of Hoffmann et al.'s figure."""


def grid(sizes: int = 5, budgets: int = 5, seeds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    n, d = np.meshgrid(np.geomspace(5e7, 1.6e10, sizes), np.geomspace(1e9, 3e11, budgets))
    return np.tile(n.ravel(), seeds), np.tile(d.ravel(), seeds)


@pytest.mark.parametrize("law", [CHINCHILLA, REPLICATION, ScalingLaw(0.5, 30.0, 0.9, 4.0, 0.15)])
def test_a_law_is_found_from_its_own_losses(law: ScalingLaw) -> None:
    n, d = grid()
    found = fit_law(n, d, law.predict(n, d))
    for name in ("E", "A", "alpha", "B", "beta"):
        assert getattr(found, name) == pytest.approx(getattr(law, name), rel=1e-3), name
    assert found.rms < 1e-8


def test_with_noise_the_intervals_hold_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of half a percent; the ends of forty fits miss one of three numbers in some fifteen of a hundred seeds."""
    monkeypatch.setattr(scaling, "RESAMPLED", 40)
    random = np.random.default_rng(1)
    n, d = grid(seeds=2)
    losses = REPLICATION.predict(n, d) * np.exp(0.005 * random.normal(size=len(n)))
    found = fit_law(n, d, losses)
    ends = intervals(found, n, d, losses, 0.99)
    for name in ("E", "alpha", "beta"):
        low, high = ends[name]
        assert low < getattr(REPLICATION, name) < high, (name, low, high)
        assert high - low < 0.6
    assert ends == intervals(found, n, d, losses, 0.99)  # the seed is explicit


def test_the_published_law_gives_the_published_loss() -> None:
    """Chinchilla, 70 billion parameters and 1.4 trillion tokens: 1.936 by Eq. 10 (quoted by nostalgebraist, 2022)."""
    assert CHINCHILLA.predict(np.array([70e9]), np.array([1.4e12]))[0] == pytest.approx(1.936, abs=1e-3)


def test_too_few_sizes_and_impossible_numbers_are_refused() -> None:
    n, d = grid(sizes=2)
    with pytest.raises(ValueError, match="a law in N and D needs 3 sizes, got 2"):
        fit_law(n, d, CHINCHILLA.predict(n, d))
    n, d = grid()
    with pytest.raises(ValueError, match="losses must be positive and finite"):
        fit_law(n, d, np.full(len(n), np.nan))


def test_tasks_of_one_text_are_one_law_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "RESAMPLED", 10)
    sizes, budgets = (1e4, 1e5, 1e6), (1e5, 3e5, 1e6)
    tasks: dict[str, Any] = {}
    runs = []
    for i, n in enumerate(sizes):
        for j, d in enumerate(budgets):
            name = f"chars {i} {'abc'[j]}"
            tasks[name] = {"metric": "test_nats", "tokenizer": "char", "models": {"m": {}}}
            for seed in range(2):
                loss = float(ScalingLaw(1.2, 50.0, 0.5, 60.0, 0.4).predict(np.array([n]), np.array([d]))[0])
                runs.append({"task": name, "model": "m", "seed": seed, "status": "done", "parameters": n,
                             "tokens_seen": d, "test_nats": loss})  # fmt: skip
    tasks["pairs"] = {"metric": "test_nats", "tokenizer": "bpe", "models": {"m": {}}}
    (law,) = scaling_laws(tasks, runs)
    assert (law["text"], law["model"], law["runs"]) == ("chars", "m", 18)
    assert (law["alpha"], law["beta"]) == (pytest.approx(0.5, rel=1e-3), pytest.approx(0.4, rel=1e-3))
    assert law["intervals"]["E"][0] <= law["E"] + 1e-9
    facts = {name: {"tokenizer": task["tokenizer"]} for name, task in tasks.items()}
    for run in runs:
        run |= {"kind": "lstm", "val_nats": run["test_nats"]}
    summary = summarise(runs, facts, {}, "invented")
    panels = draw_laws(summary)["chars"].axes
    assert [panel.get_title(loc="left") for panel in panels] == [
        "100 k training tokens", "300 k training tokens", "1 M training tokens"]  # fmt: skip
    page = html(
        summary, runs, facts, {key: {} for key in facts}, "<svg></svg>", Made("", {}, ""), {"chars": "<svg></svg>"}
    )
    assert "Loss against parameters and training tokens" in page
    assert "<b>0.500</b>" in page
    assert not scaling_laws({name: tasks[name] for name in list(tasks)[:3]}, runs)  # one size
