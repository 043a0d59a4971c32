"""One folder per run: what it was asked, what it measured, what it became.

RUN/config.yaml                      the resolved job
RUN/metrics.jsonl                    one line per event, flushed as it happens
RUN/checkpoint.safetensors           the training state (gone when the run is done, kept when it failed)
RUN/checkpoint.previous.safetensors  the state before it
RUN/model.safetensors                the trained weights, the job in its metadata
RUN/tokenizer.json                   text to ids and back
RUN/result.json                      written last: its existence *is* "done"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.runs import state_file
from experiments.runs.event_log import Event, EventLog
from experiments.runs.json_files import AGAIN, read_record, write_record


@dataclass
class RunFolder:
    """Paths and records of one run."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        """The whole training state."""
        return self.path / "checkpoint.safetensors"

    @property
    def model(self) -> Path:
        """The trained weights."""
        return self.path / "model.safetensors"

    @property
    def tokenizer(self) -> Path:
        """The tokenizer that the model was trained with."""
        return self.path / "tokenizer.json"

    @cached_property
    def metrics(self) -> EventLog:
        """The log of the training."""
        return EventLog(self.path / "metrics.jsonl")

    def result(self) -> dict[str, Any] | None:
        """The finished run's record, or None while it is not done.

        Raises :class:`UserError` for a file that is damaged or is not the record of a run.
        """
        path = self.path / "result.json"
        if not path.exists():
            return None
        needs = {"task", "model", "seed", "status", "seconds"}
        record = read_record(path, what="the record of a run", needs=needs)
        if record["status"] == "done" and not isinstance(record.get("val_nats"), int | float):
            raise UserError(f"{path}: is not the record of a run (done, and val_nats is no number); {AGAIN}")
        return record

    def finish(self, record: Mapping[str, Any]) -> None:
        """Mark the run done. Its training state is no longer needed, unless it failed: then the last one is kept."""
        self.close()
        write_record(self.path / "result.json", record)
        if record["status"] == "done":
            state_file.remove(self.checkpoint)

    def rewind(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Make ``events`` the log's content and open it for more; whether the log agreed."""
        return self.metrics.rewind(events)

    def log(self, event: Mapping[str, Any]) -> None:
        """Append one event to the log."""
        self.metrics.add(event)

    def close(self) -> None:
        """Push the log to the disk."""
        self.metrics.close()

    def events(self) -> Iterator[Event]:
        """What the log holds."""
        return self.metrics.events()
