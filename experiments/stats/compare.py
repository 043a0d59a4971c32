"""From run records to one summary: model × task with mean, interval and cost, the paired tests, and what failed.

A run record is the plain dictionary of a run's ``result.json``; this module reads no files and trains nothing. No run
is dropped in silence: a failed one is listed with its step and reason, and each mean says how many seeds it has.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from experiments.schema.audit_columns import AUDIT_COLUMNS
from experiments.schema.experiment import BEST_CLASSICAL
from experiments.schema.model_base import ModelConfig
from experiments.schema.model_kinds import MODELS
from experiments.stats.accuracy import accuracy_interval
from experiments.stats.comparisons import conclude
from experiments.stats.price_split import price
from experiments.stats.published import against_published
from experiments.stats.scaling import scaling_laws
from experiments.stats.seed_pairs import fewest, pair_by_seed
from experiments.stats.statistics import t_interval

LARGEST = ("parameters", "flops_per_token", "peak_memory_mib", "steps", "tokens_seen", "threads")
"""Costs of which a model's entry keeps the largest over its seeds; of the others, ``AVERAGED``, the mean."""

AVERAGED = ("tokens_per_second", "seconds")

METRICS = ("test_nats", "val_nats", "accuracy")
"""What a task can be judged by. Choices (rates, the best classical model) never see test_nats."""

Run = Mapping[str, Any]


def summarise(
    runs: Sequence[Run],
    tasks: Mapping[str, Mapping[str, Any]],
    comparison: Mapping[str, Any] | None,
    name: str,
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of ``results.json``. ``about`` is repeated in it (:func:`experiments.lm.results_schema.about`).

    ``comparison`` may hold ``confidence`` (0.95), ``equivalence`` (a margin in nats, 0 for none), ``reference``
    (a model's name, "best classical", or None for all pairs) and ``metric`` (one of `METRICS`; by default the first
    of them that a task's runs measured). Raises ValueError for two records of one task, model and seed.
    """
    given = {key: value for key, value in (comparison or {}).items() if value is not None}
    options = {"confidence": 0.95, "equivalence": 0.0, "reference": None, "metric": None, **finite(given)}
    options |= {"confidence": float(options["confidence"]), "equivalence": float(options["equivalence"])}
    seen: set[tuple[Any, ...]] = set()
    for run in runs:
        identity = (run["task"], run["model"], run["seed"])
        if identity in seen:
            raise ValueError("two runs of task {!r}, model {!r}, seed {}: expected one".format(*identity))
        seen.add(identity)
    names = list(dict.fromkeys([*tasks, *(run["task"] for run in runs)]))
    summary: dict[str, Any] = {
        "schema": 1,
        "name": name,
        "description": "",
        "models": sorted({run["model"] for run in runs}),
        "sweeps": {},
        "twins": {},
        "search": None,
        **finite(about or {}),
        "comparison": options,
        "tasks": {},
        "scaling": [],
        "failed": [],
        "collapsed": [],
    }
    for task in names:
        mine = [run for run in runs if run["task"] == task]
        summary["tasks"][task] = _task(mine, tasks.get(task, {}), options)
        entry = summary["tasks"][task]
        entry["split"] = price(entry, summary["twins"], options["confidence"])
        stated, level = options.get("published") or [], options["confidence"]
        summary["tasks"][task]["published"] = against_published(stated, task, len(names) == 1, mine, level)
    summary["scaling"] = scaling_laws(summary["tasks"], runs, options["confidence"])
    tests = [test for task in summary["tasks"].values() for test in task["tests"]]
    conclude(tests, options["confidence"], options["equivalence"])
    summary["failed"] = [
        {"task": run["task"], "model": run["model"], "seed": run["seed"], **_failure(run)}
        for run in sorted(runs, key=_identity)
        if run["status"] != "done"
    ]
    summary["collapsed"] = [
        {"task": run["task"], "model": run["model"], "seed": run["seed"], **finite(run["collapse"])}
        for run in sorted(runs, key=_identity)
        if run.get("collapse")
    ]
    return summary


def metric_of(runs: Sequence[Run], wanted: str | None = None) -> str:
    """What a task is judged by: ``wanted`` if given, else the first of `METRICS` that any run measured.

    Raises ValueError for a metric that is none of them.
    """
    if wanted is not None:
        if wanted not in METRICS:
            raise ValueError(f"the metric of a comparison is {', '.join(METRICS[:-1])} or accuracy, got {wanted!r}")
        return wanted
    measured = (key for key in METRICS if any(_number(run.get(key)) is not None for run in runs))
    return next(measured, "val_nats")


def chosen_first(task: Mapping[str, Any]) -> list[str]:
    """The measured models of a summarised task, best first as far as a choice may know it: where the results are those
    of a test split, by the validation loss.
    """
    models, metric = task["models"], task["metric"]
    seen = "val_nats" if metric == "test_nats" else metric
    sign = -1 if metric == "accuracy" else 1
    measured = [name for name in models if models[name][metric]["mean"] is not None]
    return sorted(measured, key=lambda name: sign * models[name][seen]["mean"])


def finite(value: Any) -> Any:
    """``value`` with every NaN and Infinity inside replaced by None, so that it can be written as JSON."""
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(runs: Sequence[Run]) -> str:
    """The content of ``results.csv``: one row per run, done or failed; a missing number is an empty cell."""
    groups = sorted({group for run in runs for group in run.get("ledger") or {}})
    columns = ["task", "model", "kind", "seed", "status", "failure_step", "failure_reason", "val_nats", "test_nats"]
    columns += ["bits_per_char", "accuracy", *LARGEST, *AVERAGED, *(f"ledger_{group}" for group in groups)]
    columns += [f"audit_{key}" for key in (*AUDIT_COLUMNS, "dtype", "budget", "passed")]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for run in sorted(runs, key=_identity):
        failure = _failure(run) if run["status"] != "done" else {}
        row = {key: _cell(value) for key, value in run.items()}
        row |= {f"failure_{key}": _cell(value) for key, value in failure.items()}
        row |= {f"ledger_{key}": _cell(value) for key, value in (run.get("ledger") or {}).items()}
        row |= {f"audit_{key}": _cell(value) for key, value in (run.get("audit") or {}).items()}
        writer.writerow(row)
    return text.getvalue()


def _task(runs: Sequence[Run], facts: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    metric = metric_of(runs, options["metric"] or facts.get("metric"))
    floor = {key: _number(value) for key, value in (facts.get("floor") or {}).items()}
    models = {}
    for name in dict.fromkeys(run["model"] for run in runs):
        models[name] = _model([run for run in runs if run["model"] == name], options["confidence"])
    sign = -1 if metric == "accuracy" else 1

    def rank(name: str) -> tuple[bool, float, str]:
        mean = models[name][metric]["mean"]
        return (mean is None, 0.0 if mean is None else sign * mean, name)

    ordered = {name: models[name] for name in sorted(models, key=rank)}
    entry = {**finite(facts), "metric": metric, "floor": floor, "reference": None, "models": ordered}
    entry["reference"] = reference = _reference(entry, options["reference"])
    entry["best_classical"] = _reference(entry, BEST_CLASSICAL)
    pairs = list(combinations(ordered, 2)) if options["reference"] is None else _against(ordered, reference)
    entry["tests"] = pair_by_seed(pairs, ordered, metric, options["confidence"])
    if not entry["tests"]:
        entry["tests_reason"] = (
            "no second model to compare with" if len(models) < 2 else "the reference has no run here"
        )
    return entry


def _model(runs: Sequence[Run], level: float) -> dict[str, Any]:
    """One model on one task: estimates over the seeds that finished, costs, the worst audit, the seeds that failed."""
    done = sorted((run for run in runs if run["status"] == "done"), key=lambda run: run["seed"])
    kind = MODELS.get(runs[0]["kind"], ModelConfig)  # for records that do not say rung and classical themselves
    entry: dict[str, Any] = {
        "kind": runs[0]["kind"],
        "rung": runs[0].get("rung") or kind.rung,
        "classical": bool(runs[0].get("classical", kind.classical)),
        "strict": _strict(runs),
        "states": runs[0].get("states"),
        "seeds": {"attempted": len(runs), "done": [run["seed"] for run in done]},
        "failed": [
            {"seed": run["seed"], **_failure(run)} for run in sorted(runs, key=_identity) if run["status"] != "done"
        ],
    }
    for key in (*METRICS, "bits_per_char"):
        entry[key] = _estimate(done, key, level)
    splits = dict.fromkeys(name for run in done for name in run.get("splits") or {})
    entry["splits"] = {name: _estimate([_split(run, name) for run in done], name, level) for name in splits}
    entry["perplexity"] = _perplexity(entry["test_nats" if entry["test_nats"]["n"] else "val_nats"])
    entry["curves"] = {str(run["seed"]): finite((run.get("history") or {}).get("validation", [])) for run in done}
    source = done or runs
    for key in (*LARGEST, *AVERAGED):
        values = [value for run in source if (value := _number(run.get(key))) is not None]
        entry[key] = None if not values else max(values) if key in LARGEST else math.fsum(values) / len(values)
    entry["ledger"] = dict(next((run["ledger"] for run in source if run.get("ledger")), {}))
    entry["audit"] = _audit(done)
    entry["preparations"] = _preparations(done)
    return entry


def _preparations(done: Sequence[Run]) -> dict[str, float] | None:
    """Expected preparations of the register per token: ``mean`` and ``median`` averaged over the seeds, ``most`` of any
    text and seed; None where each token takes one."""
    found = [run["preparations"] for run in done if run.get("preparations")]
    if not found:
        return None
    averaged = {key: math.fsum(each[key] for each in found) / len(found) for key in ("mean", "median")}
    return {**averaged, "most": max(each["most"] for each in found)}


def _split(run: Run, name: str) -> Run:
    """A run as if its only number were that of one split; a share where its ``accuracy`` is one."""
    return {"seed": run["seed"], name: (run.get("splits") or {}).get(name), "accuracy": run.get("accuracy"),
            "examples": run.get("examples")}  # fmt: skip


def _estimate(done: Sequence[Run], key: str, level: float) -> dict[str, Any]:
    """Mean and interval over the seeds that have this number, with the reason wherever something is null.

    Of a loss Student's interval; of a share of right answers one that stays within [0, 1] and knows how many test
    examples there were (``examples`` of the records, by split).
    """
    values = {run["seed"]: float(value) for run in done if (value := _number(run.get(key))) is not None}
    share = key not in ("test_nats", "val_nats", "bits_per_char") and any(
        _number(run.get("accuracy")) is not None for run in done
    )
    if share:
        interval = accuracy_interval(list(values.values()), _examples(done, key), level)
    else:
        interval = t_interval(list(values.values()), level)
    estimate: dict[str, Any] = {"mean": interval.mean, "low": interval.low, "high": interval.high, "sd": interval.sd}
    estimate |= {"n": interval.n, "values": list(values.values()), "seeds": list(values)}
    if interval.n == 0:
        estimate["reason"] = "no run finished" if not done else "not measured on this task"
    elif interval.n == 1:
        estimate["reason"] = "one seed has no interval"
    elif interval.low is None:
        estimate["reason"] = "all seeds agree: no spread, no interval"
    if share and (count := _examples(done, key)):
        estimate["examples"] = count
    missing = [run["seed"] for run in done if run["seed"] not in values]
    if missing and values:
        estimate["without"] = {"seeds": missing, "reason": "their value is missing or not a finite number"}
    return estimate


def _examples(done: Sequence[Run], key: str) -> int | None:
    """How many independent test examples a share is of: the fewest of any run; None if one does not say it."""
    return fewest((run.get("examples") or {}).get(key) for run in done)


def _perplexity(nats: Mapping[str, Any]) -> dict[str, Any]:
    """exp of the loss in nats per token: of its mean (the geometric mean over seeds), its interval and each seed."""

    def power(value: float | int | None) -> float | None:
        return None if value is None or value > 700 else math.exp(value)

    result: dict[str, Any] = {key: power(nats[key]) for key in ("mean", "low", "high")} | {
        "values": [power(v) for v in nats["values"]]
    }
    if result["mean"] is None:
        result["reason"] = "too large for a float" if nats["mean"] is not None else nats["reason"]
    return result


def _audit(done: Sequence[Run]) -> dict[str, Any]:
    """The worst of every number over the seeds; ``passed`` only if every seed passed."""
    audits = [run["audit"] for run in done if run.get("audit")]
    worst: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for audit in audits:
        reasons |= {key: str(reason) for key, reason in (audit.get("reasons") or {}).items()}
    for key in AUDIT_COLUMNS:
        values = [audit.get(key) for audit in audits]
        finite = [value for raw in values if (value := _number(raw)) is not None]
        broken = any(isinstance(raw, float) and not math.isfinite(raw) for raw in values)
        worst[key] = max(finite) if finite and not broken else None
        if worst[key] is None:
            reasons.setdefault(key, "not a finite number" if broken else "not audited")
        else:
            reasons.pop(key, None)
    verdicts = [audit.get("passed") for audit in audits]
    budgets = [value for audit in audits if (value := _number(audit.get("budget"))) is not None]
    worst["dtype"] = ", ".join(sorted({str(audit["dtype"]) for audit in audits if audit.get("dtype")})) or None
    worst["budget"] = min(budgets) if budgets else None
    worst["passed"] = None if not audits or any(value is None for value in verdicts) else all(verdicts)
    worst["seeds"] = len(audits)
    worst["reasons"] = reasons
    return worst


def _strict(runs: Sequence[Run]) -> bool:
    """Whether the model claims strict unitarity: as its runs say; older ones by an audit that was held to a budget."""
    said = [run["strict"] for run in runs if run.get("strict") is not None]
    return any(said) if said else any((run.get("audit") or {}).get("passed") is not None for run in runs)


def _reference(task: Mapping[str, Any], wanted: str | None) -> str | None:
    """The model that the others are tested against; of classical ones the best, of equal ones the first by name."""
    models = task["models"]
    if wanted == BEST_CLASSICAL and wanted not in models:
        return next((name for name in chosen_first(task) if models[name]["classical"]), None)
    return wanted if wanted in models else None


def _against(models: Mapping[str, Any], reference: str | None) -> list[tuple[str, str]]:
    return [] if reference is None else [(name, reference) for name in models if name != reference]


def _failure(run: Run) -> dict[str, Any]:
    failure = run.get("failure") or {}
    return {"step": failure.get("step"), "reason": failure.get("reason") or "the run gave no reason"}


def _identity(run: Run) -> tuple[str, str, int]:
    return (run["task"], run["model"], run["seed"])


def _number(value: Any) -> float | int | None:
    """A finite number, or None for everything else (null, NaN, Infinity, a missing key, text)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _cell(value: Any) -> Any:
    if isinstance(value, bool | str):
        return value
    return "" if _number(value) is None else value
