"""Texts, tokenizers and splits against published counts and what users' files do."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classical import NGram
from classical.counted import CountedLM
from experiments.errors import UserError
from experiments.lm.evaluate import evaluate
from experiments.tasks.text import DATA, text_task
from experiments.tasks.tokenizers import ByteTokenizer, CharacterTokenizer, PairTokenizer, from_json
from qattn.lm.instrument import InstrumentConfig, InstrumentLM


def test_tiny_shakespeare_is_the_published_file_and_split() -> None:
    """1,115,394 bytes, 65 characters, 1,003,854 train and 111,540 validation tokens (nanoGPT's data preparation)."""
    raw = (DATA / "tinyshakespeare.txt").read_bytes()
    assert len(raw) == 1_115_394
    assert hashlib.sha256(raw).hexdigest() == "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    task = text_task("t", "tinyshakespeare")
    assert (task.vocab, len(task.train), len(task.validation)) == (65, 1_003_854, 111_540)
    assert task.characters_per_token == 1


def test_the_test_split_is_the_end_and_training_is_what_it_was() -> None:
    old, new = text_task("t", "tinyshakespeare"), text_task("t", "tinyshakespeare", test_fraction=0.05)
    assert (len(new.train), len(new.validation), len(new.test)) == (1_003_854, 55_770, 55_770)
    assert torch.equal(new.train, old.train)
    assert torch.equal(torch.cat([new.validation, new.test]), old.validation)
    assert (old.test, old.facts()["test_tokens"], new.facts()["test_tokens"]) == (None, None, 55_770)
    assert torch.equal(torch.cat([y.flatten() for _, y in new.result_windows()]), new.test[1:].long())


def test_results_are_those_of_the_test_split_and_bits_count_its_characters(tmp_path: Path) -> None:
    """The model repeats "ab"; validation follows it, the test split does not."""
    path = write(tmp_path / "t.txt", b"ab" * 450 + b"ab" * 25 + b"bbaa" * 12 + b"bb")
    task = text_task("t", path, block=8, test_fraction=0.05)
    model = CountedLM(NGram(2, 2)).count(task.train)
    found = task.examine(model)
    assert set(found) == {"test_nats"}
    assert found["test_nats"] == pytest.approx(evaluate(model, task.result_windows()))
    assert found["test_nats"] > 1 > 0.01 > evaluate(model, task.windows())
    assert task.floors()["bigram"] > 1
    assert text_task("t", path, block=8).examine(model) == {}
    task = text_task(
        "t", write(tmp_path / "u.txt", ("ab" * 950 + "\u20ac" * 100).encode()), "byte", block=8, test_fraction=0.05
    )
    assert task.characters_per_token == pytest.approx(1 / 3, abs=0.02)
    with pytest.raises(UserError, match=r"the test split has 5 tokens.*or test_fraction"):
        text_task("t", write(tmp_path / "v.txt", b"ab" * 50), block=8, test_fraction=0.05, train_fraction=0.5)


def test_every_shipped_text_is_the_file_data_md_describes() -> None:
    rows = (DATA / "DATA.md").read_text(encoding="utf-8")
    for path in DATA.glob("*.txt"):
        raw = path.read_bytes()
        assert hashlib.sha256(raw).hexdigest() in rows, path.name
        assert f"{len(raw):,}" in rows, path.name


@pytest.fixture(scope="module")
def floors() -> dict[str, float]:
    return text_task("t", "tinyshakespeare").floors()


def test_published_ngram_floors(floors: dict[str, float]) -> None:
    """QCLM's table, add-0.1 counts: 4.829, 3.583, 2.952, 2.574 bits per character."""
    bits = [floors[name] / math.log(2) for name in ("unigram", "bigram", "trigram", "4-gram")]
    assert bits == pytest.approx([4.829, 3.583, 2.952, 2.574], abs=6e-4)


def test_the_floor_of_tiny_shakespeare_is_kneser_neys_best_order(floors: dict[str, float]) -> None:
    """Modified Kneser–Ney of order 7; like every window model it loses a little at the windows' first characters."""
    assert floors["Kneser–Ney 7-gram"] == pytest.approx(1.5165, abs=1e-4)
    assert floors["Kneser–Ney 5-gram"] == pytest.approx(1.5611, abs=1e-4)
    assert floors["Kneser–Ney 7-gram, same windows"] == pytest.approx(1.5423, abs=1e-4)
    assert min(floors.values()) == floors["Kneser–Ney 7-gram"]


@given(st.text(min_size=1))
def test_tokenizers_give_the_text_back(text: str) -> None:
    assert CharacterTokenizer.fit(text).decode(CharacterTokenizer.fit(text).encode(text)) == text
    utf8 = text.encode("utf-8", errors="replace").decode("utf-8")
    assert ByteTokenizer().decode(ByteTokenizer().encode(utf8)) == utf8


def test_byte_pairs_give_any_text_back_and_survive_storage(tmp_path: Path) -> None:
    codec = PairTokenizer.fit("the cat sat on the mat, the cat sat\n" * 50, 280)
    stored = from_json(codec.to_json(), tmp_path)
    for text in ("the cat", "Γειά σου κόσμε 🐈", "  two  spaces\n\n"):
        assert codec.decode(codec.encode(text)) == text
        assert stored.encode(text) == codec.encode(text)
    assert max(codec.encode("🐈")) < codec.size


def test_the_vocabulary_of_byte_pairs_comes_from_the_training_split_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("ab" * 900 + "xyxyxyxy" * 50, encoding="utf-8")
    task = text_task("t", str(path), "bpe", 260, block=8, train_fraction=0.8)
    assert len(task.tokenizer.encode("xy")) == 2
    assert len(task.tokenizer.encode("ab")) == 1


def write(path: Path, raw: bytes) -> str:
    path.write_bytes(raw)
    return str(path)


def test_one_text_has_one_tokenization_on_every_platform(tmp_path: Path) -> None:
    plain = text_task("t", write(tmp_path / "a", b"one\ntwo\n" * 40), block=8)
    windows = text_task("t", write(tmp_path / "b", b"\xef\xbb\xbf" + b"one\r\ntwo\r\n" * 40), block=8)
    assert torch.equal(plain.train, windows.train)
    assert torch.equal(plain.validation, windows.validation)


def test_a_file_that_is_not_utf8_names_the_byte_and_works_as_bytes(tmp_path: Path) -> None:
    raw = b"caf\xe9 " * 100
    path = write(tmp_path / "latin.txt", raw)
    with pytest.raises(UserError, match=r"latin\.txt: byte 3 \(0xe9\) is not UTF-8.*tokenizer: byte"):
        text_task("t", path, block=8)
    task = text_task("t", path, "byte", block=8)
    assert torch.cat([task.train, task.validation]).tolist() == list(raw)


def test_a_character_outside_the_vocabulary_is_named() -> None:
    with pytest.raises(ValueError, match=r"'€' \(U\+20AC\) at position 2 is outside the vocabulary"):
        CharacterTokenizer.fit("abc").encode("ab€")


@pytest.mark.parametrize(("length", "windows"), [(7, None), (8, None), (9, 1), (10, 2), (17, 2)])
def test_splits_around_one_block(tmp_path: Path, length: int, windows: int | None) -> None:
    """Shorter than the block, exactly the block: an error; block + 1: one window; then a short last one."""
    path = write(tmp_path / "t.txt", b"a" * (length * 9) + b"b" * length)
    if windows is None:
        with pytest.raises(UserError, match=f"validation split has {length} tokens, a block of 8 needs at least 9"):
            text_task("t", path, block=8)
        return
    task = text_task("t", path, block=8)
    parts = task.windows()
    assert sum(x.shape[0] for x, _ in parts) == windows
    assert sum(y.numel() for _, y in parts) == length - 1


def test_every_validation_token_is_a_target_exactly_once() -> None:
    task = text_task("t", "tinyshakespeare", block=60)
    targets = torch.cat([y.flatten() for _, y in task.windows()])
    assert torch.equal(targets, task.validation[1:].long())


def test_targets_are_the_next_tokens_and_stay_in_the_training_split() -> None:
    task = text_task("t", "tinyshakespeare")
    inputs, targets = task.batch(50, torch.Generator().manual_seed(0))
    assert torch.equal(inputs[:, 1:], targets[:, :-1])
    assert inputs.shape == targets.shape == (50, 64)


def test_a_training_split_of_one_window_can_be_drawn(tmp_path: Path) -> None:
    task = text_task("t", write(tmp_path / "t.txt", b"abcdefghi" * 2), block=8, train_fraction=0.5)
    inputs, targets = task.batch(3, torch.Generator().manual_seed(0))
    assert task.tokenizer.decode(inputs[0].tolist()) == "abcdefgh"
    assert task.tokenizer.decode(targets[0].tolist()) == "bcdefghi"


def test_byte_pairs_stop_early_and_say_so(tmp_path: Path) -> None:
    task = text_task("t", write(tmp_path / "t.txt", b"ab " * 200), "bpe", 5000, block=8)
    assert task.vocab < 300
    assert any("stopped at" in note and "5000" in note for note in task.notes)


def test_an_empty_or_missing_text_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"empty\.txt is empty"):
        text_task("t", write(tmp_path / "empty.txt", b""), "bpe", 300)
    with pytest.raises(UserError, match=r"gone\.txt: no such text file"):
        text_task("t", str(tmp_path / "gone.txt"))
    with pytest.raises(UserError, match="is a folder"):
        text_task("t", str(tmp_path))


def test_token_ids_beyond_sixteen_bits_do_not_wrap() -> None:
    task = text_task("t", "tinyshakespeare", block=8)
    task.train = torch.tensor([70_000] * 20, dtype=task.train.dtype)
    inputs, _ = task.batch(2, torch.Generator().manual_seed(0))
    assert inputs.unique().tolist() == [70_000]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"kind": "pickle"}', '{"kind": "char"}', "not json"])
def test_a_damaged_tokenizer_file_is_one_sentence(text: str) -> None:
    with pytest.raises(UserError, match=r"tokenizer\.json: not a tokenizer"):
        from_json(text, "tokenizer.json")


def test_a_model_that_gives_the_first_character_is_also_scored_on_it(tmp_path: Path) -> None:
    """The chance of a whole window is that of its operators in a row: Tr K_T…K_1 ρ K_1†…K_T†."""
    (tmp_path / "a.txt").write_text("abcab" * 30 + "cabba" * 3, encoding="utf-8")
    one = text_task("a", str(tmp_path / "a.txt"), block=4)
    model = InstrumentLM(InstrumentConfig(3, 2, 1), torch.Generator().manual_seed(0)).double()
    bits, count = 0.0, 0
    operators = model.operators()[:, 0].detach()
    for inputs, targets in one.windows():
        for row in torch.cat([inputs[:, :1], targets], 1).tolist():
            rho = model.prepare().detach()
            for symbol in row:
                rho = operators[symbol] @ rho @ operators[symbol].mH
            bits -= math.log2(rho.trace().real.item())
            count += len(row)
    assert one.examine(model)["splits"] == {"first character included": pytest.approx(bits / count, abs=1e-9)}
    assert one.examine(torch.nn.Identity()) == {}
