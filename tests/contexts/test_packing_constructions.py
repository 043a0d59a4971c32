"""Every construction measured; counts and coherences from the literature, optimality by a bound that matches."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from contexts.logic import observables
from contexts.packing.bounds.capacity import rankin_capacity, upper_capacity, welch_capacity
from contexts.packing.bounds.coherence_bounds import best_bound, rankin, welch
from contexts.packing.constructions import (
    characters,
    codes,
    configurations,
    frames,
    lattices,
    matrices,
    reflections,
    sections,
    sic,
    stabilizer,
    two_graphs,
)
from contexts.packing.constructions.catalogue import catalogue
from contexts.packing.constructions.combine import best_construction, largest_construction
from contexts.packing.constructions.galois import GF, prime_power, quaternary_trace
from contexts.packing.measure.gram import coherence
from contexts.packing.record_tables import record

DIMENSIONS = {
    "real": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 21, 23, 28, 31, 64),
    "complex": (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 31),
}


@pytest.mark.parametrize(("field", "d"), [(f, d) for f, dims in DIMENSIONS.items() for d in dims])
def test_every_entry_is_what_it_states(field, d):
    for entry in catalogue(d, field):
        if entry.field != field or not entry.buildable or entry.n > 4200:
            continue
        vectors = entry.build()
        assert vectors.shape == (entry.n, d), entry.name
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-12)
        measured = coherence(vectors)
        if entry.exact:
            assert measured == pytest.approx(entry.coherence, abs=1e-9), entry.name
        else:
            assert measured <= entry.coherence + 1e-12, entry.name


# (field, d, n, μ²) of the literature
KNOWN = [
    ("real", 3, 6, 1 / 5),
    ("real", 5, 10, 1 / 9),
    ("real", 6, 16, 1 / 9),
    ("real", 6, 36, 1 / 4),
    ("real", 7, 14, 1 / 13),
    ("real", 7, 28, 1 / 9),
    ("real", 7, 63, 1 / 4),
    ("real", 8, 120, 1 / 4),
    ("real", 16, 144, 1 / 16),
    ("real", 23, 276, 1 / 25),
    ("real", 64, 2112, 1 / 64),
    ("complex", 2, 4, 1 / 3),
    ("complex", 3, 7, 2 / 9),
    ("complex", 3, 9, 1 / 4),
    ("complex", 4, 13, 3 / 16),
    ("complex", 4, 20, 1 / 4),
    ("complex", 6, 36, 1 / 7),
    ("complex", 7, 56, 1 / 7),
    ("complex", 8, 64, 1 / 9),
    ("complex", 8, 72, 1 / 8),
    ("complex", 9, 90, 1 / 9),
]


@pytest.mark.parametrize(("field", "d", "n", "square"), KNOWN)
def test_known_optimal_packings_are_in_the_catalogue_and_meet_a_bound(field, d, n, square):
    entry = best_construction(d, n, field)
    vectors = entry.build()[:n]
    assert coherence(vectors) == pytest.approx(math.sqrt(square), abs=1e-10)
    assert best_bound(d, n, field)[0] == pytest.approx(math.sqrt(square), rel=1e-9)
    known = record(d, n, field)
    if known:
        assert coherence(vectors) == pytest.approx(known.coherence, abs=1e-8)


@pytest.mark.parametrize(
    ("field", "d", "n", "square"),
    [  # best known, above every bound: 8 triples of 8 points, AG(2,3), PG(2,3), and mirrors of reflection groups
        ("real", 5, 20, 1 / 4), ("real", 8, 32, 1 / 9), ("real", 9, 47, 1 / 9), ("real", 12, 36, 1 / 16),
        ("real", 13, 52, 1 / 16), ("real", 4, 59, (3 + 5**0.5) / 8), ("complex", 4, 40, 1 / 3),
        ("complex", 5, 45, 1 / 4),
    ],
)  # fmt: skip
def test_constructions_equal_the_records_that_no_bound_meets(field, d, n, square):
    vectors = best_construction(d, n, field).build()[:n]
    assert coherence(vectors) == pytest.approx(math.sqrt(square), abs=1e-10)
    assert record(d, n, field).coherence == pytest.approx(math.sqrt(square), abs=1e-8)


def test_blocks_meet_in_one_point_at_most_and_are_as_many_as_stated():
    """Spencer 1968: at most 8, 12, 13, 17, 20, 26 triples of 8 … 13 points; 9 quadruples of 12, 13 of 13 (PG(2,3))."""
    for d, most in ((8, 8), (9, 12), (10, 13), (11, 17), (12, 20), (13, 26), (30, 140)):
        assert configurations.number_of_blocks(d, 3) == most
    for d, size, number in ((8, 3, 8), (11, 3, 17), (30, 3, 140), (12, 4, 9), (13, 4, 13), (25, 5, 30), (49, 7, 56)):
        found = configurations.blocks(d, size)
        incidence = np.zeros((len(found), d), int)
        np.put_along_axis(incidence, found, 1, axis=1)
        shared = incidence @ incidence.T
        assert (len(found), set(np.diag(shared).tolist())) == (number, {size})
        np.fill_diagonal(shared, 0)
        assert shared.max() <= 1
    for d in range(1, 202):
        assert all(configurations.number_of_blocks(d, size) > 0 for size in configurations.block_sizes(d))
    with pytest.raises(ValueError, match="no blocks of 6 of 40"):
        configurations.blocks(40, 6)


def test_mirrors_are_permuted_by_their_reflections():
    """126 lines of C^6 meet Levenshtein's bound; a system of mirrors is closed under its own reflections."""
    assert best_bound(6, 126, "complex")[0] == pytest.approx(1 / 2, rel=1e-9)
    lines = reflections.burkhardt()
    image = lines - 2 * (lines @ lines[0].conj())[:, None] * lines[0]
    assert np.sort(np.abs(image @ lines.conj().T).max(axis=1))[0] == pytest.approx(1, abs=1e-9)
    assert len(np.unique(np.abs(image @ lines.conj().T).argmax(axis=1))) == 45


def test_largest_construction_at_given_coherence():
    assert largest_construction(8, 0.5, "real").n == 120
    assert largest_construction(16, 0.25, "real").n == 144
    assert largest_construction(24, 0.5, "real").n == 98_280
    assert largest_construction(4, 0.5, "complex").n == 20
    assert largest_construction(8, 0.01, "real").name == "orthonormal basis"
    huge = largest_construction(1024, 0.25, "real")  # d^t lines, listed but not built
    assert huge.n >= 1024**5
    assert not huge.buildable


def test_unbiased_bases_are_orthonormal_and_unbiased_up_to_a_prime_power_of_16():
    for q in (2, 3, 4, 5, 7, 8, 9, 16):
        bases = characters.unbiased_bases(q)
        assert len(bases) == q + 1
        for i, first in enumerate(bases):
            np.testing.assert_allclose(first @ first.conj().T, np.eye(q), atol=1e-12)
            for second in bases[:i]:
                np.testing.assert_allclose(np.abs(first @ second.conj().T) ** 2, 1 / q, atol=1e-12)


def test_observables_of_unbiased_bases_are_maximally_incompatible():
    """Any state sharp in one basis is uniform in every other: Maassen & Uffink's entropy sum ≥ ln q is met."""
    q = 5
    bases = characters.unbiased_bases(q)
    for state in bases[2]:
        for k, basis in enumerate(bases):
            p = np.abs(basis.conj() @ state) ** 2
            entropy = -np.sum(p[p > 1e-15] * np.log(p[p > 1e-15]))
            assert entropy == pytest.approx(0 if k == 2 else math.log(q), abs=1e-10)


def test_unbiased_bases_as_observables_of_the_contexts_package():
    """Mutually unbiased by that package's own measure; Maassen & Uffink's bound for each pair is log₂ q bits."""
    for q in (3, 4):
        bases = characters.unbiased_bases(q)
        matrices = characters.unbiased_observables(q)
        assert matrices.shape == (q + 1, q, q)
        np.testing.assert_allclose(np.linalg.eigvalsh(matrices), np.tile(np.arange(1, q + 1), (q + 1, 1)), atol=1e-12)
        for i in range(q + 1):
            for j in range(i):
                assert observables.maassen_uffink(bases[i].T, bases[j].T) == pytest.approx(math.log2(q), abs=1e-12)
                assert np.linalg.norm(matrices[i] @ matrices[j] - matrices[j] @ matrices[i]) > 0.5


@pytest.mark.parametrize("q", [4, 8, 9, 16, 25, 27])
def test_finite_fields_are_fields(q):
    field = GF(q)
    rng = np.random.default_rng(q)
    a, b, c = rng.integers(0, q, (3, 200))
    np.testing.assert_array_equal(
        field.product(a, field.sum(b, c)), field.sum(field.product(a, b), field.product(a, c))
    )
    np.testing.assert_array_equal(field.product(field.product(a, b), c), field.product(a, field.product(b, c)))
    # the Frobenius map is additive, the trace lies in GF(p) and takes each value q/p times
    p = field.p
    np.testing.assert_array_equal(field.power(field.sum(a, b), p), field.sum(field.power(a, p), field.power(b, p)))
    assert np.bincount(field.trace(np.arange(q)), minlength=p).tolist() == [q // p] * p
    with pytest.raises(ValueError, match="p prime, got 12"):
        GF(12)
    assert [n for n in range(2, 20) if prime_power(n)] == [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19]


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_trace_of_the_galois_ring_reduces_to_the_binary_trace(m):
    field = GF(2**m)
    np.testing.assert_array_equal(quaternary_trace(m) % 2, field.trace(field.exp))


def test_difference_sets_meet_every_difference_equally_often():
    for v, members in (frames.singer_difference_set(2, 2), frames.singer_difference_set(4, 2),
                       frames.singer_difference_set(3, 3), frames.paley_difference_set(19)):  # fmt: skip
        k = len(members)
        counts = np.bincount(((members[:, None] - members) % v).reshape(-1), minlength=v)[1:]
        assert set(counts.tolist()) == {k * (k - 1) // (v - 1)}


@pytest.mark.parametrize("order", [1, 2, 4, 8, 12, 16, 20, 24, 28, 36])
def test_hadamard_matrices(order):
    matrix = matrices.hadamard(order)
    assert set(np.unique(matrix)) <= {-1.0, 1.0}
    np.testing.assert_array_equal(matrix @ matrix.T, order * np.eye(order))
    assert matrices.hadamard(6) is None


def test_dual_bch_coherence_by_transform_equals_the_measured_one():
    for d, t in ((16, 2), (32, 2), (64, 2)):
        assert codes.dual_bch_coherence(d, t) == pytest.approx(coherence(codes.dual_bch(d, t)), abs=1e-12)
    # 65 536 vectors of R^256 at the Carlitz-Uchiyama bound 2/16, never built
    assert codes.dual_bch_coherence(256, 2) == 0.125


def test_golay_weights_and_the_leech_lattice():
    """Weight enumerator 1, 759, 2576, 759, 1 and kissing number 196 560."""
    words = lattices.golay()
    assert np.bincount(words.sum(axis=1), minlength=25)[[0, 8, 12, 16, 24]].tolist() == [1, 759, 2576, 759, 1]
    lines = lattices.leech()
    assert lines.shape == (98_280, 24)
    sample = np.random.default_rng(0).choice(len(lines), 30, replace=False)
    products = np.abs(lines[sample] @ lines.T)
    products[np.arange(30), sample] = 0
    # |⟨u,v⟩| ∈ {0, 1/4, 1/2}; each line meets 4600 others at 1/2 and 47 104 at 1/4
    assert set(np.unique(np.round(products, 9))) == {0.0, 0.25, 0.5}
    assert set(np.sum(products > 0.4, axis=1).tolist()) == {4600}
    assert set(np.sum(np.abs(products - 0.25) < 0.01, axis=1).tolist()) == {47_104}


def test_sics_to_dimension_24():
    """Scott & Grassl 2010: d² lines at 1/√(d+1), here to 1e-10 (checked inside for all pairs by the group)."""
    for d in (2, 5, 10, 15, 24):
        lines = sic.sic(d)
        overlaps = np.abs(lines[1:] @ lines[0].conj())
        np.testing.assert_allclose(overlaps, 1 / math.sqrt(d + 1), atol=1e-10)


def test_gradient_of_the_fourth_moment():
    rng = np.random.default_rng(0)
    point, direction = rng.standard_normal((2, 12))
    _, gradient = sic.fourth_moment(point)
    numeric = (sic.fourth_moment(point + 1e-6 * direction)[0] - sic.fourth_moment(point - 1e-6 * direction)[0]) / 2e-6
    assert gradient @ direction == pytest.approx(numeric, rel=1e-7)


def test_naimark_complement_of_16_lines_in_six_dimensions():
    frame = frames.steiner("pairs", 4)
    other = frames.naimark_complement(frame)
    assert other.shape == (16, 10)
    assert coherence(other) == pytest.approx(1 / 5, abs=1e-12)
    assert coherence(other) == pytest.approx(best_bound(10, 16, "real")[0], rel=1e-9)
    with pytest.raises(ValueError, match="tight frame"):
        frames.naimark_complement(np.eye(4)[:, :3] + 1)


def test_kerdock_lines_meet_rankins_bound_and_odd_orders_are_refused():
    lines = codes.kerdock(64)
    assert len(lines) == 2112
    assert coherence(lines) == pytest.approx(rankin(64, 2112, "real"), abs=1e-12)
    for d in (4, 32, 20):
        with pytest.raises(ValueError, match="Kerdock sets exist"):
            codes.kerdock(d)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: characters.unbiased_bases(6), "prime powers q only, got 6"),
        (lambda: characters.alltop(3), "prime of at least 5"),
        (lambda: characters.weil(9, 3), "prime to it, got q=9, D=3"),
        (lambda: characters.mixed_characters(6), "prime power q ≥ 3"),
        (lambda: codes.delsarte_goethals_phases(16, 2), "0 ≤ r"),
        (lambda: codes.quadratic_forms(16, 0), "m odd"),
        (lambda: frames.paley_difference_set(13), "3 mod 4"),
        (lambda: two_graphs.conference_frame(15), "odd prime power, got 15"),
        (lambda: frames.steiner("quadruples", 3), "a design here is"),
        (lambda: codes.dual_bch(48, 2), "d = 2"),
        (lambda: largest_construction(4, 2.0, "real"), "epsilon must be in"),
        (lambda: best_construction(4, 0, "real"), "n must be a positive whole number, got 0"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 17, 200])
def test_equally_spaced_lines_of_the_plane_meet_the_bound(n):
    entry = best_construction(2, n, "real")
    assert coherence(entry.build()[:n]) == pytest.approx(best_bound(2, n, "real")[0], abs=1e-12)
    if n > 2:
        assert largest_construction(2, math.cos(math.pi / n), "real").n == n


def test_the_catalogue_of_a_huge_prime_dimension_is_found_at_once():
    assert max(entry.n for entry in catalogue(1_000_000_007, "complex")) < 10**308


@pytest.mark.parametrize("field", ["real", "complex"])
def test_no_entry_of_any_dimension_breaks_a_proved_bound(field):
    """Stated sizes and coherences against Welch and Rankin, without building: a wrong formula would show."""
    dimensions = (*range(2, 44), 51, 57, 63, 64, 73, 85, 91, 120, 127, 128, 136, 255, 256, 343, 768, 1024, 4096, 12_288)
    for d in dimensions:
        for entry in catalogue(d, field):
            if entry.n < 2**60 and entry.coherence > 0:
                assert entry.coherence >= welch(d, entry.n, field) * (1 - 1e-14), (d, entry.name)
                bound = rankin(d, entry.n, field)
                assert bound is None or entry.coherence >= bound * (1 - 1e-14), (d, entry.name)


@pytest.mark.parametrize(
    ("vectors", "n", "coherence_"),
    [  # families at their smallest sizes, built and measured
        *((partial(characters.mixed_characters, q), q * q - 1, math.sqrt(q) / (q - 1)) for q in (5, 7, 8, 9, 13)),
        *((partial(two_graphs.unitary, q, q * q - q + 1), q**3 + 1, 1 / q) for q in (2, 3, 4, 5)),
        (partial(two_graphs.unitary, 3, 21), 28, 1 / 9),
        (partial(two_graphs.quadric, 3, 1, 15), 36, 1 / 5),
        (partial(two_graphs.quadric, 3, -1, 7), 28, 1 / 3),
        (partial(two_graphs.quadric, 4, -1, 35), 120, 1 / 7),
        (partial(two_graphs.quadric, 4, 1, 85), 136, 1 / 15),
        (partial(frames.bent, 3), 64, 1 / 7),
        (partial(frames.bent, 3, True), 64, 1 / 9),
        (partial(frames.steiner, "triples", 9), 45, 1 / 4),
        (partial(codes.delsarte_goethals, 16, 1), 1040, 1 / 2),
        (partial(codes.delsarte_goethals_phases, 8, 1), 520, 1 / math.sqrt(2)),
        (partial(codes.quadratic_forms, 32, 0), 1056, 1 / 4),
        (partial(sections.fifths, 22), 176, 1 / 5),
        (partial(characters.weil, 9, 2), 90, 1 / 3),
        *((partial(characters.products_of_bases, d), n, 1 / math.sqrt(d)) for d, n in ((6, 18), (12, 48), (20, 100))),
        (partial(frames.tremain, 7), 36, 1 / 5),
        (partial(frames.tremain, 9), 55, 1 / 6),
        (partial(frames.complement_of_tremain, 7), 36, 1 / 7),
        (partial(frames.harmonic_of, partial(frames.twin_prime_difference_set, 5)), 35, math.sqrt(9 / 17**2)),
        (partial(frames.harmonic_of, partial(frames.quartic_difference_set, 37)), 37, math.sqrt(7 / 81)),
        (partial(frames.harmonic_of, partial(frames.quartic_difference_set, 109)), 109, math.sqrt(21 / 28**2)),
        (partial(stabilizer.stabilizer_states, 2, 3), 1080, 1 / math.sqrt(2)),
        (partial(stabilizer.stabilizer_states, 3, 2), 360, 1 / math.sqrt(3)),
        (partial(stabilizer.real_stabilizer_states, 4), 4320, 1 / math.sqrt(2)),
        *((partial(sections.fifths, d), n, 1 / 5) for d, n in sections.FIFTHS.items() if d > 17),
        *((partial(sections.thirds, d), n, 1 / 3) for d, n in sections.THIRDS.items()),
    ],
)
def test_families_built_at_small_sizes(vectors, n, coherence_):
    lines = vectors()
    assert len(lines) == n
    np.testing.assert_allclose(np.linalg.norm(lines, axis=1), 1, atol=1e-12)
    assert coherence(lines) == pytest.approx(coherence_, abs=1e-12)


def test_delsarte_goethals_lines_by_weights():
    """65,600 lines of R^64 at 1/4 and 32,800 of R^32 at 1/2: a sample of rows with all others."""
    for lines, n, eps in (
        (codes.delsarte_goethals(64, 1), 65_600, 1 / 4),
        (codes.quadratic_forms(32, 1), 32_800, 1 / 2),
    ):
        chosen = np.random.default_rng(0).choice(n, 20, replace=False)
        gram = np.abs(lines[chosen] @ lines.T)
        gram[np.arange(20), chosen] = 0
        assert lines.shape[0] == n
        assert gram.max() == pytest.approx(eps, abs=1e-12)


@pytest.mark.parametrize(
    ("field", "d", "eps", "at_least"),
    [
        ("complex", 768, math.sqrt(769) / 768, 591_360),  # q² − 1 lines; at most 591,363 by Levenshtein
        ("complex", 12_288, math.sqrt(12_289) / 12_288, 151_019_520),
        ("complex", 1600, math.sqrt(1601) / 1600, 1601**2 - 1),
        ("real", 768, 1 / 16, 3 * 33_024),  # three Kerdock sets; quadratic forms of R^512 hold more
        ("real", 48, 1 / 4, 432),
        ("real", 4100, 0.016, 8_392_704),
        ("real", 12_288, 0.035, 67_108_864),
    ],
)
def test_large_dimensions_hold_what_their_parts_hold(field, d, eps, at_least):
    found = largest_construction(d, eps, field)
    assert at_least <= found.n <= math.exp(upper_capacity(d, eps, field)[0]) * (1 + 1e-9)
    assert found.coherence <= eps * (1 + 1e-12)


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("eps", [0.11, 1 / 3, 0.72])
def test_the_number_of_lines_constructed_grows_with_the_dimension_and_is_superadditive(field, eps):
    counts = [largest_construction(d, eps, field).n for d in range(1, 81)]
    assert all(a < b for a, b in itertools.pairwise(counts))
    assert all(counts[a + b + 1] >= counts[a] + counts[b] for a in range(40) for b in range(40))
    assert all(counts[a * b - 1] >= counts[a - 1] * counts[b - 1] for a in range(2, 9) for b in range(2, 9))
    for d, n in list(enumerate(counts, 1))[1::4]:
        upper = [bound(d, eps, field) for bound in (welch_capacity, rankin_capacity)]
        assert math.log(n) <= min((value for value in upper if value is not None), default=math.inf) + 1e-9, d


def test_shortest_vectors_of_lattices_by_their_kissing_numbers():
    """Conway & Sloane, "Sphere Packings, Lattices and Groups", Table 1.5: the best known lattices; K12 as 3 × 126."""
    kissing = {9: 272, 10: 336, 12: 756, 13: 906, 14: 1422, 15: 2340, 16: 4320, 17: 5346, 18: 7398, 19: 10_668,
               20: 17_400, 21: 27_720, 22: 49_896, 23: 93_150, 24: 196_560, 32: 146_880}  # fmt: skip
    for d, number in kissing.items():
        assert largest_construction(d, 1 / 2, "real").n >= number // 2, d
    for d in (9, 11, 13, 20):
        assert sections.laminated(d).shape == (sections.LAMINATED[d], d)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_best_constructions_are_monotone_in_both_arguments(field):
    rows = np.array([[best_construction(d, n, field).coherence for n in (7, 12, 24)] for d in (4, 5, 6)])
    assert (np.diff(rows, axis=1) >= -1e-9).all()
    assert (np.diff(rows, axis=0) <= 1e-9).all()


@pytest.mark.parametrize(
    ("field", "d", "eps", "kind"),
    [
        ("real", 20, 1 / 4, "⊕ simplex"),
        ("real", 48, 1 / 4, "real form of"),
        ("complex", 8, 0.6, "⊗"),
        ("complex", 10, 0.6, "axis"),
        ("real", 12, 1 / 2, "3 phases"),
    ],
)
def test_combinations_are_built_as_they_are_stated(field, d, eps, kind):
    found = largest_construction(d, eps, field)
    assert kind in found.name
    lines = found.build()
    assert lines.shape == (found.n, d)
    assert coherence(lines) == pytest.approx(found.coherence, abs=1e-12)


def test_best_construction_takes_combinations():
    """Seven characters' 48 lines of C^6 at √7/6, below the table's; Paley's 30 of R^15; Taylor's 126."""
    assert best_construction(6, 43, "complex").coherence == pytest.approx(math.sqrt(7) / 6, abs=1e-15)
    assert best_construction(15, 29, "real").coherence == pytest.approx(1 / math.sqrt(29), abs=1e-15)
    assert best_construction(15, 36, "real").coherence == pytest.approx(1 / 5, abs=1e-15)
    assert best_construction(21, 126, "real").coherence == pytest.approx(1 / 5, abs=1e-15)
    assert best_construction(22, 176, "real").coherence == pytest.approx(1 / 5, abs=1e-15)
