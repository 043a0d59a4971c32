"""All comparisons of one report: Holm's correction over them together, then a sentence for each."""

from __future__ import annotations

from typing import Any

from experiments.stats.statistics import Paired, holm, practical
from experiments.stats.verdict import settled, verdict


def conclude(tests: list[dict[str, Any]], level: float = 0.95, margin: float = 0.0, what: str = "seed") -> None:
    """Replace every test's ``pair`` (a :class:`Paired` of its models ``a`` and ``b``) by plain numbers and a sentence.

    ``metric`` says what is compared: "accuracy" is higher where better; for losses ``margin`` is the region of
    practical equivalence in nats. ``what`` is what the values are paired by. Numbers that do not exist are None, with
    the reason in ``reasons``.
    """
    pairs: list[Paired] = [test.pop("pair") for test in tests]
    p_holm, p_t_holm = holm([pair.p for pair in pairs]), holm([pair.p_t for pair in pairs])
    count = sum(pair.p is not None for pair in pairs)
    for test, pair, exact, student in zip(tests, pairs, p_holm, p_t_holm, strict=True):
        d = pair.difference
        accuracy = test["metric"] == "accuracy"
        test |= {"n": d.n, "difference": {"mean": d.mean, "low": d.low, "high": d.high, "sd": d.sd}}
        test |= {"p": pair.p, "p_holm": exact, "p_exact": pair.exact, "p_t": pair.p_t, "p_t_holm": student}
        if pair.p_examples is not None:
            test["p_examples"] = pair.p_examples
        test |= {"effect": pair.effect, "effect_name": "Hedges' g_z (paired)", "d_z": pair.d_z, "lower": pair.lower}
        test["settled"] = settled(pair, exact, student, 1 - level)
        allowed = 0.0 if accuracy else margin
        test["practical"] = practical(d, allowed) if allowed else None
        words: dict[str, Any] = {"unit": "of accuracy", "lower_is_better": False} if accuracy else {}
        words |= {"margin": allowed, "level": level, "comparisons": count, "what": what}
        test["verdict"] = verdict(test["a"], test["b"], pair, p_holm=exact, p_t_holm=student, **words)
        if reasons := _reasons(pair):
            test["reasons"] = reasons


def _reasons(pair: Paired) -> dict[str, str]:
    reasons = {}
    n = pair.difference.n
    if n == 0:
        reasons["p"] = "no seed finished with both models"
    if pair.difference.low is None:
        reasons["difference"] = "an interval needs two shared seeds" if n < 2 else "all differences are equal"
    if pair.effect is None:
        reasons["effect"] = "all differences are equal" if n >= 3 else "an effect size needs three shared seeds"
    return reasons
