"""Invented run records with the shape and the sizes of real ones."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

TASKS = {
    "tiny_shakespeare": {
        "kind": "text",
        "vocab": 65,
        "block": 64,
        "train_tokens": 1_003_854,
        "validation_tokens": 111_540,
        "characters_per_token": 1.0,
        "chance": math.log(65),
        "floor": {"unigram": 3.347, "bigram": 2.483, "trigram": 2.046, "4-gram": 1.784},
        "tokenizer": "character",
        "source": "tiny-Shakespeare, 1,115,394 bytes",
    },
}

MODELS = {  # final loss, spread over seeds, kind, parameters by group, FLOPs per token, tokens/s, MiB, unitary
    "gpt2_style": (
        1.776,
        0.008,
        "transformer",
        {"embeddings": 8_320, "register": 786_432, "head": 8_385},
        5.2e6,
        8300,
        410,
    ),
    "modern": (
        1.677,
        0.006,
        "transformer",
        {"embeddings": 8_320, "register": 786_432, "head": 8_320},
        5.1e6,
        7900,
        455,
    ),
    "unitary": (
        1.691,
        0.007,
        "unitary",
        {"embeddings": 12_480, "control": 512_000, "register": 92_160, "readout": 102_400},
        4.4e6,
        9100,
        380,
    ),
}

TEXTS = {
    "gpt2_style": "ROMEO:\nWhat say you, sir, the king is not the world,\nAnd I will be the heart of thine own stay.",
    "modern": "ROMEO:\nAy, but the morning hath a gentle eye;\nThy tongue doth speak of honour and of death.",
    "unitary": "ROMEO:\nThe sun shall rise in this, and we the hand\nThat turns the basis of a nobler grief.",
}


def record(task: str, model: str, seed: int, *, failed: bool = False) -> dict:
    """One run record, the same for the same arguments."""
    final, spread, kind, ledger, flops, speed, memory = MODELS[model]
    random = np.random.default_rng([seed, *model.encode()])
    shared = np.random.default_rng(seed).normal() * 0.006  # the seed's stream of tokens is the same for every model
    nats = final + shared + random.normal() * spread * 0.5
    unitary = kind == "unitary"
    steps = np.arange(0, 2001, 100)
    falling = nats + (math.log(65) - nats) * np.exp(-((steps / (420 if unitary else 330)) ** 0.62) * 1.9)
    falling += random.normal(size=len(steps)) * 0.012 * np.exp(-steps / 900)
    falling[-1] = nats
    train_steps = np.arange(0, 2000, 20)
    train = np.interp(train_steps, steps, falling) - 0.09 + random.normal(size=len(train_steps)) * 0.04
    if failed:
        falling, steps = falling[:6], steps[:6]
    size = (lambda low: float(low * math.exp(random.normal() * 0.2))) if unitary else (lambda low: float(low * 1e6))
    return {
        "schema": 1,
        "task": task,
        "model": model,
        "kind": kind,
        "strict": unitary,
        "seed": seed,
        "status": "failed" if failed else "done",
        "failure": {"step": 512, "reason": "the loss is not finite"} if failed else None,
        "parameters": sum(ledger.values()),
        "ledger": ledger,
        "flops_per_token": int(flops),
        "tokens_per_second": speed * (1 + 0.02 * random.normal()),
        "seconds": 1_536_000 / speed,
        "peak_memory_mib": memory,
        "steps": 512 if failed else 2000,
        "tokens_seen": 1_536_000,
        "threads": 1,
        "val_nats": None if failed else float(nats),
        "bits_per_char": None if failed else float(nats / math.log(2)),
        "accuracy": None,
        "audit": None
        if failed
        else {
            "norm_drift": size(2.4e-7),
            "inner_product_drift": size(3.1e-7),
            "linearity": size(4.0e-7),
            "reversal": size(6.2e-7) if unitary else None,
            "causality": 0.0,
            "completeness": size(1.9e-7) if unitary else None,
            "normalisation": 2.4e-7,
            "dtype": "float32",
            "budget": 1e-5,
            "passed": True if unitary else None,
            "reasons": {}
            if unitary
            else {"reversal": "a softmax block has no inverse", "completeness": "no measurement"},
        },
        "samples": []
        if failed
        else [
            {"prompt": "ROMEO:", "text": TEXTS[model], "temperature": 0.8, "top_k": 20},
            {"prompt": "To be", "text": TEXTS[model].replace("ROMEO:\n", "To be "), "temperature": 0.8, "top_k": 20},
        ],
        "history": {
            "train": [[int(s), float(v)] for s, v in zip(train_steps, train, strict=True)],
            "validation": [[int(s), float(v)] for s, v in zip(steps, falling, strict=True)],
        },
    }


def make_runs(seeds: int = 6, models=tuple(MODELS), tasks=tuple(TASKS)) -> list[dict]:
    return [record(task, model, seed) for task in tasks for model in models for seed in range(seeds)]


ENVIRONMENT = {
    "python": "3.11.2",
    "torch": "2.13.0",
    "numpy": "2.4.6",
    "qattn": "0.1.0",
    "platform": "Linux-6.1-x86_64",
    "processor": "an invented processor",
    "cores": 2,
    "threads": 1,
}

YAML = (
    "name: invented\ntasks:\n  tiny_shakespeare: {kind: text}\nmodels:\n  unitary: {kind: unitary, dim: 96}\nseeds: 6\n"
)


@pytest.fixture
def runs() -> list[dict]:
    return make_runs()


@pytest.fixture
def tasks() -> dict:
    return copy.deepcopy(TASKS)


@pytest.fixture
def make_run():
    return record


@pytest.fixture(scope="session")
def standard() -> tuple[list[dict], dict]:
    """Eighteen finished runs and a failed one; shared, so not to be changed."""
    return [*make_runs(), record("tiny_shakespeare", "unitary", 6, failed=True)], TASKS
