"""Vectors of trained runs, null models beside every figure, and files read with bounded memory."""

import json
import math
import sys
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file

from contexts.packing.bounds.capacity import null_model
from experiments.cli import main
from experiments.errors import UserError
from experiments.studies.packing.embeddings import describe
from experiments.studies.packing.study import embedding_point
from experiments.studies.packing.trained_vectors import chosen, matrices
from experiments.studies.packing.vector_files import load_all, load_vectors
from experiments.studies.packing.vectors import Vectors


def run(trained, model):
    return next(folder for folder in (trained / "out" / "runs").iterdir() if f"-{model}-s0" in folder.name)


def test_the_matrices_of_a_classical_run_are_its_tensors(trained):
    folder = run(trained, "classical")
    stored = load_file(folder / "model.safetensors")
    found = matrices(folder)
    np.testing.assert_array_equal(found["embedding"].matrix, stored["embedding.weight"])
    assert list(found) == ["embedding"]  # the unembedding is tied to it
    assert {*"acde", "' '"} <= set(found["embedding"].names)
    with pytest.raises(UserError, match="this model has no readout of its own; it has embedding"):
        chosen(folder, "readout")


def test_the_readout_of_a_unitary_run_is_a_tight_frame(trained):
    """Rows of an isometry: Σ |b⟩⟨b| is the identity, so their squared lengths sum to the dimension."""
    folder = run(trained, "unitary")
    found = matrices(folder)
    frame = found["readout"].matrix
    vocab = len(found["embedding"].matrix)
    assert frame.shape == (2 * vocab, 12)
    assert np.iscomplexobj(frame)
    np.testing.assert_allclose(frame.conj().T @ frame, np.eye(12), atol=1e-5)
    assert found["readout"].names[1] == found["readout"].names[1 + vocab] == found["embedding"].names[1]


def test_measure_takes_run_folders(trained, tmp_path, monkeypatch, capsys):
    def qattn(*arguments):
        monkeypatch.setattr(sys, "argv", ["qattn", "packing", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    folder = run(trained, "unitary")
    code, out, _ = qattn("measure", folder, "--json")
    both = json.loads(out)["matrices"]
    assert code == 0
    assert [row["source"].rsplit(", ", 1)[1] for row in both] == ["embedding", "readout"]
    assert [row["field"] for row in both] == ["real", "complex"]
    _, out, _ = qattn("measure", folder, "--tensor", "readout", "--json")
    assert json.loads(out)["coherence"] == both[1]["coherence"]
    _, out, _ = qattn("measure", folder, "--tensor", "control.embedding", "--json")
    assert json.loads(out)["coherence"] == pytest.approx(both[0]["coherence"], abs=1e-12)
    code, _, err = qattn("measure", folder, "--figure", "a.svg")
    assert (code, "holds 2 matrices; name one with --tensor" in err) == (2, True)


def test_all_runs_of_an_experiment_become_points_of_the_capacity_plot(trained):
    """Two seeds of a transformer with a tied unembedding and of a unitary model."""
    points = [embedding_point(vectors, 0)[0] for vectors in load_all(trained / "out")]
    assert len(points) == 6
    assert {(row["d"], row["field"]) for row in points} == {(16, "real"), (8, "real"), (12, "complex")}
    assert all(row["kind"] == "embedding" and row["welch"] < row["coherence"] <= 1 for row in points)


def test_an_unfinished_run_is_named(tmp_path):
    (tmp_path / "runs" / "a").mkdir(parents=True)
    with pytest.raises(UserError, match=r"expected a run's folder with model\.safetensors in it"):
        load_all(tmp_path)


def test_the_null_model_stands_beside_every_figure():
    """Also beside the variants, in the dimensions that they leave, and beside what a greedy choice keeps."""
    matrix = np.random.default_rng(0).standard_normal((300, 10)) + 1
    result, _ = describe(Vectors(matrix, None, "test"), 2, (0.5, 1.0), True, 0)
    assert result["null"] == null_model(300, 10, "real")
    assert result["variants"]["centred"]["null"] == null_model(300, 10, "real")
    assert result["variants"]["all but the top"]["null"] == null_model(300, 9, "real")
    few, all_of_them = result["capacity"]
    assert few["kept"] < few["null_kept"] < 300  # these vectors share a direction
    assert all_of_them["kept"] == all_of_them["null_kept"] == 300
    for variant in (result, *result["variants"].values()):
        assert variant["quantiles"].keys() == variant["null"]["quantiles"].keys()
        assert {"coherence", "mean_nearest", "effective_dimension"} <= variant["null"].keys() & variant.keys()


def test_random_vectors_measure_as_their_null_model():
    """1200 Gaussian vectors of C^24: medians known to a few percent; greedy choices of two draws to some percent."""
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((1200, 24)) + 1j * rng.standard_normal((1200, 24))
    result, _ = describe(Vectors(matrix, None, "test"), 1, (0.4,), True, 0)
    for part in (result, *result["variants"].values()):
        assert part["mean_nearest"] == pytest.approx(part["null"]["mean_nearest"], rel=0.05)
        assert part["effective_dimension"] == pytest.approx(part["null"]["effective_dimension"], rel=0.05)
    assert result["capacity"][0]["kept"] == pytest.approx(result["capacity"][0]["null_kept"], rel=0.15)


def test_a_text_embedding_is_held_once(tmp_path):
    rows = np.random.default_rng(2).integers(-9, 9, (3000, 100)) + 0.5
    (tmp_path / "v.txt").write_text("\n".join(f"t{i} " + " ".join(map(str, row)) for i, row in enumerate(rows)))
    tracemalloc.start()
    matrix = load_vectors(tmp_path / "v.txt").matrix
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(matrix, rows)
    assert peak < 2.4 * matrix.nbytes  # the table, room to grow in it, and names; a list of rows and its copy: 3.3


def test_a_wrong_item_of_a_list_gets_one_sentence(tmp_path):
    from experiments.schema.packing_file import load_packing

    (tmp_path / "s.yaml").write_text("packing:\n  fields: [quaternion]\n")
    with pytest.raises(UserError) as error:
        load_packing(tmp_path / "s.yaml")
    assert str(error.value).endswith("packing.fields[0]: expected 'real' or 'complex', got 'quaternion'")
    assert len(str(error.value).splitlines()) == 1
    (tmp_path / "s.yaml").write_text("packing:\n  fields: []\n")
    with pytest.raises(UserError, match="expected at least 1 of them, got an empty list"):
        load_packing(tmp_path / "s.yaml")


def test_interference_of_a_construction_is_bounded_by_its_smaller_epsilon():
    """144 Kerdock lines of R^16 at 1/4 against random ones: one active feature is never misread, kε = 1/4 < 1/2."""
    from experiments.schema.packing_file import InterferenceStudy, PackingStudy
    from experiments.studies.packing.study import interference_rows

    part = InterferenceStudy(d=16, n=(144,), active=(1,), trials=50)
    rows = {row["packing"]: row for row in interference_rows(PackingStudy(interference=part))}
    assert rows["Kerdock set and basis"]["coherence"] == pytest.approx(1 / 4)
    assert rows["Kerdock set and basis"]["error"] == 0
    assert rows["random"]["coherence"] > 0.6
    assert rows["random"]["error"] > 0.01
    assert rows["random"]["random_rms"] == math.sqrt(1 / 16)
