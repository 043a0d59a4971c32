"""What a person sees while runs go on: a live table on a terminal, one plain line an evaluation elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from experiments.lm.results_schema import floor_title
from experiments.schema import Job


class Progress:
    """Shows every run with its step, loss, speed and time left, and the time left for the whole experiment."""

    def __init__(self, jobs: list[Job], quiet: bool = False) -> None:
        from rich.console import Console

        self.jobs = jobs
        self.quiet = quiet
        self.console = Console(stderr=True)
        self.rows: dict[tuple[str, str, int], dict[str, Any]] = {self._key(job): {} for job in jobs}
        self.done: dict[tuple[str, str, int], float] = {}
        self.began = time.perf_counter()
        self.live: Any = None
        self._drawn = 0.0

    @staticmethod
    def _key(job: Job) -> tuple[str, str, int]:
        return job.task_name, job.model_name, job.seed

    def add(self, jobs: list[Job]) -> None:
        """More runs than were known at first (a search that goes on past its edge); known ones stay as they are."""
        new = [job for job in jobs if self._key(job) not in self.rows]
        self.jobs = [*new, *self.jobs]
        self.rows |= {self._key(job): {} for job in new}

    def __enter__(self) -> Progress:
        if self.console.is_terminal and not self.quiet:
            from rich.live import Live

            self.live = Live(self._table(), console=self.console, auto_refresh=False, transient=True)
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None

    def update(self, job: Job, event: dict[str, Any]) -> None:
        """One event of a run's log."""
        if "note" in event:
            self.note(f"{job.model_name} on {job.task_name}, seed {job.seed}: {event['note']}")
            return
        self.rows[self._key(job)].update(event)
        if self.live is not None:
            now = time.perf_counter()
            if now - self._drawn > 0.25:
                self._drawn = now
                self.live.update(self._table(), refresh=True)
        elif "val_nats" in event:
            self._line(job)

    def finished(self, job: Job, record: dict[str, Any]) -> None:
        """A run has its result (now, or from an earlier command)."""
        key = self._key(job)
        self.done[key] = record["seconds"]
        row = self.rows[key]
        fresh = bool(row)
        row.update({"step": record["steps"], "val_nats": record["val_nats"], "status": record["status"]})
        if record["status"] == "failed":
            self.note(f"{job.model_name} on {job.task_name}, seed {job.seed}: stopped, {record['failure']['reason']}")
        elif record.get("collapse"):
            fall = "from {from:.2f} to {to:.2f} nats at step {step} and did not come back".format(**record["collapse"])
            self.note(f"{job.model_name} on {job.task_name}, seed {job.seed}: collapsed, {fall}")
        elif not fresh and self.live is None:
            nats = f"{record['val_nats']:.4f} nats"
            self.note(f"{job.model_name} on {job.task_name}, seed {job.seed}: done before, {nats}")
        if self.live is not None:
            self.live.update(self._table(), refresh=True)

    def note(self, sentence: str) -> None:
        """A line that stays."""
        if not self.quiet:
            self.console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def say(self, summary: dict[str, Any], page: Path) -> None:
        """The end: the table in short and where the report lies."""
        from rich.table import Table

        several = len(summary["tasks"]) > 1
        table = Table("model", "nats (or accuracy) [interval]", "parameters", "tokens/s", "audit", box=None)
        for task, result in summary["tasks"].items():
            if several:
                table.add_row(task, style="bold")
            for name, value in result["floor"].items():
                table.add_row(floor_title(name), f"{value:.4f}", "", "", "", style="dim")
            for name, model in result["models"].items():
                nats = model[result["metric"]]
                interval = "" if nats.get("low") is None else f" [{nats['low']:.4f}, {nats['high']:.4f}]"
                passed = (model.get("audit") or {}).get("passed")
                table.add_row(
                    name, "failed" if nats["mean"] is None else f"{nats['mean']:.4f}{interval}",
                    f"{model['parameters']:,}", f"{model['tokens_per_second']:,.0f}",
                    {True: "unitary", False: "NOT unitary", None: "not claimed"}[passed],
                )  # fmt: skip
        out = type(self.console)(file=sys.stdout)
        out.print(table)
        rows = [row for result in summary["tasks"].values() for row in result.get("published", [])]
        if rows:
            out.print(published_table(rows))
        out.print(f"report: {page}", highlight=False, soft_wrap=True)

    def _line(self, job: Job) -> None:
        row = self.rows[self._key(job)]
        left = row.get("seconds_left")
        self.note(
            f"{job.model_name} on {job.task_name}, seed {job.seed}: step {row['step']}/{row['steps']}, "
            f"validation {row['val_nats']:.4f} nats, {row.get('tokens_per_second', 0):,.0f} tokens/s"
            + (f", {clock(left)} left in this run" if left else "")
            + (f", {clock(total)} left in all" if (total := self._seconds_left()) else "")
        )

    def _seconds_left(self) -> float | None:
        """Of the whole experiment, judging by the share of steps already done since it began."""
        made = wanted = 0
        for job in self.jobs:
            row = self.rows[self._key(job)]
            step = row.get("step", 0)
            made += step if "train_nats" in row else 0  # trained now, not by an earlier command
            wanted += 0 if self._key(job) in self.done else job.training.steps - step
        return (time.perf_counter() - self.began) / made * wanted if made else None

    def _table(self) -> Any:
        from rich.table import Table

        left = self._seconds_left()
        title = f"{len(self.done)} of {len(self.jobs)} runs" + (f", {clock(left)} left" if left else "")
        table = Table("run", "step", "training", "validation", "tokens/s", "left", title=title, box=None)
        for job in self.jobs:
            row = self.rows[self._key(job)]
            if not row and len(self.jobs) > 24:
                continue
            table.add_row(
                f"{job.model_name} · {job.task_name} · {job.seed}",
                f"{row.get('step', 0)}/{job.training.steps}",
                *(f"{row[key]:.4f}" if row.get(key) is not None else "" for key in ("train_nats", "val_nats")),
                f"{row['tokens_per_second']:,.0f}" if "tokens_per_second" in row else "",
                row.get("status") or (clock(row["seconds_left"]) if row.get("seconds_left") else ""),
            )
        return table


def published_table(rows: list[dict[str, Any]]) -> Any:
    """Published figures beside ours, for a terminal."""
    from rich.table import Table

    from experiments.stats.published import lines

    table = Table("model", "figure", "published", "ours", "difference", "tolerance", box=None)
    for row in lines(rows):
        table.add_row(*row[:-1])  # the sources are in the report
    return table


def clock(seconds: float) -> str:
    """Seconds as a person says them: 45 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
