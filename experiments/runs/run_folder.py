"""One folder a run: what it was asked, what it measured, what it became.

RUN/config.yaml            the resolved job
RUN/metrics.jsonl          a line an event, flushed as it happens
RUN/checkpoint.safetensors the training state (gone when the run is done)
RUN/model.safetensors      the trained weights, the job in its metadata
RUN/tokenizer.json         text to ids and back
RUN/result.json            written last: its existence *is* "done"
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from experiments.errors import UserError
from experiments.runs import atomic_files


@dataclass
class RunFolder:
    """Paths and records of one run."""

    path: Path
    _metrics: IO[str] | None = field(default=None, repr=False)

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def model(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    def result(self) -> dict[str, Any] | None:
        """The finished run's record, or None while it is not done; one sentence for a file that is none."""
        path = self.path / "result.json"
        if not path.exists():
            return None
        record = read_json(path)
        if not isinstance(record, dict) or not {"task", "model", "seed", "status", "seconds"} <= record.keys():
            raise UserError(f"{path}: is not the record of a run; delete it and repeat the command")
        return record

    def finish(self, record: dict[str, Any]) -> None:
        """Mark the run done; the training state is no longer needed."""
        self.close()
        atomic_files.write_json(self.path / "result.json", record)
        self.checkpoint.unlink(missing_ok=True)

    def rewind(self, step: int) -> list[dict[str, Any]]:
        """Forget events after ``step`` (they will happen again) and open the log for more; returns the kept events."""
        kept = [event for event in self.events() if event["step"] <= step]
        self.path.mkdir(parents=True, exist_ok=True)
        atomic_files.write_text(self.metrics, "".join(json.dumps(event) + "\n" for event in kept))
        self._metrics = open(self.metrics, "a", buffering=1, encoding="utf-8")  # noqa: SIM115
        return kept

    def log(self, event: dict[str, Any]) -> None:
        """Append one event; line-buffered, so a kill loses at most the line being written."""
        assert self._metrics is not None, "rewind() opens the log"
        self._metrics.write(json.dumps(event, allow_nan=False) + "\n")

    def close(self) -> None:
        if self._metrics is not None:
            self._metrics.flush()
            os.fsync(self._metrics.fileno())
            self._metrics.close()
            self._metrics = None

    def events(self) -> Iterator[dict[str, Any]]:
        """What the log holds; a half-written last line (kill -9) is passed over."""
        if not self.metrics.exists():
            return
        with open(self.metrics, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def read_json(path: Path) -> Any:
    """Parsed JSON; one sentence when it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error}); delete it and repeat the command") from error
