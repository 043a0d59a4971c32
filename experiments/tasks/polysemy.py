"""Sense tasks by name, from the texts shipped here or a user's files, and the transformer they are compared with."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import nn

from contexts.learning import datasets
from contexts.learning.classifier import Example, SenseTask


def sense_task(name: str, text: Path | None = None) -> SenseTask:
    """``bank``, ``MC``, ``RP``, ``pseudo:word,word``, ``wordnet:noun``, or a folder in CoarseWSD-20 layout.

    ``text`` is what pseudo-words are made of (Moby Dick by default). Raises ValueError for another name.
    """
    kind, _, rest = name.partition(":")
    if name == "bank":
        return datasets.bank()
    if name in ("MC", "RP"):
        folder = files("experiments").joinpath("data/sentences")
        files_of = {part: folder.joinpath(f"{name.lower()}_{part}_data.txt") for part in ("train", "test", "dev")}
        texts = {part: file.read_text(encoding="utf-8") for part, file in files_of.items() if file.is_file()}
        return datasets.sentences(**texts, name=name, asked={"MC": "prepares", "RP": "that"}[name])
    if kind == "pseudo" and rest:
        return datasets.pseudo_words(text_of(text), rest.split(","))
    if kind == "wordnet" and rest:
        return datasets.wordnet(rest)
    if Path(name).is_dir():
        return datasets.coarse_wsd(name)
    raise ValueError("expected bank, MC, RP, pseudo:WORD,WORD, wordnet:NOUN or a folder in CoarseWSD-20 layout")


def text_of(path: Path | None) -> str:
    """The text of a file, by default Moby Dick. Raises ValueError for a file that is missing or not UTF-8."""
    source = files("experiments").joinpath("data/moby_dick.txt") if path is None else path
    try:
        return source.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None


def transformer_answers(
    task: SenseTask, seed: int, dim: int = 32, layers: int = 2, steps: int = 100, rate: float = 3e-3
) -> Int[np.ndarray, " examples"]:
    """Test answers of a linear readout of the asked word's *dynamic* embedding in a small classical transformer.

    The decoder is causal, so the text is read first and the asked word once more at its end; the state there is the
    embedding that the text made of it. Trained from scratch on the same words, AdamW at ``rate`` with cosine, dropout
    0.1, embeddings started at unit scale. Unknown words are left out, as everywhere in the comparison.
    """
    from classical.config import TransformerConfig
    from classical.transformer import Transformer

    vocabulary = {w: i + 1 for i, w in enumerate(sorted({t for e in task.train for t in e.tokens}))}  # 0 pads
    block = 1 + max(len(e.tokens) for e in (*task.train, *task.test))
    generator = torch.Generator().manual_seed(seed)
    config = TransformerConfig(
        vocab=len(vocabulary) + 1,
        block=block,
        dim=dim,
        layers=layers,
        heads=4,
        position="rotary",
        dropout=0.1,
        init_std=0.1,
    )
    model = Transformer(config, generator)
    head = nn.Linear(dim, len(task.senses))
    with torch.no_grad():
        head.weight.copy_(torch.randn(head.weight.shape, generator=generator) / dim**0.5)
        head.bias.zero_()
    texts, ends = _batch(task.train, vocabulary, block)
    labels = torch.tensor([e.sense for e in task.train])
    parameters = [p for n, p in model.named_parameters() if p.requires_grad] + list(head.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    size = min(128, len(task.train))
    with torch.random.fork_rng():  # dropout draws from torch's own generator: seed it here and put it back
        torch.manual_seed(seed)
        for _ in range(steps):
            batch = torch.randperm(len(task.train), generator=generator)[:size]
            state = model.evolve(model.embed(texts[batch]))[torch.arange(size), ends[batch]]
            loss = nn.functional.cross_entropy(head(state), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    texts, ends = _batch(task.test, vocabulary, block)
    with torch.no_grad():
        state = model.evolve(model.embed(texts))[torch.arange(len(texts)), ends]
        return head(state).argmax(-1).numpy()


def _batch(examples: tuple[Example, ...], vocabulary: dict[str, int], block: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts with the asked word once more at the end, and where that end is."""
    table = torch.zeros(len(examples), block, dtype=torch.long)
    ends = torch.zeros(len(examples), dtype=torch.long)
    for k, e in enumerate(examples):
        row = [vocabulary[t] for t in (*e.tokens, e.tokens[e.position]) if t in vocabulary] or [0]
        table[k, : len(row)] = torch.tensor(row)
        ends[k] = len(row) - 1
    return table, ends
