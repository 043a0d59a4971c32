"""``qattn sample``: what trained models write, or what they expect next."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.cli.options import JsonOption
from experiments.errors import UserError

if TYPE_CHECKING:
    from experiments.lm.trained_models import Trained


def sample(
    run: Annotated[Path, typer.Argument(help="An experiment's folder (every model answers) or one run's folder.")],
    prompt: Annotated[str, typer.Option(help="What to continue; empty starts a new paragraph.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="How many tokens to write.")] = 200,
    temperature: Annotated[
        float | None, typer.Option(show_default="0.8", help="Softmax temperature; 0 always takes the likeliest token.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw among the k likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw among the likeliest of this total probability.")] = None,
    logprobs: Annotated[int | None, typer.Option(min=1, help="Print the N likeliest next tokens instead.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed for drawing tokens.")] = 0,
    run_seed: Annotated[int | None, typer.Option(help="Which seed's models; default the smallest.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Continue a prompt with every trained model, or show their next-token distributions side by side.

    Example: `qattn sample runs/quickstart --prompt "ROMEO:" --temperature 0.8 --top-k 20`
    """
    from experiments.lm.generate import continue_text, likeliest
    from experiments.lm.trained_models import one_a_model

    given = [f"--{key}" for key, value in (("temperature", temperature), ("top-k", top_k), ("top-p", top_p))
             if value is not None]  # fmt: skip
    if logprobs is not None and given:
        raise UserError(
            f"--logprobs shows the model's own distribution, where {given[0]} has no effect: drop one of them"
        )
    temperature = 0.8 if temperature is None else temperature
    models = answering(one_a_model(run, run_seed), prompt)
    if logprobs is not None:
        answers = {trained.name: likeliest(trained.model, trained.tokenizer, prompt, logprobs) for trained in models}
        print(json.dumps(answers, ensure_ascii=False)) if as_json else _side_by_side(answers, logprobs)
        return
    texts: dict[str, str] = {}
    for trained in models:
        ids: list[int] = []
        if not as_json:
            typer.secho(f"── {trained.name}", bold=True)
            print(prompt, end="", flush=True)
        shown = 0
        for token in continue_text(
            trained.model, trained.tokenizer, prompt, tokens,
            temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
        ):  # fmt: skip
            ids.append(token)
            text = trained.tokenizer.decode(ids)
            if not as_json and not text.endswith("\ufffd"):  # half a character so far: wait for the rest
                print(text[shown:], end="", flush=True)
                shown = len(text)
        texts[trained.name] = trained.tokenizer.decode(ids)
        if not as_json:
            print("\n")
    if as_json:
        print(json.dumps({"prompt": prompt, "temperature": temperature, "continuations": texts}, ensure_ascii=False))


def answering(models: list[Trained], prompt: str) -> list[Trained]:
    """The models that can read the prompt; the others (of a generated task, beside texts) are named.

    Raises :class:`UserError` with the first one's reason where none can.
    """
    from experiments.lm.generate import prompt_ids

    able, reasons = [], {}
    for trained in models:
        try:
            prompt_ids(prompt, trained.tokenizer)
            able.append(trained)
        except UserError as error:
            reasons[trained.name] = error
    if not able:
        raise next(iter(reasons.values()))
    for name, reason in reasons.items():
        print(f"{name} does not answer: {reason}", file=sys.stderr)
    return able


def _side_by_side(answers: dict[str, dict[str, Any]], count: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    table.add_column("#", justify="right")
    for name, answer in answers.items():
        table.add_column(f"{name}\n(perplexity {answer['perplexity']:.2f})")
    for place in range(min(count, max(len(answer["tokens"]) for answer in answers.values()))):
        cells = []
        for answer in answers.values():
            if place < len(answer["tokens"]):
                token = answer["tokens"][place]
                cells.append(Text(f"{token['token']!r:>6}  {token['probability']:.4f}"))
            else:
                cells.append(Text(""))
        table.add_row(str(place + 1), *cells)
    Console().print(table)
