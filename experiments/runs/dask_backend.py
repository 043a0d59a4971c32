"""Pieces of work side by side through dask.distributed: a local cluster of processes, or a scheduler already there.

A piece is idempotent (its folder is its identity, what lies there its state), so one whose worker was killed is tried
again and resumes from its checkpoint. With a remote scheduler the folder must be on a file system all workers share.
Pieces start in the order they are given in. One runs at a time in a process, however many threads its worker has:
torch's global random generator and the clock of processor time are the process's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.runs.event_log import Event, EventLog

RETRIES = 2
PATIENCE = 10.0
"""Seconds in which a scheduler that is there answers."""
_ALONE = threading.Lock()
IGNORE_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""What a local worker runs first: Ctrl-C goes to the whole group, and it is the parent that ends its workers."""


@dataclass(frozen=True)
class Piece:
    """What ``call`` does in ``folder``, where it logs; both go to another process."""

    folder: Path
    call: Callable[[], Any]


def alone(call: Callable[[], Any]) -> Any:
    """``call``'s result; of all threads of this process, one at a time is in here."""
    with _ALONE:
        return call()


def run_all(
    pieces: Sequence[Piece],
    heard: Callable[[int, Event], None],
    ended: Callable[[int, Any], None],
    *,
    workers: int,
    scheduler: str | None,
) -> None:
    """Bring every piece to its end, ``workers`` at a time.

    ``heard`` gets the events that a piece logs from now on, ``ended`` what it returned, both with the piece's number.
    Raises :class:`UserError` when no scheduler answers, when it is lost, or when a piece's workers die again and again;
    what is finished stays finished.
    """
    logs = [EventLog(piece.folder / "metrics.jsonl") for piece in pieces]
    seen = [sum(1 for _ in log.events()) for log in logs]
    with _client(workers, scheduler) as client, _losses_told(scheduler):
        waiting = {
            client.submit(
                alone, piece.call, key=f"{piece.folder.name}-{time.time_ns()}", retries=RETRIES, priority=-number,
                pure=False,
            ): number
            for number, piece in enumerate(pieces)
        }  # fmt: skip
        try:
            while waiting:
                for future, number in list(waiting.items()):
                    over = future.done()  # asked before the log is read, so that no event of a finished one is missed
                    events = list(logs[number].events())
                    for event in events[seen[number] :]:
                        heard(number, event)
                    seen[number] = len(events)  # fewer than before where a resumed piece has rewound its log
                    if over:
                        ended(number, future.result())
                        del waiting[future]
                time.sleep(0.5)
        finally:
            client.cancel(list(waiting), force=True)


@contextmanager
def _losses_told(scheduler: str | None) -> Iterator[None]:
    """Turn what dask raises for a lost scheduler or worker into one sentence."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    where = f"--scheduler {scheduler}" if scheduler else "--workers"
    try:
        yield
    except KilledWorker as error:
        reason = f"the worker died {RETRIES + 1} times in {error.task}, perhaps for want of memory"
        raise UserError(f"{where}: {reason}; use fewer workers or a smaller model and repeat the command") from None
    except (CancelledError, CommClosedError) as error:
        raise UserError(
            f"{where}: the scheduler was lost ({type(error).__name__}); what is finished is kept, repeat the command"
        ) from None


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    for name in ("distributed", "distributed.client", "distributed.core", "distributed.utils", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said below, in one sentence
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            raise UserError(f"--scheduler {scheduler}: no dask scheduler answers there ({error})") from error
        with client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, preload=[IGNORE_INTERRUPT],
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client
