"""What the verbs of ``qattn circuit`` do beyond the library: files, folders, progress, and plain numbers for JSON."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.config.circuit import CircuitFile, TrainKeys
from experiments.errors import UserError, blame
from experiments.files import write_json, write_text, write_with
from qattn.circuits import analysis as states
from qattn.circuits import sensitivity, synthesis
from qattn.circuits.ansatz import build
from qattn.circuits.circuit import Circuit
from qattn.circuits.engine import run
from qattn.circuits.export import openqasm
from qattn.circuits.measure import expectations
from qattn.circuits.spec import Spec, array_of, to_dict
from qattn.circuits.train import Fit, Task, labelled, shift_gap, target_of

MEASURES = ("expressibility", "entangling", "frame", "gradients", "fisher", "entropy", "cone", "slice", "noise")
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"{option}: expected numbers separated by commas, got {text!r}") from None


def bound(spec: Spec) -> Circuit:
    """The spec's circuit with its numbers put in."""
    return spec.circuit.bound(spec.parameters.tolist(), [] if spec.inputs is None else spec.inputs.tolist())


# ── train
# ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def fit_for(spec: Spec, keys: TrainKeys) -> Fit:
    """The problem a ``train`` block describes. Raises ``ValueError`` when its parts do not fit together."""
    qubits = spec.circuit.qubits
    if keys.task == "classification":
        if keys.data is None:
            raise ValueError("train: a classification needs `data`: moons, circles or parity")
        if not spec.circuit.n_inputs:
            raise ValueError(
                "train: a classification needs an encoding that reads inputs, such as encode: {kind: angle}"
            )
        points, labels = labelled(keys.data, keys.samples, spec.circuit.n_inputs, keys.seed)
        task = Task("classification", data=points, labels=labels)
    else:
        target = keys.target
        if isinstance(target, list):
            target = array_of(target, 2 if keys.task == "unitary" else 1, "train.target")
        task = Task(keys.task, target_of(keys.task, target, qubits))
    return Fit(spec.circuit, task, keys.optimizer, keys.lr, keys.seed, keys.spread, DTYPES[keys.dtype])


def fit(
    problem: Fit, spec: Spec, keys: TrainKeys, out: Path | None, resume: bool, check: bool, quiet: bool
) -> dict[str, Any]:
    """Train to the end, a line every tenth of the way; with ``out`` everything is kept and a killed run goes on."""
    result: dict[str, Any] = {
        "task": keys.task,
        "optimizer": keys.optimizer,
        "parameters": problem.circuit.n_parameters,
    }
    if check:
        x = problem.data[0].double() if keys.task == "classification" else None
        result["parameter_shift_gap"] = shift_gap(problem.circuit, problem.parameters, inputs=x)
    if out is not None:
        prepare(out, problem, keys, resume)
    every = max(1, keys.steps // 10)
    begun = time.monotonic()
    while problem.steps < keys.steps:
        value = problem.step()
        row = {"step": problem.steps, "loss": value, "seconds": time.monotonic() - begun}
        if out is not None:
            with (out / "metrics.jsonl").open("a", encoding="utf-8", buffering=1) as file:
                file.write(json.dumps(row) + "\n")
        if problem.steps % every == 0 or problem.steps == keys.steps:
            if not quiet:
                print(f"step {problem.steps}/{keys.steps}  loss {value:.6g}", file=sys.stderr)
            if out is not None:
                state = problem.state_dict()
                write_with(out / "train_state.pt", partial(torch.save, state))
    result.update(steps=problem.steps, loss=float(problem.loss().detach()), seconds=time.monotonic() - begun)
    if keys.task == "classification":
        result["accuracy"] = problem.accuracy()
    if out is not None:
        trained = Spec(spec.circuit, problem.parameters.detach().double().numpy(), spec.inputs, spec.measurement)
        write_json(out / "circuit.json", to_dict(trained))
        write_json(out / "result.json", result)
        result["out"] = str(out)
    return result


def prepare(out: Path, problem: Fit, keys: TrainKeys, resume: bool) -> None:
    """A new folder, or the state of an old one put back into the problem."""
    saved, asked = out / "train_state.pt", out / "train.json"
    settings = keys.model_dump(exclude={"steps"}, mode="json")
    if resume and saved.exists():
        if asked.exists() and json.loads(asked.read_text(encoding="utf-8")) != settings:
            raise UserError(f"{out}: was trained with other settings than the file's now; take a new --out folder")
        with blame(saved):
            problem.load_state_dict(torch.load(saved, weights_only=True))
        rows = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[: problem.steps]
        write_text(out / "metrics.jsonl", "".join(row + "\n" for row in rows))
        return
    if (out / "metrics.jsonl").exists() and not resume:
        raise UserError(f"{out}: holds a training already; add --resume to go on, or take a new folder")
    out.mkdir(parents=True, exist_ok=True)
    write_json(asked, settings)
    write_text(out / "metrics.jsonl", "")


# ── analyse
# ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def analysis(
    spec: Spec, file: CircuitFile, wanted: list[str], samples: int, seed: int, cut: list[int], strengths: list[float]
) -> dict[str, Any]:
    """The measures asked for, as plain numbers. Raises ``ValueError`` where a measure does not apply."""
    circuit = spec.circuit
    out: dict[str, Any] = {**circuit.resources(), "samples": samples, "seed": seed}
    if "expressibility" in wanted:
        found = states.expressibility(circuit, samples, seed=seed)
        floor = states.haar_floor(2**circuit.qubits, samples)
        out["expressibility"] = {**asdict(found), "floor": floor, "bins": states.BINS}
    if "entangling" in wanted:
        found = states.entangling_capability(circuit, samples, seed)
        out["meyer_wallach"] = {**asdict(found), "haar": states.haar_meyer_wallach(circuit.qubits)}
    if "frame" in wanted:
        value, haar = states.frame_potential(circuit, 2, samples, seed)
        out["frame_potential"] = {"order": 2, **asdict(value), "haar": haar}
    if "entropy" in wanted:
        sampled = states.sampled_states(circuit, samples, seed).to(torch.complex128)
        out["entropy"] = {"wires": cut, **asdict(states.mean_of(states.entropy(sampled, cut).numpy())), "unit": "nats"}
    if "cone" in wanted:
        gates, wires, parameters = sensitivity.light_cone(circuit, cut)
        out["light_cone"] = {"measured": cut, "gates": gates, "wires": wires, "parameters": parameters}
    if "gradients" in wanted:
        out["gradients"] = plateau(spec, file, samples, seed)
    if "fisher" in wanted:
        matrices, spectrum = sensitivity.fisher_spectrum(circuit, min(samples, 50), seed)
        data = 1000
        out["fisher"] = {
            "spectrum": spectrum.tolist(),
            "effective_dimension": sensitivity.effective_dimension(matrices, data),
            "data": data,
        }
    if "slice" in wanted:
        word = "Z" + "I" * (circuit.qubits - 1)
        center = torch.as_tensor(spec.parameters)
        out["slice"] = {
            "observable": word,
            **sensitivity.loss_slice(lambda p: mean_of_word(spec, p, word), center, seed=seed),
        }
    if "noise" in wanted:
        from qattn.circuits.noise import sweep

        out["noise"] = sweep(bound(spec), strengths)
    return out


def mean_of_word(spec: Spec, parameters: torch.Tensor, word: str) -> torch.Tensor:
    inputs = None if spec.inputs is None else torch.as_tensor(spec.inputs)
    return expectations(run(spec.circuit, parameters, inputs), [word])[:, 0]


def plateau(spec: Spec, file: CircuitFile, samples: int, seed: int) -> dict[str, Any]:
    """Gradient variance: over qubits 2 to the file's (at least 6) for a named ansatz, else at the circuit as it
    stands."""
    circuit, count = spec.circuit, min(samples, 500)
    if file.ansatz is None:
        word = "Z" * min(2, circuit.qubits) + "I" * (circuit.qubits - 2)
        grads = sensitivity.gradient_samples(circuit, word, count, seed)
        return {"observable": word, "variance": grads.var(0).tolist()}
    name, depth = file.ansatz.name, file.ansatz.layers
    found = sensitivity.gradient_variance(
        lambda n, layers: build(name, n, layers),
        range(2, max(6, circuit.qubits) + 1, 2),
        (1, depth) if depth > 1 else (1,),
        count,
        seed,
    )
    fitted = found.pop("fit")
    return {**found, "fit": None if fitted is None else asdict(fitted)}


# ── compile
# ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def compile_file(path: Path, how: str, out: Path | None) -> dict[str, Any]:
    """An array in a .npy file as gates."""
    makers = {
        "givens": synthesis.givens,
        "dense": synthesis.dense,
        "diagonal": synthesis.diagonal,
        "permutation": lambda image: synthesis.permutation([int(k) for k in image.ravel()]),
    }
    if how not in makers:
        raise UserError(f"--how: expected {', '.join(makers)}, got {how!r}")
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UserError(f"{path}: not an array in NumPy's .npy format: {error}") from error
    with blame(path):
        made = makers[how](array)
        summary = synthesis.summary(made)
        if out is not None:
            write_text(out, openqasm(made, 3))
    return {"how": how, "source": made.resources(), "elementary": summary, "file": None if out is None else str(out)}


def compile_run(
    folder: Path,
    prompt: str,
    run_seed: int | None,
    shots: int | None,
    seed: int,
    strengths: list[float],
    out: Path | None,
) -> dict[str, Any]:
    """A trained unitary model and a prompt as one circuit, compared with the model's own next-token distribution."""
    from experiments.generate import prompt_ids
    from experiments.loading import one_a_model
    from qattn.circuits.language import compile_model

    chosen = [t for t in one_a_model(folder, run_seed) if hasattr(t.model, "mixers")]
    if not chosen:
        raise UserError(f"{folder}: only a trained unitary model can be compiled, and there is none here")
    trained = chosen[0]
    ids = torch.tensor(prompt_ids(prompt, trained.tokenizer))
    with blame(folder):
        made = compile_model(trained.model, ids)
        exact = made.next_token()
        with torch.no_grad():
            model = trained.model(ids[None])[0, -1].exp().double().numpy()
        top = np.argsort(-exact)[:10]
        result: dict[str, Any] = {
            "model": trained.name,
            "prompt": prompt,
            "largest_difference": float(np.abs(exact - model).max()),
            "next": {trained.tokenizer.decode([int(k)]): float(exact[k]) for k in top},
            "elementary": synthesis.summary(made.circuit),
        }
        if shots is not None:
            estimated = made.next_token(shots, seed)
            distance = float(np.abs(estimated - exact).sum() / 2)
            result["shots"] = {"shots": shots, "total_variation": distance, "times_root_shots": distance * shots**0.5}
        if strengths:
            from qattn.circuits.noise import sweep

            result["noise"] = sweep(made.circuit, strengths, read=made.tokens)
        if out is not None:
            write_text(out, openqasm(made.circuit, 3))
            result["file"] = str(out)
    return result
