"""``metrics.jsonl``: one JSON object per line, written as the work goes on, for people, progress and plots.

The log is never the truth about a run. What a resumed run needs of its past is in its state file, and the log is
written anew from there, so that a log that a power cut left behind, or ahead, changes no result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from experiments.runs import atomic_files

Event = dict[str, Any]


class EventLog:
    """The log at ``path``; :meth:`rewind` opens it for writing, and leaving its ``with`` block closes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rewind(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Make ``events`` the log's content and open it for more; whether the log held them before (and perhaps more,
        which will happen again).
        """
        self.close()
        agreed = list(self.events())[: len(events)] == list(events)
        atomic_files.write_text(self.path, "".join(json.dumps(event) + "\n" for event in events))
        self._file = open(self.path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115
        return agreed

    def add(self, event: Mapping[str, Any]) -> None:
        """Append one event; line-buffered, so a kill loses at most the line being written."""
        assert self._file is not None, "rewind() opens the log"
        self._file.write(json.dumps(event, allow_nan=False) + "\n")

    def close(self) -> None:
        """Push what was written to the disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def events(self) -> Iterator[Event]:
        """What the log holds. A line that is no event (half-written by a kill, damaged) is passed over."""
        if not self.path.exists():
            return
        with open(self.path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(event, dict) and isinstance(event.get("step"), int):
                    yield event
