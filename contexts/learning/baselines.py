"""What learned contexts are compared with on the same words: models without any geometry.

A baseline answers the test examples of a :class:`~contexts.learning.classifier.SenseTask` with a sense for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from contexts.learning.classifier import Example, SenseTask, near


def most_frequent(task: SenseTask) -> Int[np.ndarray, " examples"]:
    """The training part's most frequent sense, for every test example."""
    best = Counter(e.sense for e in task.train).most_common(1)[0][0]
    return np.full(len(task.test), best)


def word_at_place(task: SenseTask, places: int = 0, strength: float = 1.0) -> Int[np.ndarray, " examples"]:
    """Answers of logistic regression on which word stands at which place, up to ``places`` from the asked word.

    With ``places`` 0 on counts of all words without their places, as the contexts read them then. ``strength`` is
    scikit-learn's C, the inverse of the ridge.
    """

    def features(e: Example) -> dict[str, int]:
        if not places:
            return dict(Counter(t for t, place in near(e, None) if place))
        return {f"{place:+d} {t}": 1 for t, place in near(e, places) if place}

    return _logistic(task, features, strength)


def bag_of_words(task: SenseTask, window: int | None = None) -> Int[np.ndarray, " examples"]:
    """Answers of logistic regression (C = 1) on counts of the same words the contexts read."""
    return _logistic(task, lambda e: dict(Counter(t for t, place in near(e, window) if place)), 1.0)


def _logistic(
    task: SenseTask, features: Callable[[Example], dict[str, int]], strength: float
) -> Int[np.ndarray, " examples"]:
    """Answers of scikit-learn's logistic regression on named features."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    vectorizer = DictVectorizer()
    rows = vectorizer.fit_transform([features(e) for e in task.train])
    model = LogisticRegression(C=strength, max_iter=2000).fit(rows, [e.sense for e in task.train])
    return model.predict(vectorizer.transform([features(e) for e in task.test]))
