"""Where sense-labelled examples come from: the paper's bank, pseudo-words, WordNet, lambeq's sentences, CoarseWSD-20.

Every function returns :class:`~contexts.learning.classifier.SenseTask` and reads only what it is given; nothing is
downloaded.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contexts.learning.classifier import Example, SenseTask

WORDNET = Path("/usr/share/wordnet")

_BANK = {
    "economy": (
        ("she", "he", "the farmer", "our company", "the widow"),
        ("deposited money in", "asked a loan from", "opened an account at", "paid interest to", "cashed a cheque at"),
        ("before the economy shrank", "to buy a house", "with her savings", "on friday", "and signed the mortgage"),
    ),
    "river": (
        ("she", "he", "the farmer", "a heron", "the old fisherman"),
        ("fished from", "waded along", "moored the boat at", "watched the water from", "walked the muddy"),
        ("where the river bends", "after the flood", "with wet boots", "on friday", "and heard the current"),
    ),
    "seat": (
        ("she", "he", "the farmer", "a tired pupil", "the old gardener"),
        ("sat down on", "rested on", "painted", "carved a name into", "slept on"),
        (
            "under the oak in the park",
            "beside the garden wall",
            "because no seat was free",
            "on friday",
            "and put a cushion there",
        ),
    ),
}


def bank(seed: int = 0, per_sense: int = 40) -> SenseTask:
    """The paper's example: ``bank`` as economy, river or seat, in sentences made from small word lists.

    A made-up text: it shows the mechanism, it is no evidence about language. Training and test sentences differ.
    """
    rng = np.random.default_rng(seed)
    train: list[Example] = []
    test: list[Example] = []
    for sense, (subjects, verbs, ends) in enumerate(_BANK.values()):
        texts = [
            f"{s} {v} the bank {e}".replace("muddy the bank", "muddy bank")
            for s in subjects
            for v in verbs
            for e in ends
        ]
        order = rng.permutation(len(texts))
        for k, i in enumerate(order[: 2 * per_sense]):
            tokens = tuple(texts[i].split())
            (train if k < per_sense else test).append(Example(tokens, tokens.index("bank"), sense))
    return SenseTask("bank", tuple(_BANK), tuple(train), tuple(test), "generated here, after Svozil, section VIII.2")


def words_of(text: str) -> list[str]:
    """Lower-case words; punctuation is dropped, apostrophes within words stay."""
    return re.findall(r"[a-z]+(?:['’][a-z]+)?", text.lower())


def pseudo_words(
    text: str,
    words: Sequence[str],
    window: int = 8,
    test_share: float = 0.3,
    limit: int = 400,
    name: str = "",
    dev_share: float = 0.0,
) -> SenseTask:
    """Merge unambiguous words of a text into one token and ask which it was: labels are perfect and free.

    Gale, Church & Yarowsky (1992); Schütze (1992). The last ``test_share`` of the text tests, the ``dev_share`` before
    it is for choosing settings, and the rest trains, with a gap of a window between, so that no word is seen in two
    parts. At most ``limit`` occurrences of each word are kept in each part, spread evenly. Raises ValueError when a
    word occurs fewer than 5 times in a part.
    """
    if len(set(words)) < 2:
        raise ValueError(f"a pseudo-word merges two or more different words; got {list(words)}")
    tokens = words_of(text)
    merged = "+".join(words)
    sense_of = {w: s for s, w in enumerate(words)}
    parts: dict[str, list[Example]] = {"training": [], "dev": [], "test": []}
    for part, (start, stop) in _stretches(len(tokens), window, dev_share, test_share).items():
        for word in words:
            places = [i for i in range(start, stop) if tokens[i] == word]
            if len(places) < 5:
                raise ValueError(f"{word!r} occurs {len(places)} times in the {part} part; 5 are needed")
            for i in np.array(places)[np.linspace(0, len(places) - 1, min(limit, len(places))).astype(int)]:
                left, right = max(start, i - window), min(stop, i + window + 1)
                around = tuple(merged if t in sense_of else t for t in tokens[left:right])
                parts[part].append(Example(around, int(i - left), sense_of[word]))
    train, dev, test = (tuple(parts[part]) for part in ("training", "dev", "test"))
    return SenseTask(name or merged, tuple(words), train, test, "pseudo-words of the given text", dev)


def pseudo_word_pairs(
    text: str, pairs: int = 20, skip: int = 200, letters: int = 4, least: int = 10, dev_share: float = 0.2,
    test_share: float = 0.2, window: int = 8,
) -> list[tuple[str, str]]:  # fmt: skip
    """Words to merge, drawn by rule: neighbours in the order of falling frequency, so that neither sense is rare.

    The ``skip`` most frequent words of the text (function words) and words of fewer than ``letters`` letters or with an
    apostrophe are left out, and so are words with fewer than ``least`` occurrences in the training, the dev or the test
    part of :func:`pseudo_words`. Equal counts stand in the order of the alphabet. Raises ValueError where the text has
    too few words.
    """
    tokens = words_of(text)
    ordered = [word for word, _ in sorted(Counter(tokens).items(), key=lambda item: (-item[1], item[0]))]
    stretches = _stretches(len(tokens), window, dev_share, test_share).values()
    counts = [Counter(tokens[start:stop]) for start, stop in stretches]
    words = [w for w in ordered[skip:] if len(w) >= letters and w.isalpha()]
    able = [w for w in words if all(count[w] >= least for count in counts)]
    if len(able) < 2 * pairs:
        raise ValueError(f"the text has {len(able)} words for pairs, {2 * pairs} are needed")
    return list(zip(able[0 : 2 * pairs : 2], able[1 : 2 * pairs : 2], strict=True))


def _stretches(length: int, window: int, dev_share: float, test_share: float) -> dict[str, tuple[int, int]]:
    """Where the parts of a text begin and end, with a window left out on both sides of each cut."""
    cuts = {"training": 1 - dev_share - test_share, "dev": 1 - test_share, "test": 1.0}
    made, start = {}, 0
    for part, share in cuts.items():
        if part == "dev" and not dev_share:
            continue
        end = length if part == "test" else int(length * share)
        made[part] = (start, end if part == "test" else end - window)
        start = end + window
    return made


def sentences(train: str, test: str, name: str, asked: str = "", dev: str = "") -> SenseTask:
    """lambeq's MC and RP layout: a label 0 or 1, blanks, a tokenised sentence, one per line (the last may lack its
    newline).

    The asked token is ``asked`` where the sentence has it, else the middle one: it only fixes what places are relative
    to. Raises ValueError naming the line that is not of this layout.
    """
    parts = []
    for part, text in (("train", train), ("test", test), ("dev", dev)):
        examples = []
        for number, line in enumerate(text.splitlines(), start=1):
            label, *tokens = line.split()
            if label not in ("0", "1") or not tokens:
                raise ValueError(f"{name} {part}, line {number}: expected 0 or 1 and a sentence, got {line!r}")
            tokens = [t for t in tokens if t != "."]
            position = tokens.index(asked) if asked in tokens else len(tokens) // 2
            examples.append(Example(tuple(tokens), position, int(label)))
        parts.append(tuple(examples))
    return SenseTask(name, ("0", "1"), parts[0], parts[1], "lambeq (CQCL), Apache-2.0", parts[2])


def coarse_wsd(folder: str | Path) -> SenseTask:
    """One word's folder in the layout of CoarseWSD-20 (Loureiro et al., arXiv:2008.11608).

    ``classes_map.txt`` (JSON: number → sense), ``{train,test}.data.txt`` (position, tab, tokenised sentence) and
    ``{train,test}.gold.txt`` (a sense number a line). Raises ValueError naming the file and line.
    """
    folder = Path(folder)
    files = {
        k: folder / k
        for k in ("classes_map.txt", *(f"{p}.{k}.txt" for p in ("train", "test") for k in ("data", "gold")))
    }
    if missing := [k for k, path in files.items() if not path.is_file()]:
        raise ValueError(f"the folder has no {missing[0]}; CoarseWSD-20's layout has {', '.join(files)}")
    try:
        names = json.loads(files["classes_map.txt"].read_text(encoding="utf-8"))
        senses = tuple(str(names[str(k)]) for k in range(len(names)))
    except (json.JSONDecodeError, KeyError, TypeError):
        raise ValueError(
            'classes_map.txt: expected JSON such as {"0": "bank_(finance)", "1": "bank_(geography)"}'
        ) from None
    parts = []
    for part in ("train", "test"):
        data = files[f"{part}.data.txt"].read_text(encoding="utf-8").splitlines()
        gold = files[f"{part}.gold.txt"].read_text(encoding="utf-8").split()
        if len(data) != len(gold):
            raise ValueError(f"{part}.data.txt has {len(data)} lines but {part}.gold.txt has {len(gold)} labels")
        examples = []
        for number, (line, label) in enumerate(zip(data, gold, strict=True), start=1):
            place, *tokens = line.split()
            if not place.isdigit() or int(place) >= len(tokens) or label not in names:
                raise ValueError(
                    f"{part}.data.txt, line {number}: expected a position within the sentence and a known label"
                )
            examples.append(Example(tuple(tokens), int(place), int(label)))
        parts.append(tuple(examples))
    return SenseTask(folder.name, senses, parts[0], parts[1], "user files in CoarseWSD-20 layout")


def wordnet(word: str, folder: str | Path = WORDNET, least: int = 2) -> SenseTask:
    """Example sentences of a noun's senses from WordNet's ``data.noun`` (Debian package ``wordnet-base``).

    Senses with fewer than ``least`` quoted examples that use the word are left out; every second example of a sense
    tests. Small: a handful of sentences. Raises ValueError when WordNet is not there or the word has too few examples.
    """
    data, index = Path(folder) / "data.noun", Path(folder) / "index.noun"
    if not data.is_file() or not index.is_file():
        raise ValueError(f"WordNet is not at {folder}: install Debian's package wordnet-base, or give its folder")
    entry = next((x for x in index.read_text(encoding="latin-1").splitlines() if x.startswith(f"{word} ")), None)
    if entry is None:
        raise ValueError(f"WordNet has no noun {word!r}")
    fields = entry.split()
    offsets = fields[-int(fields[2]) :]
    glosses = {line[:8]: line for line in data.read_text(encoding="latin-1").splitlines() if line[:8] in set(offsets)}
    names: list[str] = []
    train: list[Example] = []
    test: list[Example] = []
    for offset in offsets:
        gloss = glosses[offset].partition(" | ")[2]
        texts = [words_of(q) for q in re.findall(r'"([^"]+)"', gloss)]
        uses = [(t, t.index(w)) for t in texts for w in (word, f"{word}s") if w in t]
        if len(uses) < least:
            continue
        for k, (tokens, position) in enumerate(uses):
            tokens[position] = word
            (test if k % 2 else train).append(Example(tuple(tokens), position, len(names)))
        names.append(gloss.split(";")[0].strip())
    if len(names) < 2:
        raise ValueError(f"WordNet has fewer than two senses of {word!r} with {least} or more examples")
    return SenseTask(f"wordnet {word}", tuple(names), tuple(train), tuple(test), f"WordNet, {folder}")
