"""What learned contexts are compared with on the same words: models without any geometry.

A baseline answers the test examples of a :class:`~contexts.learning.classifier.SenseTask` with a sense for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from jaxtyping import Int

from contexts.learning.classifier import Example, SenseTask, near


def most_frequent(task: SenseTask) -> Int[np.ndarray, " examples"]:
    """The training part's most frequent sense, for every test example."""
    best = Counter(e.sense for e in task.train).most_common(1)[0][0]
    return np.full(len(task.test), best)


def bag_of_words(task: SenseTask, window: int | None = None) -> Int[np.ndarray, " examples"]:
    """Answers of logistic regression (scikit-learn, C = 1) on counts of the same words the contexts read."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    def counts(examples: Iterable[Example]) -> list[dict[str, int]]:
        return [dict(Counter(t for t, place in near(e, window) if place)) for e in examples]

    vectorizer = DictVectorizer()
    features = vectorizer.fit_transform(counts(task.train))
    model = LogisticRegression(max_iter=2000).fit(features, [e.sense for e in task.train])
    return model.predict(vectorizer.transform(counts(task.test)))
