"""Twins: a model beside another one from which one thing is taken, so that the difference in loss is its price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from experiments.schema.model_base import ModelConfig

WITHOUT_REGISTER = ("no_register", "classical_recurrent")
"""Kinds that stand for another kind with its quantum register taken away."""
OF_ONE_FAMILY = {"selected": "unitary"}
"""Kinds that are another one but for their readout."""
PARTS = {
    "readout": "the Born rule (readout: softmax instead)",
    "register": f"the register (kind {' or '.join(WITHOUT_REGISTER)} instead)",
    "coherence": "the coherence (dephasing: 1 instead)",
    "attention": "the attention (attention: false)",
    "control": "its control (control: another one)",
}
"""What a twin may lack or have otherwise, and how that is written."""


def parts(twin: ModelConfig, original: ModelConfig) -> Iterator[str]:
    """The :data:`PARTS` in which a twin differs from the model it stands beside; sizes and rates are left aside."""
    if twin.kind in WITHOUT_REGISTER and original.kind not in WITHOUT_REGISTER:
        yield "register"
        return
    if twin.kind not in (original.kind, OF_ONE_FAMILY.get(original.kind)):
        return

    def pair(name: str) -> tuple[object, object]:
        return getattr(original, name, None), getattr(twin, name, None)

    before, after = pair("readout")
    if after == "softmax" != before:
        yield "readout"
    before, after = pair("dephasing")
    if after == 1 != before:
        yield "coherence"
    before, after = pair("attention")
    if before is True and after is False:
        yield "attention"
    before, after = pair("control")
    if before != after:
        yield "control"


def twins(models: Mapping[str, ModelConfig]) -> dict[str, dict[str, str]]:
    """By twin and by the model that it stands beside: the part that it lacks."""
    return {
        name: {original: next(parts(model, models[original])) for original in model.originals}
        for name, model in models.items()
        if model.originals
    }


def problem(twin: ModelConfig, original: str, models: Mapping[str, ModelConfig]) -> str | None:
    """What is wrong with a model as the twin of ``original``, one of ``models``; None if nothing is."""
    other = models[original]
    if other.originals:
        return f"expected a model that is no twin itself, got '{original}', a twin of '{other.originals[0]}'"
    differing = list(parts(twin, other))
    if len(differing) == 1:
        return None
    wanted = "; ".join(PARTS.values())
    got = f"{' and '.join(differing)} at once" if differing else "none of these"
    return f"expected one difference from '{original}' ({wanted}), got {got}"
