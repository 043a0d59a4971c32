"""Sines and rotations: published values, and the two properties that the seed texts derive."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classical.positions import (
    frequencies,
    rotary_table,
    rotate,
    rotation_matrix,
    shift_matrix,
    sinusoidal,
)


def test_values_of_the_formula():
    table = sinusoidal(50, 6)
    assert table[0].tolist() == [0, 1, 0, 1, 0, 1]
    assert table[7, 2].item() == pytest.approx(math.sin(7 / 10_000 ** (2 / 6)), abs=1e-14)
    assert table[49, 5].item() == pytest.approx(math.cos(49 / 10_000 ** (4 / 6)), abs=1e-14)


def test_wavelengths_grow_geometrically_from_two_pi():
    waves = 2 * math.pi / frequencies(512)
    assert waves[0].item() == pytest.approx(2 * math.pi)
    assert torch.allclose(waves[1:] / waves[:-1], torch.full((255,), 10_000 ** (2 / 512), dtype=torch.float64))
    assert 0.95 * 10_000 * 2 * math.pi < waves[-1].item() < 10_000 * 2 * math.pi


@given(st.integers(0, 200), st.integers(0, 200), st.sampled_from([2, 8, 34]))
def test_a_shift_is_one_rotation_wherever_it_starts(position: int, steps: int, dim: int):
    """PE(pos + k) = R(k) PE(pos): part 3, "The sine formula"."""
    table = sinusoidal(position + steps + 1, dim)
    rotation = shift_matrix(steps, dim)
    assert torch.allclose(rotation @ table[position], table[position + steps], atol=1e-10)
    assert torch.allclose(rotation @ rotation.T, torch.eye(dim, dtype=torch.float64), atol=1e-14)


def test_every_position_is_marked():
    assert torch.pdist(sinusoidal(1000, 64)).min() > 0.1


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 2**31))
def test_rotated_scores_depend_on_the_distance_alone(m: int, n: int, seed: int):
    """⟨R_m q, R_n k⟩ = qᵀ R_(n−m) k (part 3, "The sine formula")."""
    q, k = torch.randn(2, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    table = rotary_table(61, 8)
    score = rotate(q[None], table[:, m : m + 1])[0] @ rotate(k[None], table[:, n : n + 1])[0]
    assert score.item() == pytest.approx((q @ rotation_matrix(n - m, 8) @ k).item(), abs=1e-12)


def test_rotate_equals_the_matrix_and_keeps_norms():
    x = torch.randn(2, 9, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = rotate(x, rotary_table(9, 6))
    for m in range(9):
        assert torch.allclose(y[:, m], x[:, m] @ rotation_matrix(m, 6).T, atol=1e-14)
    assert torch.allclose(y.norm(dim=-1), x.norm(dim=-1), atol=1e-14)


def test_rotations_in_the_same_planes_commute_and_add():
    a, b = rotation_matrix(3, 8), rotation_matrix(11, 8)
    assert torch.allclose(a @ b, rotation_matrix(14, 8), atol=1e-14)
    assert torch.allclose(a @ b, b @ a, atol=1e-14)
    assert torch.allclose(a.T, rotation_matrix(-3, 8), atol=1e-15)


@pytest.mark.parametrize("dim", [0, 3])
def test_odd_dimensions_are_refused(dim: int):
    with pytest.raises(ValueError, match=f"even and at least 2, got {dim}"):
        sinusoidal(4, dim)
