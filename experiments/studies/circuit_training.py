"""``qattn circuit train``: from a `train` block to a folder that a killed run goes on in, for one seed or several."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.errors import UserError, blame
from experiments.runs.atomic_files import write_json, write_text, write_with
from experiments.schema.circuit_file import TrainKeys
from experiments.stats.statistics import t_interval
from qattn.circuits.ir.spec import Spec, array_of, to_dict
from qattn.circuits.train import Fit, Task, labelled, shift_gap, target_of

DTYPES = {"float32": torch.float32, "float64": torch.float64}
STATE, METRICS, SETTINGS, CIRCUIT, RESULT = FILES = (
    "train_state.pt", "metrics.jsonl", "train.json", "circuit.json", "result.json",
)  # fmt: skip
MEND = "put the file back from a copy, or train anew in another --out folder"


def fit_for(spec: Spec, keys: TrainKeys) -> Fit:
    """The problem a ``train`` block describes. Raises ``ValueError`` when its parts do not fit together."""
    circuit = spec.circuit
    if keys.task == "classification":
        if keys.data is None:
            raise ValueError("train: a classification needs `data`: moons, circles or parity")
        if not circuit.n_inputs:
            raise ValueError(
                "train: a classification needs an encoding that reads inputs, such as encode: {kind: angle}"
            )
        if spec.inputs is not None:
            raise ValueError("train: a classification takes its inputs from the data: drop `inputs` or `encode.values`")
        points, labels = labelled(keys.data, keys.samples, circuit.n_inputs, keys.seed)
        if circuit.amplitude_inputs:
            points = unit_rows(points)
        task = Task("classification", data=points, labels=labels)
    else:
        target = keys.target
        if isinstance(target, list):
            target = array_of(target, 2 if keys.task == "unitary" else 1, "train.target")
        task = Task(keys.task, target_of(keys.task, target, circuit.qubits))
        if spec.inputs is not None:
            circuit = circuit.with_inputs(spec.inputs)
    return Fit(circuit, task, keys.optimizer, keys.lr, keys.seed, keys.spread, DTYPES[keys.dtype])


def unit_rows(points: np.ndarray) -> np.ndarray:
    """Data as amplitudes: every row divided by its norm, a row of zeros becomes the state |0…0>."""
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    first = np.eye(1, points.shape[1])
    return np.where(norms > 0, points / np.where(norms > 0, norms, 1), first)


def train(
    source: Path, spec: Spec, keys: TrainKeys, out: Path | None, resume: bool, check: bool, quiet: bool
) -> dict[str, Any]:
    """One training, or with ``keys.seeds`` above 1 one a seed, each in its folder, and their mean with an interval."""
    if keys.seeds == 1:
        return train_one(source, spec, keys, out, resume, check, quiet)
    if out is not None and ((out / SETTINGS).exists() or ((out / RESULT).exists() and not resume)):
        raise UserError(f"{out}: holds a training already; take a new --out folder, or add --resume to the same seeds")
    several = [keys.model_copy(update={"seed": keys.seed + k, "seeds": 1}) for k in range(keys.seeds)]
    results = []
    for one in several:
        folder = None if out is None else out / f"seed-{one.seed}"
        if not quiet:
            print(f"seed {one.seed}", file=sys.stderr)
        results.append(train_one(source, spec, one, folder, resume, check, quiet))
    shared = ("task", "optimizer", "parameters", "steps")
    result: dict[str, Any] = {key: results[0][key] for key in shared}
    result["seeds"] = [one.seed for one in several]
    for key in ("loss", "accuracy"):
        values = [r[key] for r in results if key in r]
        if values:
            found = t_interval(values)
            result[key] = {"values": values, "mean": found.mean, "sd": found.sd, "low": found.low, "high": found.high}
    if out is not None:
        write_json(out / RESULT, result)
        result["out"] = str(out)
    return result


def train_one(
    source: Path, spec: Spec, keys: TrainKeys, out: Path | None, resume: bool, check: bool, quiet: bool
) -> dict[str, Any]:
    """Train to the end, a line every tenth of the way; with ``out`` everything is kept and a killed run goes on."""
    with blame(source):
        problem = fit_for(spec, keys)
    result: dict[str, Any] = {
        "task": keys.task,
        "optimizer": keys.optimizer,
        "seed": keys.seed,
        "parameters": problem.circuit.n_parameters,
    }
    if check:
        x = problem.data[0].double() if keys.task == "classification" else None
        result["parameter_shift_gap"] = shift_gap(problem.circuit, problem.parameters, inputs=x)
    try:
        begun = time.monotonic() - (0.0 if out is None else prepare(out, problem, spec, keys, resume))
        with interrupt_between_steps() as interrupted:
            steps(problem, keys.steps, begun, out, quiet, interrupted)
        loss = float(problem.loss().detach())
        if not np.isfinite(loss):
            raise FloatingPointError(f"the loss is {loss} after step {problem.steps}")
    except FloatingPointError as error:
        raise UserError(f"{source}: {error}: take a smaller train.lr than {keys.lr:g}") from error
    result.update(steps=problem.steps, loss=loss, seconds=time.monotonic() - begun)
    if keys.task == "classification":
        result["accuracy"] = problem.accuracy()
    if out is not None:
        trained = Spec(spec.circuit, problem.parameters.detach().double().numpy(), spec.inputs, spec.measurement)
        write_json(out / CIRCUIT, to_dict(trained))
        write_json(out / RESULT, result)
        result["out"] = str(out)
    return result


def steps(problem: Fit, last: int, begun: float, out: Path | None, quiet: bool, interrupted: list[int]) -> None:
    """Step by step to the last one; the state is kept every tenth of the way and when a person interrupts."""
    every = max(1, last // 10)
    while problem.steps < last:
        value = problem.step()
        row = {"step": problem.steps, "loss": value, "seconds": time.monotonic() - begun}
        if out is not None:
            with (out / METRICS).open("a", encoding="utf-8", buffering=1) as file:
                file.write(json.dumps(row) + "\n")
        due = problem.steps % every == 0 or problem.steps == last
        if due and not quiet:
            print(f"step {problem.steps}/{last}  loss {value:.6g}", file=sys.stderr)
        if out is not None and (due or interrupted):
            save(out, problem)
        if interrupted:
            raise KeyboardInterrupt


@contextmanager
def interrupt_between_steps() -> Iterator[list[int]]:
    """Hold a first Ctrl-C back until a step is whole, so that what is saved is no half of one; a second one stops at
    once."""
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # signals reach the main thread only
        yield caught
        return

    def handle(number: int, frame: Any) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield caught
    finally:
        signal.signal(signal.SIGINT, before)


# ── the folder


def save(out: Path, problem: Fit) -> None:
    write_with(out / STATE, partial(torch.save, problem.state_dict()))


def prepare(out: Path, problem: Fit, spec: Spec, keys: TrainKeys, resume: bool) -> float:
    """A new folder, or the state of an old one put back into the problem; the seconds spent so far."""
    settings = {"circuit": to_dict(spec), "train": keys.model_dump(exclude={"steps", "seeds"}, mode="json")}
    held = [name for name in FILES if (out / name).exists()]
    if held and not resume:
        raise UserError(f"{out}: holds a training already; add --resume to go on, or take a new folder")
    if not held:
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / SETTINGS, settings)
        write_text(out / METRICS, "")
        save(out, problem)
        return 0.0
    for name in (SETTINGS, METRICS, STATE):
        if name not in held:
            raise UserError(f"{out / name}: is missing beside {held[0]}, so there is nothing to go on from; {MEND}")
    if read_json(out / SETTINGS) != json.loads(json.dumps(settings)):
        raise UserError(
            f"{out}: was trained with another circuit or other settings than the file's now; take a new --out folder"
        )
    load(out / STATE, problem)
    if problem.steps > keys.steps:
        raise UserError(
            f"{out}: has made {problem.steps} steps already, more than train.steps {keys.steps}; ask for more steps"
        )
    return rewind(out / METRICS, problem.steps)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path}: damaged, not a text in UTF-8; {MEND}") from None


def read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: damaged, not JSON ({error}); {MEND}") from None


def load(path: Path, problem: Fit) -> None:
    try:
        state = torch.load(path, weights_only=True)
    except OSError:
        raise
    except Exception:  # torch raises whatever its zip and pickle readers happen to
        raise UserError(f"{path}: damaged, not the state of a training; {MEND}") from None
    try:
        problem.load_state_dict(state)
    except ValueError as error:
        raise UserError(f"{path}: damaged, {error}; {MEND}") from None


def rewind(path: Path, made: int) -> float:
    """Keep the rows of the steps made (a kill may leave more, the last one torn); the seconds of the last."""
    rows = read_text(path).splitlines()[:made]
    try:
        read = [json.loads(row) for row in rows]
        if [row["step"] for row in read] != list(range(1, made + 1)):
            raise ValueError
        spent = float(read[-1]["seconds"]) if read else 0.0
    except (ValueError, TypeError, LookupError):
        raise UserError(f"{path}: damaged, expected a row for each of the {made} steps made; {MEND}") from None
    write_text(path, "".join(row + "\n" for row in rows))
    return spent
