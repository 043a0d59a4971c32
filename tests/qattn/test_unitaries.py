"""Laws of unitary matrices, and facts about the Haar measure and triangular unitaries."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qattn.core.unitaries import Isometry, Mixers, haar, isometry_defect, orthonormal_columns

seeds = st.integers(0, 2**31)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(seed=seeds, rows=st.integers(1, 12), columns=st.integers(1, 12), field=st.sampled_from(["real", "complex"]))
def test_orthonormal_columns_span_the_same_space(seed: int, rows: int, columns: int, field: str) -> None:
    rows = max(rows, columns)
    dtype = torch.complex128 if field == "complex" else torch.float64
    matrix = torch.randn(rows, columns, generator=generator(seed), dtype=dtype)
    q = orthonormal_columns(matrix)
    assert isometry_defect(q) < 1e-12
    torch.testing.assert_close(q @ (q.mH @ matrix), matrix, rtol=1e-10, atol=1e-10)
    triangle = q.mH @ matrix
    assert (triangle.diagonal().real > 0).all()


def test_the_unique_factor_is_continuous_where_lapack_jumps() -> None:
    """Householder QR flips a column's sign when its pivot crosses zero; the factor used here must not."""
    across = []
    for pivot in (-1e-6, 1e-6):
        matrix = torch.tensor([[pivot, 0.3], [1.0, 0.2]], dtype=torch.float64)
        across.append((orthonormal_columns(matrix), torch.linalg.qr(matrix)[0]))
    ours = (across[0][0] - across[1][0]).abs().max()
    lapack = (across[0][1] - across[1][1]).abs().max()
    assert ours < 1e-5
    assert lapack > 1


def test_more_columns_than_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="rows >= columns, got 2 x 3"):
        orthonormal_columns(torch.randn(2, 3, generator=generator()))
    with pytest.raises(ValueError, match="at least as many rows"):
        Isometry(2, 3, generator=generator())


@pytest.mark.parametrize("field", ["real", "complex"])
def test_haar_moments(field: str) -> None:
    """E|tr U|² = 1 for Haar unitary and orthogonal matrices of dimension ≥ 2 (Diaconis and Shahshahani 1994).

    2,000 samples, variance of |tr U|² is 1 (unitary) and 2 (orthogonal): five standard errors, false alarm < 1e-6.
    """
    g = generator(7)
    traces = torch.stack([haar(4, field, generator=g).diagonal().sum().abs().square() for _ in range(2000)])
    deviation = math.sqrt((1 if field == "complex" else 2) / 2000)
    assert abs(traces.mean().item() - 1) < 5 * deviation


def test_lower_triangular_unitary_is_diagonal() -> None:
    """The no-go behind the design: causal and norm-preserving over positions at once leaves only phases.

    Every unitary's R of U = L·Q... turned round: among lower-triangular matrices with unit-norm rows, the defect of
    unitarity is bounded below by the off-diagonal part, ‖L†L − 1‖ ≥ the weight below the diagonal of the first column.
    """
    g = generator(3)
    for _ in range(200):
        lower = torch.randn(5, 5, generator=g, dtype=torch.complex128).tril()
        lower = lower / torch.linalg.vector_norm(lower, dim=1, keepdim=True)
        weight = lower.tril(-1).abs().square().sum().item()
        column_norms = lower.abs().square().sum(0)
        # rows have norm 1, so row 1 forces |L_11| = 1 and every further entry makes a column longer than 1
        assert column_norms[0].item() - 1 == pytest.approx(lower[1:, 0].abs().square().sum().item(), abs=1e-12)
        assert isometry_defect(lower) >= weight / 25
    phases = torch.diag(torch.polar(torch.ones(5, dtype=torch.float64), torch.arange(5.0, dtype=torch.float64)))
    assert isometry_defect(phases) < 1e-15


@pytest.mark.parametrize("field", ["real", "complex"])
def test_mixers_start_near_the_identity_and_stay_unitary(field: str) -> None:
    mixers = Mixers(3, 16, field, init_scale=0.3, generator=generator())
    assert mixers.in_manifold(1e-5)
    distance = torch.linalg.matrix_norm(mixers() - torch.eye(16), ord=2)
    assert (distance < 1).all()
    assert (distance > 0.01).all()
    optimizer = torch.optim.AdamW(mixers.parameters(), lr=0.1, weight_decay=0.0)
    for _ in range(20):
        loss = mixers().abs()[:, 0, 1].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert mixers.in_manifold(1e-5)


def test_gradient_through_the_factorisation_is_exact() -> None:
    matrix = torch.randn(5, 3, generator=generator(), dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda m: torch.view_as_real(orthonormal_columns(m)), (matrix,))
