"""Generated tasks against what mathematics, Python's own arithmetic and regular expressions say of them."""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from sympy.combinatorics import Permutation
from sympy.combinatorics.named_groups import AlternatingGroup, SymmetricGroup

from experiments.errors import UserError
from experiments.lm.builders import load_task
from experiments.lm.evaluate import accuracy, evaluate
from experiments.lm.train import stream
from experiments.schema import jobs, load_experiment
from experiments.tasks import Task
from experiments.tasks.groups import elements, product_table
from experiments.tasks.languages import TOMITA, motzkin_ways, motzkin_word, tomita
from experiments.tasks.sequences import IGNORED
from experiments.tasks.synthetic import distinct
from experiments.tasks.tokenizers import SymbolTokenizer, from_json


def task(tmp_path: Path, text: str) -> Task:
    """A task as it is written in a YAML file."""
    path = tmp_path / "one.yaml"
    path.write_text(f"task: {{{text}}}\nmodels: {{a: {{kind: transformer}}}}\nseeds: 1\n")
    return load_task(jobs(load_experiment(path))[0])


class Oracle(torch.nn.Module):
    """Says with certainty what a function of the inputs computes; ``start`` and ``step`` from the whole text."""

    def __init__(self, vocab: int, answer) -> None:
        super().__init__()
        self.vocab, self.answer = vocab, answer

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        wanted = torch.from_numpy(self.answer(tokens.numpy())).clamp_min(0)
        return torch.nn.functional.one_hot(wanted, self.vocab).double().clamp_min(1e-300).log()


EVERY = [
    "kind: parity", "kind: modular_arithmetic", "kind: word_problem, group: A5", "kind: copying", "kind: dyck2",
    "kind: mqar, train: 500", "kind: tomita, number: 5", "kind: motzkin, strings: 500",
]  # fmt: skip


@pytest.mark.parametrize("text", EVERY)
def test_every_task_keeps_its_promises(tmp_path: Path, text: str) -> None:
    one = task(tmp_path, text)
    inputs, targets = one.batch(8, stream(3))
    again, _ = one.batch(8, stream(3))
    other, _ = one.batch(8, stream(4))
    assert torch.equal(inputs, again)
    assert not torch.equal(inputs, other)
    assert inputs.shape == targets.shape == (8, one.span)
    assert 0 <= int(inputs.min()) <= int(inputs.max()) < one.vocab <= one.tokenizer.size
    wanted = targets[targets != IGNORED]
    assert len(wanted)
    assert 0 <= int(wanted.min()) <= int(wanted.max()) < one.vocab
    assert one.block >= one.span
    assert sum(len(x) for x, _ in one.windows()) >= 10
    facts = one.facts()
    assert facts["metric"] == "accuracy"
    assert facts["best"] < facts["chance"] <= math.log(one.vocab) + 1e-12
    assert from_json(one.tokenizer.to_json(), "here").encode(one.tokenizer.decode([1, 0])) == [1, 0]


@pytest.mark.parametrize(("group", "peer"), [("S3", SymmetricGroup(3)), ("A4", AlternatingGroup(4)),
                                             ("A5", AlternatingGroup(5)), ("S5", SymmetricGroup(5))])  # fmt: skip
def test_groups_are_those_of_sympy(group: str, peer) -> None:
    assert {tuple(g.array_form) for g in peer.elements} == set(elements(group))
    table = product_table(group)
    rng = np.random.default_rng(0)
    for a, b in rng.integers(len(table), size=(50, 2)):
        both = Permutation(list(elements(group)[a])) * Permutation(list(elements(group)[b]))  # first a, then b
        assert tuple(both.array_form) == elements(group)[table[a, b]]
    a, b, c = rng.integers(len(table), size=(3, 1000))
    assert (table[table[a, b], c] == table[a, table[b, c]]).all()
    assert peer.is_solvable == (group in ("S3", "A4"))


def test_word_problem_targets_are_running_products_and_the_test_is_four_times_as_long(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: word_problem, group: S5, length: 6")
    inputs, targets = one.batch(5, stream(0))
    for row, wanted in zip(inputs.tolist(), targets.tolist(), strict=True):
        state = Permutation(4)
        for token, target in zip(row, wanted, strict=True):
            state = state * Permutation(list(elements("S5")[token]))
            if target == IGNORED:
                break
            assert tuple(state.array_form) == elements("S5")[target]
    assert one.block == 24
    assert one.facts()["chance"] == pytest.approx(math.log(120))


def test_swaps_are_the_transpositions_and_reach_the_whole_group(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: word_problem, group: S5, length: 30, inputs: swaps, validation: 400")
    inputs, targets = one.windows()[0]
    read = {int(token) for token in inputs.unique()}
    assert len(read) == 10
    assert all(Permutation(list(elements("S5")[token])).cycle_structure.get(2) == 1 for token in read)
    assert all(sum(x == i for i, x in enumerate(elements("S5")[token])) == 3 for token in read)
    assert len(targets[targets != IGNORED].unique()) == 120  # after some swaps every element is likely


def test_asked_for_a_point_the_target_is_where_the_product_takes_it(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: word_problem, group: A5, length: 6, asked: point")
    inputs, targets = one.batch(5, stream(0))
    for row, wanted in zip(inputs.tolist(), targets.tolist(), strict=True):
        state = Permutation(4)
        for token, target in zip(row, wanted, strict=True):
            state = state * Permutation(list(elements("A5")[token]))
            assert target == IGNORED or one.tokenizer.decode([target]) == str(state(0) + 1)
    assert (one.vocab, one.facts()["guess"]) == (65, 0.2)


def test_parity_is_that_of_the_ones_so_far(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: parity, validation: 400")
    inputs, targets = one.windows()[0]
    assert targets.shape == (400, 40)
    lengths = (targets != IGNORED).sum(1)
    assert {int(lengths.min()), int(lengths.max())} == {3, 40}  # (37/38)^400 for each end: missed once in 20 000
    expected = inputs.cumsum(1) % 2
    assert torch.equal(targets, torch.where(targets == IGNORED, IGNORED, expected))
    oracle = Oracle(2, lambda x: x.cumsum(1) % 2)
    measured = one.examine(oracle)
    assert measured["accuracy"] == 1
    assert set(measured["splits"]) == {"validation", "lengths 40 to 256"}
    assert evaluate(oracle, one.windows()) == 0
    lazy = one.examine(Oracle(2, np.zeros_like))["accuracy"]
    assert lazy == pytest.approx(0.5, abs=0.05)
    last = task(tmp_path, "kind: parity, supervise: last")
    assert ((last.windows()[0][1] != IGNORED).sum(1) == 1).all()


def test_modular_arithmetic_agrees_with_python(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: modular_arithmetic, validation: 300")
    for row, wanted in zip(*(part.tolist() for part in one.windows()[0]), strict=True):
        asked = [place for place, target in enumerate(wanted) if target != IGNORED]
        assert len(asked) == 1
        expression = one.tokenizer.decode(row[: asked[0] + 1])
        assert expression.endswith(" =")
        assert eval(expression[:-2]) % 5 == wanted[asked[0]]


def test_copying_repeats_the_symbols_after_the_marker(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: copying, keep: 10, blanks: 200, validation: 20")
    inputs, targets = one.windows()[0]
    assert inputs.shape == (20, 220)
    assert torch.equal(targets[:, -10:], inputs[:, :10])
    assert (targets[:, :-10] == 0).all()
    assert (inputs == 9).nonzero()[:, 1].unique().tolist() == [209]

    def blank(x: np.ndarray) -> np.ndarray:
        return np.zeros_like(x)

    assert accuracy(Oracle(10, blank), one.windows()) == pytest.approx(210 / 220)  # all steps
    assert one.examine(Oracle(10, blank))["accuracy"] == 0  # the ten that count
    assert f"{10 * math.log(8) / 220:.5f}" in " ".join(one.facts()["notes"])


def test_recall_targets_are_the_values_beside_the_keys(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: mqar, vocab: 64, length: 32, pairs: 4, train: 50")
    for row, wanted in zip(*(part.tolist() for part in one.batch(20, stream(0))), strict=True):
        pairs = dict(zip(row[0:8:2], row[1:8:2], strict=True))
        assert len(pairs) == 4
        asked = {place: target for place, target in enumerate(wanted) if target != IGNORED}
        assert sorted(row[place] for place in asked) == sorted(pairs)
        assert all(pairs[row[place]] == target and place >= 8 for place, target in asked.items())
        assert all(key < 32 <= value for key, value in pairs.items())
    seen = {tuple(row) for row in one.batch(2000, stream(1))[0].tolist()}
    assert len(seen) == 50  # a fixed training set; missing one of 50 in 2000 draws: below 1e-15


def test_distinct_numbers_are_distinct_and_uniform() -> None:
    """All 20 ordered pairs of 5, 20 000 draws: each within 6 standard deviations of 1 000; false alarm below 1e-7."""
    rows = distinct(20_000, 5, 2, np.random.default_rng(0))
    assert (rows[:, 0] != rows[:, 1]).all()
    counts = np.bincount(rows[:, 0] * 5 + rows[:, 1], minlength=25).reshape(5, 5)
    off = counts[~np.eye(5, dtype=bool)]
    assert abs(off - 1000).max() < 6 * math.sqrt(1000)


def test_dyck_targets_are_the_top_of_the_stack(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: dyck2, length: 40, depth: 3, validation: 50")
    deepest = 0
    for row, wanted in zip(*(part.tolist() for part in one.windows()[0]), strict=True):
        stack: list[str] = []
        for symbol, target in zip(one.tokenizer.decode(row).split(), one.tokenizer.decode(wanted).split(), strict=True):
            if symbol in "([":
                stack.append({"(": ")", "[": "]"}[symbol])
            else:
                assert stack.pop() == symbol
            deepest = max(deepest, len(stack))
            assert target == (stack[-1] if stack else ".")
    assert deepest == 3


PATTERNS = {
    4: r"(?!.*000).*",
    5: r"(00|11|(01|10)(00|11)*(01|10))*",
    7: r"0*1*0*1*",
}


@pytest.mark.parametrize("number", sorted(TOMITA))
def test_tomita_languages_agree_with_regular_expressions(number: int) -> None:
    for length in range(1, 11):
        strings = np.array(list(product((0, 1), repeat=length)))
        for string, inside in zip(strings, TOMITA[number](strings), strict=True):
            text = "".join(map(str, string))
            if number == 3:
                runs = re.findall(r"(?<!1)(1+)(0+)", text)
                expected = not any(len(ones) % 2 and len(zeros) % 2 for ones, zeros in runs)
            elif number == 6:
                expected = (text.count("0") - text.count("1")) % 3 == 0
            else:
                expected = re.fullmatch(PATTERNS[number], text) is not None
            assert inside == expected, text


def test_motzkin_words_are_counted_by_the_motzkin_numbers_and_drawn_uniformly(tmp_path: Path) -> None:
    """OEIS A001006. Uniformity: 9 words of length 4, 10 000 draws, 6 standard deviations."""
    ways = motzkin_ways(15)
    assert ways[0] == [1, 1, 2, 4, 9, 21, 51, 127, 323, 835, 2188, 5798, 15511, 41835, 113634, 310572]
    for length in range(1, 9):
        strings = np.array(list(product((0, 1, 2), repeat=length)))
        assert motzkin_word(strings).sum() == ways[0][length]
    from experiments.tasks.languages import random_motzkin

    words = random_motzkin(10_000, 4, motzkin_ways(4), np.random.default_rng(0))
    assert motzkin_word(words).all()
    counts = np.unique(words, axis=0, return_counts=True)[1]
    assert len(counts) == 9
    assert abs(counts - 10_000 / 9).max() < 6 * math.sqrt(10_000 / 9)
    one = task(tmp_path, "kind: motzkin, length: 9, strings: 300")
    assert one.facts()["best"] == pytest.approx(math.log(835) / 10)


def test_languages_split_and_frame_their_strings(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: tomita, number: 5, strings: 1000")
    inputs, targets = one.windows()[0]
    assert len(inputs) == 1000
    assert (inputs[:, 0] == 2).all()
    assert ((targets == 2).sum(1) == 1).all()
    own = {tuple(row[row >= 0]) for row in one.train_strings.tolist() for row in [np.array(row)]}
    held = {tuple(row[row >= 0]) for row in one.held_out.tolist() for row in [np.array(row)]}
    assert len(own) == len(held) == 1000
    assert not own & held
    assert all(TOMITA[5](np.array([row]))[0] for row in own)


class Writer(torch.nn.Module):
    """Knows what a writer of strings may know: no 000 (``rule``), or the parity of the ones (``ends``)."""

    def __init__(self, rule: bool = False, ends: bool = False) -> None:
        super().__init__()
        self.rule, self.ends = rule, ends

    def start(self, batch: int) -> torch.Tensor:
        return torch.zeros(batch, 2)

    def step(self, token: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        zeros, ones = torch.where(token == 0, state[:, 0] + 1, 0), state[:, 1] + (token == 1)
        chances = torch.tensor([0.3, 0.3, 0.4]).repeat(len(token), 1)
        if self.rule:
            chances[zeros == 2, 0] = 0
        if self.ends:
            chances[ones % 2 == 1, 2] = 0
        return (chances / chances.sum(-1, keepdim=True)).log(), torch.stack([zeros, ones], 1)


def test_a_model_that_knows_the_grammar_writes_only_members_and_a_coin_does_not(tmp_path: Path) -> None:
    """No 000: after 00 a one. The coin: members of length 16 are counted exactly; 1 000 samples, 6 standard errors."""
    one = task(tmp_path, "kind: tomita, number: 4")
    assert list(one.examine(Writer(rule=True))["splits"].values()) == pytest.approx([1.0] * 4, abs=1e-12)
    every = (np.arange(2**16)[:, None] >> np.arange(16)) & 1
    share = TOMITA[4](every).mean()
    found = one.examine(Writer())
    assert found["accuracy"] == found["splits"]["length 16"]
    for way in ("length 16", "length 16, end left out"):
        assert abs(found["splits"][way] - share) < 6 * math.sqrt(share * (1 - share) / 1000)


def test_strings_are_drawn_given_their_length() -> None:
    """A writer that ends only after an even number of ones: given the length all strings are even, and without regard
    to the end half are (1 000 samples, 6 standard errors). Weighted shares against the exact P(s | n), by enumeration.
    """
    odd_rule = tomita("t", 5, 1000, 15, (6,), 1000, 0)
    odd_rule.member = lambda strings: strings.sum(1) % 2 == 0
    given, free = odd_rule.shares(Writer(ends=True), 6)
    assert given == pytest.approx(1, abs=1e-12)
    assert abs(free - 0.5) < 6 * 0.5 / math.sqrt(1000)
    odd_rule.member = lambda strings: strings[:, 0] == 1
    given, _ = odd_rule.shares(Writer(ends=True), 6)
    total = {0: 0.0, 1: 0.0}
    for string in product((0, 1), repeat=6):
        chance, ones = 1.0, 0
        for symbol in string:
            chance *= 0.3 if ones % 2 == 0 else 0.5  # no marker among three, or among two
            ones += symbol
        total[string[0]] += chance * (0.4 if ones % 2 == 0 else 0)
    exact = total[1] / sum(total.values())
    assert abs(given - exact) < 6 * 0.5 / math.sqrt(2000)  # 8 000 proposals, of which a quarter count at least


def test_membership_is_asked_of_every_prefix(tmp_path: Path) -> None:
    one = task(tmp_path, "kind: tomita, number: 6, asked: membership, test_lengths: [60], validation: 40")
    inputs, targets = one.windows()[0]
    assert inputs.shape == (40, 15)
    for row, wanted in zip(inputs.tolist(), targets.tolist(), strict=True):
        for place, target in enumerate(wanted):
            if target != IGNORED:
                read = row[: place + 1]
                assert target == ((read.count(0) - read.count(1)) % 3 == 0)
    assert one.block == 60
    assert one.facts()["guess"] == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kind: parity, lengths: [9, 3]", "expected the smaller length first, got [9, 3]"),
        ("kind: mqar, pairs: 40", "expected at least four times pairs (160), got 64"),
        ("kind: tomita, number: 5, test_lengths: [16, 9]", "expected lengths of which Tomita 5 has strings, got 9"),
        ("kind: word_problem, group: A5, inputs: swaps", "expected 'all' for a group of even permutations"),
        ("kind: tomita, number: 2", "expected a number of at least 3, got 2"),
        ("kind: word_problem, group: S6", "expected 'Z2', 'S3', 'A4', 'A5' or 'S5', got 'S6'"),
        ("kind: tomita, number: 7, strings: 100000", "too few to learn 100000"),
        ("kind: motzkin, length: 5, strings: 100", "there are 21 Motzkin words of length 5: too few to learn 100"),
    ],
)
def test_impossible_tasks_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        task(tmp_path, text)


def test_symbols_are_read_back_and_a_stranger_is_named() -> None:
    tokenizer = SymbolTokenizer(["0", "1", "#"])
    assert tokenizer.encode("0 1 #") == [0, 1, 2]
    with pytest.raises(ValueError, match=r"'2' is not among the task's 3 symbols \(0 1 #\)"):
        tokenizer.encode("0 2")


def test_every_kind_without_a_file_is_made_from_its_defaults() -> None:
    from experiments.schema.task_kinds import TASKS

    for kind, config in TASKS.items():
        if "path" not in config.model_fields:
            one = config(kind=kind)
            made = one.model_copy(update=one.filled(Path())).build("x")
            assert made.windows()
