"""Runs side by side through dask.distributed: a local cluster of processes, or any scheduler that is already there.

A run is idempotent (its folder is its identity, result.json its state), so a killed worker's run is simply tried again
and goes on from its checkpoint. With a remote scheduler the output folder must be on a file system all workers share.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.lm.run import run_job
from experiments.runs.progress import Progress
from experiments.runs.run_folder import RunFolder
from experiments.schema import Job

RETRIES = 2


def run_all(
    places: list[tuple[Job, Path]],
    sample: dict[str, Any] | None,
    progress: Progress,
    *,
    workers: int,
    scheduler: str | None,
) -> None:
    """Bring every run to its end, ``workers`` at a time; progress comes from the runs' own logs."""
    with _client(workers, scheduler) as client:
        futures = {}
        for job, folder in places:
            key = f"{folder.name}-{time.time_ns()}"
            future = client.submit(run_job, job, folder.resolve(), sample, key=key, retries=RETRIES, pure=False)
            futures[future] = (job, folder)
        seen: dict[Path, int] = {}
        try:
            while futures:
                for future, (job, folder) in list(futures.items()):
                    over = future.done()  # asked before the log is read, so that no event of a finished run is missed
                    for number, event in enumerate(RunFolder(folder).events()):
                        if number >= seen.get(folder, 0):
                            progress.update(job, {**event, "steps": job.training.steps})
                            seen[folder] = number + 1
                    if over:
                        progress.finished(job, future.result())
                        del futures[future]
                time.sleep(0.5)
        finally:
            client.cancel(list(futures), force=True)


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, TimeoutError, ValueError) as error:
            raise UserError(f"--scheduler {scheduler}: no dask scheduler answers there ({error})") from error
        with client:
            yield client
        return
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client
