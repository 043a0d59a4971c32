"""The report's first paragraph: who won, by how much, how sure, and whether what claims to be unitary was unitary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.lm.results_schema import SAME_WINDOWS
from experiments.schema.audit_columns import AUDIT_COLUMNS


def answer(summary: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sentences for each task, in the order winner, certainty, audit, floor, failures. Plain text, not HTML."""
    return {name: _task(name, task, summary["comparison"]["confidence"]) for name, task in summary["tasks"].items()}


def claims(model: Mapping[str, Any]) -> bool:
    """Whether a model says that it is strictly unitary: as its own record has it, whatever its kind."""
    return bool(model["strict"])


def audit_word(model: Mapping[str, Any]) -> str:
    """ "passes", "fails", "no claim" (a model that never said it was unitary) or "not audited"."""
    if not model["audit"]["seeds"]:
        return "not audited"
    if not claims(model):
        return "no claim"
    return {True: "passes", False: "fails", None: "not audited"}[model["audit"]["passed"]]


def largest_error(model: Mapping[str, Any]) -> float | int | None:
    """The largest number of a model's audit over all its seeds, None where nothing was measured."""
    values = [model["audit"][key] for key in AUDIT_COLUMNS if model["audit"].get(key) is not None]
    return max(values) if values else None


def scientific(value: float | int | None) -> str:
    """A small number for reading: 6.2 × 10⁻⁷."""
    if value is None:
        return "n/a"
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3g}"
    digits, power = f"{value:.1e}".split("e")
    digits = digits.removesuffix(".0")
    return f"{digits}\u00a0×\u00a010" + str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _task(name: str, task: Mapping[str, Any], level: float) -> list[str]:
    models, metric = task["models"], task["metric"]
    split = [split_sentence(name, model, terms, metric) for model, terms in task.get("split", {}).items() if terms]
    measured = {model: entry for model, entry in models.items() if entry[metric]["mean"] is not None}
    sentences = split
    if measured:
        sentences.append(_winner(name, next(iter(measured)), measured, task, level))
        sentences += _certainty(list(measured), task)
    else:
        sentences.append(f"No run on {name} finished, so nothing can be said about its models.")
    sentences += [_audit(model, entry) for model, entry in measured.items() if claims(entry)]
    sentences += _floor(measured, task)
    failed = sum(len(entry["failed"]) for entry in models.values())
    if failed:
        total = sum(entry["seeds"]["attempted"] for entry in models.values())
        which = "it is" if failed == 1 else "they are"
        sentences.append(f"{failed} of {total} runs failed; {which} listed below and part of no mean.")
    return sentences


SAID = {
    "evolution": "its unitary evolution {sign} (a softmax of the register, {a}, against the best without one, {b})",
    "readout": "the Born readout {sign} ({a} against {b})",
    "price": "both together {sign} ({a} against {b})",
    "coherence": "coherence {sign} ({a} against {b})",
    "attention": "attention {sign} ({a} against {b})",
    "control": "its control {sign} ({a} against {b})",
    "best classical": "and against {b}, the best classical model of all that were trained, the difference is {sign}",
}
"""How a report says a term of the split price."""


def split_sentence(task: str, model: str, terms: Sequence[Mapping[str, Any]], metric: str) -> str:
    """The price of one model term by term, each paired over seeds with its interval."""
    unit = "of accuracy" if metric == "accuracy" else "nats per token"
    said = [SAID[term["term"]].format(a=term["a"], b=term["b"], sign=_with_interval(term)) for term in terms]
    return f"The price of {model} on {task} in {unit}, paired by seed: {'; '.join(said)}."


def _with_interval(term: Mapping[str, Any]) -> str:
    def signed(value: float) -> str:
        return f"{value:+.3f}".replace("-", "−")

    if term["mean"] is None:
        return "not measured on a shared seed"
    if term["low"] is None:
        return f"{signed(term['mean'])}, {'one seed' if term['n'] == 1 else 'the same in every seed'}"
    return f"{signed(term['mean'])} [{signed(term['low'])}, {signed(term['high'])}]"


def _winner(name: str, best: str, measured: Mapping[str, Any], task: Mapping[str, Any], level: float) -> str:
    entry = measured[best]
    estimate = entry[task["metric"]]
    seeds = "one seed" if estimate["n"] == 1 else f"{estimate['n']} seeds"
    if estimate["low"] is not None:
        seeds = f"{100 * level:g} % interval {estimate['low']:.3f} to {estimate['high']:.3f}, {seeds}"
    if task["metric"] == "accuracy":
        value, what = f"{estimate['mean']:.3f}", "highest accuracy"
    else:
        split = "test" if task["metric"] == "test_nats" else "validation"
        value, what = f"{estimate['mean']:.3f} nats per token", f"lowest {split} loss"
        if entry["bits_per_char"]["mean"] is not None:
            seeds += f"; {entry['bits_per_char']['mean']:.3f} bits per character"
    if len(measured) == 1:
        return f"On {name}, {best} reached {value} ({seeds})."
    return f"On {name}, {best} had the {what}: {value} ({seeds})."


def _certainty(order: list[str], task: Mapping[str, Any]) -> list[str]:
    """The verdict on the best against the runner-up, and on the best unitary against the best other."""
    wanted = [tuple(order[:2])]
    unitary = [model for model in order if claims(task["models"][model])]
    other = [model for model in order if model not in unitary]
    if unitary and other:
        wanted.append((unitary[0], other[0]))
    verdicts = []
    for pair in wanted:
        verdicts += [test["verdict"] for test in task["tests"] if {test["a"], test["b"]} == set(pair)]
    return [sentence[0].upper() + sentence[1:] if sentence.startswith("no ") else sentence
            for sentence in dict.fromkeys(verdicts)]  # fmt: skip


def _audit(model: str, entry: Mapping[str, Any]) -> str:
    audit, worst = entry["audit"], scientific(largest_error(entry))
    seeds = "its one seed" if audit["seeds"] == 1 else f"all {audit['seeds']} seeds"
    budget = f"budget of {scientific(audit['budget'])} in {audit['dtype'] or 'its dtype'}"
    word = audit_word(entry)
    if word == "passes":
        return f"{model} really was unitary: over {seeds} its largest audit error is {worst}, within the {budget}."
    if word == "fails":
        return f"{model} claims to be unitary and was not: its largest audit error is {worst}, against a {budget}."
    return f"{model} claims to be unitary, but this was not audited."


def fair_floor(task: Mapping[str, Any]) -> tuple[str, float] | None:
    """The strongest counts, judged inside the models' windows: their name and nats; None in results from before."""
    found = [
        (name, value) for name, value in task["floor"].items() if name.endswith(SAME_WINDOWS) and value is not None
    ]
    return (found[0][0].removesuffix(SAME_WINDOWS), found[0][1]) if found else None


def _floor(measured: Mapping[str, Any], task: Mapping[str, Any]) -> list[str]:
    """How the models stand to the strongest counts in their own windows; in older results, to bigrams."""
    fair = fair_floor(task)
    name, floor = fair or ("bigram", task["floor"].get("bigram"))
    if floor is None or task["metric"] == "accuracy" or not measured:
        return []
    counts = f"the {name} floor of {floor:.3f} nats" + (" (same windows)" if fair else "")
    below = [model for model, entry in measured.items() if entry[task["metric"]]["mean"] < floor]
    if not below:
        return [f"{'It is not' if len(measured) == 1 else 'No model is'} below {counts}."]
    above = [model for model in measured if model not in below]
    if above:
        return [f"Not below {counts}: {', '.join(above)}."]
    who = {1: "It is", 2: "Both models are"}.get(len(measured), f"All {len(measured)} models are")
    return [f"{who} below {counts}."]
