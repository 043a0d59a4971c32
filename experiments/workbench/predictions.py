"""What trained models expect next, side by side, and which earlier tokens made them expect it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.errors import UserError, blame

if TYPE_CHECKING:
    import torch

    from experiments.lm.trained_models import Trained

SHOWN = 12
"""The likeliest tokens of each model that are shown."""
LONGEST = 2000
"""Characters of a prompt."""
LOOKED_AT = 32
"""The last tokens of the prompt whose influence is shown."""


@dataclass(frozen=True)
class Sampling:
    """How the next token's distribution is changed before it is shown and drawn from."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


def expected(model: Trained, prompt: str, sampling: Sampling) -> dict[str, Any]:
    """The next token's distribution of one model, and the influence of earlier tokens on its likeliest one.

    ``tokens`` are all of the vocabulary by rank: text, probability after ``sampling``, log-probability of the model
    itself. ``influence`` is, per token of the prompt's end, by how much the log-probability of the likeliest token
    falls when that one token is left out, in nats.

    Raises :class:`UserError` for a prompt that the tokenizer cannot read.
    """
    import torch

    from classical.sampling import next_token_distribution
    from qattn.core.parametrization_cache import cached

    ids = read_prompt(model, prompt)
    with torch.no_grad(), cached(model.model):
        log_p = model.model(torch.tensor([ids]))[0, -1].double()
        with blame("sampling"):
            p = next_token_distribution(log_p[None], sampling.temperature, sampling.top_k, sampling.top_p)[0]
        best = int(p.argmax())
        influence = _influence(model, ids, best, log_p[best])
    order = log_p.argsort(descending=True, stable=True).tolist()
    return {
        "name": model.name,
        "kind": model.job.model.kind,
        "tokens": [
            {"text": model.tokenizer.decode([i]), "p": p[i].item(), "log_p": log_p[i].item(), "rank": rank + 1}
            for rank, i in enumerate(order)
        ],
        "entropy": torch.special.entr(p).sum().item(),
        "influence": influence,
    }


def read_prompt(model: Trained, prompt: str) -> list[int]:
    """The prompt's tokens, the last ones that fit into the model's context.

    Raises :class:`UserError` for an overlong prompt and for characters that the model does not know.
    """
    from experiments.lm.generate import prompt_ids

    if len(prompt) > LONGEST:
        raise UserError(f"the prompt has {len(prompt):,} characters; expected at most {LONGEST:,}")
    with blame(model.name):
        ids = prompt_ids(prompt, model.tokenizer)
    limit = model.model.context_limit
    return ids if limit is None else ids[-limit:]


def _influence(model: Trained, ids: list[int], best: int, with_all: torch.Tensor) -> list[dict[str, Any]]:
    import torch

    first = max(0, len(ids) - LOOKED_AT)
    if len(ids) < 2:
        return [{"text": model.tokenizer.decode(ids), "nats": 0.0}]
    without = torch.tensor([ids[:at] + ids[at + 1 :] for at in range(first, len(ids))])
    falls = (with_all - model.model(without)[:, -1, best].double()).tolist()
    return [
        {"text": model.tokenizer.decode([ids[at]]), "nats": fall}
        for at, fall in zip(range(first, len(ids)), falls, strict=True)
    ]


def side_by_side(answers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a table: the likeliest tokens of every model, in the first model's order, with each model's answer.

    Raises :class:`UserError` for models of different vocabularies, whose tokens cannot be compared.
    """
    first = answers[0]
    by_text = [{token["text"]: token for token in answer["tokens"]} for answer in answers]
    for answer, tokens in zip(answers, by_text, strict=True):
        if set(tokens) != set(by_text[0]):
            raise UserError(f"{answer['name']} and {first['name']} have different tokens; choose models of one text")
    wanted = {token["text"] for answer in answers for token in answer["tokens"][:SHOWN]}
    return [
        {"text": token["text"], "answers": [tokens[token["text"]] for tokens in by_text]}
        for token in first["tokens"]
        if token["text"] in wanted
    ]
