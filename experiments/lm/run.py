"""One run of an experiment: build, train, evaluate, audit, sample, record. Idempotent: its folder is its identity."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from classical.perplexity import bits
from experiments.errors import UserError
from experiments.lm.builders import build_for, ledger, load_task
from experiments.lm.contract import CountedModel, RepeatedModel, Tokens, claims_unitarity
from experiments.lm.evaluate import preparations
from experiments.lm.generate import continue_text
from experiments.lm.train import Diverged, Watch, collapse, fit
from experiments.lm.trained_models import load
from experiments.lm.unitarity_audit import audit_model
from experiments.runs import atomic_files, checkpoint, state_file
from experiments.runs.environment import peak_memory_mib, reset_peak_memory
from experiments.runs.event_log import Event
from experiments.runs.json_files import checksum
from experiments.runs.run_folder import RunFolder
from experiments.schema import Job
from experiments.tasks import Task, TokenTask

AUDITED = (4, 64)
"""Texts and their length in an audit: the first windows of the validation split."""


def folder_name(job: Job) -> str:
    """One folder a run, told apart by what changes its result."""
    readable = f"{job.task_name}-{job.model_name}".replace("/", "_").replace(" ", "_")
    return f"{readable}-s{job.seed}-{job.identity()[:8]}"


def identity_in(folder: Path) -> str:
    """The digits of a run's identity that its folder's name ends with."""
    return folder.name.rpartition("-")[2]


def run_job(
    job: Job,
    folder: Path,
    sample: dict[str, Any] | None,
    watch: Watch = lambda _: None,
    asked: str = "",
) -> dict[str, Any]:
    """Bring one run to its end and return its record, resuming wherever an earlier attempt stopped.

    Without ``sample`` it is a trial: the validation loss is all that is asked of it, and its weights are not kept.
    ``asked`` is the beginning of the identity that the run was started under. Raises :class:`UserError` where the text
    has changed since, so that what is recorded is always the identity of the bytes trained on.
    """
    run = RunFolder(folder)
    record = run.result()
    if record is not None:
        return record if sample is None else sampled_again(run, record, sample)
    torch.set_num_threads(job.training.threads)
    reset_peak_memory()
    identity = job.identity()
    task = load_task(job)
    if job.identity() != identity or not identity.startswith(asked):
        text = ", ".join(map(str, job.task.files()))
        raise UserError(f"{text}: changed while the experiment was running; put it back, or choose another --out")
    model = build_for(job, task)
    atomic_files.write_text(folder / "config.yaml", job.to_yaml())
    atomic_files.write_text(run.tokenizer, task.tokenizer.to_json())
    failure = None
    began, began_cpu = time.perf_counter(), time.process_time()
    try:
        counters = fit(model, task, job.training, job.model.optimizer, job.seed, run, watch)
        seconds, cpu, steps, events = counters.seconds, counters.cpu_seconds, counters.step, counters.events
    except Diverged as problem:
        kept = "; the last checkpoint before it is kept" if state_file.exists(run.checkpoint) else ""
        failure = {"step": problem.step, "reason": f"{problem}{kept}"}
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        steps, events = problem.step, problem.events
    finally:
        run.close()
    seen = len(task.train) if isinstance(model, CountedModel) else steps * job.training.batch * task.span  # type: ignore[attr-defined]
    record = describe(job, task, model, events) | {
        "identity": identity,
        "status": "failed" if failure else "done",
        "failure": failure,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "steps": steps,
        "tokens_seen": seen,
        "tokens_per_second": seen * job.training.threads / cpu if cpu else 0.0,
        "peak_memory_mib": peak_memory_mib(),
    }
    if failure is None and sample is None:
        record["val_nats"] = final_nats(events, steps)
    elif failure is None:
        about = {"job": job.to_dict(), "tokenizer": checksum(task.tokenizer.to_json())}
        state_file.save(run.model, checkpoint.weights(model), about)
        record |= judge(model, task, final_nats(events, steps), sample or {}, job.seed) | {"drawn": sample}
    run.finish(record)
    return record


def sampled_again(run: RunFolder, record: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    """The record of a finished run with a sample drawn as ``sample`` says; the kept one where it was drawn so.

    Runs of qattn 0.1.0 do not say how many tokens were asked for: theirs stays unless something else differs.
    """
    kept = record["samples"][0] if record.get("samples") else None
    if record["status"] != "done" or kept is None or record.get("drawn") == sample:
        return record
    same = kept["temperature"] == sample["temperature"] and kept["top_k"] == sample["top_k"]
    if "drawn" not in record and same and sample["prompt"] in (None, kept["prompt"]):
        return record
    trained = load(run.path)
    samples = write(trained.model, load_task(trained.job), sample, trained.job.seed)
    record = record | {"samples": samples, "drawn": sample}
    run.finish(record)
    return record


def audited_windows(task: Task) -> Tokens:
    """The texts that models are audited on."""
    return task.windows()[0][0][: AUDITED[0], : AUDITED[1]]


def final_nats(events: list[Event], steps: int) -> float:
    """The validation loss of the weights after the last step."""
    (value,) = (event["val_nats"] for event in events if "val_nats" in event and event["step"] == steps)
    return float(value)


def describe(job: Job, task: Task, model: Any, events: list[Event]) -> dict[str, Any]:
    """What is known of a run however it ended."""
    history: dict[str, list[list[float]]] = {"train": [], "validation": []}
    for event in events:
        if "train_nats" in event:
            history["train"].append([event["step"], event["train_nats"]])
        if "val_nats" in event:
            history["validation"].append([event["step"], event["val_nats"]])
    parts = ledger(model)
    return {
        "schema": 1,
        "task": job.task_name,
        "model": job.model_name,
        "kind": job.model.kind,
        "rung": job.model.rung,
        "classical": job.model.claims_nothing_quantum,
        "states": job.model.states,
        "strict": claims_unitarity(model),
        "seed": job.seed,
        "parameters": sum(parts.values()),
        "ledger": parts,
        "flops_per_token": model.flops_per_token(task.span),
        "threads": job.training.threads,
        "history": history,
        "val_nats": None,
        "test_nats": None,
        "bits_per_char": None,
        "accuracy": None,
        "splits": {},
        "preparations": None,
        "audit": None,
        "samples": [],
        "collapse": collapse(history["train"]),
    }


def judge(model: Any, task: Task, nats: float, sample: dict[str, Any], seed: int) -> dict[str, Any]:
    """Loss on the whole validation split, what the task itself asks, the audit, and a sample."""
    per_token, measured = task.characters_per_token, task.examine(model)
    shown = measured.get("test_nats", nats)
    return {
        "val_nats": nats,
        "bits_per_char": None if per_token is None else bits(shown) / per_token,
        **measured,
        "preparations": _preparations(model, task) if isinstance(model, RepeatedModel) else None,
        "audit": audit_model(model, audited_windows(task)),
        "samples": write(model, task, sample, seed),
    }


def _preparations(model: Any, task: Task) -> dict[str, float]:
    """Preparations of the register per token, on the split of the results."""
    return preparations(model, task.result_windows() if isinstance(task, TokenTask) else task.windows())


def write(model: Any, task: Task, sample: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """The sample of the report; none where a task's targets do not continue its inputs."""
    prompt = task.prompt(sample["prompt"])
    if prompt is None:
        return []
    drawing = {"temperature": sample["temperature"], "top_k": sample["top_k"]}
    ids = continue_text(model, task.tokenizer, prompt, sample["tokens"], **drawing, seed=seed)
    return [{"prompt": prompt, "text": task.tokenizer.decode(list(islice(ids, sample["tokens"]))), **drawing}]
