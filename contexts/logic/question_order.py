"""Two yes–no questions asked in both orders: the QQ equality, and what one order says of the other.

If a state is projected by the first answer and then asked the second question, Pr(yes, no) + Pr(no, yes) is the same in
both orders, whatever the state and the projectors (Wang & Busemeyer, Topics in Cognitive Science 5, 689 (2013); Wang,
Solloway, Shiffrin & Busemeyer, PNAS 111, 9431 (2014)). That has no parameter to fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from contexts.logic.contextuality import EmpiricalTable


@dataclass(frozen=True)
class QuestionOrder:
    """``q``: Pr(answers differ) in the first order less that in the second, 0 by the QQ equality; ``p``: of a two-sided
    test of that, None without counts.

    ``order_p``: of a χ² test that the order changes nothing at all, None without counts. ``losses``: nats per
    respondent of the second order under models fitted to the first alone, and under the second order's own frequencies,
    which is the least possible.
    """

    q: float
    p: float | None
    order_p: float | None
    losses: dict[str, float]


def question_order(table: EmpiricalTable) -> QuestionOrder:
    """Compare the two orders of a table whose contexts are (A, B) and (B, A).

    Models of the second order: the same joint answers as in the first; one qubit with a vector per answer, whose two
    transition probabilities the first order fixes, averaged over the relative phase, which it does not; and chance.
    Raises ValueError for any other table.
    """
    if len(table.contexts) != 2 or table.contexts[0] != table.contexts[1][::-1] or len(table.contexts[0]) != 2:
        raise ValueError("two questions in two orders are needed: contexts [A, B] and [B, A]")
    if wrong := [m for m, values in table.outcomes.items() if len(values) != 2]:
        raise ValueError(f"question {wrong[0]!r} has {len(table.outcomes[wrong[0]])} answers; two are needed")
    first, second = table.tables[0], table.tables[1].T  # axes: A, B
    differ = [float(t[0, 1] + t[1, 0]) for t in (first, second)]
    q = differ[0] - differ[1]
    p = order_p = None
    if table.counts:
        sizes = [float(n.sum()) for n in table.counts]
        spread = math.sqrt(sum(d * (1 - d) / n for d, n in zip(differ, sizes, strict=True)))
        p = float(2 * norm.sf(abs(q) / spread)) if spread else float(q == 0)
        order_p = _same_answers(table.counts[0], table.counts[1].T)
    models = {
        "same answers in both orders": first,
        "one qubit, phase averaged": qubit(first),
        "chance": np.full((2, 2), 0.25),
        "its own frequencies": second,
    }
    return QuestionOrder(q, p, order_p, {name: _loss(second, model) for name, model in models.items()})


def qubit(first: Float[np.ndarray, "2 2"]) -> Float[np.ndarray, "2 2"]:
    """The other order's joint probabilities (axes as given) of a qubit fitted to Pr(A then B) by likelihood.

    |⟨A yes|B yes⟩|² = t = Pr(answers agree), and the state has a = Pr(A yes); averaged over the phase, B is yes first
    with probability at + (1 − a)(1 − t), and A follows by t.
    """
    a, t = float(first[0].sum()), float(first[0, 0] + first[1, 1])
    b = a * t + (1 - a) * (1 - t)
    return np.array([[b * t, (1 - b) * (1 - t)], [b * (1 - t), (1 - b) * t]])


def _loss(seen: Float[np.ndarray, "2 2"], model: Float[np.ndarray, "2 2"]) -> float:
    """Σ −seen log model, in nats; infinite never: a zero is one chance in a million."""
    return float(-np.sum(seen * np.log(np.maximum(model, 1e-6))))


def _same_answers(first: Float[np.ndarray, "2 2"], second: Float[np.ndarray, "2 2"]) -> float | None:
    """p of a χ² test that both orders have the same joint probabilities; None where an answer is never given."""
    from scipy.stats import chi2_contingency

    rows = np.stack([first.ravel(), second.ravel()])
    return None if (rows.sum(0) == 0).any() else float(chi2_contingency(rows, correction=False).pvalue)
