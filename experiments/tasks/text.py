"""Next-token prediction on a text file: read, tokenize, split 90/10 by position, cut into windows."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from classical.kneser_ney import KneserNey
from classical.ngram import NGram
from experiments.errors import UserError
from experiments.lm.contract import FirstToken
from experiments.lm.evaluate import evaluate
from experiments.lm.results_schema import SAME_WINDOWS
from experiments.tasks.tokenizers import ByteTokenizer, CharacterTokenizer, PairTokenizer, Tokenizer

DATA = Path(__file__).parent.parent / "data"
SHIPPED = {"tinyshakespeare": DATA / "tinyshakespeare.txt", "moby_dick": DATA / "moby_dick.txt"}
FIRST_INCLUDED = "first character included"
"""The name of the loss over whole windows, the first token scored from the start alone."""

FLOORS = {"unigram": 1, "bigram": 2, "trigram": 3, "4-gram": 4}
"""Add-k counts, as published tables have them."""
LIKE_FOR_LIKE = 5
"""The Kneser–Ney order that reads as many tokens as the last-four-tokens controls of the unitary models."""
LARGEST_ORDER = 7
"""Of the Kneser–Ney orders tried; on the shipped texts order 8 is worse by 0.002 nats."""


@dataclass
class TokenTask:
    """Token batches with everything a report needs beside them.

    ``train`` and ``validation`` are 1-d token ids; ``characters_per_token`` (validation) turns nats a token into bits a
    character.
    """

    name: str
    kind: str
    block: int
    train: Tensor
    validation: Tensor
    tokenizer: Tokenizer
    characters_per_token: float | None
    source: str
    notes: list[str] = field(default_factory=list)

    @property
    def vocab(self) -> int:
        return self.tokenizer.size

    def batch(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Random training windows and their next tokens, (size, block) each; the only user of the training stream."""
        starts = torch.randint(len(self.train) - self.block, (size,), generator=generator)
        windows = self.train[starts[:, None] + torch.arange(self.block + 1)].long()
        return windows[:, :-1], windows[:, 1:]

    @property
    def span(self) -> int:
        return self.block

    def windows(self) -> list[tuple[Tensor, Tensor]]:
        """The whole validation split once: consecutive windows (n, block), and a short last one."""
        inputs, targets = self.validation[:-1].long(), self.validation[1:].long()
        whole = len(inputs) // self.block * self.block
        parts = [(inputs[:whole].view(-1, self.block), targets[:whole].view(-1, self.block))]
        if whole < len(inputs):
            parts.append((inputs[None, whole:], targets[None, whole:]))
        return [part for part in parts if part[0].numel()]

    def prompt(self, asked: str | None) -> str | None:
        """What was asked for, else the first line of the validation split."""
        if asked is not None:
            return asked
        return self.tokenizer.decode(self.validation[: self.block].tolist()).split("\n")[0] or "\n"

    def examine(self, model: Any) -> dict[str, Any]:
        """Where a model also gives the first token of a text (kind instrument): bits a character with it included.

        Each window then has one target more, scored from the model's start alone, as QCLM scores it.
        """
        first = self._first(model)
        if self.characters_per_token is None or first is None:
            return {}
        total, count = 0.0, 0
        for inputs, targets in self.windows():
            total += evaluate(model, [(inputs, targets)]) * targets.numel() + first[inputs[:, 0]].sum().item()
            count += targets.numel() + len(inputs)
        return {"splits": {FIRST_INCLUDED: total / count / math.log(2) / self.characters_per_token}}

    @staticmethod
    @torch.no_grad()
    def _first(model: Any) -> Tensor | None:
        """Nats of each token as the first one of a text; None where a model does not predict it."""
        return -model.first().double() if isinstance(model, FirstToken) else None

    def floors(self, k: float = 0.1) -> dict[str, float]:
        """Validation nats per token of n-gram counts: what a table reaches without any training.

        Add-``k`` counts of orders 1 to 4; modified Kneser–Ney (Chen and Goodman 1999) of order 5 and of the best order,
        on the running text, and of the best order inside the windows that the models see.
        """
        train, validation = self.train.long(), self.validation.long()
        plain = NGram(LARGEST_ORDER, self.vocab, k).fit(train)
        found = {name: plain.shorter(order).nats(validation) for name, order in FLOORS.items()}
        counted = KneserNey(LARGEST_ORDER, self.vocab).adopt(plain.levels())
        running = {m: counted.shorter(m).nats(validation) for m in range(2, LARGEST_ORDER + 1)}
        best = min(running, key=running.__getitem__)
        found |= {f"Kneser–Ney {m}-gram": running[m] for m in sorted({LIKE_FOR_LIKE, best})}
        parts = self.windows()
        inside = sum(counted.shorter(best).window_nats(inputs, targets) * targets.numel() for inputs, targets in parts)
        count = sum(targets.numel() for _, targets in parts)
        return {**found, f"Kneser–Ney {best}-gram{SAME_WINDOWS}": inside / count}

    def facts(self) -> dict[str, Any]:
        """What the report says of the task."""
        return {
            "kind": self.kind, "vocab": self.vocab, "block": self.block, "tokenizer": self.tokenizer.kind,
            "train_tokens": len(self.train), "validation_tokens": len(self.validation),
            "characters_per_token": self.characters_per_token, "chance": math.log(self.vocab),
            "floor": self.floors(), "source": self.source, "notes": self.notes,
        }  # fmt: skip


def read_text(path: Path, tokenizer: str) -> str:
    """The text of a file. Characters and byte pairs: strict UTF-8, a byte order mark dropped, line ends made "\\n", so
    that one text has one tokenization on every platform. Bytes: any file, exactly as it is.
    """
    if not path.exists():
        raise UserError(f"{path}: no such text file; give a path, or one of {', '.join(SHIPPED)}")
    if path.is_dir():
        raise UserError(f"{path} is a folder; task path wants a text file")
    raw = path.read_bytes()
    if not raw:
        raise UserError(f"{path} is empty; a text task needs more than one block of tokens")
    if tokenizer == "byte":
        return raw.decode("utf-8", errors="surrogateescape")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: byte {error.start} (0x{raw[error.start]:02x}) is not UTF-8; "
            "convert the file to UTF-8 or use tokenizer: byte"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_task(
    name: str,
    path: str,
    tokenizer: str = "char",
    vocab: int | None = None,
    block: int = 64,
    train_fraction: float = 0.9,
) -> TokenTask:
    """A text file as a task; the first ``train_fraction`` of its characters (bytes) trains, the rest validates.

    Raises :class:`UserError` when the file cannot be read or is too short for one block on either side.
    """
    file = SHIPPED.get(path, Path(path))
    text = read_text(file, tokenizer)
    units = text.encode("utf-8", errors="surrogateescape") if tokenizer == "byte" else text
    cut = int(train_fraction * len(units))
    head, tail = units[:cut], units[cut:]
    notes: list[str] = []
    if isinstance(units, bytes):
        codec: Tokenizer = ByteTokenizer()
        train, validation = list(units[:cut]), list(units[cut:])
        tail_characters = len(tail.decode("utf-8", errors="replace")) if isinstance(tail, bytes) else len(tail)
    else:
        assert isinstance(head, str)
        assert isinstance(tail, str)
        if tokenizer == "bpe":
            assert vocab is not None
            codec = PairTokenizer.fit(head, vocab)
            if codec.size < vocab:
                notes.append(
                    f"byte pairs stopped at {codec.size} tokens of the {vocab} asked for: the text has no pair left"
                )
        else:
            codec = CharacterTokenizer.fit(text)
        train, validation = codec.encode(head), codec.encode(tail)
        tail_characters = len(tail)
    for part, ids in (("training", train), ("validation", validation)):
        if len(ids) <= block:
            raise UserError(
                f"{file}: the {part} split has {len(ids)} tokens, a block of {block} needs at least {block + 1}; "
                "lower block, change train_fraction or give a longer text"
            )
    return TokenTask(
        name=name, kind="text", block=block,
        train=torch.tensor(train, dtype=torch.int32), validation=torch.tensor(validation, dtype=torch.int32),
        tokenizer=codec, characters_per_token=tail_characters / len(validation),
        source=f"{file.name} (sha256 {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}…)", notes=notes,
    )  # fmt: skip
