"""Counts of vectors for machines and people, from natural logarithms: a count beyond float64 is null with its log10."""

from __future__ import annotations

import math


def whole(log_n: float | None, up: bool) -> int | float | None:
    """The whole number a bound means, rounded outwards: at least ⌈N⌉ (``up``) or at most ⌊N⌋; None past 1e308.

    1e-9 N, at most 1/4, is forgiven, and what e^x loses of x in float64.
    """
    if log_n is None or log_n > 709:
        return None
    n = math.exp(log_n)
    lost = n * (1 + abs(log_n)) * 2**-51
    slack = min(1e-9 * n, 0.25) + lost  # more would take whole vectors away: 10^9 must not become 999,999,999
    if n > 2**53:
        return n - lost if up else n + lost
    return math.ceil(n - slack) if up else math.floor(n + slack)


def power_of_ten(log_n: float | None) -> str:
    """A count as people read it: 1,234 or 10^25.1."""
    if log_n is None:
        return "any number"
    n = whole(log_n, up=False)
    return f"{n:,}" if n is not None and n < 10**7 else f"10^{log_n / math.log(10):.1f}"
