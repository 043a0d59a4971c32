"""``qattn contexts train``: learned contexts, their controls and baselines on the same sense task, over seeds.

Every model answers the same test examples; what is kept of a run is which of them it got right, so that models are
compared example by example and seed by seed (:mod:`experiments.stats.accuracy`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from contexts.learning.baselines import bag_of_words, most_frequent
from contexts.learning.classifier import CONTROLS, SenseClassifier, SenseTask
from experiments.runs.parts import Parts, parts_of
from experiments.stats.accuracy import accuracy_interval, paired_answers, wilson
from experiments.stats.comparisons import conclude

Answers = Int[np.ndarray, " examples"]
"""The sense that a model gives each test example."""

Runs = dict[str, dict[int, Bool[np.ndarray, " examples"]]]
"""By model and seed, which test examples were answered right; a model without randomness has the one seed −1."""

NO_SEED = -1

MODELS = {"contexts" if control == "none" else control: control for control in CONTROLS}
"""The contextual model and its controls, by the name in reports."""


def study(
    task: SenseTask,
    seeds: Iterable[int] = range(6),
    others: Mapping[str, Callable[[SenseTask, int], Answers]] | None = None,
    progress: Callable[[str], None] = lambda line: None,
    parts: Parts = Parts(),
    workers: int = 1,
    **settings: Any,
) -> dict[str, Any]:
    """Test accuracies of the contextual model, its controls and the baselines, and what may be said of them.

    ``others`` adds models by name: a function of task and seed that returns a sense for every test example.
    ``settings`` go to :class:`~contexts.learning.classifier.SenseClassifier`. A control that the settings leave no room
    for is named in ``left_out`` before anything is trained, and the others run. ``parts`` is asked for every run by its
    name and may have it already (:func:`kept_in`); ``workers`` runs are trained side by side. Ctrl-C keeps the runs
    that were finished. Raises ValueError where the contextual model itself has no room.
    """
    left_out = no_room(task, settings)
    models: dict[str, Callable[[SenseTask, int], Answers]] = {
        name: _trained(control, settings) for name, control in MODELS.items() if name not in left_out
    }
    models |= others or {}
    bend = flex_of(task, settings)
    progress(f"{task.name}: {bend['flex_says']}")
    for name, reason in left_out.items():
        progress(f"{task.name}: {name} is left out: {reason}")
    truth = np.array([e.sense for e in task.test])
    runs: Runs = {
        "most_frequent_sense": {NO_SEED: most_frequent(task) == truth},
        "bag_of_words": {NO_SEED: bag_of_words(task, settings.get("window")) == truth},
    } | {name: {} for name in models}
    places = {f"{name}, seed {seed}": (name, seed) for seed in seeds for name in models}

    def done(part: str, right: Tensor) -> None:
        name, seed = places[part]
        runs[name][seed] = right.numpy()
        progress(f"{task.name}, seed {seed}, {name}: {runs[name][seed].mean():.3f}")

    interrupted = False
    try:
        wanted = {part: partial(_right, models[name], task, seed, truth) for part, (name, seed) in places.items()}
        parts.each(wanted, done, workers)
    except KeyboardInterrupt:
        interrupted = True
    runs = {name: dict(sorted(by_seed.items())) for name, by_seed in runs.items()}
    return {
        "task": task.name,
        "source": task.source,
        "senses": list(task.senses),
        "train": len(task.train),
        "test": len(task.test),
        "chance": 1 / len(task.senses),
        **bend,
        "left_out": left_out,
        **compared(runs),
        "interrupted": interrupted,
    }


def _right(answer: Callable[[SenseTask, int], Answers], task: SenseTask, seed: int, truth: Answers) -> Tensor:
    """Which test examples a model answers right."""
    return torch.from_numpy(answer(task, seed) == truth)


@contextmanager
def kept_in(out: Path | None, task: SenseTask, settings: Mapping[str, Any], fresh: bool = False) -> Iterator[Parts]:
    """Every run of a study kept in the folder ``out`` as soon as it is done, and read from there when it is asked for
    again; without a folder nothing is.

    Raises :class:`~experiments.errors.UserError` for a folder that is in use, holds something else, or the study of
    another task or of other settings (``fresh`` starts over).
    """
    if out is None:
        yield Parts()
        return
    examples = hashlib.sha256(repr((task.senses, task.train, task.test)).encode()).hexdigest()[:16]
    asked = {"task": task.name, "examples": examples, **settings}
    with parts_of(out, "study.json", "a study of word senses", asked, fresh) as parts:
        yield parts


def compared(runs: Runs, ours: str = "contexts", level: float = 0.95) -> dict[str, Any]:
    """``models``: accuracy with interval, and the answers of every seed; ``tests``: ``ours`` against each other one."""
    tests = []
    for name in runs:
        if name == ours or not runs.get(ours) or not runs[name]:
            continue
        seeds = sorted(runs[ours] if NO_SEED in runs[name] else runs[ours].keys() & runs[name].keys())
        if not seeds:
            continue
        left = np.stack([runs[ours][seed] for seed in seeds])
        right = np.stack([runs[name][seed] for seed in ([NO_SEED] if NO_SEED in runs[name] else seeds)])
        pair = paired_answers(left, right, level)
        tests.append({"a": ours, "b": name, "metric": "accuracy", "seeds": seeds, "pair": pair})
    conclude(tests, level)
    models = {name: _estimate(by_seed, level) for name, by_seed in runs.items() if by_seed}
    return {"models": models, "tests": tests, "verdicts": {test["b"]: test["verdict"] for test in tests}}


def _estimate(by_seed: Mapping[int, Bool[np.ndarray, " examples"]], level: float) -> dict[str, Any]:
    values = [float(right.mean()) for right in by_seed.values()]
    examples = len(next(iter(by_seed.values())))
    estimate: dict[str, Any] = {"values": values, "examples": examples}
    estimate["right"] = ["".join("01"[int(x)] for x in right) for right in by_seed.values()]
    if NO_SEED in by_seed:
        low, high = wilson(values[0], examples, level)
        return {"mean": values[0], "low": low, "high": high, "seeds": [], **estimate}
    found = accuracy_interval(values, examples, level)
    summary = {"mean": found.mean, "low": found.low, "high": found.high, "seeds": list(by_seed), **estimate}
    return summary if found.low is not None else summary | {"reason": "one seed has no interval"}


def no_room(task: SenseTask, settings: Mapping[str, Any]) -> dict[str, str]:
    """The controls that cannot be built with these settings, each with the reason; nothing is trained.

    Raises ValueError where the contextual model itself cannot be built.
    """
    left_out = {}
    for name, control in MODELS.items():
        try:
            SenseClassifier(control=control, **settings).build(task.train, task.senses)
        except ValueError as error:
            if control == "none":
                raise
            left_out[name] = str(error)
    return left_out


def flex_of(task: SenseTask, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What can be trained of the contexts that ``task`` builds, before any training: ``flex`` (None where there is
    none to compute) and ``flex_says``."""
    model = SenseClassifier(**settings)
    model.build(task.train, task.senses)
    try:
        bend = model.model.bases.flex()
    except ValueError as error:
        return {"flex": None, "flex_says": f"flex: not known ({error})"}
    if bend is None:
        return {"flex": None, "flex_says": "flex: none to compute (no cycles: rotations about shared vectors are free)"}
    rigid = ": rigid, there is nothing to train" if bend == 0 else ""
    return {"flex": bend, "flex_says": f"flex of the cyclic contexts: {bend}{rigid}"}


def _trained(control: str, settings: Mapping[str, Any]) -> Callable[[SenseTask, int], Answers]:
    def answer(task: SenseTask, seed: int) -> Answers:
        model = SenseClassifier(seed=seed, control=control, **settings).fit(task.train, task.senses)
        return model.predict(task.test)

    return answer
