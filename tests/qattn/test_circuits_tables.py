"""Circuits that learn from a person's table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.errors import UserError
from experiments.schema import CONFIGS
from experiments.schema.circuit_file import TrainKeys
from experiments.studies.labelled_data import from_table
from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef

TURN = "qubits: 1\ngates: [[RX, 0, a], [RX, 0, {parameter: b, scale: 1}], [RX, 0, {input: 0, scale: 2}]]\n"


def table(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def reader(inputs: int = 2) -> Circuit:
    return Circuit(1, tuple(Operation("RX", (0,), (ParameterRef(k, "inputs"),)) for k in range(inputs)))


def test_two_species_of_iris_are_told_apart(ask, tmp_path: Path) -> None:
    out = tmp_path / "o"
    told = ask("train", CONFIGS / "circuits" / "classify_iris.yaml", "--out", out, "--json").json
    assert told["examples"] == 25
    assert told["accuracy"] >= 0.84  # of 25, where a Gaussian support vector machine has 0.92
    assert (out / "fit.svg").read_bytes().startswith(b"<?xml")


def test_a_regression_finds_a_cosine_and_says_its_error_in_the_tables_units(ask, tmp_path: Path) -> None:
    """One qubit turned about x has a mean of Z of cos(2x + a + b) for a standardised x."""
    x = np.linspace(-3, 3, 40)
    z = (x - x.mean()) / x.std()
    rows = table(tmp_path / "d.csv", ["x,y", *(f"{a},{5 + 2 * np.cos(2 * b)}" for a, b in zip(x, z, strict=True))])
    text = TURN + f"train: {{task: regression, data: {rows}, optimizer: lbfgs, lr: 0.5, steps: 10}}"
    (tmp_path / "c.yaml").write_text(text)
    out = tmp_path / "o"
    told = ask("train", tmp_path / "c.yaml", "--out", out, "--json").json
    assert told["r_squared"] > 0.85
    assert told["rmse"] < 0.6  # of values from 3 to 7
    assert (out / "fit.svg").exists()
    table(tmp_path / "d.csv", ["x,y", *(f"{a},{a}" for a in x)])
    assert "another circuit or other settings" in ask("train", tmp_path / "c.yaml", "--out", out).err


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["a,b,c", "1,2,x"], "at least 4 rows, got 1 rows"),
        (["a,b,c", "1,2,x", "1,2", "1,2,y", "1,2,y"], "line 3: expected 3 values, got 2"),
        (["a,b,c", "1,2,x", "1,two,x", "1,2,y", "1,2,y"], "line 3: expected a finite number, got 'two'"),
        (["a,b,c", "1,2,x", "1,2,y", "1,2,z", "1,2,x"], "the column 'c' has 3"),
        (["a,a,c", "1,2,x", "1,2,x", "1,2,y", "1,2,y"], "two columns have the same name"),
        (["c", "x", "x", "y", "y"], "a column of features beside 'c'"),
        (["a,b,d,c", *["1,2,3,x"] * 4], "3 columns of features, and the circuit reads 2 inputs"),
    ],
)
def test_tables_that_cannot_be_learnt_are_refused_with_their_line(tmp_path: Path, rows: list[str], words: str) -> None:
    keys = TrainKeys(task="classification", data="d.csv")
    with pytest.raises(UserError) as error:
        from_table(table(tmp_path / "d.csv", rows), keys, reader())
    assert words in str(error.value)


def test_columns_are_standardised_by_the_rows_learnt_from(tmp_path: Path) -> None:
    rows = [f"{k},{k % 3},{'yes' if k % 2 else 'no'}" for k in range(20)]
    keys = TrainKeys(task="classification", data="d.csv", label="c")
    found = from_table(table(tmp_path / "d.csv", ["a,b,c", *rows]), keys, reader(4))
    assert found.points[:15, :2].mean(0) == pytest.approx([0, 0], abs=1e-12)
    assert found.points[:15, :2].std(0) == pytest.approx([1, 1])
    assert np.array_equal(found.points[:, :2], found.points[:, 2:])
    assert found.classes == ("no", "yes")
    assert np.array_equal(found.labels, found.raw[:, 0] % 2)
