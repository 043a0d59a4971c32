"""Text from a trained model: the same sampling for every model, because all of them give log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from classical import sampling
from classical.perplexity import distribution_perplexity
from experiments.errors import UserError
from experiments.tasks.tokenizers import Tokenizer
from qattn.core.parametrization_cache import cached


def prompt_ids(prompt: str, tokenizer: Tokenizer) -> list[int]:
    """Token ids of a prompt; an empty prompt is a line break, the start of a new paragraph.

    Raises :class:`UserError` for characters outside the vocabulary, and for none where a task has symbols.
    """
    try:
        ids = tokenizer.encode(prompt or "\n")
    except ValueError as error:
        what = "the prompt" if prompt else "an empty prompt starts from a line break, but"
        raise UserError(f"{what}: {error}") from error
    if not ids:
        last = tokenizer.decode([tokenizer.size - 1])
        raise UserError(
            f"an empty prompt has no symbol to start from: give the task's symbols, such as --prompt {last!r}"
        )
    return ids


@torch.no_grad()
def continue_text(
    model: Any,
    tokenizer: Tokenizer,
    prompt: str,
    tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
) -> Iterator[int]:
    """Ids of the continuation one by one. A text longer than the model's limit is seen through a sliding window.

    Raises :class:`UserError` for a prompt or a setting that cannot be.
    """
    ids = torch.tensor([prompt_ids(prompt, tokenizer)])
    generator = torch.Generator().manual_seed(seed)
    model.eval()
    try:
        with cached(model):
            for token in sampling.generate(
                model, ids, tokens, temperature=float(temperature), top_k=top_k, top_p=top_p, generator=generator
            ):
                yield int(token)
    except ValueError as error:
        raise UserError(str(error)) from error


@torch.no_grad()
def likeliest(model: Any, tokenizer: Tokenizer, prompt: str, count: int) -> dict[str, Any]:
    """The ``count`` likeliest next tokens with their probabilities, and the perplexity of the prediction:
    exp of its entropy, the number of tokens it hesitates between.
    """
    model.eval()
    ids = torch.tensor([prompt_ids(prompt, tokenizer)])
    if model.context_limit is not None:
        ids = ids[:, -model.context_limit :]
    log_probs = model(ids)[0, -1].double()
    top = log_probs.topk(min(count, len(log_probs)))
    return {
        "tokens": [
            {
                "token": tokenizer.decode([int(index)]),
                "id": int(index),
                "logprob": float(value),
                "probability": math.exp(value),
            }
            for value, index in zip(top.values, top.indices, strict=True)
        ],
        "perplexity": distribution_perplexity(log_probs.exp()).item(),
    }
