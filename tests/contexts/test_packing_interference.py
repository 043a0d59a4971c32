"""Sparse features read back linearly: measured error beside theory, and the guarantee k ε."""

import math

import numpy as np
import pytest

from contexts.packing.constructions.frames import harmonic, singer_difference_set
from contexts.packing.measure.interference import interference, random_spread, tight_spread


def test_an_orthonormal_basis_does_not_interfere():
    found = interference(np.eye(8), 3, 50, 0)
    assert (found.rms, found.worst, found.error, found.guarantee) == (0, 0, 0, 0)


def test_random_features_interfere_as_the_square_root_of_k_over_d():
    """100 trials of 900 features: the rms is known to about 1 %; 5 % is a 5-sigma allowance."""
    vectors = np.random.default_rng(0).standard_normal((900, 64))
    for active in (2, 8, 20):
        found = interference(vectors, active, 100, 1)
        assert found.rms == pytest.approx(random_spread(900, 64, active), rel=0.05)
        assert found.predicted_rms == pytest.approx(found.rms, rel=0.05)
        assert found.worst <= found.guarantee + 1e-12
        assert found.error == pytest.approx(found.predicted_error, rel=0.25, abs=2e-4)


def test_no_feature_is_misread_below_half_a_guarantee():
    """An equiangular tight frame: 57 features in C^8 at √(56·… ) ≈ 0.331; one active feature cannot reach 1/2."""
    frame = harmonic(*singer_difference_set(7, 2))
    assert frame.shape == (57, 8)
    found = interference(frame, 1, 300, 2)
    assert found.guarantee < 0.5
    assert found.error == 0


def test_tight_frames_interfere_least():
    """Mean square over all pairs is (n−d)/(d(n−1)) for a tight frame (Welch 1974) and more for any other."""
    d, n = 3, 6
    golden = (1 + 5**0.5) / 2
    icosahedron = np.array([[0, 1, s * golden] for s in (1, -1)] + [[1, s * golden, 0] for s in (1, -1)]
                           + [[s * golden, 0, 1] for s in (1, -1)])  # fmt: skip
    assert interference(icosahedron, 1, 10, 0).predicted_rms == pytest.approx(tight_spread(n, d, 1), rel=1e-12)
    other = np.random.default_rng(0).standard_normal((n, d))
    assert interference(other, 1, 10, 0).predicted_rms > tight_spread(n, d, 1)


def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match="must be below their number 4, got 4"):
        interference(np.eye(4), 4, 1, 0)
    with pytest.raises(ValueError, match="active must be a positive whole number"):
        interference(np.eye(4), 0, 1, 0)


@pytest.mark.parametrize("turn", [False, True])
def test_an_error_of_one_half_is_a_tie_whatever_the_rounding(turn):
    """4 of 8 features at 1/8 add to 1/2 with probability 2/16 and never to more: 1/16 of an inactive one is misread.

    Two orthonormal bases of R^64, the second a Hadamard matrix: inner products ±1/8, stored exactly, or rounded after
    an orthogonal turn. With k = 4 active features of the other basis alone the error is ±1/2 for all signs equal.
    """
    from contexts.packing.constructions.matrices import hadamard

    vectors = np.vstack([np.eye(64), hadamard(64) / 8])
    if turn:
        vectors = vectors @ np.linalg.qr(np.random.default_rng(3).standard_normal((64, 64)))[0]
    found = interference(vectors, 4, 2000, 5)
    # all four in the other basis: C(64,4)/C(127,4), all signs equal: 1/8, a tie: 1/2
    expected = math.comb(64, 4) / math.comb(127, 4) / 16
    assert found.error == pytest.approx(expected, rel=0.15)
    assert found.worst == pytest.approx(0.5, abs=1e-12)
