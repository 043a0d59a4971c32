"""Data for classification and regression: small problems by name, and tables that people bring as CSV.

Columns are standardised by the rows learnt from (the first three quarters after a shuffle), and repeated in turn where
the circuit reads more inputs than there are columns. A regression's values are mapped onto [−0.9, 0.9], the range of
the mean of Z with room at its ends.
"""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from experiments.errors import UserError
from experiments.schema.circuit_file import TrainKeys
from experiments.schema.task_kinds import DATA
from experiments.studies.circuit_figures import boundary, regression_fit
from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.train import Fit, labelled

ROOM = 0.9
GRID = 60  # points of a picture's axis
FEWEST = 4  # rows: three to learn from and one held out


@dataclass(frozen=True, eq=False)
class Labelled:
    """Points as a circuit reads them ``(rows, inputs)`` with labels (0 and 1, or means of Z) ``(rows,)``.

    ``columns`` are the features' names, ``raw`` their values ``(rows, columns)``, ``classes`` the two labels' names;
    ``offset`` and ``unit`` turn a regression's labels into the table's values: offset + unit · label.
    """

    points: Float[np.ndarray, "rows inputs"]
    labels: Float[np.ndarray, " rows"]
    raw: Float[np.ndarray, "rows columns"]
    columns: tuple[str, ...]
    label: str
    center: Float[np.ndarray, " columns"]
    scale: Float[np.ndarray, " columns"]
    classes: tuple[str, str] = ("0", "1")
    offset: float = 0.0
    unit: float = 1.0
    checksum: str = ""

    def inputs(self, raw: Float[np.ndarray, "some columns"]) -> Float[np.ndarray, "some inputs"]:
        """Values of the columns as the circuit reads them."""
        return ((raw - self.center) / self.scale)[:, np.arange(self.points.shape[1]) % len(self.columns)]


def load(keys: TrainKeys, circuit: Circuit) -> Labelled:
    """The data of a training, by name or from a file; one that is not there is looked for among the shipped ones.

    Raises ``ValueError`` for names and sizes that there are not, :class:`UserError` for tables that cannot be read.
    """
    assert keys.data is not None
    if not keys.data.endswith(".csv"):
        if keys.task == "regression":
            raise ValueError(f"train.data: a regression reads a .csv file, got {keys.data!r}")
        if keys.data not in ("moons", "circles", "parity"):
            raise ValueError(f"train.data: expected moons, circles, parity or a .csv file, got {keys.data!r}")
        points, labels = labelled(keys.data, keys.samples, circuit.n_inputs, keys.seed)
        raw = points if keys.data == "parity" else points[:, :2]  # of the others all inputs repeat two
        columns = tuple(f"x{k}" for k in range(raw.shape[1]))
        size = np.ones(len(columns))
        return Labelled(points, labels.astype(float), raw, columns, "label", 0 * size, size)
    path = Path(keys.data)
    return from_table(path if path.exists() else DATA / keys.data, keys, circuit)


def from_table(path: Path, keys: TrainKeys, circuit: Circuit) -> Labelled:
    """The rows of a CSV file, shuffled by the training's seed. Raises :class:`UserError` as :func:`load` does."""
    names, rows = read_csv(path)
    label = names[-1] if keys.label is None else keys.label
    if label not in names:
        raise UserError(f"{path}: train.label: there is no column {label!r}, only {', '.join(names)}")
    columns = tuple(name for name in names if name != label)
    if not columns:
        raise UserError(f"{path}: expected a column of features beside {label!r}, got none")
    if len(columns) > circuit.n_inputs:
        raise UserError(f"{path}: {len(columns)} columns of features, and the circuit reads {circuit.n_inputs} inputs")
    order = np.random.default_rng(keys.seed).permutation(len(rows))
    raw = np.array([[number(path, row, names.index(c), rows) for c in columns] for row in order])
    words = [rows[row][1][names.index(label)] for row in order]
    learnt = raw[: len(raw) * 3 // 4]
    center, scale = learnt.mean(0), learnt.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    shared = (raw, columns, label, center, scale)
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    read = (raw - center) / scale
    points = read[:, np.arange(circuit.n_inputs) % len(columns)]
    if keys.task == "classification":
        found = sorted(set(words))
        if len(found) != 2:
            raise UserError(f"{path}: a classification has two classes, the column {label!r} has {len(found)}")
        labels = np.array([float(word == found[1]) for word in words])
        return Labelled(points, labels, *shared, classes=(found[0], found[1]), checksum=checksum)
    values = np.array([number(path, row, names.index(label), rows) for row in order])
    low, high = float(values[: len(learnt)].min()), float(values[: len(learnt)].max())
    if low == high:
        raise UserError(f"{path}: all values of {label!r} to learn from are {low:g}")
    offset, unit = (low + high) / 2, (high - low) / 2 / ROOM
    return Labelled(points, (values - offset) / unit, *shared, offset=offset, unit=unit, checksum=checksum)


def read_csv(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names in the first row, and the other rows with their lines. Raises :class:`UserError` for no table."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            table = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise UserError(f"train.data: {path.name}: there is no such file here or among the shipped ones") from None
    except (UnicodeDecodeError, csv.Error):
        raise UserError(f"train.data: {path}: expected comma-separated values as text in UTF-8") from None
    if len(table) < 1 + FEWEST:
        raise UserError(f"{path}: expected names and at least {FEWEST} rows, got {max(0, len(table) - 1)} rows")
    names = [name.strip() for name in table[0][1]]
    if len(set(names)) < len(names):
        raise UserError(f"{path}: two columns have the same name: {', '.join(names)}")
    for line, row in table[1:]:
        if len(row) != len(names):
            raise UserError(f"{path}, line {line}: expected {len(names)} values, got {len(row)}")
    return names, [(line, [word.strip() for word in row]) for line, row in table[1:]]


def number(path: Path, row: int, column: int, rows: list[tuple[int, list[str]]]) -> float:
    """A finite number of the table. Raises :class:`UserError` naming the line for anything else."""
    line, words = rows[row]
    try:
        value = float(words[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{path}, line {line}: expected a finite number, got {words[column]!r}")
    return value


def held_out(labels: Float[np.ndarray, " rows"]) -> slice:
    """The rows that nothing is learnt from: the last quarter."""
    return slice(len(labels) * 3 // 4, len(labels))


def regression_scores(problem: Fit, data: Labelled) -> dict[str, float | int]:
    """Held out: the root of the mean squared error in the table's units, and the share of the variance explained."""
    with torch.no_grad():
        told = problem.mean_of_z(problem.data).double().numpy()
    rest = held_out(data.labels)
    error = float(np.mean((told[rest] - data.labels[rest]) ** 2))
    spread = float(np.var(data.labels[rest]))
    scores: dict[str, float | int] = {"rmse": error**0.5 * data.unit, "examples": len(data.labels) - rest.start}
    return scores | ({"r_squared": 1 - error / spread} if spread > 0 else {})


def fit_picture(problem: Fit, data: Labelled) -> bytes | None:
    """The boundary over two features, the curve over one, or predictions against values; None where none fits."""
    learnt = held_out(data.labels).start

    def means(raw: Float[np.ndarray, "some columns"]) -> Float[np.ndarray, " some"]:
        points = data.inputs(raw)
        if problem.circuit.amplitude_inputs:
            points = unit_rows(points)
        with torch.no_grad():
            return problem.mean_of_z(torch.as_tensor(points, dtype=problem.data.dtype)).double().numpy()

    low, high = data.raw.min(0), data.raw.max(0)
    margin = 0.08 * (high - low)
    axes = [np.linspace(a - m, b + m, GRID) for a, b, m in zip(low, high, margin, strict=True)]
    if problem.task.kind == "classification":
        if len(data.columns) != 2:
            return None
        plane = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)
        chance = ((1 - means(plane)) / 2).reshape(GRID, GRID)
        return boundary((axes[0], axes[1], chance), data.raw, data.labels, learnt, (*data.columns, *data.classes))
    values = data.offset + data.unit * data.labels
    if len(data.columns) == 1:
        curve = axes[0], data.offset + data.unit * means(axes[0][:, None])
        return regression_fit(curve, data.raw[:, 0], values, learnt, (data.columns[0], data.label))
    told = data.offset + data.unit * means(data.raw)
    return regression_fit(None, told, values, learnt, (f"predicted {data.label}", data.label))


def unit_rows(points: Float[np.ndarray, "rows inputs"]) -> Float[np.ndarray, "rows inputs"]:
    """Data as amplitudes: every row divided by its norm, a row of zeros becomes the state |0…0>."""
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    first = np.eye(1, points.shape[1])
    return np.where(norms > 0, points / np.where(norms > 0, norms, 1), first)
