"""One comparison in one sentence, with the word "better" kept for what the numbers carry.

"Better" needs at least six shared seeds, an interval that leaves out 0, the exact sign-flip test, and at
least one of the two tests (sign-flip or t) standing after Holm's correction over all comparisons of the report.
"""

from __future__ import annotations

from experiments.stats.statistics import ENOUGH, Interval, Paired, least_p, practical, seeds_needed


def settled(pair: Paired, p_holm: float | None, p_t_holm: float | None, alpha: float = 0.05) -> bool:
    """Whether the difference may be called better or worse at all (the rule of this module's first lines)."""
    low, high = pair.difference.low, pair.difference.high
    if pair.difference.n < ENOUGH or low is None or high is None or low <= 0 <= high:
        return False
    corrected = [value for value in (p_holm, p_t_holm) if value is not None]
    return pair.p is not None and pair.p <= alpha and any(value <= alpha for value in corrected)


def verdict(
    a: str,
    b: str,
    pair: Paired,
    *,
    p_holm: float | None = None,
    p_t_holm: float | None = None,
    comparisons: int = 1,
    margin: float = 0.0,
    unit: str = "nats",
    lower_is_better: bool = True,
    level: float = 0.95,
    what: str = "seed",
) -> str:
    """The sentence for "a against b". ``margin`` is the region of practical equivalence in ``unit``; 0 means none.

    ``what`` is what the values are paired by. Never says "better" below six of them or where the interval reaches 0.
    """
    d = pair.difference
    if d.mean is None:
        return f"{a} and {b} share no finished {what}: nothing can be compared."
    winner, loser = (a, b) if (d.mean < 0) == lower_is_better else (b, a)
    digits = _digits(pair)
    size = f"{abs(d.mean):.{digits}f} {unit}"
    how = "lower" if lower_is_better else "higher"
    if d.n < ENOUGH or d.low is None or d.high is None:
        return _undecidable(a, b, d, f"{winner} came out {how} than {loser} by {size}", what)
    percent = f"{100 * level:g} %"
    ends = sorted((abs(d.low), abs(d.high)))
    equal = margin > 0 and practical(d, margin) == "equal"
    if d.low <= 0 <= d.high:
        ends_signed = f"{_signed(d.low, digits)} to {_signed(d.high, digits)} {unit}"
        span = f"the {percent} interval of {a} − {b}, {ends_signed}, contains 0"
        if equal:
            return f"{a} and {b} are equal for practical purposes: {span} and stays within ±{margin:g}."
        tail = f"; it also reaches beyond ±{margin:g}, so equality is not shown either" if margin > 0 else ""
        return f"No difference between {a} and {b} is shown: {span}{tail}."
    count = max(pair.lower, pair.higher)
    span = f"{percent} interval {ends[0]:.{digits}f} to {ends[1]:.{digits}f}"
    if not settled(pair, p_holm, p_t_holm, 1 - level):
        return (
            f"{winner} came out {how} than {loser} by {size} ({span}; {count} of {d.n} {what}s), but the tests do not "
            f"settle it: {_tests(pair, p_holm, p_t_holm, comparisons, what)}{_more(d.n, comparisons, 1 - level, what)}."
        )
    little = f", less than the ±{margin:g} that would matter" if equal else ""
    return (
        f"{winner} is better than {loser} by {size} ({span}{little}), {how} in {count} of {d.n} {what}s; "
        f"{_tests(pair, p_holm, p_t_holm, comparisons, what)}."
    )


def _undecidable(a: str, b: str, d: Interval, came_out: str, what: str) -> str:
    """The sentence where seeds are too few, or all agree, so that nothing may be claimed of others."""
    if d.n == 1:
        one = f"one {what} says nothing about others"
        if d.mean == 0:
            return f"{a} and {b} came out equal in one shared {what}; {one}."
        return f"{came_out} in one shared {what}; {one}."
    if d.n < ENOUGH:
        if d.mean == 0:
            return f"{a} and {b} came out equal in {d.n} shared {what}s, too few to settle anything."
        return (
            f"{came_out} on average, but {d.n} {what}s can never reach p < {least_p(d.n):.4g}: {ENOUGH} or more are "
            "needed to settle it."
        )
    if d.mean == 0:
        return f"{a} and {b} came out equal in each of {d.n} shared {what}s."
    return f"{came_out} in each of {d.n} shared {what}s; no spread, no interval."


def _tests(pair: Paired, p_holm: float | None, p_t_holm: float | None, comparisons: int, what: str) -> str:
    n = pair.difference.n
    name = "exact sign-flip" if pair.exact else "sign-flip (sampled)"
    text = f"{name} {_equals(pair.p)}"
    if pair.p_examples is not None and pair.p is not None:
        text += " over test examples" if pair.p_examples >= pair.p else f" over {what}s"
    if pair.p is not None and pair.p == least_p(n):
        text += f", the least that {n} {what}s can give"
    if comparisons > 1:
        text += (
            f"; after Holm's correction over {comparisons} comparisons {_equals(p_holm)} (t test: {_equals(p_t_holm)})"
        )
    return text


def _more(n: int, comparisons: int, alpha: float, what: str) -> str:
    """How many seeds the sign-flip test wants at least, where ``n`` cannot reach ``alpha`` whatever they measure."""
    if least_p(n) * comparisons <= alpha:
        return ""
    return (
        f"; {n} {what}s cannot reach {alpha:.2g} over {comparisons} comparisons, {seeds_needed(comparisons, alpha)} can"
    )


def _equals(value: float | None) -> str:
    if value is None:
        return "p is not defined"
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def _digits(pair: Paired) -> int:
    """Decimals for all numbers of a sentence: four where the difference is below a tenth, else three."""
    return 4 if abs(pair.difference.mean or 0) < 0.1 else 3


def _signed(value: float, digits: int) -> str:
    return ("−" if value < 0 else "+") + f"{abs(value):.{digits}f}"
