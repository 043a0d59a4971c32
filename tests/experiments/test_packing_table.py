"""Tables of packings: every cell with vectors, certificate and date; resumed, and written as others read it."""

import csv
import hashlib
import json

import numpy as np
import pytest

from contexts.packing.constructions.characters import mixed_characters
from contexts.packing.measure.gram import coherence
from experiments.errors import UserError
from experiments.studies.packing import packing_table
from experiments.studies.packing.packing_table import cells, game_of_sloanes, read_game_of_sloanes, run_table

BUDGET = {"seconds": 5.0, "rounds": 1, "seed": 0, "fresh": False, "workers": 1}


def test_a_table_is_kept_cell_by_cell_and_extended(tmp_path, monkeypatch):
    first = run_table(cells("complex", [2], [5, 6]), tmp_path, **BUDGET)["rows"]
    assert [row["coherence"] for row in first] == pytest.approx([np.sqrt(1 / 2)] * 2)  # unbiased bases of C^2
    with (tmp_path / "table.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        vectors = np.load(tmp_path / "vectors" / f"complex_d{row['d']}_n{row['n']}.npy")
        assert hashlib.sha256(vectors.tobytes()).hexdigest() == row["sha256"]
        assert coherence(vectors) == pytest.approx(float(row["coherence"]), abs=1e-15)
        assert row["optimal"] == "True"
        proof = json.loads((tmp_path / "vectors" / f"complex_d{row['d']}_n{row['n']}.json").read_text())
        assert proof["date"] == row["date"]
    with pytest.raises(UserError, match="with other settings"):
        run_table(cells("complex", [2], [5]), tmp_path, **BUDGET | {"seed": 1})

    def solve(*_, **__):
        raise AssertionError("a finished cell is not searched again")

    monkeypatch.setattr(packing_table, "solve", solve)
    assert run_table(cells("complex", [2], [5, 6]), tmp_path, **BUDGET)["rows"] == first


def test_game_of_sloanes_takes_real_parts_vector_by_vector_then_imaginary_ones():
    lines = mixed_characters(7)[:43]
    text = game_of_sloanes(lines)
    numbers = text.split("\n")[:-1]
    assert len(numbers) == 2 * 6 * 43
    assert float(numbers[6]) == lines[1, 0].real
    assert float(numbers[6 * 43 + 1]) == lines[0, 1].imag
    assert np.array_equal(read_game_of_sloanes(text, 6), lines)
    with pytest.raises(ValueError, match="multiple of 12 numbers"):
        read_game_of_sloanes("1 2 3", 6)


def test_cells_beyond_a_table_are_one_sentence(tmp_path):
    for d, n, sentence in ([5], [4], "more than d"), ([400], [900], "up to 200,000"):
        with pytest.raises(UserError, match=sentence):
            cells("real", d, n)
    with pytest.raises(UserError, match="positive number"):
        run_table(cells("real", [3], [6]), tmp_path, **BUDGET | {"seconds": float("nan")})
