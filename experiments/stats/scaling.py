"""Scaling laws: how the loss of a model falls with its parameters N and its training tokens D.

    L(N, D) = E + A/N^α + B/D^β                                   (Hoffmann et al. 2022, Eq. 2)

fitted by least squares of the relative residuals. For given exponents the law is linear in E, A and B, none of which
may be negative (Lawson and Hanson 1974), so that the search has two dimensions and no start to depend on (variable
projection, Golub and Pereyra 1973). Intervals are percentiles of fits to runs drawn with replacement: they say how the
runs scatter about the law, not whether it holds beyond them. E, A and B are in nats per token.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize, nnls

RESAMPLED = 100
"""Fits to drawn runs."""
FEWEST = 3
"""Sizes, and budgets, below which there is no fit."""
EXPONENTS = (0.1, 0.2, 0.35, 0.6, 1.0, 1.7)
"""Of the grid from which the search sets out."""


@dataclass(frozen=True)
class ScalingLaw:
    """E + A/N^α + B/D^β, in nats per token; ``rms`` is the root mean square of the relative residuals."""

    E: float
    A: float
    alpha: float
    B: float
    beta: float
    rms: float = 0.0

    def predict(self, parameters: Float[np.ndarray, " n"], tokens: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The loss of models of so many parameters after so many tokens."""
        return self.E + self.A / parameters**self.alpha + self.B / tokens**self.beta


def fit_law(
    parameters: Float[np.ndarray, " n"],
    tokens: Float[np.ndarray, " n"],
    losses: Float[np.ndarray, " n"],
    start: ScalingLaw | None = None,
) -> ScalingLaw:
    """The law nearest to the losses; its exponents are sought from those of ``start``, or from the best of a grid.

    Raises ValueError for fewer than three sizes or budgets, or a number that is not positive and finite.
    """
    for name, values in (("parameters", parameters), ("tokens", tokens), ("losses", losses)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"{name} must be positive and finite")
    for name, values in (("sizes", parameters), ("numbers of tokens", tokens)):
        if len(np.unique(values)) < FEWEST:
            raise ValueError(f"a law in N and D needs {FEWEST} {name}, got {len(np.unique(values))}")
    logs = np.log(parameters), np.log(tokens)
    centre = [float(each.mean()) for each in logs]  # A and B are then of the size of the loss
    x, y = (each - middle for each, middle in zip(logs, centre, strict=True))

    def amplitudes(exponents: Any) -> tuple[Any, float]:
        columns = np.stack([np.ones_like(x), np.exp(-exponents[0] * x), np.exp(-exponents[1] * y)], 1)
        return nnls(columns / losses[:, None], np.ones_like(losses))

    grid = [(a, b) for a in EXPONENTS for b in EXPONENTS] if start is None else [(start.alpha, start.beta)]
    first = min(grid, key=lambda one: amplitudes(one)[1])
    options = {"xatol": 1e-5, "fatol": 1e-12, "maxiter": 200}
    alpha, beta = minimize(lambda p: amplitudes(p)[1], first, method="Nelder-Mead", bounds=[(0.01, 4)] * 2,
                           options=options).x  # fmt: skip
    (e, a, b), residual = amplitudes((alpha, beta))
    rms = residual / math.sqrt(len(losses))
    return ScalingLaw(float(e), float(a * math.exp(alpha * centre[0])), float(alpha),
                      float(b * math.exp(beta * centre[1])), float(beta), float(rms))  # fmt: skip


def intervals(
    law: ScalingLaw,
    parameters: Float[np.ndarray, " n"],
    tokens: Float[np.ndarray, " n"],
    losses: Float[np.ndarray, " n"],
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """By name of the law's numbers, the interval between percentiles of :data:`RESAMPLED` fits to drawn runs.

    Draws of too few sizes or budgets are drawn again. ``seed`` starts the generator.
    """
    random = np.random.default_rng(seed)
    found: list[ScalingLaw] = []
    while len(found) < RESAMPLED:
        drawn = random.integers(len(losses), size=len(losses))
        if min(len(np.unique(each[drawn])) for each in (parameters, tokens)) >= FEWEST:
            found.append(fit_law(parameters[drawn], tokens[drawn], losses[drawn], law))
    tails = [(1 - level) / 2, (1 + level) / 2]
    names = ("E", "A", "alpha", "B", "beta")
    table = {name: np.quantile([getattr(one, name) for one in found], tails) for name in names}
    return {name: (float(low), float(high)) for name, (low, high) in table.items()}


def scaling_laws(
    tasks: Mapping[str, Mapping[str, Any]], runs: Sequence[Mapping[str, Any]], level: float = 0.95
) -> list[dict[str, Any]]:
    """A law for every model on every text that an experiment has at three or more sizes and budgets.

    ``tasks`` are summarised ones; those of one text are told apart by size and budget alone. ``runs`` are run records.
    """
    laws = []
    for names in _same_text(tasks):
        metric = tasks[names[0]]["metric"]
        for model in dict.fromkeys(name for task in names for name in tasks[task]["models"]):
            points = [
                (float(run["parameters"]), float(run["tokens_seen"]), float(run[metric]))
                for run in runs
                if run["task"] in names and run["model"] == model and run["status"] == "done" and run.get(metric)
            ]
            n, d, loss = np.array(points).reshape(-1, 3).T
            if min(len(np.unique(n)), len(np.unique(d))) < FEWEST:
                continue
            law = fit_law(n, d, loss)
            found = {"text": _common(names), "tasks": names, "model": model, "metric": metric, "runs": len(points)}
            ends = intervals(law, n, d, loss, level)
            laws.append({**found, **asdict(law), "intervals": {key: list(pair) for key, pair in ends.items()}})
    return laws


def _same_text(tasks: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Names of tasks that read one text in the same tokens and windows, where there are enough for a law."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name, task in tasks.items():
        if task["metric"] != "accuracy" and task.get("tokenizer"):
            key = tuple(task.get(fact) for fact in ("source", "tokenizer", "vocab", "block", "train_tokens"))
            groups.setdefault((*key, task["metric"]), []).append(name)
    return [names for names in groups.values() if len(names) >= FEWEST]


def _common(names: Sequence[str]) -> str:
    """The words that all names of the tasks begin with."""
    words = zip(*(name.split() for name in names), strict=False)
    shared = [each[0] for each in itertools.takewhile(lambda each: len(set(each)) == 1, words)]
    return " ".join(shared).strip(",") or names[0]
