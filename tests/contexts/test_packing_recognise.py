"""Recognition: famous line systems, turned and shuffled, are named; others are not."""

import math

import numpy as np
import pytest

from contexts.packing.constructions import characters, codes, lattices, reflections, sic, two_graphs
from contexts.packing.measure.recognise import design_strength, exact_form, isometry, recognise


def hidden(lines, seed=0):
    """The same lines in another basis, in another order, with other signs or phases."""
    rng = np.random.default_rng(seed)
    n, d = lines.shape
    if np.iscomplexobj(lines):
        turn = np.linalg.qr(rng.standard_normal((d, d)) + 1j * rng.standard_normal((d, d)))[0]
        phases = np.exp(2j * np.pi * rng.random(n))
    else:
        turn, phases = np.linalg.qr(rng.standard_normal((d, d)))[0], rng.choice((-1.0, 1.0), n)
    return (phases[:, None] * lines @ turn)[rng.permutation(n)]


@pytest.mark.parametrize(
    ("lines", "classes", "known", "strength"),
    [
        (lambda: two_graphs.quadric(3, -1, 7), "ETF(7,28)", "blocks of 3", 2),
        (lambda: codes.kerdock(16), "9 mutually unbiased bases of R^16, the most possible", "Kerdock", 2),
        (lambda: sic.sic(3), "SIC: 9", "SIC", 2),
        (lambda: sic.hoggar().conj(), "SIC: 64", "Hoggar", 2),
        (lambda: np.vstack(characters.unbiased_bases(4)), "5 mutually unbiased bases of C^4", "Wootters", 2),
        (lattices.e8, "projective 3-design", "E8", 3),  # a spherical 7-design
        (reflections.six_hundred_cell, "projective 5-design", "600-cell", 5),  # a spherical 11-design
    ],
)
def test_famous_lines_are_recognised_in_any_coordinates(lines, classes, known, strength):
    found = recognise(hidden(lines()))
    assert any(classes in name for name in found.classes)
    assert known in found.known
    assert found.residual < 1e-9
    assert found.strength == strength


def test_one_line_moved_is_no_longer_the_same():
    lines = hidden(two_graphs.quadric(3, -1, 7))
    lines[3, 0] += 1e-4
    found = recognise(lines)
    assert found.known is None
    assert found.classes == ()
    assert recognise(np.random.default_rng(0).standard_normal((9, 4))).known is None


def test_equal_angles_do_not_suffice():
    """Seidel matrices of two inequivalent sets of equiangular lines: a triangle's product of signs tells them apart."""
    signs = np.ones((2, 3, 3))
    signs[1] = 2 * np.eye(3) - 1
    first, second = (np.linalg.cholesky(np.eye(3) + (s - np.eye(3)) * 0.3) for s in signs)
    assert isometry(first, second) is None
    assert isometry(first, hidden(first)) is not None


def test_exact_forms():
    assert exact_form(1 / 3) == "1/3"
    assert exact_form(math.sqrt(7) / 6) == "sqrt(7/36)"
    assert exact_form(math.cos(math.pi / 5)) == "root of +4 x^2 -2 x^1 -1"
    assert exact_form(0.6543663546412536) is None


def test_strength_is_that_of_random_moments():
    assert design_strength(np.eye(3), 3, "real") == 1  # a basis is a tight frame and no 2-design
    assert design_strength(np.abs(np.array([[1, 0.5], [0.5, 1]])), 2, "real") == 0


def test_recognise_from_the_command_line(qattn, tmp_path):
    path = tmp_path / "six.npy"
    np.save(path, hidden(two_graphs.conference_frame(5)))
    code, text, _ = qattn("packing", "recognise", path)
    assert code == 0
    assert "ETF(3,6)" in text
    assert "up to an isometry: Paley conference matrix" in text
