"""``qattn packing optimize``: one search for a packing, saved as it goes, and what is said of its result."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contexts.packing.search.certify import certify
from contexts.packing.search.optimize import check_workable
from contexts.packing.search.search_state import State
from contexts.packing.search.solve import solve
from experiments.errors import UserError, blame
from experiments.runs import state_file
from experiments.runs.claim import locked
from experiments.runs.interrupt import held_interrupt
from experiments.studies.packing.saved_search import (
    certificate_path,
    check_writable,
    load_state,
    save,
    save_state,
    state_path,
)


@dataclass(frozen=True)
class SearchRequest:
    """What to search for (n lines of dimension d over ``field``), how long, and where to keep it."""

    d: int
    n: int
    field: str
    out: Path
    seconds: float = 60.0
    rounds: int | None = None
    seed: int | None = None
    resume: bool = False
    beat_record: bool = False
    constructions: bool = True

    def check(self) -> None:
        """Raises :class:`UserError` for sizes, budgets or places that cannot be worked with."""
        with blame("--d, --n"):
            check_workable(self.d, self.n)
        if not self.seconds > 0:
            raise UserError(f"--seconds: expected a positive number, got {self.seconds}")
        if self.rounds is not None and self.rounds < 1:
            raise UserError(f"--rounds: expected at least 1, got {self.rounds}")
        if self.out.suffix != ".npy":
            raise UserError(f"--out {self.out}: expected a name that ends in .npy")
        check_writable(self.out.parent, f"--out {self.out}")

    def saved_state(self) -> State | None:
        """The state to resume, or None; raises :class:`UserError` where it is damaged or has another seed."""
        state = load_state(state_path(self.out)) if self.resume else None
        if state is not None and self.seed not in (None, state.seed):
            advice = "leave --seed out to resume it"
            raise UserError(f"--seed {self.seed}: the saved search has the seed {state.seed}; {advice}")
        return state


def run_search(request: SearchRequest, quiet: bool) -> dict[str, Any]:
    """Search, save vectors, certificate and state, and return what is found, for JSON.

    Ctrl-C saves the best so far and leaves with exit code 130. Raises :class:`UserError` as :meth:`SearchRequest.check`
    and where another process searches at the same place.
    """
    request.check()
    out, state, started = request.out, request.saved_state(), time.process_time()
    with locked(out.with_name(f".{out.stem}.lock"), f"{out}: another qattn is searching there"):
        if not request.resume:
            state_file.remove(state_path(out))  # else a damaged state of this search could give way to one of another
        with blame("--d, --n"), held_interrupt() as interrupted:
            solution = solve(
                request.d, request.n, request.field, seed=request.seed or 0, seconds=request.seconds,
                rounds=request.rounds, constructions=request.constructions, beat_record=request.beat_record,
                state=state, progress=_progress(out, started, quiet), stop=interrupted,
            )  # fmt: skip
        proof = certify(solution.vectors)
        made = {"how": solution.how, "seed": solution.state.seed, "rounds": solution.state.round}
        save(out, solution.vectors, made | proof)
        if interrupted():
            save_state(state_path(out), solution.state)
    if interrupted():
        best = f"the best so far, coherence {proof['coherence']:.10f}"
        print(f"qattn: stopped; {best}, is in {out}; --resume continues", file=sys.stderr)
        sys.exit(130)
    files = {"file": str(out), "certificate": str(certificate_path(out))}
    return _result(proof | made | files) | {"cpu_seconds": time.process_time() - started}


def _progress(out: Path, started: float, quiet: bool) -> Callable[[State], None]:
    """Saves the state after each round, and says so where something better was found."""
    shown = {"coherence": math.inf}

    def progress(state: State) -> None:
        save_state(state_path(out), state)
        better = state.coherence < shown["coherence"] - 1e-12
        shown["coherence"] = state.coherence
        if not quiet and (better or sys.stderr.isatty()):
            end = "\n" if better or not sys.stderr.isatty() else "\r"
            clock = f"round {state.round}, {time.process_time() - started:.0f} s"
            print(f"{clock}: coherence {state.coherence:.10f} ({state.how})", end=end, file=sys.stderr, flush=True)

    return progress


KEYS = (
    "d", "n", "field", "coherence", "bound", "bound_name", "optimal", "record", "file", "certificate", "how", "rounds",
    "below_record", "below_table", "table", "known", "known_source",
)  # fmt: skip


def _result(found: dict[str, Any]) -> dict[str, Any]:
    record, bound, value = found["record"], found["bound"], found["coherence"]
    result = {key: found[key] for key in KEYS}
    result["ratio"] = value / record if record else None
    result["ratio_to_bound"] = value / bound if bound else None
    if not record:
        result["ratio_reason"] = "no record for this d and n is shipped" if record is None else "the record is 0"
    return result


def show_search(result: dict[str, Any]) -> None:
    """The same for people."""
    record = result["record"]
    print(f"{result['n']} lines in {'R' if result['field'] == 'real' else 'C'}^{result['d']}: {result['how']}")
    print(f"coherence  {result['coherence']:.12f}")
    print(f"bound      {result['bound']:.12f}  ({result['bound_name']})")
    print(f"record     {record:.12f}  ({result['table']})" if record else "record     none shipped for this d and n")
    if record:
        below = f"  below the table ({result['table']})" if result["below_table"] else ""
        print(f"ratio      {result['ratio']:.10f}{below}")
    if result["known"] is not None:
        print(f"known here {result['known']:.12f}  ({result['known_source']})")
    print("optimal: it meets the bound" if result["optimal"] else "not proved optimal: the bound lies below")
    print(f"saved      {result['file']}, certificate {result['certificate']}")
