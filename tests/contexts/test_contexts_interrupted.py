"""Ctrl-C in ``qattn contexts``: what was found is printed, at once, and the exit code is 130."""

from __future__ import annotations

import json
import os
import signal
import threading
from itertools import islice

import pytest

from contexts import notebook
from contexts.hypergraphs import library
from contexts.logic import realization, satisfiability, state_counting, valuations


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_listing_prints_the_states_found(qattn, monkeypatch):
    """A real signal in a listing that would take days: nothing is computed after it."""
    monkeypatch.setattr(satisfiability, "relations", lambda h: pytest.fail("asked after Ctrl-C"))
    monkeypatch.setattr(valuations, "separating_subset", lambda h, s: pytest.fail("asked after Ctrl-C"))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    search = valuations.list_states

    def list_states(h, limit):
        timer.start()  # only now, so that a slow machine is not stopped while it counts
        return search(h, limit)

    monkeypatch.setattr(valuations, "list_states", list_states)
    code, out, _ = qattn("contexts", "states", "cycle_60", "--list", "--limit", "100000000", "--json")
    timer.join()
    result = json.loads(out)
    assert code == 130
    assert result["interrupted"] is True
    assert len(result["states"]) > 0
    assert f"interrupted after {len(result['states'])} states" in result["states_reason"]
    assert (result["complete"], result["unital"]) == (True, None)  # counted before, but not asked what it implies
    h = library.load("cycle_60")
    assert all(valuations.is_state(h, state) for state in result["states"][:50])


@pytest.mark.parametrize(
    ("module", "name", "doing", "count"),
    [
        (state_counting, "count_states", "counting, which has no partial answer", None),
        (state_counting, "count_with_marginals", "counting each atom's share of the states", "11"),
        (satisfiability, "relations", "asking what the states imply", "11"),
        (satisfiability, "strong_chromatic_number", "searching for the strong chromatic number", "11"),
    ],
)
def test_states_keeps_what_was_found_before(qattn, monkeypatch, module, name, doing, count):
    monkeypatch.setattr(module, name, stop)
    code, out, _ = qattn("contexts", "states", "pentagon", "--json")
    result = json.loads(out)
    assert (code, result["count"], result["interrupted_while"]) == (130, count, doing)
    code, out, _ = qattn("contexts", "states", "pentagon")
    assert code == 130
    assert f"interrupted while {doing}" in out
    assert "state exists" in out or "11 two-valued states" in out


def test_listing_in_place_of_a_count_is_kept(monkeypatch):
    """Where the count is out of reach and the listing that stands in for it is stopped."""

    def too_wide(h: object, **_: object) -> None:
        raise state_counting.TooWide("too wide")

    whole = valuations.states

    def a_few(h):
        yield from islice(whole(h), 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(state_counting, "count_states", too_wide)
    monkeypatch.setattr(valuations, "states", a_few)
    result = notebook.states("pentagon")
    assert (result["count"], result["complete"], result["interrupted"]) == ("3", False, True)
    assert "interrupted after 3 states" in result["reason"]


def test_realize_says_that_it_was_stopped(qattn, monkeypatch):
    monkeypatch.setattr(realization, "descend", stop)
    words = ("contexts", "realize", "cycle_4", "--level", "faithful", "--fresh")
    monkeypatch.setattr(realization, "search_pool", lambda *_: None)
    code, out, _ = qattn(*words, "--json")
    result = json.loads(out)
    assert (code, result["interrupted"]) == (130, True)
    code, out, _ = qattn(*words)
    assert code == 130
    assert "interrupted" in out
    assert notebook.realize("bank")["interrupted"] is False


def test_separating_set_of_many_states_is_found_among_them():
    """More states than the first try takes: still a separating set, of states that were given."""
    h = library.load("cycle_16")
    found = valuations.list_states(h).states
    assert len(found) == 2207  # the Lucas number L16
    assert len(found) > valuations.FIRST_TRY
    few = valuations.separating_subset(h, found)
    assert set(few) <= set(found)
    assert len(few) < 12
    assert set(valuations.partition_logic(h, few)) == set(h.vertices)
    assert valuations.true_atoms_of_all(h, found) == [list(valuations.true_atoms(h, s)) for s in found]
