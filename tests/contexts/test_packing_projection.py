"""Random projections: the lemma's number, what it promises, and rms distortions against the chi-squared law."""

import json
import math

import numpy as np
import pytest

from contexts.packing.measure import projection


def test_the_lemmas_dimension_is_that_of_dasgupta_and_gupta():
    assert projection.dimension_by_theorem(1000, 0.5) == math.ceil(4 * math.log(1000) / (0.5**2 / 2 - 0.5**3 / 3))
    with pytest.raises(ValueError, match="below 1"):
        projection.dimension_by_theorem(10, 1.0)


@pytest.mark.parametrize("kind", ["gaussian", "sparse", "hadamard"])
def test_squared_distances_are_kept_on_average_and_spread_as_the_law_says(kind):
    rows = np.random.default_rng(0).standard_normal((60, 200))
    pairs = projection.pairs_of_rows(60)
    before = projection.squared_distances(rows, pairs)
    lost = projection.distortions(before, projection.squared_distances(projection.project(rows, 64, kind), pairs))
    assert abs(lost.mean()) < 0.1
    # relative variance 2/k of a chi-squared law; less for distinct coordinates of a transform of 256
    expected = math.sqrt(2 / 64 * (1 - 64 / 256 if kind == "hadamard" else 1))
    assert np.sqrt(np.mean(lost**2)) == pytest.approx(expected, rel=0.3)


def test_all_coordinates_of_a_hadamard_transform_are_an_isometry():
    rows = np.random.default_rng(1).standard_normal((10, 16))
    pairs = projection.pairs_of_rows(10)
    after = projection.squared_distances(projection.project(rows, 16, "hadamard"), pairs)
    np.testing.assert_allclose(after, projection.squared_distances(rows, pairs), rtol=1e-12)
    with pytest.raises(ValueError, match="at most 16 coordinates"):
        projection.project(rows, 17, "hadamard")


def test_project_from_the_command_line(qattn, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).standard_normal((30, 400)))
    code, text, _ = qattn("packing", "project", path, "--eps", 0.5, "--json", "--figure", tmp_path / "h.svg")
    result = json.loads(text)
    assert code == 0
    assert 1 < result["k_in_fact"] < result["k_by_theorem"] == 164
    assert result["largest_distortion"] <= 0.5
    assert (tmp_path / "h.svg").read_bytes().startswith(b"<?xml")
    code, _, err = qattn("packing", "project", path, "--eps", 1.5)
    assert (code, "--eps 1.5: expected a number between 0 and 1" in err) == (2, True)
