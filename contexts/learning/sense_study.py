"""Learned contexts against baselines on the same tokens, over seeds, with a verdict that may say "loses"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from contexts.learning.classifier import CONTROLS, SenseClassifier, SenseTask, near

CLAIM_SEEDS = 6
"""Fewer seeds than this make no claim: five can never reach p < 0.0625 in a sign test."""


def study(
    task: SenseTask,
    seeds: Iterable[int] = range(6),
    others: Mapping[str, Callable[[SenseTask, int], float]] | None = None,
    progress: Callable[[str], None] = lambda line: None,
    **settings: Any,
) -> dict[str, Any]:
    """Test accuracies of the contextual model, its controls and the baselines.

    ``others`` adds models by name: a function of task and seed that returns a test accuracy. ``settings`` go to
    :class:`~contexts.learning.classifier.SenseClassifier`. Ctrl-C keeps the seeds that were finished.
    """
    window = settings.get("window")
    seeds = list(seeds)
    runs: dict[str, Callable[[int], float]] = {
        "contexts" if control == "none" else control: _run(task, control, settings) for control in CONTROLS
    }
    runs |= {name: lambda seed, other=other: other(task, seed) for name, other in (others or {}).items()}  # type: ignore[misc]
    values: dict[str, list[float]] = {
        "most_frequent_sense": [most_frequent(task)],
        "bag_of_words": [bag_of_words(task, window)],
    } | {name: [] for name in runs}
    interrupted = False
    bend = flex_of(task, settings)
    progress(f"{task.name}: {bend['flex_says']}")
    try:
        for seed in seeds:
            for name, run in runs.items():
                values[name].append(run(seed))
                progress(f"{task.name}, seed {seed}, {name}: {values[name][-1]:.3f}")
    except KeyboardInterrupt:
        interrupted = True
    models = {name: summary(v) for name, v in values.items() if v}
    return {
        "task": task.name,
        "source": task.source,
        "senses": list(task.senses),
        "train": len(task.train),
        "test": len(task.test),
        "chance": 1 / len(task.senses),
        **bend,
        "models": models,
        "verdicts": {name: verdict(models["contexts"], m) for name, m in models.items() if name != "contexts"}
        if "contexts" in models
        else {},
        "interrupted": interrupted,
    }


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


def most_frequent(task: SenseTask) -> float:
    """Test accuracy of always answering the training part's most frequent sense."""
    best = Counter(e.sense for e in task.train).most_common(1)[0][0]
    return float(np.mean([e.sense == best for e in task.test]))


def bag_of_words(task: SenseTask, window: int | None = None) -> float:
    """Test accuracy of logistic regression (scikit-learn, C = 1) on counts of the same words the contexts read."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    def counts(examples: Iterable[Any]) -> list[dict[str, int]]:
        return [dict(Counter(t for t, place in near(e, window) if place)) for e in examples]

    vectorizer = DictVectorizer()
    features = vectorizer.fit_transform(counts(task.train))
    model = LogisticRegression(max_iter=2000).fit(features, [e.sense for e in task.train])
    return float(model.score(vectorizer.transform(counts(task.test)), [e.sense for e in task.test]))


def summary(values: list[float]) -> dict[str, Any]:
    """Mean and 95 % t interval over seeds; no interval from a single value, with the reason."""
    from scipy.stats import t

    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return {"mean": mean, "low": None, "high": None, "values": values, "reason": "one value: no spread over seeds"}
    half = float(t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return {"mean": mean, "low": max(0.0, mean - half), "high": min(1.0, mean + half), "values": values}


def verdict(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """One sentence: wins, loses, or no difference shown (paired by seed where both have the same seeds)."""
    from scipy.stats import t

    n = len(ours["values"])
    if n < CLAIM_SEEDS:
        return f"no claim: {n} seeds, {CLAIM_SEEDS} are needed"
    other = theirs["values"] if len(theirs["values"]) == n else [theirs["mean"]] * n
    gap = np.array(ours["values"]) - np.array(other)
    half = float(t.ppf(0.975, n - 1) * gap.std(ddof=1) / np.sqrt(n))
    mean = float(gap.mean())
    text = f"{mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]"
    if mean - half > 0:
        return f"learned contexts win by {text}"
    if mean + half < 0:
        return f"learned contexts lose by {text}"
    return f"no difference shown: {text}"


def _run(task: SenseTask, control: str, settings: dict[str, Any]) -> Callable[[int], float]:
    def run(seed: int) -> float:
        return SenseClassifier(seed=seed, control=control, **settings).fit(task.train, task.senses).score(task.test)

    return run
