"""``qattn sample``: what trained models write, or what they expect next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli.options import JsonOption


def sample(
    run: Annotated[Path, typer.Argument(help="An experiment's folder (every model answers) or one run's folder.")],
    prompt: Annotated[str, typer.Option(help="What to continue; empty starts a new paragraph.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="How many tokens to write.")] = 200,
    temperature: Annotated[float, typer.Option(help="Softmax temperature; 0 always takes the likeliest token.")] = 0.8,
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
    from experiments.lm.generate import continue_text, likeliest, prompt_ids
    from experiments.lm.trained_models import one_a_model

    models = one_a_model(run, run_seed)
    if logprobs is not None:
        answers = {trained.name: likeliest(trained.model, trained.tokenizer, prompt, logprobs) for trained in models}
        print(json.dumps(answers, ensure_ascii=False)) if as_json else _side_by_side(answers, logprobs)
        return
    for trained in models:  # before anything is on the screen
        prompt_ids(prompt, trained.tokenizer)
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


def _side_by_side(answers: dict[str, dict[str, Any]], count: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    table.add_column("#", justify="right")
    for name, answer in answers.items():
        table.add_column(f"{name}\n(perplexity {answer['perplexity']:.2f})")
    for place in range(count):
        cells = []
        for answer in answers.values():
            if place < len(answer["tokens"]):
                token = answer["tokens"][place]
                cells.append(Text(f"{token['token']!r:>6}  {token['probability']:.4f}"))
            else:
                cells.append(Text(""))
        table.add_row(str(place + 1), *cells)
    Console().print(table)
