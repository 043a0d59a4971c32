"""A trained model of gates on a PennyLane device: what shots and noise make of its loss, and of a text it writes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.errors import UserError, blame
from experiments.lm.builders import load_task
from experiments.lm.evaluate import IGNORED
from experiments.lm.generate import prompt_ids
from experiments.lm.trained_models import Trained, one_a_model
from qattn.circuits.compile.language_model import check_backend, compile_angles, in_double

KINDS = ("circuit", "unitary")


def choose(folder: Path, run_seed: int | None) -> list[Trained]:
    """The trained models that are one circuit per position. Raises :class:`UserError` when there is none."""
    chosen = [t for t in one_a_model(folder, run_seed) if t.job.model.kind in KINDS and t.model.strict]
    if not chosen:
        raise UserError(f"{folder}: no trained model of kind {' or '.join(KINDS)} here; only these become circuits")
    return chosen


def checked(device: str, shots: int | None, noise: float) -> None:
    """Raise :class:`UserError` for a device, shots and noise that cannot be had together."""
    try:
        check_backend(device, shots, noise)
    except ValueError as error:
        raise UserError(str(error)) from error


def run_models(
    folder: Path, run_seed: int | None, device: str, shots: int | None, noise: float, positions: int, seed: int
) -> dict[str, Any]:
    """For every such model: its loss on the device beside its own, over positions spread evenly over the validation
    split.
    """
    checked(device, shots, noise)
    return {
        trained.name: on_device(trained, folder, device, shots, noise, positions, seed)
        for trained in choose(folder, run_seed)
    }


@torch.no_grad()
def on_device(
    trained: Trained, folder: Path, device: str, shots: int | None, noise: float, positions: int, seed: int
) -> dict[str, Any]:
    """One model. From shots, a token never seen has probability zero: one imagined shot, spread evenly over the
    vocabulary, is added before the logarithm.
    """
    clock = time.perf_counter()
    own, seen = [], []
    resources: dict[str, Any] = {}
    with blame(folder):
        exact = in_double(trained.model)
        for place, (window, position, target) in enumerate(spread(trained, positions)):
            made = compile_angles(exact, exact.angles(window[None, : position + 1])[:, 0, -1])
            mine = exact(window[None, : position + 1])[0, -1].exp().numpy()
            found = made.next_token(shots, seed + place, device, noise)
            if shots is not None:
                found = (shots * found + 1 / made.vocab) / (shots + 1)
            own.append((mine[target], mine))
            seen.append((found[target], found))
            resources = resources or made.circuit.resources()
    tiny = np.finfo(float).tiny
    ideal, measured = (-np.log(np.maximum([chance for chance, _ in rows], tiny)) for rows in (own, seen))
    gaps = np.array([found - mine for (_, mine), (_, found) in zip(own, seen, strict=True)])
    count = len(ideal)
    return {
        "device": device,
        "noise": noise,
        "shots": shots,
        "positions": count,
        "qubits": resources["qubits"],
        "gates": resources["gates"],
        "two_qubit": resources["two_qubit"],
        "depth": resources["depth"],
        "exact_nats": float(ideal.mean()),
        "device_nats": float(measured.mean()),
        "difference": float((measured - ideal).mean()),
        "standard_error": float((measured - ideal).std(ddof=1) / count**0.5) if count > 1 else None,
        "uniform_nats": float(np.log(gaps.shape[1])),
        "largest_difference": float(np.abs(gaps).max()),
        "total_variation": float(np.abs(gaps).sum(1).mean() / 2),
        "seconds_a_position": (time.perf_counter() - clock) / count,
    }


def spread(trained: Trained, positions: int) -> Iterator[tuple[torch.Tensor, int, int]]:
    """``positions`` places of the validation split, evenly over it: window, position, target."""
    inputs, targets = load_task(trained.job).windows()[0]
    places = (targets != IGNORED).nonzero()
    for index in np.unique(np.linspace(0, len(places) - 1, positions).round().astype(int)):
        row, position = (int(k) for k in places[index])
        yield inputs[row], position, int(targets[row, position])


@torch.no_grad()
def write_text(
    folder: Path, run_seed: int | None, prompt: str, tokens: int, device: str, noise: float, seed: int
) -> dict[str, str]:
    """A continuation by every such model, token by token: each is the outcome of a single shot."""
    checked(device, None, noise)
    texts = {}
    for trained in choose(folder, run_seed):
        ids = prompt_ids(prompt, trained.tokenizer)
        given, generator = len(ids), np.random.default_rng(seed)
        exact = in_double(trained.model)
        recent, memory = exact.control.start(1), exact.attention.start(1)
        for place in range(given + tokens - 1):
            control, recent = exact.control.step(torch.tensor(ids[place : place + 1]), recent)
            angles, memory = exact.attention.step(control, memory)
            if place >= given - 1:
                chances = compile_angles(exact, angles[:, 0]).next_token(1, seed + place, device, noise)
                ids.append(int(generator.choice(len(chances), p=chances)))  # the floor may replace the outcome
        texts[trained.name] = trained.tokenizer.decode(ids[given:])
    return texts
