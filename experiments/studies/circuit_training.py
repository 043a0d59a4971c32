"""``qattn circuit train``: from a `train` block to a folder in which a killed run resumes, for one seed or several.

OUT/train.json               what was asked: the circuit and its `train` block
OUT/train_state.safetensors  parameters, optimiser and every row of the log, each tenth of the way
OUT/metrics.jsonl            one row per step
OUT/circuit.json             the trained circuit
OUT/result.json              written last
OUT/seed-*/                  with several seeds, one such folder per seed
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.errors import UserError, blame
from experiments.runs import state_file
from experiments.runs.atomic_files import write_bytes, write_json
from experiments.runs.claim import claimed
from experiments.runs.event_log import Event, EventLog
from experiments.runs.interrupt import held_interrupt
from experiments.runs.json_files import read_record, write_record
from experiments.runs.state_tree import load_tree, save_tree
from experiments.schema.circuit_file import TrainKeys
from experiments.stats.accuracy import accuracy_interval
from experiments.stats.statistics import t_interval
from experiments.studies.circuit_figures import energy_curve
from experiments.studies.labelled_data import Labelled, fit_picture, regression_scores, unit_rows
from experiments.studies.labelled_data import load as load_data
from qattn.circuits.ir.spec import Spec
from qattn.circuits.ir.spec_values import array_of, at
from qattn.circuits.ir.spec_writer import to_dict
from qattn.circuits.simulate.energy import MOST_QUBITS, ground_energy
from qattn.circuits.train import LABELLED, Fit, Task, shift_gap, target_of

DTYPES = {"float32": torch.float32, "float64": torch.float64}
STATE, METRICS, SETTINGS, CIRCUIT, RESULT = FILES = (
    "train_state.safetensors", "metrics.jsonl", "train.json", "circuit.json", "result.json",
)  # fmt: skip
OLD_STATE = "train_state.pt"
FIX = "put the file back from a copy, or train anew in another --out folder"


def fit_for(spec: Spec, keys: TrainKeys, data: Labelled | None = None) -> Fit:
    """The problem a ``train`` block describes, its ``data`` read anew unless given.

    Raises ``ValueError`` when its parts do not fit together.
    """
    circuit = spec.circuit
    if keys.task not in LABELLED:
        of_others: tuple[str, ...] = ("data", "samples", "label")
    else:
        of_others = ("target", "samples") if str(keys.data).endswith(".csv") else ("target", "label")
    for key in of_others:
        if key in keys.model_fields_set and getattr(keys, key) is not None:
            raise ValueError(f"train.{key}: a task of kind {keys.task} has none here: drop the key")
    if keys.task in LABELLED:
        if keys.data is None:
            raise ValueError(f"train: a {keys.task} needs `data`: a .csv file, or moons, circles or parity")
        if not circuit.n_inputs:
            told = "needs an encoding that reads inputs, such as encode: {kind: angle}"
            raise ValueError(f"train: a {keys.task} {told}")
        if spec.inputs is not None:
            raise ValueError(f"train: a {keys.task} takes its inputs from the data: drop `inputs` or `encode.values`")
        data = data or load_data(keys, circuit)
        points = unit_rows(data.points) if circuit.amplitude_inputs else data.points
        task = Task(keys.task, data=points, labels=data.labels)
    elif keys.task == "energy":
        if keys.target is not None or spec.measurement.hamiltonian is None:
            raise ValueError("train: an energy is that of measure: {hamiltonian: ...}, and takes no `target`")
        task = Task("energy", hamiltonian=spec.measurement.hamiltonian)
        if spec.inputs is not None:
            circuit = circuit.with_inputs(spec.inputs)
    else:
        place, target = ("train", "target"), keys.target
        with at(*place):
            if isinstance(target, list):
                target = array_of(target, 2 if keys.task == "unitary" else 1, place)
            task = Task(keys.task, target_of(keys.task, target, circuit.qubits))
        if spec.inputs is not None:
            circuit = circuit.with_inputs(spec.inputs)
    start = spec.parameters if spec.given is None else np.where(spec.given, spec.parameters, np.nan)
    if start.size and not np.any(np.isnan(start)) and "spread" in keys.model_fields_set:
        raise ValueError("train.spread: the circuit's parameters are all given, so none is drawn: drop one of the two")
    return Fit(circuit, task, keys.optimizer, keys.lr, keys.seed, keys.spread, DTYPES[keys.dtype], start)


def train(
    source: Path, spec: Spec, keys: TrainKeys, out: Path | None, fresh: bool, check: bool, quiet: bool
) -> dict[str, Any]:
    """One training, or with ``keys.seeds`` above 1 one per seed, each in its folder, and their mean with an interval.

    The same training in the same ``out`` resumes (``fresh`` starts over).
    Raises :class:`UserError` for an ``out`` folder that is in use, holds another training, or is damaged.
    """
    if keys.seeds > 1 and keys.task != "classification" and (spec.given is None or bool(spec.given.all())):
        raise UserError(f"{source}: train.seeds: from given parameters all trainings are the same: drop one of the two")
    with hold(out):
        if out is not None and fresh:
            with blame(source):
                fit_for(spec, keys)  # what cannot be trained deletes nothing
            clear(out)
        if keys.seeds == 1:
            return train_one(source, spec, keys, out, check, quiet)
        if out is not None and (out / SETTINGS).exists():
            raise UserError(f"{out}: holds a training of one seed; take a new --out folder, or --fresh to start over")
        several = [keys.model_copy(update={"seed": keys.seed + k, "seeds": 1}) for k in range(keys.seeds)]
        results = []
        for one in several:
            folder = None if out is None else out / f"seed-{one.seed}"
            if not quiet:
                print(f"seed {one.seed}", file=sys.stderr)
            with hold(folder):
                results.append(train_one(source, spec, one, folder, check, quiet))
        shared = ("task", "optimizer", "parameters", "steps")
        result: dict[str, Any] = {key: results[0][key] for key in shared}
        result["seeds"] = [one.seed for one in several]
        for key in ("loss", "accuracy"):
            values = [r[key] for r in results if key in r]
            if values:
                found = accuracy_interval(values, results[0]["examples"]) if key == "accuracy" else t_interval(values)
                spread = {"mean": found.mean, "sd": found.sd, "low": found.low, "high": found.high}
                result[key] = {"values": values, **spread}
        if out is not None:
            write_record(out / RESULT, result)
            result["out"] = str(out)
        return result


def hold(out: Path | None) -> AbstractContextManager[Path | None]:
    """The folder for this training alone, where there is one; one that qattn 0.1.0 trained in is refused."""
    if out is None:
        return nullcontext()
    if out.is_dir() and (old := next(out.glob(f"**/{OLD_STATE}"), None)) is not None:
        raise UserError(
            f"{old}: holds a training of qattn 0.1.0, whose states this version does not resume; its circuit.json and "
            "result.json stay readable; take a new --out folder"
        )
    return claimed(out, SETTINGS, "a training")


def train_one(source: Path, spec: Spec, keys: TrainKeys, out: Path | None, check: bool, quiet: bool) -> dict[str, Any]:
    """Train to the end, a line every tenth of the way; with ``out`` everything is kept and a killed run resumes.

    Raises :class:`UserError` where the loss is no finite number any more.
    """
    with blame(source):
        data = load_data(keys, spec.circuit) if keys.task in LABELLED and keys.data and spec.circuit.n_inputs else None
        problem = fit_for(spec, keys, data)
    result: dict[str, Any] = {
        "task": keys.task,
        "optimizer": keys.optimizer,
        "seed": keys.seed,
        "parameters": problem.circuit.n_parameters,
    }
    if check:
        x = problem.data[0].double() if keys.task in LABELLED else None
        result["parameter_shift_gap"] = shift_gap(problem.circuit, problem.parameters, inputs=x)
    try:
        rows = [] if out is None else prepare(out, problem, spec, keys, "" if data is None else data.checksum)
        begun = time.monotonic() - (rows[-1]["seconds"] if rows else 0.0)
        with held_interrupt() as interrupted:
            steps(problem, keys.steps, begun, rows, out, quiet, interrupted)
        loss = float(problem.loss().detach())
        if not np.isfinite(loss):
            raise FloatingPointError(f"the loss is {loss} after step {problem.steps}")
    except FloatingPointError as error:
        raise UserError(f"{source}: {error}: take a smaller train.lr than {keys.lr:g}") from error
    result.update(steps=problem.steps, loss=loss, seconds=time.monotonic() - begun)
    if keys.task == "classification":
        result |= {"accuracy": problem.accuracy(), "examples": len(problem.labels) - problem.cut}
    if keys.task == "regression" and data is not None:
        result |= regression_scores(problem, data)
    h = problem.task.hamiltonian
    ground = ground_energy(h) if h is not None and h.qubits <= MOST_QUBITS else None
    if ground is not None:
        result |= {"ground_energy": ground, "above_ground": loss - ground}
    if out is not None:
        if ground is not None:
            write_bytes(out / "energy.svg", energy_curve(rows, ground))
        if data is not None and (drawn := fit_picture(problem, data)):
            write_bytes(out / "fit.svg", drawn)
        trained = Spec(spec.circuit, problem.parameters.detach().double().numpy(), spec.inputs, spec.measurement)
        write_json(out / CIRCUIT, to_dict(trained))
        write_record(out / RESULT, result)
        result["out"] = str(out)
    return result


def steps(
    problem: Fit, last: int, begun: float, rows: list[Event], out: Path | None, quiet: bool, stop: Callable[[], bool]
) -> None:
    """Step by step to the last one; the state is kept every tenth of the way and when a person interrupts.

    Raises :class:`KeyboardInterrupt` after the step in which ``stop`` began to say so.
    """
    every = max(1, last // 10)
    with nullcontext() if out is None else EventLog(out / METRICS) as log:
        if log is not None and not log.rewind(rows) and not quiet:
            print(f"{log.path}: does not agree with the state of step {problem.steps}, which is used", file=sys.stderr)
        while problem.steps < last:
            value = problem.step()
            rows.append({"step": problem.steps, "loss": value, "seconds": time.monotonic() - begun})
            due = problem.steps % every == 0 or problem.steps == last
            if due and not quiet:
                print(f"step {problem.steps}/{last}  loss {value:.6g}", file=sys.stderr)
            if log is not None and out is not None:
                log.add(rows[-1])
                if due or stop():
                    save(out, problem, rows)
            if stop():
                raise KeyboardInterrupt


# ── the folder


def save(out: Path, problem: Fit, rows: list[Event]) -> None:
    """Keep the training's state and its rows so far."""
    save_tree(out / STATE, {"fit": problem.state_dict(), "rows": rows})


def clear(out: Path) -> None:
    """Delete the trainings of a folder."""
    for name in FILES:
        state_file.remove(out / name)
    for folder in out.glob("seed-*"):
        shutil.rmtree(folder)


def prepare(out: Path, problem: Fit, spec: Spec, keys: TrainKeys, checksum: str = "") -> list[Event]:
    """A new folder, or the state of an old one put back into the problem; the rows of the steps made so far.

    ``checksum`` is that of the table learnt from, where there is one: another table is another training.

    Raises :class:`UserError` when the folder's training is of another circuit or other settings, and when its state is
    lost or damaged.
    """
    settings: dict[str, Any] = {
        "circuit": to_dict(spec),
        "train": keys.model_dump(exclude={"steps", "seeds", "label"}, mode="json"),
    }
    if checksum:
        settings |= {"table": checksum, "label": keys.label}
    present = [name for name in FILES if (out / name).exists()]
    if not present:
        write_record(out / SETTINGS, settings)
        save(out, problem, [])
        return []
    for name, there in ((SETTINGS, (out / SETTINGS).exists()), (STATE, state_file.exists(out / STATE))):
        if not there:
            raise UserError(f"{out / name}: is missing beside {present[0]}, so there is nothing to resume; {FIX}")
    if read_record(out / SETTINGS, FIX) != json.loads(json.dumps(settings)):
        raise UserError(
            f"{out}: was trained with another circuit or other settings than the file's now; take a new --out folder, "
            "or --fresh to start over"
        )
    rows = load(out / STATE, problem)
    if problem.steps > keys.steps:
        raise UserError(
            f"{out}: has made {problem.steps} steps already, more than train.steps {keys.steps}; ask for more steps"
        )
    return rows


def load(path: Path, problem: Fit) -> list[Event]:
    """Put a saved state back into the problem; returns its rows.

    Raises :class:`UserError` when the file is damaged or holds no training of this problem.
    """
    tree, warning = load_tree(path, FIX)
    if warning is not None:
        print(f"qattn: {warning}", file=sys.stderr)
    rows = tree.get("rows")
    try:
        problem.load_state_dict(tree.get("fit"))
        if not isinstance(rows, list) or [row["step"] for row in rows] != list(range(1, problem.steps + 1)):
            raise ValueError(f"expected a row for each of the {problem.steps} steps made")
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: damaged, {error}; {FIX}") from None
    return rows
