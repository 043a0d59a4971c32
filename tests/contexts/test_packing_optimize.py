"""The optimiser against published optima and records, its smoothed maximum, symmetries, and what it may not claim."""

import math
from copy import deepcopy

import numpy as np
import pytest

from contexts.packing.best_known import best_known
from contexts.packing.bounds.coherence_bounds import best_bound
from contexts.packing.constructions.catalogue import catalogue
from contexts.packing.constructions.two_graphs import conference_frame, quadric
from contexts.packing.measure.gram import coherence
from contexts.packing.record_tables import record, records
from contexts.packing.search.certify import certify, exact_square, sqrt_up
from contexts.packing.search.initialisation import most_free, parts, perturbed, usable
from contexts.packing.search.lbfgs import minimise
from contexts.packing.search.optimize import anneal, optimize, smoothed_maximum
from contexts.packing.search.polish import polish
from contexts.packing.search.solve import solve
from contexts.packing.search.symmetry import paulis, random_abelian, trivial, weyl_heisenberg


def lines(seed, n, d, field):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x + 1j * rng.standard_normal((n, d)) if field == "complex" else x


# (field, d, n, μ): icosahedron, Sloane's 7 lines, conference lines, 7 lines of C^2 and C^3, Hesse's 9
PUBLISHED = [
    ("real", 3, 6, 1 / math.sqrt(5)),
    ("real", 3, 7, 1 / math.sqrt(3)),
    ("real", 4, 6, 1 / 3),
    ("real", 5, 10, 1 / 3),
    ("complex", 2, 7, 0.777861913477),
    ("complex", 3, 7, math.sqrt(2) / 3),
    ("complex", 3, 9, 1 / 2),
]


@pytest.mark.parametrize(("field", "d", "n", "mu"), PUBLISHED)
def test_reaches_published_optima_without_constructions(field, d, n, mu):
    found = optimize(d, n, field, rounds=4, target=mu * (1 + 1e-10))
    assert found.coherence == pytest.approx(mu, abs=1e-10)
    assert coherence(found.vectors) == found.coherence


@pytest.mark.slow
@pytest.mark.parametrize(("field", "d", "n"), [("complex", 3, 13), ("real", 4, 15)])
def test_reaches_shipped_records(field, d, n):
    known = record(d, n, field)
    found = optimize(d, n, field, rounds=10, target=known.coherence * (1 + 1e-10) + known.rounding)
    assert found.coherence <= known.coherence * (1 + 1e-8)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_gradient_of_the_smoothed_maximum(field):
    """Against central differences, also with fixed lines and orbits; ∂/∂Re + i ∂/∂Im."""
    rng = np.random.default_rng(3)
    cases = [trivial(4, 7, field)]
    while len(cases) < 4:
        drawn = random_abelian(4, 7, field, rng)
        if drawn is not None and (len(drawn.fixed) or len(cases) > 2):
            cases.append(drawn)
    if field == "complex":
        cases += [weyl_heisenberg(4, 32), paulis(4, 16)]
    for symmetry in cases:
        x = lines(4, symmetry.representatives, 4, field)[None]
        step = lines(5, symmetry.representatives, 4, field)[None]
        beta = np.array([20.0])
        value, gradient = smoothed_maximum(x, beta, symmetry)
        after, before = (smoothed_maximum(x + h * step, beta, symmetry)[0] for h in (1e-6, -1e-6))
        numeric = (after[0] - before[0]) / 2e-6
        assert (gradient.conj() * step).real.sum() == pytest.approx(numeric, rel=1e-6, abs=1e-8)
        unit = x[0] / np.linalg.norm(x[0], axis=1, keepdims=True)
        if not len(symmetry.fixed):
            full = symmetry.spread(unit)
            assert len(full) == symmetry.lines
            # the true maximum lies below the smoothed one by at most ln(pairs)/β
            gap = value[0] - coherence(full) ** 2
            assert 0 <= gap <= math.log(len(full) ** 2) / 20


def test_huge_exponents_do_not_overflow():
    """β = 10⁹: exp(β) has no float; factoring the maximum out leaves the exact maximum and a finite gradient."""
    x = lines(0, 12, 4, "real")
    value, gradient = smoothed_maximum(x[None], np.array([1e9]), trivial(4, 12, "real"))
    assert value[0] == pytest.approx(coherence(x) ** 2, abs=1e-7)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("field", ["real", "complex"])
def test_groups_are_unitary_groups_with_the_stated_orbits(field):
    rng = np.random.default_rng(1)
    drawn = [s for s in (random_abelian(5, 12, field, rng) for _ in range(200)) if s is not None]
    assert len(drawn) > 60
    for symmetry in drawn:
        assert symmetry.lines == 12
        for u in symmetry.elements:
            np.testing.assert_allclose(u @ u.conj().T, np.eye(5), atol=1e-12)
        flat = symmetry.elements.reshape(len(symmetry.elements), -1)
        products = np.einsum("gij,hjk->ghik", symmetry.elements[:3], symmetry.elements).reshape(-1, flat.shape[1])
        assert np.abs(products[:, None] - flat).max(axis=2).min(axis=1).max() < 1e-9
        for projector in symmetry.fixed:
            vector = projector @ lines(2, 1, 5, field)[0]
            assert all(coherence(np.array([u @ vector, vector])) > 1 - 1e-9 for u in symmetry.elements)


def test_weyl_heisenberg_orbits_find_sics():
    symmetry = weyl_heisenberg(7, 49)
    x = anneal(lines(0, 40, 7, "complex")[:, None, :], np.full(40, 7.0), symmetry, last=1e5, stop=lambda: False)
    best = min(coherence(v) for v in symmetry.spread(x))
    assert best == pytest.approx(1 / math.sqrt(8), abs=1e-4)
    assert weyl_heisenberg(3, 10) is None
    assert paulis(6, 36) is None


def test_lbfgs_solves_a_batch_of_quadratics_and_rosenbrocks():
    rng = np.random.default_rng(0)
    scale = np.exp(rng.uniform(0, 5, (6, 10)))
    centre = rng.standard_normal((6, 10))
    x, _ = minimise(
        lambda p, k: (0.5 * (scale[k] * (p - centre[k]) ** 2).sum(1), scale[k] * (p - centre[k])),
        np.zeros((6, 10)),
        200,
    )
    np.testing.assert_allclose(x, centre, atol=1e-6)

    def rosenbrock(p, _):
        a, b = p[:, 0], p[:, 1]
        slope = np.stack([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)], axis=1)
        return (1 - a) ** 2 + 100 * (b - a * a) ** 2, slope

    x, _ = minimise(rosenbrock, np.array([[-1.2, 1.0], [2.0, -1.0], [0.0, 0.0]]), 300)
    np.testing.assert_allclose(x, 1, atol=1e-5)


def test_polish_reaches_ten_digits_and_never_makes_worse():
    """The icosahedron shaken by 1e-3, E8's neighbourhood, and a packing that is no optimum at all."""
    target = optimize(3, 6, "real", rounds=1).vectors
    rng = np.random.default_rng(0)
    shaken = target + 1e-3 * rng.standard_normal(target.shape)
    assert coherence(polish(shaken)) == pytest.approx(1 / math.sqrt(5), abs=1e-12)
    for field in ("real", "complex"):
        start = lines(7, 9, 4, field)
        assert coherence(polish(start)) <= coherence(start)


def test_the_same_seed_gives_the_same_packing_and_resuming_changes_nothing():
    once = optimize(4, 11, "real", seed=5, rounds=4)
    again = optimize(4, 11, "real", seed=5, rounds=4)
    np.testing.assert_array_equal(once.vectors, again.vectors)
    halves = optimize(4, 11, "real", seed=5, rounds=2)
    halves = optimize(4, 11, "real", state=halves, rounds=4)
    np.testing.assert_array_equal(once.vectors, halves.vectors)
    assert once.round == halves.round
    with pytest.raises(ValueError, match="the saved search is for d=4, n=11"):
        optimize(4, 12, "real", state=halves)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_no_more_lines_than_dimensions_and_one_dimension(field):
    for d, n in ((5, 3), (4, 4), (1, 1)):
        found = solve(d, n, field)
        assert found.coherence == 0
        assert found.vectors.shape == (n, d)
        assert certify(found.vectors)["optimal"] is True
    found = solve(1, 3, field)
    assert found.coherence == 1
    assert certify(found.vectors)["optimal"] is True  # in one dimension all lines are equal


def test_optimality_is_claimed_only_where_a_bound_matches():
    tight = certify(solve(4, 13, "complex").vectors)
    assert tight["optimal"] is True
    assert tight["coherence"] == pytest.approx(tight["bound"], rel=1e-9)
    loose = certify(optimize(3, 13, "complex", rounds=1).vectors)
    assert loose["optimal"] is None  # 0.6221 is the record, the best bound 0.5916
    assert loose["bound"] == best_bound(3, 13, "complex")[0] < loose["coherence"]


def test_constructions_are_used_where_better_and_named():
    found = solve(8, 64, "complex", rounds=1)
    assert found.coherence == pytest.approx(1 / 3, abs=1e-12)
    assert found.how == "construction: SIC"
    part = solve(4, 19, "complex", rounds=1)
    assert part.how == "construction: mutually unbiased bases, 19 of its 20 lines"
    assert solve(8, 31, "real", rounds=1).how == "construction: blocks of 3 coordinates, 31 of its 32 lines"
    searched = solve(3, 5, "real", rounds=2, constructions=False)
    assert searched.how.startswith("optimised: ")


def test_parts_of_constructions_are_where_some_rounds_start():
    """45 lines of C^5 at 1/2: any 38 of them are a packing at 1/2 at most, from which a search may go on."""
    rng = np.random.default_rng(0)
    whole = [c for c in catalogue(5, "complex") if c.n == 45]
    assert usable(whole, 38, 0.55) == whole
    assert usable(whole, 38, 0.4) == []  # too far above
    assert usable(whole, 50, 0.6) == whole  # a few lines are to be added
    assert usable(whole, 200, 0.6) == []
    for copy in parts(whole[0].build(), 38, "complex", rng, 4):
        assert copy.shape == (38, 5)
        assert coherence(copy) < 0.85  # shaken
    kept = most_free(np.vstack([np.eye(4), np.eye(4)[:2]]), 4, rng)
    assert coherence(np.vstack([np.eye(4), np.eye(4)[:2]])[kept]) == 0  # both duplicates are gone
    start = parts(whole[0].build(), 38, "complex", rng, 4)
    reached = anneal(start, np.full(4, 2000.0), trivial(5, 38, "complex"), last=1e5, stop=lambda: False)
    assert min(map(coherence, reached)) < 1 / 2 + 1e-3


@pytest.mark.slow
def test_structured_records_are_reached_by_symmetry():
    """39 lines of R^12 at 1/4, a record of Sloane's table: three orbits of 13. Plain restarts stay 7 % above."""
    found = min((_orbits_of_thirteen(seed) for seed in range(2)), key=coherence)
    assert coherence(found) == pytest.approx(record(12, 39, "real").coherence, abs=1e-4)


def _orbits_of_thirteen(seed):
    rng = np.random.default_rng(seed)
    symmetry = None  # 13 coordinates turned round, their sum 0: the trace is −1
    while symmetry is None or len(symmetry.elements) != 13 or abs(np.trace(symmetry.elements[1]) + 1) > 1e-9:
        symmetry = random_abelian(12, 39, "real", rng)
    x = rng.standard_normal((12, 3, 12))
    x = anneal(x, 12 * np.exp(rng.uniform(-1, 3.7, 12)), symmetry, last=2e4, stop=lambda: False)
    return min(symmetry.spread(x), key=coherence)


def test_certificate_is_exact():
    assert exact_square(np.array([1.0, 0]), np.array([3.0, 4.0])) == pytest.approx(9 / 25)
    assert exact_square(np.array([1.0, 1j]), np.array([1.0, 1j])) == 1  # conjugated: without, it would be 0
    assert exact_square(np.array([1.0, 1j]), np.array([1.0, -1j])) == 0
    assert sqrt_up(exact_square(np.array([1.0, 0]), np.array([3.0, 4.0]))) == "0." + "6".ljust(25, "0")
    third = sqrt_up(exact_square(np.array([1.0, 0, 0]), np.array([1.0, 1, 1])))
    assert third == "0.5773502691896257645091488"  # 1/√3 = 0.57735026918962576450914878…, rounded up
    proof = certify(np.array([[1.0, 0, 0], [1, 1, 1], [0, 1, 0]]))
    assert proof["coherence_extended"] == third
    assert proof["pairs_recomputed_exactly"] == 2
    assert proof["below_table"] is False


def test_nothing_is_below_the_table_that_a_construction_reaches():
    """R(15, 29): thirty lines of a Paley matrix have 1/√29; R(15, 36): equiangular lines 1/5; the table more."""
    for n, lines in ((29, conference_frame(29)[:29]), (36, quadric(3, 1, 15))):
        proof = certify(lines)
        assert proof["coherence"] < record(15, n, "real").coherence - 1e-3
        assert proof["known"] == pytest.approx(proof["coherence"], abs=1e-12)
        assert (proof["below_table"], proof["below_record"]) == (False, False)
        assert "November 2026" in proof["table"]
        assert solve(15, n, "real", rounds=1).how.startswith("construction")


def test_best_known_takes_larger_packings_and_both_fields():
    for (d, n), row in list(records("complex").items())[::30]:
        known = best_known(d, n, "complex")
        assert known.coherence <= row.coherence + row.rounding
        assert known.coherence <= best_known(d, n + 1, "complex").coherence + known.rounding
    assert best_known(6, 43, "complex").source.startswith("characters of GF(7)")


def test_a_resumed_search_goes_by_the_table_of_the_day(monkeypatch):
    """A row that falls makes a finished search go on; one that rises ends it at once."""
    rows = dict(records("real"))
    first = solve(3, 13, "real", seed=1, rounds=1, constructions=False)
    for value, more in ((first.coherence * 0.9, 1), (first.coherence * 1.1, 0)):
        changed = rows | {(3, 13): rows[3, 13]._replace(coherence=value)}
        monkeypatch.setattr("contexts.packing.record_tables.records", lambda field, changed=changed: changed)
        before = first.state.round
        resumed = solve(3, 13, "real", seed=1, rounds=before + 1, constructions=False, state=deepcopy(first.state))
        assert resumed.state.round == before + more


def test_starts_are_random_because_equal_or_orthogonal_starts_do_not_move():
    """At duplicates the gradient vanishes: a saddle. The search never starts there."""
    same = np.ones((1, 5, 3))
    _, gradient = smoothed_maximum(same, np.array([5.0]), trivial(3, 5, "real"))
    assert np.abs(gradient).max() < 1e-12
    for copy in perturbed([np.eye(3)[[0, 0, 1, 1, 2]]], np.random.default_rng(0), 4):
        assert coherence(copy) < 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: optimize(0, 3, "real"), "d must be a positive whole number, got 0"),
        (lambda: optimize(3, -3, "real"), "n must be a positive whole number"),
        (lambda: optimize(3, 5, "octonionic"), "field must be"),
        (lambda: optimize(9, 7000, "real"), "n must be at most 6000, got 7000"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("field", ["real", "complex"])
def test_a_search_ends_within_a_round_and_keeps_its_best(field):
    """The clock and a stop are heeded at every step: 900 lines, whose first round takes minutes."""
    steps = iter(range(10**6))
    found = optimize(12, 900, field, seconds=1e9, stop=lambda: next(steps) >= 3)
    assert next(steps) < 20
    assert found.coherence == pytest.approx(coherence(found.vectors), abs=1e-15)
    assert found.round == 0  # to be done again on resuming
    found.check()
    assert optimize(12, 900, field, seconds=1e-3).vectors.shape == (900, 12)
