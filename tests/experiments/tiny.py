"""A tiny experiment that trains in seconds, shared by the tests of training and of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.schema import Experiment, load_experiment

VERSE = "the cat sat on the mat and the dog sat on the log while rain fell over hill and vale"

YAML = """\
name: tiny
task: {kind: text, path: verse.txt, block: 16}
models:
  classical: {kind: transformer, dim: 16, layers: 1, heads: 2}
  unitary: {kind: unitary, dim: 12, layers: 2, heads: 2, key_dim: 4, control: additive, embedding: 8, rank: 2}
training: {steps: 20, batch: 4, evaluate_every: 10, checkpoint_every: 5, log_every: 5}
seeds: 2
output: {sample: {prompt: "the ", tokens: 20}}
"""


def experiment(folder: Path, *overrides: str) -> Experiment:
    """The tiny experiment, its text and YAML written to ``folder``."""
    words = VERSE.split()
    text = " ".join(words[(i * i + i // 7) % len(words)] for i in range(400))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verse.txt").write_text(text, encoding="utf-8")
    (folder / "tiny.yaml").write_text(YAML, encoding="utf-8")
    return load_experiment(folder / "tiny.yaml", list(overrides))


def losses(events: Any) -> list[tuple[int, float]]:
    """What a run's log says of the loss, without the timing."""
    return [(e["step"], e[k]) for e in events for k in ("train_nats", "val_nats") if k in e]
