"""Next-token prediction on a text file: read, tokenize, split 90/5/5 by position, cut into windows."""

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
from classical.perplexity import bits
from experiments.errors import UserError
from experiments.lm.contract import Batch, FirstToken
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

    ``train``, ``validation`` and ``test`` are 1-d token ids. Whatever is chosen (rates, orders of counts, the best of
    several models) is chosen on the validation split; results are those of the test split, where there is one.
    ``characters_per_token``, of the split of the results, turns nats per token into bits per character.
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
    test: Tensor | None = None

    @property
    def vocab(self) -> int:
        """Number of token ids."""
        return self.tokenizer.size

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Random training windows and their next tokens, (size, block) each; the only user of the training stream."""
        starts = torch.randint(len(self.train) - self.block, (size,), generator=generator)
        windows = self.train[starts[:, None] + torch.arange(self.block + 1)].long()
        return windows[:, :-1], windows[:, 1:]

    @property
    def span(self) -> int:
        """Tokens of a training window."""
        return self.block

    def windows(self) -> list[Batch]:
        """The whole validation split once: consecutive windows (n, block), and a short last one."""
        return self._cut(self.validation)

    def result_windows(self) -> list[Batch]:
        """The same of the split of the results: the test split, or validation where there is no test split."""
        return self._cut(self.validation if self.test is None else self.test)

    def _cut(self, tokens: Tensor) -> list[Batch]:
        inputs, targets = tokens[:-1].long(), tokens[1:].long()
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
        """The loss on the test split, where there is one: ``test_nats``.

        Where a model also gives the first token of a text (kind instrument), among ``splits`` the bits per character
        with it included: each window then has one target more, scored from the model's start alone, as QCLM scores it.
        """
        parts, first = self.result_windows(), self._first(model)
        if self.test is None and first is None:
            return {}
        sizes = [targets.numel() for _, targets in parts]
        total = math.fsum(evaluate(model, [part]) * size for part, size in zip(parts, sizes, strict=True))
        found: dict[str, Any] = {} if self.test is None else {"test_nats": total / sum(sizes)}
        if self.characters_per_token is None or first is None:
            return found
        total += sum(first[inputs[:, 0]].sum().item() for inputs, _ in parts)
        count = sum(sizes) + sum(len(inputs) for inputs, _ in parts)
        return {**found, "splits": {FIRST_INCLUDED: bits(total / count) / self.characters_per_token}}

    @staticmethod
    @torch.no_grad()
    def _first(model: Any) -> Tensor | None:
        """Nats of each token as the first one of a text; None where a model does not predict it."""
        return -model.first().double() if isinstance(model, FirstToken) else None

    def floors(self, k: float = 0.1) -> dict[str, float]:
        """Nats per token of n-gram counts on the split of the results: what a table reaches without any training.

        Add-``k`` counts of orders 1 to 4; modified Kneser–Ney (Chen and Goodman 1999) of order 5 and of the order that
        is best on the validation split, on the running text, and of the latter inside the windows that the models see.
        """
        validation = self.validation.long()
        results = validation if self.test is None else self.test.long()
        plain = NGram(LARGEST_ORDER, self.vocab, k).fit(self.train.long())
        found = {name: plain.shorter(order).nats(results) for name, order in FLOORS.items()}
        counted = KneserNey(LARGEST_ORDER, self.vocab).adopt(plain.levels())
        best = min(range(2, LARGEST_ORDER + 1), key=lambda order: counted.shorter(order).nats(validation))
        for order in sorted({LIKE_FOR_LIKE, best}):
            found[f"Kneser–Ney {order}-gram"] = counted.shorter(order).nats(results)
        parts = self.result_windows()
        inside = sum(counted.shorter(best).window_nats(inputs, targets) * targets.numel() for inputs, targets in parts)
        count = sum(targets.numel() for _, targets in parts)
        return {**found, f"Kneser–Ney {best}-gram{SAME_WINDOWS}": inside / count}

    def facts(self) -> dict[str, Any]:
        """What the report says of the task."""
        return {
            "kind": self.kind, "vocab": self.vocab, "block": self.block, "tokenizer": self.tokenizer.kind,
            "train_tokens": len(self.train), "validation_tokens": len(self.validation),
            "test_tokens": None if self.test is None else len(self.test),
            "characters_per_token": self.characters_per_token, "chance": math.log(self.vocab),
            "floor": self.floors(), "source": self.source, "notes": self.notes,
        }  # fmt: skip


def read_text(path: Path, tokenizer: str) -> str:
    """The text of a file. Characters and byte pairs: strict UTF-8, a byte order mark dropped, line ends made "\\n", so
    that one text has one tokenization on every platform. Bytes: any file, exactly as it is.

    Raises :class:`UserError` for a file that cannot be read as that.
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
    test_fraction: float = 0.0,
) -> TokenTask:
    """A text file as a task; the first ``train_fraction`` of its characters (bytes) trains, the last ``test_fraction``
    is the test split, and what lies between validates.

    Raises :class:`UserError` when the file cannot be read or is too short for one block in a split.
    """
    file = SHIPPED.get(path, Path(path))
    text = read_text(file, tokenizer)
    units = text.encode("utf-8", errors="surrogateescape") if tokenizer == "byte" else text
    cut, last = int(train_fraction * len(units)), len(units) - round(test_fraction * len(units))
    parts = {"training": units[:cut], "validation": units[cut:last], "test": units[last:]}
    if not test_fraction:
        del parts["test"]
    notes: list[str] = []
    if isinstance(units, bytes):
        codec: Tokenizer = ByteTokenizer()
    else:
        if tokenizer == "bpe":
            assert vocab is not None
            codec = PairTokenizer.fit(units[:cut], vocab)
            if codec.size < vocab:
                notes.append(
                    f"byte pairs stopped at {codec.size} tokens of the {vocab} asked for: the text has no pair left"
                )
        else:
            codec = CharacterTokenizer.fit(text)
    tokens = {part: list(piece) if isinstance(piece, bytes) else codec.encode(piece) for part, piece in parts.items()}
    for part, ids in tokens.items():
        if len(ids) <= block:
            raise UserError(
                f"{file}: the {part} split has {len(ids)} tokens, a block of {block} needs at least {block + 1}; "
                "lower block, change train_fraction or test_fraction, or give a longer text"
            )
    shown = list(parts)[-1]
    piece = parts[shown]
    characters = len(piece.decode("utf-8", errors="replace") if isinstance(piece, bytes) else piece)
    made = {part: torch.tensor(ids, dtype=torch.int32) for part, ids in tokens.items()}
    return TokenTask(
        name=name, kind="text", block=block,
        train=made["training"], validation=made["validation"], test=made.get("test"),
        tokenizer=codec, characters_per_token=characters / len(tokens[shown]),
        source=f"{file.name} (sha256 {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}…)", notes=notes,
    )  # fmt: skip
