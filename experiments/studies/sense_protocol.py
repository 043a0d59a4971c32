"""``qattn contexts compare``: learned contexts against tuned baselines on pseudo-words that a rule draws.

The protocol: a rule pairs words before anything is trained (`contexts.learning.datasets.pseudo_word_pairs`); each pair
has a training, a dev and a test stretch of the text; every method gets the same number of tries on dev, at one seed
that is not compared; what it chose is trained again with the seeds of the comparison and answers the test part once.
Methods are then compared over word pairs, by the statistics of all reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from contexts.learning.baselines import most_frequent, word_at_place
from contexts.learning.classifier import SenseClassifier, SenseTask
from contexts.learning.datasets import pseudo_word_pairs, pseudo_words
from contexts.learning.log_linear import LogLinearClassifier
from experiments.errors import UserError
from experiments.runs.claim import claimed
from experiments.runs.json_files import read_record, write_record
from experiments.stats.comparisons import conclude
from experiments.stats.statistics import paired, t_interval
from experiments.tasks.polysemy import transformer_answers

CHOOSING_SEED = 1000
MARKER = "comparison.json"
RATES_AND_STEPS = ((1e-3, 60), (3e-3, 60), (1e-2, 60), (3e-3, 120))
SHARES: dict[str, Any] = {"dev_share": 0.2, "test_share": 0.2}


@dataclass(frozen=True)
class Method:
    """``answer(task, seed, **one of tries)`` gives a sense to every test example; ``random`` if seeds matter."""

    answer: Callable[..., Int[np.ndarray, " examples"]]
    tries: tuple[Mapping[str, Any], ...] = ({},)
    random: bool = True


def methods(dimension: int, own: int, steps: int) -> dict[str, Method]:
    """What is compared: four tries each of how far order reaches and how strong the ridge is (of the transformer: of
    its rate and steps)."""
    grid = tuple({"places": places, "shrink": shrink} for places in (0, 3) for shrink in (0.5, 2.0))
    logistic = tuple({"places": places, "strength": strength} for places in (0, 3) for strength in (0.3, 3.0))
    transformer = tuple({"rate": rate, "steps": count} for rate, count in RATES_AND_STEPS)
    shared: dict[str, Any] = {"dimension": dimension, "steps": steps}
    made = {
        name: Method(partial(trained, SenseClassifier, control=control, own=own, **shared), grid)
        for name, control in (("contexts", "none"), ("one_basis", "one_basis"), ("frozen_contexts", "frozen_contexts"))
    }
    made["log_linear"] = Method(partial(trained, LogLinearClassifier, **shared), grid)
    made["word_at_place"] = Method(lambda task, seed, **s: word_at_place(task, **s), logistic, random=False)
    made["transformer"] = Method(partial(transformer_answers, layers=1), transformer)
    made["most_frequent_sense"] = Method(lambda task, seed: most_frequent(task), random=False)
    return made


def trained(kind: type[SenseClassifier], task: SenseTask, seed: int, **settings: Any) -> Int[np.ndarray, " examples"]:
    """Train a classifier of ``kind`` and answer the test part."""
    return kind(seed=seed, **settings).fit(task.train, task.senses).predict(task.test)


def judge(task: SenseTask, compared: Mapping[str, Method], seeds: int) -> dict[str, Any]:
    """Of one word pair: per method the settings chosen on dev and the test accuracy of every seed. Raises ValueError
    for a task without a dev part."""
    if not task.dev:
        raise ValueError(f"task {task.name!r} has no dev part to choose settings on")
    dev = replace(task, test=task.dev, dev=())
    found: dict[str, Any] = {}
    for name, method in compared.items():
        scores = [_score(dev, method.answer(dev, CHOOSING_SEED, **tried)) for tried in method.tries]
        best = int(np.argmax(scores))  # of equal scores the first
        runs = [method.answer(task, seed, **method.tries[best]) for seed in range(seeds if method.random else 1)]
        found[name] = {
            "settings": dict(method.tries[best]),
            "dev": scores[best],
            "test": [_score(task, answers) for answers in runs],
        }
    sizes = {part: len(examples) for part, examples in (("train", task.train), ("dev", task.dev), ("test", task.test))}
    return {"task": task.name, **sizes, "methods": found}


def _score(task: SenseTask, answers: Int[np.ndarray, " examples"]) -> float:
    return float(np.mean(answers == np.array([e.sense for e in task.test])))


def compare(
    text: str,
    pairs: int = 20,
    seeds: int = 2,
    dimension: int = 12,
    own: int = 2,
    steps: int = 100,
    limit: int = 200,
    out: Path | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """The whole protocol. With ``out`` every finished pair is kept there and a repeated command does only the rest.

    Raises ValueError as :func:`check_room`, and :class:`UserError` for a folder of another comparison.
    """
    compared = methods(dimension, own, steps)
    check_room(text, pairs, dimension, own)
    tasks = [pseudo_words(text, pair, limit=limit, **SHARES) for pair in pseudo_word_pairs(text, pairs, **SHARES)]
    asked = {"pairs": [task.name for task in tasks], "seeds": seeds, "dimension": dimension, "own": own}
    asked |= {"steps": steps, "limit": limit}
    rows, interrupted = [], False
    with nullcontext() if out is None else claimed(out, MARKER, "a comparison of word senses"):
        if out is not None:
            _same(out, asked)
        try:
            for task in tasks:
                file = None if out is None else out / f"{task.name}.json"
                if file is not None and file.exists():
                    rows.append(read_record(file, what="a compared word pair", needs={"task", "methods"}))
                    continue
                rows.append(judge(task, compared, seeds))
                if file is not None:
                    write_record(file, rows[-1])
                scores = {name: np.mean(found["test"]) for name, found in rows[-1]["methods"].items()}
                progress(f"{task.name}: " + ", ".join(f"{name} {score:.3f}" for name, score in scores.items()))
        except KeyboardInterrupt:
            interrupted = True
    return {"asked": asked, "pairs": rows, **verdicts(rows), "interrupted": interrupted}


def check_room(text: str, pairs: int, dimension: int, own: int) -> None:
    """Raises ValueError where the text has too few words, or the dimension no room for a context or for one basis."""
    pair = pseudo_word_pairs(text, pairs, **SHARES)[0]
    task = pseudo_words(text, pair, **SHARES)
    for control in ("none", "one_basis"):
        SenseClassifier(dimension=dimension, own=own, control=control).build(task.train, task.senses)


def _same(out: Path, asked: Mapping[str, Any]) -> None:
    """Keep what was asked in the folder. Raises :class:`UserError` where it holds another comparison."""
    if not (out / MARKER).exists():
        write_record(out / MARKER, asked)
        return
    held = read_record(out / MARKER, what="a comparison of word senses")
    other = [key for key in asked if held.get(key) != asked[key]]
    if other:
        raise UserError(f"{out} holds a comparison with other {', '.join(other)}; choose another --out")


def verdicts(rows: list[dict[str, Any]], ours: str = "contexts") -> dict[str, Any]:
    """``methods``: mean test accuracy over word pairs with Student's interval; ``tests``: ``ours`` against the others,
    paired by word pair (so that the error of each test part is in the spread over pairs)."""
    if not rows:
        return {"methods": {}, "tests": []}
    scores = {name: [float(np.mean(row["methods"][name]["test"])) for row in rows] for name in rows[0]["methods"]}
    found = {}
    for name, values in scores.items():
        interval = t_interval(values)
        low, high = ((None if end is None else min(1.0, max(0.0, end))) for end in (interval.low, interval.high))
        found[name] = {"mean": interval.mean, "low": low, "high": high, "values": values}
    tests = [
        {"a": ours, "b": name, "metric": "accuracy", "pair": paired(scores[ours], values)}
        for name, values in scores.items()
        if name != ours
    ]
    conclude(tests, what="word pair")
    return {"methods": found, "tests": tests}
