"""Measured coherence against configurations and laws known from outside; the traps of measuring lines."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contexts.packing.bounds import capacity
from contexts.packing.measure.anisotropy import (
    all_but_the_top,
    centred,
    centring,
    effective_dimension,
    removing_the_top,
)
from contexts.packing.measure.coherence import greedy_subset, measure
from contexts.packing.measure.gram import coherence, normalise

GOLDEN = (1 + math.sqrt(5)) / 2
ICOSAHEDRON = np.array([[0, 1, s * GOLDEN] for s in (1, -1)] + [[1, s * GOLDEN, 0] for s in (1, -1)]
                       + [[s * GOLDEN, 0, 1] for s in (1, -1)])  # fmt: skip
OMEGA = np.exp(2j * np.pi / 3)
#: Hesse's SIC: nine lines of C^3 at |⟨u,v⟩| = 1/2
HESSE = np.array([np.roll([0, 1, -(OMEGA**k)], s) for s in range(3) for k in range(3)])


def test_the_six_diagonals_of_the_icosahedron():
    assert coherence(ICOSAHEDRON) == pytest.approx(1 / math.sqrt(5), abs=1e-15)
    found = measure(ICOSAHEDRON)
    assert found.coherence == pytest.approx(1 / math.sqrt(5), abs=1e-15)  # the float32 search, re-checked in float64
    assert found.field == "real"
    assert found.mean_nearest == pytest.approx(1 / math.sqrt(5), abs=1e-6)


def test_conjugation_is_on_the_right_side():
    """Without the conjugate Hesse's lines would have |Σ u_i v_i| of 1 in places; with it all pairs have 1/2."""
    assert np.abs(HESSE @ HESSE.T)[np.triu_indices(9, 1)].max() > 0.99 * 2
    assert coherence(HESSE) == pytest.approx(0.5, abs=1e-15)
    found = measure(HESSE)
    assert found.coherence == pytest.approx(0.5, abs=1e-15)
    assert found.quantiles[0.5] == pytest.approx(0.5, abs=1e-6)


def test_antipodal_phase_and_exact_duplicates_are_one_line_and_named():
    vectors = np.eye(5, dtype=complex)[[0, 1, 2, 0, 1, 2]]
    vectors[3] *= -2
    vectors[4] *= 3
    vectors[5] *= 1j
    found = measure(vectors)
    assert found.coherence == 1.0
    assert found.duplicates == 3
    kinds = {(p.i, p.j): p.kind for p in found.pairs if p.kind != "near"}
    assert kinds == {(0, 3): "antipodal", (1, 4): "duplicate", (2, 5): "phase"}


def test_a_single_vector_and_one_dimension():
    assert coherence(np.array([[3.0, 4.0]])) == 0.0
    single = measure(np.array([[3.0, 4.0]]))
    assert (single.coherence, single.pairs, single.quantiles) == (0.0, [], {})
    assert coherence(np.array([[2.0], [-1.0]])) == 1.0
    assert measure(np.array([[2.0], [-1.0]])).pairs[0].kind == "antipodal"


def test_orthogonal_vectors_have_no_negative_coherence():
    q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 20)))
    assert 0 <= coherence(q) < 1e-14
    assert 0 <= measure(q).coherence < 1e-14


@pytest.mark.parametrize(
    ("vectors", "sentence"),
    [
        (np.array([[1.0, 0], [0, 0]]), "row 1 is the zero vector"),
        (np.array([[1.0, 0], [np.nan, 1]]), "row 1 holds a NaN"),
        (np.array([[np.inf, 0], [1, 1]]), "row 0 holds a NaN or an infinity"),
        (np.zeros((3, 2, 2)), r"expected a matrix .* got an array of shape \(3, 2, 2\)"),
        (np.zeros(4), "expected a matrix"),
        (np.zeros((0, 4)), "the matrix is empty"),
        (np.array([["a", "b"]]), "expected numbers"),
    ],
)
def test_bad_vectors_get_one_sentence(vectors, sentence):
    with pytest.raises(ValueError, match=sentence):
        measure(vectors)
    with pytest.raises(ValueError, match=sentence):
        normalise(vectors)


def test_huge_and_tiny_entries_are_normalised_without_overflow():
    assert coherence(np.array([[1e300, 0], [1e300, 1e300]])) == pytest.approx(math.sqrt(0.5))
    assert coherence(np.array([[1e-300, 0], [1e-300, 1e-300]])) == pytest.approx(math.sqrt(0.5))


@settings(max_examples=50, deadline=None)
@given(arrays(float, st.tuples(st.integers(2, 8), st.integers(1, 6)), elements=st.integers(-9, 9).map(float)))
def test_measure_agrees_with_the_full_gram_matrix(vectors):
    norms = np.linalg.norm(vectors, axis=1)
    if not norms.all():
        return
    gram = np.abs(vectors @ vectors.T) / np.outer(norms, norms)
    expected = gram[np.triu_indices(len(gram), 1)].max()
    assert coherence(vectors) == pytest.approx(expected, abs=1e-14)
    assert measure(vectors).coherence == pytest.approx(expected, abs=1e-14)


def test_thousands_of_equal_lines_are_counted_at_once():
    """1500 copies of 2 lines, half of them turned round: 2 · C(750, 2) pairs are the same line, in all blocks."""
    vectors = np.tile(np.eye(2, 40) + 0.1, (750, 1)) * np.repeat([1.0, -2.0], 750)[:, None]
    found = measure(vectors, 3)
    assert found.duplicates == 2 * 750 * 749 // 2
    assert found.coherence == pytest.approx(1, abs=1e-15)
    assert {pair.kind for pair in found.pairs} <= {"duplicate", "antipodal"}


def test_blocks_give_what_one_block_gives():
    """Rows beyond one block of 1024, a planted pair in two different blocks, in place 5 and 2101."""
    vectors = np.random.default_rng(1).standard_normal((2200, 24))
    vectors[2101] = -vectors[5] + 1e-4 * vectors[2101]
    found = measure(vectors, sample_pairs=10_000)
    assert (found.pairs[0].i, found.pairs[0].j, found.pairs[0].kind) == (5, 2101, "antipodal")
    gram = np.abs(normalise(vectors) @ normalise(vectors).T)
    np.fill_diagonal(gram, 0)
    np.testing.assert_allclose(found.nearest, gram.max(axis=1), atol=2e-6)
    assert found.sampled_pairs >= 4 * 2199
    top = np.sort(gram[np.triu_indices(2200, 1)])[::-1][:10]
    np.testing.assert_allclose([p.coherence for p in found.pairs], top, atol=1e-12)


def test_random_vectors_follow_the_beta_law():
    """2·10⁶ pairs: the median and the 99 % quantile are known to 0.2 % and 0.4 %; a false alarm is a 10-sigma event."""
    for field in ("real", "complex"):
        rng = np.random.default_rng(2)
        vectors = rng.standard_normal((2000, 48))
        if field == "complex":
            vectors = vectors + 1j * rng.standard_normal((2000, 48))
        found = measure(vectors)
        for q in (0.5, 0.99):
            assert found.quantiles[q] == pytest.approx(capacity.tail_epsilon(48, math.log(1 - q), field), rel=0.02)
        # the maximum's spread about its median is below 20 % for this n but with probability below 1e-6
        assert found.coherence == pytest.approx(capacity.random_coherence(48, 2000, field), rel=0.2)


def test_memory_stays_far_below_the_gram_matrix():
    vectors = np.random.default_rng(3).standard_normal((12_000, 8)).astype(np.float32)
    tracemalloc.start()
    measure(vectors, sample_pairs=200_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # the full float32 Gram matrix alone is 576 MB


def test_greedy_subset_is_coherent_and_maximal():
    vectors = np.random.default_rng(4).standard_normal((600, 12))
    kept = greedy_subset(vectors, 0.5)
    assert coherence(vectors[kept]) <= 0.5 + 1e-6
    gram = np.abs(normalise(vectors) @ normalise(vectors).T)
    for i in set(range(600)) - set(kept.tolist()):
        assert gram[i, kept].max() > 0.5 - 1e-6
    assert greedy_subset(np.eye(4)[[0, 0, 1, 1]], 0.1).tolist() == [0, 2]


def test_anisotropy_is_undone_by_centring_and_by_all_but_the_top():
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((3000, 20)) + 5 * np.eye(20)[0]
    vectors[:, 1] *= 30  # and one dominating direction
    assert effective_dimension(vectors) < 2
    np.testing.assert_allclose(centred(vectors).mean(axis=0), 0, atol=1e-12)
    cleaned = all_but_the_top(vectors, 1)
    assert abs(cleaned[:, 1]).max() < 1e-1 * abs(vectors[:, 1]).max()
    assert effective_dimension(cleaned) == pytest.approx(19, rel=0.05)
    assert effective_dimension(np.eye(7)) == pytest.approx(7)
    with pytest.raises(ValueError, match="can remove 0 to 19"):
        all_but_the_top(vectors, 20)


def e8_roots():
    axes = [s * np.eye(8)[i] + t * np.eye(8)[j] for i in range(8) for j in range(i) for s, t in ((1, 1), (1, -1))]
    halves = [(1, *signs) for signs in np.ndindex(*(2,) * 7)]
    halves = [np.array([1, *(1 - 2 * b for b in bits[1:])]) / 2 for bits in halves if sum(bits[1:]) % 2 == 0]
    return np.array(axes + halves, float)


@pytest.mark.parametrize("top", [1, 3])
def test_the_largest_of_many_nearly_equal_cosines_is_the_largest(top):
    """The 120 lines of E8, 3360 pairs at 1/2, shaken by 1e-8: float32 cannot tell them apart; float64 can."""
    for seed in range(5):
        shaken = e8_roots() + 1e-8 * np.random.default_rng(seed).standard_normal((120, 8))
        unit = shaken / np.linalg.norm(shaken, axis=1, keepdims=True)
        expected = np.sort(np.abs(unit @ unit.T)[np.triu_indices(120, 1)])[::-1][:top]
        found = [pair.coherence for pair in measure(shaken, top).pairs]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.clongdouble, ">f4", np.int16, np.complex64])
def test_every_dtype_of_numbers_is_measured_in_all_variants(dtype):
    vectors = (np.random.default_rng(6).standard_normal((30, 4)) * 8).round().astype(dtype)
    double = vectors.astype(complex if np.iscomplexobj(vectors) else float)
    for change in (centred, all_but_the_top, np.asarray):
        assert measure(change(vectors)).coherence == pytest.approx(coherence(change(double)), abs=1e-12)


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.7e308, 1e38])
@pytest.mark.parametrize("dtype", [float, complex, np.float32])
def test_variants_of_huge_and_tiny_entries_do_not_overflow(size, dtype):
    if dtype is np.float32 and not 1e-38 < size < 3e38:
        size = 3e38
    vectors = np.random.default_rng(7).uniform(-1, 1, (20, 4)).astype(dtype)
    if dtype is complex:
        vectors = vectors + 1j * vectors[::-1]
        vectors /= 2
    for change in (centred, all_but_the_top, np.asarray):
        found = measure(change((vectors * dtype(size)).astype(dtype))).coherence
        assert found == pytest.approx(measure(change(vectors)).coherence, abs=1e-6 if dtype is np.float32 else 1e-10)


def test_variants_need_no_second_copy_of_the_matrix():
    vectors = np.random.default_rng(8).standard_normal((6000, 800)).astype(np.float32)  # 19 MB
    peaks = []
    tracemalloc.start()
    for change in (np.asarray, centring, removing_the_top):
        tracemalloc.reset_peak()
        measure(change(vectors), 1, sample_pairs=100_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert max(peaks[1:]) < peaks[0] + 24 * 1024 * 800  # a few blocks of 1024 rows in float64; a copy would be 38 MB


@pytest.mark.parametrize("kind", [float, complex])
def test_all_but_the_top_is_the_projection_of_an_svd(kind):
    """Mu & Viswanath 2018 by numpy's SVD. Complex: second moments of the conjugates would remove another direction."""
    rng = np.random.default_rng(0)
    v, weight, noise = rng.standard_normal(16), rng.standard_normal((500, 1)), rng.standard_normal((500, 16))
    if kind is complex:
        v, weight, noise = (part + 1j * rng.standard_normal(part.shape) for part in (v, weight, noise))
    vectors = 10 * weight * v + 0.1 * noise
    middle = vectors - vectors.mean(axis=0)
    _, _, rows = np.linalg.svd(middle, full_matrices=False)
    for remove in (1, 2):
        expected = middle - middle @ rows[:remove].conj().T @ rows[:remove]
        np.testing.assert_allclose(all_but_the_top(vectors, remove), expected, atol=1e-10)
    assert measure(removing_the_top(vectors)).coherence < 0.95
