"""From log-probabilities to a token: temperature, top-k, top-p; and generation token by token.

Works on the log-probabilities of any model, softmax or Born (Svozil, Eq. 16; The Shape of the Probable, part 3, "The
output"; lecture notes "Large Language Models", section 3.3).
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class ReadsAhead(Protocol):
    """A model that reads several further tokens at once, faster than token by token."""

    def extend(self, tokens: Int[Tensor, "batch time"], state: Any) -> tuple[Float[Tensor, "batch time vocab"], Any]:
        """Log-probabilities after each of the tokens, and the longer context."""
        ...


def temper(log_probs: Float[Tensor, "*batch vocab"], temperature: float | int) -> Float[Tensor, "*batch vocab"]:
    """p_i ∝ exp(z_i/T) (Svozil, Eq. 16), as probabilities in float64. T = 0 is the limit: all on the likeliest token.

    Logits and log-probabilities give the same result (softmax ignores a shift). ``-inf`` stays impossible.
    ValueError if T is negative, infinite or NaN.
    """
    _check(temperature, None, None)
    z = log_probs.double()
    best = z.max(-1, keepdim=True)
    if not bool(best.values.isfinite().all()):
        raise ValueError("log-probabilities must hold a finite largest value in every row, got NaN or infinity")
    if temperature == 0:
        return torch.zeros_like(z).scatter_(-1, best.indices, 1.0)
    return ((z - best.values) / temperature).softmax(-1)


def keep_top_k(probs: Float[Tensor, "*batch vocab"], top_k: int) -> Float[Tensor, "*batch vocab"]:
    """Keeps the ``top_k`` likeliest tokens and renormalises; more than the vocabulary means all.

    Ties are broken by the lower token number, so exactly ``top_k`` survive.
    """
    _check(1.0, top_k, None)
    if top_k >= probs.shape[-1]:
        return probs
    order = probs.argsort(dim=-1, descending=True, stable=True)
    return _renormalise(probs.scatter(-1, order[..., top_k:], 0.0))


def keep_top_p(probs: Float[Tensor, "*batch vocab"], top_p: float | int) -> Float[Tensor, "*batch vocab"]:
    """Keeps the smallest set of likeliest tokens whose probability reaches ``top_p``, and renormalises.

    Nucleus sampling (Holtzman et al. 2020). The likeliest token always survives; 1 means all.
    """
    _check(1.0, None, top_p)
    if top_p == 1:
        return probs
    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    return _renormalise(torch.zeros_like(probs).scatter(-1, order, ordered.masked_fill(before >= top_p, 0.0)))


def next_token_distribution(
    log_probs: Float[Tensor, "*batch vocab"],
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
) -> Float[Tensor, "*batch vocab"]:
    """The distribution that `sample` draws from: tempered, then cut to top-k, then to top-p; float64, sums to 1."""
    _check(temperature, top_k, top_p)
    probs = temper(log_probs, temperature)
    if top_k is not None:
        probs = keep_top_k(probs, top_k)
    return probs if top_p is None else keep_top_p(probs, top_p)


def sample(
    log_probs: Float[Tensor, "batch vocab"],
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, " batch"]:
    """One token for each row. T = 0 is the argmax and draws nothing from ``generator``."""
    probs = next_token_distribution(log_probs, temperature, top_k, top_p)
    if temperature == 0:
        return probs.argmax(-1)
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


def generate(
    model: Any,
    prompt: Int[Tensor, "*batch_prompt"],
    new_tokens: int,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    generator: torch.Generator | None = None,
) -> Iterator[Int[Tensor, " batch"]]:
    """Continues ``prompt`` by ``new_tokens`` tokens, yielding each (shape ``batch``) as soon as it is chosen.

    ``prompt`` has shape (batch, tokens) with at least one token each. The model is any with ``start``, ``step`` and
    ``forward``; ``extend`` is used on the prompt where there is one.

    One policy beyond ``model.context_limit`` (None: no limit): the window slides. Each token is conditioned on the most
    recent ``context_limit`` tokens of prompt and continuation together, encoded afresh at positions 0, 1, … once they
    no longer all fit. Dropout is off while the model computes; the mode is restored before each yield. Bad arguments
    raise ValueError here and now, not at the first token.
    """
    _check(temperature, top_k, top_p)
    if prompt.ndim != 2 or prompt.shape[0] < 1 or prompt.shape[1] < 1:
        raise ValueError(
            f"the prompt needs shape (batch, tokens) with at least one token, got {tuple(prompt.shape)}; "
            "to start from nothing, pass a start token"
        )
    if new_tokens < 0:
        raise ValueError(f"new_tokens must be at least 0, got {new_tokens}")

    def draw(log_probs: Tensor) -> Tensor:
        return sample(log_probs, temperature, top_k, top_p, generator)

    return _generate(model, prompt, new_tokens, draw)


def _generate(model: Any, prompt: Tensor, new_tokens: int, draw: Callable[[Tensor], Tensor]) -> Iterator[Tensor]:
    limit = model.context_limit
    text = prompt
    state, length = None, 0  # what the model has read so far, and how many tokens of `text` that is
    for _ in range(new_tokens):
        with torch.no_grad(), _Evaluating(model):
            if limit is not None and text.shape[1] > limit:
                text = text[:, -limit:]
                state = None
                log_probs = model.forward(text)[:, -1]
            else:
                state = model.start(text.shape[0]) if state is None else state
                if length == 0 and isinstance(model, ReadsAhead):
                    log_probs, state = model.extend(text, state)
                    log_probs = log_probs[:, -1]
                else:
                    for column in range(length, text.shape[1]):
                        log_probs, state = model.step(text[:, column], state)
                length = text.shape[1]
            token = draw(log_probs)
        text = torch.cat((text, token[:, None].to(text)), dim=1)
        yield token


class _Evaluating:
    """Evaluation mode for the length of a `with`, if the model has modes."""

    def __init__(self, model: Any):
        self.model = model

    def __enter__(self) -> None:
        self.was_training = isinstance(self.model, torch.nn.Module) and self.model.training
        if self.was_training:
            self.model.eval()

    def __exit__(self, *_: object) -> None:
        if self.was_training:
            self.model.train()


def _renormalise(probs: Tensor) -> Tensor:
    return probs / probs.sum(-1, keepdim=True)


def _check(temperature: float | int, top_k: int | None, top_p: float | int | None) -> None:
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"temperature must be a finite number of at least 0, got {temperature!r}")
    if top_k is not None and (not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1):
        raise ValueError(f"top_k must be a whole number of at least 1, got {top_k!r}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p!r}")
