"""``qattn circuit kernel``: the kernel of a circuit's states on labelled data, beside the classical Gaussian one.

OUT/result.json   alignment, geometric difference, and held-out accuracies of both kernels' support vector machines
OUT/kernel.svg    both Gram matrices, rows ordered by class
OUT/kernel.npy    the circuit's Gram matrix, rows in the order of the table after its shuffle
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from experiments.errors import UserError, blame
from experiments.report.canvas import svg
from experiments.runs.atomic_files import write_bytes, write_json, write_with
from experiments.schema.circuit_file import TrainKeys
from experiments.studies.labelled_data import held_out, load, unit_rows
from qattn.circuits.ir.spec import Spec
from qattn.circuits.kernel import alignment, geometric_difference, gram

SOFT = 1.0  # the C of both support vector machines


def study(source: Path, spec: Spec, keys: TrainKeys | None, out: Path | None) -> dict[str, Any]:
    """Both kernels on the data of a classification. Raises :class:`UserError` for files without one."""
    if keys is None or keys.task != "classification" or keys.data is None:
        raise UserError(f"{source}: a kernel needs data: add train: {{task: classification, data: FILE.csv}}")
    with blame(source):
        if not spec.circuit.n_inputs or spec.inputs is not None or spec.circuit.noisy:
            raise ValueError("a kernel needs a circuit without noise that reads inputs: encode: {kind: angle}")
        data = load(keys, spec.circuit)
        points = unit_rows(data.points) if spec.circuit.amplitude_inputs else data.points
        quantum = gram(spec.circuit, torch.as_tensor(spec.parameters), torch.as_tensor(points))
    classical = gaussian(data.points)
    signs = 2 * data.labels - 1
    learnt = slice(0, held_out(data.labels).start)
    if len(set(signs[learnt])) < 2:
        raise UserError(f"{source}: all rows to learn from are of one class: take more rows, or another train.seed")
    inner = np.ix_(range(learnt.stop), range(learnt.stop))
    result: dict[str, Any] = {
        "rows": len(signs),
        "columns": list(data.columns),
        "geometric_difference": geometric_difference(classical[inner], quantum[inner]),
    }
    for name, kernel in (("circuit", quantum), ("gaussian", classical)):
        result[name] = {"alignment": alignment(kernel[inner], signs[learnt]), **machine(kernel, signs)}
    if out is not None:
        write_bytes(out / "kernel.svg", picture(quantum, classical, signs))
        write_with(out / "kernel.npy", lambda path: np.save(path, quantum))
        write_json(out / "result.json", result)
        result["out"] = str(out)
    return result


def gaussian(points: Float[np.ndarray, "rows inputs"]) -> Float[np.ndarray, "rows rows"]:
    """exp(−‖x − y‖² / (m var x)) for m inputs, scikit-learn's default width."""
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    return np.exp(-distances / (points.shape[1] * points.var()))


def machine(kernel: Float[np.ndarray, "rows rows"], signs: Float[np.ndarray, " rows"]) -> dict[str, Any]:
    """Held-out accuracy of a support vector machine, and its support vectors."""
    from sklearn.svm import SVC

    rest = held_out(signs)
    made = SVC(C=SOFT, kernel="precomputed").fit(kernel[: rest.start, : rest.start], signs[: rest.start])
    right = made.predict(kernel[rest, : rest.start]) == signs[rest]
    return {"accuracy": float(right.mean()), "examples": len(right), "support_vectors": int(made.n_support_.sum())}


def picture(
    quantum: Float[np.ndarray, "rows rows"],
    classical: Float[np.ndarray, "rows rows"],
    signs: Float[np.ndarray, " rows"],
) -> bytes:
    """Both Gram matrices with rows ordered by class, as SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    order = np.argsort(signs, kind="stable")
    border = float((signs < 0).sum()) - 0.5
    for axes, kernel, name in zip(figure.subplots(1, 2), (quantum, classical), ("circuit", "Gaussian"), strict=True):
        shown = axes.imshow(kernel[np.ix_(order, order)], vmin=0, vmax=1, cmap="Greys", interpolation="nearest")
        axes.axhline(border, linewidth=0.6)
        axes.axvline(border, linewidth=0.6)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("row, by class")
    figure.colorbar(shown, ax=figure.axes, label="K")
    return svg(figure)
