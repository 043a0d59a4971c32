"""Ten tokens in two dimensions: the polygon, and the lesser solutions with tokens stuck at the origin."""

import math

import pytest
import torch

from classical.autoencoder import AutoencoderRun, autoencoder_nats, polygon, train_autoencoder

# exp(9 cos 36°) and so on: the loss of a regular 10-gon of radius 3, from the geometry alone
POLYGON_NATS = math.log(sum(math.exp(9 * math.cos(2 * math.pi * j / 10)) for j in range(10))) - 9


def run(seed: int) -> AutoencoderRun:
    return train_autoencoder(torch.Generator().manual_seed(seed), steps=800)


def test_loss_of_the_polygon():
    assert autoencoder_nats(polygon(10)).item() == pytest.approx(POLYGON_NATS, abs=1e-12)


def test_a_random_cloud_becomes_a_polygon():
    """Lecture notes 3.4. Seed 11 ends in the ten-cornered solution; Adam at a constant rate keeps it trembling."""
    result = run(11)
    assert result.nats[0] > 1
    assert POLYGON_NATS - 1e-6 < result.nats[-1].item() < POLYGON_NATS + 0.02
    last = result.vectors[-1]
    assert last.norm().item() == pytest.approx(3 * math.sqrt(10))
    assert (last.norm(dim=-1) - 3).abs().max() < 0.3
    angles = torch.atan2(last[:, 1], last[:, 0]).sort().values
    gaps = torch.diff(torch.cat((angles, angles[:1] + 2 * math.pi)))
    assert (gaps - math.pi / 5).abs().max() < math.radians(5)
    assert torch.equal((last @ last.T).argmax(-1), torch.arange(10))  # every token is read back


def test_an_unlucky_cloud_leaves_a_token_at_the_origin():
    """Lecture notes 3.4: "some token embeddings end up in the origin". Seed 0: nine corners, radius √10."""
    result = run(0)
    lengths = result.vectors[-1].norm(dim=-1).sort().values
    assert lengths[0] < 0.3
    assert (lengths[1:] - math.sqrt(10)).abs().max() < 0.3
    corner = math.log(1 + sum(math.exp(10 * math.cos(2 * math.pi * j / 9)) for j in range(9))) - 10
    assert result.nats[-1].item() == pytest.approx((9 * corner + math.log(10)) / 10, abs=0.02)
    assert result.nats[-1].item() > POLYGON_NATS + 0.05


def test_no_small_displacement_improves_the_polygon():
    generator = torch.Generator().manual_seed(0)
    best = polygon(10)
    for _ in range(50):
        moved = best + 0.1 * torch.randn(10, 2, generator=generator, dtype=torch.float64)
        assert autoencoder_nats(moved * best.norm() / moved.norm()) > POLYGON_NATS


def test_in_a_hundred_dimensions_cosines_alone_tell_tokens_apart():
    """Lecture notes 3.4: more dimensions, sharper distinction. At equal radius the loss is far below the polygon's."""
    result = train_autoencoder(torch.Generator().manual_seed(0), vocab=10, dim=100, steps=100)
    assert result.nats[-1].item() < 0.01


def test_records_and_bad_input():
    result = train_autoencoder(torch.Generator().manual_seed(0), steps=45, every=20)
    assert result.steps == [0, 20, 40, 45]
    assert result.vectors.shape == (4, 10, 2)
    with pytest.raises(ValueError, match="vocab must be at least 1, got 0"):
        train_autoencoder(torch.Generator(), vocab=0)
