"""How fast the contexts tools are, beside peers in the same run. Prints; asserts nothing.

    python benchmarks/contexts.py            # about a minute on one core

Peers: python-sat's model enumeration (the usual tool for listing), brute force over 2ⁿ assignments, a Python loop of
commutators. Times are the best of several in CPU seconds of this process, so that a busy machine does not show.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
here = (
    Path(__file__).resolve().parent
)  # this file is called as the package it measures: make the package be found first
sys.path[:] = [str(here.parent), *(p for p in sys.path if Path(p).resolve() != here)]

import numpy as np  # noqa: E402

from contexts.hypergraphs import library  # noqa: E402
from contexts.logic import graph_bounds, satisfiability  # noqa: E402
from contexts.logic.observables import commutator_norms  # noqa: E402
from contexts.logic.state_counting import count_states, count_with_marginals  # noqa: E402
from contexts.logic.valuations import is_state, list_states  # noqa: E402


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """Least CPU seconds of some repeats."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def line(what: str, seconds: float, goal: float | None = None, peer: tuple[str, float] | None = None) -> None:
    text = f"{what:<62} {seconds * 1e3:>10.2f} ms"
    if goal is not None:
        text += f"   figure to beat {goal * 1e3:g} ms: ×{goal / seconds:.1f}"
    if peer is not None:
        text += f"   {peer[0]} {peer[1] * 1e3:.1f} ms: ×{peer[1] / seconds:.1f}"
    print(text, flush=True)


def states() -> None:
    ring, chain, peres = library.cycle(24), library.bug_chain(50), library.load("peres_57_40")
    line("24-cycle counted (103,682 states)", best(lambda: count_states(library.cycle(24)), 20), 1e-3)
    part = 2_000  # enumeration by blocking clauses slows down as it goes: this flatters it
    sat = best(lambda: list(islice(satisfiability.enumerate_states(ring), part)), 1) * 103_682 / part
    line("24-cycle listed", best(lambda: list_states(ring), 3), 2.5, ("python-sat enumeration, extrapolated", sat))
    line("chain of 50 Specker bugs counted (601 atoms, 48 digits)", best(lambda: count_states(chain)), 1.0)
    line("  with all marginals", best(lambda: count_with_marginals(chain)))
    line("  unital, separating, all implications (SAT)", best(lambda: satisfiability.relations(chain), 2))
    line("Peres 57-40 shown to have none, by counting", best(lambda: count_states(peres), 20), 50e-3)
    line("Peres 57-40 shown to have none, by SAT", best(lambda: satisfiability.find_state(peres), 20), 50e-3)
    line("Peres 57-40 shown to have none, by search", best(lambda: list_states(peres), 5), 50e-3)
    deletions = [peres.without_context(i) for i in range(40)]
    one = best(lambda: sum(1 for _ in satisfiability.enumerate_states(deletions[0])), 2)
    peer = ("python-sat, one times 40", 40 * one)
    line("40 single deletions of it counted", best(lambda: [count_states(d) for d in deletions], 3), 1.0, peer)
    small = library.load("specker_bug_TITS_extension")
    brute = best(lambda: sum(is_state(small, s) for s in range(1 << 16)), 1)
    line(
        "Specker bug extension (16 atoms) counted", best(lambda: count_states(small), 20), None, ("brute force", brute)
    )


def commutators() -> None:
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.normal(size=(1000, 64, 64)))[0]
    stack = (bases * np.arange(1.0, 65)) @ bases.transpose(0, 2, 1)
    few = stack[:60]

    def loop() -> None:
        for i in range(60):
            for j in range(i + 1, 60):
                np.linalg.norm(few[i] @ few[j] - few[j] @ few[i])

    scale = (1000 * 999) / (60 * 59)
    peer = ("Python loop, extrapolated", best(loop, 2) * scale)
    line("all commutators of 1,000 contexts in dimension 64", best(lambda: commutator_norms(stack), 1), None, peer)


def theta() -> None:
    for name in ("kcbs_pentagram", "peres_24_24", "peres_57_40"):
        h = library.load(name)
        found = graph_bounds.lovasz(h)
        line(f"θ of {name} ({found.value:.6f} … {found.dual:.6f})", best(lambda h=h: graph_bounds.lovasz(h), 1))


if __name__ == "__main__":
    states()
    commutators()
    theta()
