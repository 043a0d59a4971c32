"""Text to token ids and back: characters, bytes, or byte-pair merges (Svozil, section II), stored as JSON."""

from __future__ import annotations

import json
from typing import Protocol, runtime_checkable

from experiments.errors import UserError


@runtime_checkable
class Tokenizer(Protocol):
    """Between text and the ids 0…size−1."""

    kind: str
    size: int

    def encode(self, text: str) -> list[int]:
        """Ids of a text. Raises ``ValueError`` naming what the vocabulary does not have."""
        ...

    def decode(self, ids: list[int]) -> str:
        """The text of ids. Raises ``ValueError`` for an id outside the vocabulary."""
        ...

    def to_json(self) -> str:
        """All that :func:`from_json` needs to make it again."""
        ...


def expect_ids(ids: list[int], size: int) -> None:
    """Raise ``ValueError`` unless all ids lie in 0…size−1, in the words of the models."""
    if ids and not 0 <= min(ids) <= max(ids) < size:
        raise ValueError(f"tokens must lie in 0…{size - 1}, got {min(ids)}…{max(ids)}")


class CharacterTokenizer(Tokenizer):
    """One id a character; ids follow the code points, so a text has the same ids on every platform."""

    kind = "char"

    def __init__(self, alphabet: list[str]) -> None:
        self.alphabet = alphabet
        self.size = len(alphabet)
        self._ids = {character: index for index, character in enumerate(alphabet)}

    @classmethod
    def fit(cls, text: str) -> CharacterTokenizer:
        """The characters that occur in a text."""
        return cls(sorted(set(text)))

    def encode(self, text: str) -> list[int]:
        """Raises ``ValueError`` naming the first character outside the vocabulary and where it stands."""
        try:
            return [self._ids[character] for character in text]
        except KeyError:
            place, odd = next((i, c) for i, c in enumerate(text) if c not in self._ids)
            raise ValueError(
                f"character {odd!r} (U+{ord(odd):04X}) at position {place} is outside the vocabulary of {self.size} "
                "characters the model was trained on"
            ) from None

    def decode(self, ids: list[int]) -> str:
        expect_ids(ids, self.size)
        return "".join(self.alphabet[index] for index in ids)

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "alphabet": self.alphabet}, ensure_ascii=False)


class ByteTokenizer(Tokenizer):
    """One id a byte of the UTF-8 text; 256 ids, nothing is outside the vocabulary."""

    kind = "byte"
    size = 256

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8", errors="surrogateescape"))

    def decode(self, ids: list[int]) -> str:
        expect_ids(ids, self.size)
        return bytes(ids).decode("utf-8", errors="replace")

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind})


class PairTokenizer(Tokenizer):
    """Byte-level byte-pair encoding (Sennrich et al. 2016) by the `tokenizers` library."""

    kind = "bpe"

    def __init__(self, definition: str) -> None:
        import tokenizers

        self._inner = tokenizers.Tokenizer.from_str(definition)
        self.size = self._inner.get_vocab_size()

    @classmethod
    def fit(cls, text: str, vocab: int) -> PairTokenizer:
        """Learn merges until ``vocab`` tokens, or until the text has no pair left (then ``size`` < ``vocab``)."""
        from tokenizers import Tokenizer as Inner
        from tokenizers import decoders, models, pre_tokenizers, trainers

        inner = Inner(models.BPE())
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
            special_tokens=[],
        )
        inner.train_from_iterator(text.splitlines(keepends=True), trainer)
        return cls(inner.to_str())

    def encode(self, text: str) -> list[int]:
        return self._inner.encode(text).ids

    def decode(self, ids: list[int]) -> str:
        expect_ids(ids, self.size)
        return self._inner.decode(ids)

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "tokenizer": self._inner.to_str()})


class SymbolTokenizer(Tokenizer):
    """The named symbols of a generated task, written with spaces between them."""

    kind = "symbols"

    def __init__(self, symbols: list[str]) -> None:
        self.symbols = symbols
        self.size = len(symbols)
        self._ids = {symbol: index for index, symbol in enumerate(symbols)}

    def encode(self, text: str) -> list[int]:
        """Raises ``ValueError`` naming the first symbol that the task does not have."""
        odd = next((word for word in text.split() if word not in self._ids), None)
        if odd is not None:
            shown = " ".join(self.symbols[:12]) + (" …" if self.size > 12 else "")
            raise ValueError(f"{odd!r} is not among the task's {self.size} symbols ({shown}), written with spaces")
        return [self._ids[word] for word in text.split()]

    def decode(self, ids: list[int]) -> str:
        expect_ids(ids, self.size)
        return " ".join(self.symbols[index] for index in ids)

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "symbols": self.symbols}, ensure_ascii=False)


def from_json(text: str, source: object) -> Tokenizer:
    """The tokenizer a run kept; one sentence for an invalid file.

    Raises :class:`UserError` naming ``source`` for anything else.
    """
    try:
        stored = json.loads(text)
        if stored["kind"] == "char":
            return CharacterTokenizer(list(stored["alphabet"]))
        if stored["kind"] == "byte":
            return ByteTokenizer()
        if stored["kind"] == "symbols":
            return SymbolTokenizer(list(stored["symbols"]))
        if stored["kind"] == "bpe":
            return PairTokenizer(stored["tokenizer"])
        problem = f"unknown tokenizer {stored['kind']!r}"
    except (ValueError, KeyError, TypeError) as error:
        problem = str(error)
    raise UserError(f"{source}: not a tokenizer this program wrote ({problem}); train the run again with --fresh")
