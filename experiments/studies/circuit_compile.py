"""``qattn circuit compile``: an array from a file, or a trained model and a text, as gates."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch

from experiments.errors import UserError, blame
from experiments.runs.atomic_files import write_text
from qattn.circuits.compile import synthesis
from qattn.circuits.compile.export import openqasm


def compile_file(path: Path, how: str, out: Path | None) -> dict[str, Any]:
    """An array in a .npy file as gates.

    Raises :class:`UserError` for an unknown ``how`` and for an array that it cannot take apart.
    """
    makers = {
        "givens": synthesis.givens,
        "dense": synthesis.dense,
        "diagonal": lambda phases: synthesis.diagonal(phases.real),
        "permutation": lambda image: synthesis.permutation([int(k) for k in image.real]),
    }
    if how not in makers:
        raise UserError(f"--how: expected {', '.join(makers)}, got {how!r}")
    array = read_array(path, how)
    with blame(path):
        made = makers[how](array)
        summary = synthesis.summary(made)
        if out is not None:
            write_text(out, openqasm(made, 3))
    return {"how": how, "source": made.resources(), "elementary": summary, "file": None if out is None else str(out)}


def read_array(path: Path, how: str) -> np.ndarray:
    """What ``--how`` takes apart: a matrix of finite numbers, real phases, or the whole numbers of a permutation.

    Raises :class:`UserError` for any other file.
    """
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, BadZipFile) as error:
        raise UserError(f"{path}: not an array in NumPy's .npy format") from error
    axes, wanted = {
        "givens": (2, "a matrix of finite numbers"),
        "dense": (2, "a matrix of finite numbers"),
        "diagonal": (1, "a list of real, finite phases"),
        "permutation": (1, "a list of whole numbers"),
    }[how]
    if not isinstance(array, np.ndarray):
        raise UserError(f"{path}: --how {how} takes {wanted} in one .npy file, got an archive of several arrays")
    fits = array.dtype.kind in "iufc" and array.ndim == axes and array.size > 0 and bool(np.all(np.isfinite(array)))
    if fits and axes == 1:
        fits = bool(np.all(array.imag == 0)) and (how == "diagonal" or bool(np.all(array.real % 1 == 0)))
    if not fits:
        raise UserError(f"{path}: --how {how} takes {wanted}, got {array.dtype} of shape {array.shape} or other values")
    return array


def compile_run(
    folder: Path,
    prompt: str,
    run_seed: int | None,
    shots: int | None,
    seed: int,
    strengths: list[float],
    out: Path | None,
) -> dict[str, Any]:
    """A trained unitary model and a prompt as one circuit, compared with the model's own next-token distribution.

    Raises :class:`UserError` where the folder has no strictly unitary model.
    """
    from experiments.lm.generate import prompt_ids
    from experiments.lm.trained_models import one_a_model
    from qattn.circuits.compile.language_model import compile_model
    from qattn.lm.unitary import ControlledLM

    chosen = [t for t in one_a_model(folder, run_seed) if isinstance(t.model, ControlledLM) and t.model.strict]
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
            from qattn.circuits.analyse.noise import sweep

            result["noise"] = sweep(made.circuit, strengths, read=made.tokens)
        if out is not None:
            write_text(out, openqasm(made.circuit, 3))
            result["file"] = str(out)
    return result
