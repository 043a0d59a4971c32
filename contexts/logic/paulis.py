"""Pauli words of any number of qubits, by their symplectic products, without matrices.

A word is ± a product of one Pauli operator per qubit, kept as two rows of bits: X has x = 1, Z has z = 1, Y both. Two
words commute exactly if x·z' + z·x' is even (Aaronson & Gottesman, PRA 70, 052328 (2004)), in O(qubits) where matrices
take 8^qubits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from contexts.hypergraphs.parsing import shown

QUBIT_LIMIT = 100_000
"""Largest number of a wire plus one."""

LETTERS = {"I": (0, 0), "X": (1, 0), "Y": (1, 1), "Z": (0, 1)}


@dataclass(frozen=True)
class PauliWords:
    """``x`` and ``z`` bits of every word at every qubit, and whether its sign is ``negative``."""

    x: Bool[np.ndarray, "words qubits"]
    z: Bool[np.ndarray, "words qubits"]
    negative: Bool[np.ndarray, " words"]

    def __len__(self) -> int:
        return len(self.x)

    def subset(self, rows: Sequence[int]) -> PauliWords:
        """These words alone, in this order."""
        return PauliWords(self.x[rows], self.z[rows], self.negative[rows])

    def names(self) -> list[str]:
        """The words as strings of one letter per qubit, such as ``-XIZ``."""
        letters = np.array(["I", "X", "Z", "Y"])[self.x + 2 * self.z]
        return [("-" if n else "") + "".join(row) for n, row in zip(self.negative, letters, strict=True)]


def parse(words: Sequence[str]) -> PauliWords:
    """From strings of one letter per qubit (``-XIZ``, all of one length) or of operators on wires (``X0 Z12``).

    The first letter acts on qubit 0. Words on wires are as long as the longest word needs. Raises ValueError for
    anything else, and for letters of different numbers of qubits.
    """
    if not words:
        raise ValueError("give one or more Pauli words")
    parsed = [_letters(word) for word in words]
    qubits = max(max(places, default=-1) + 1 for _, places, _ in parsed)
    lengths = {length for _, _, length in parsed if length is not None}
    if len(lengths) > 1 or any(length < qubits for length in lengths):
        raise ValueError(f"the Pauli words act on different numbers of qubits: {sorted({*lengths, qubits})}")
    qubits = max(qubits, *lengths, 1)
    bits = np.zeros((2, len(words), qubits), dtype=bool)
    for row, (_, places, _) in enumerate(parsed):
        for place, letter in places.items():
            bits[:, row, place] = LETTERS[letter]
    return PauliWords(bits[0], bits[1], np.array([negative for negative, _, _ in parsed]))


def _letters(word: str) -> tuple[bool, dict[int, str], int | None]:
    """The sign, the letters by qubit, and the number of letters (None for a word on wires)."""
    body = word.strip()
    negative = body.startswith("-")
    body = body[1:].strip() if body[:1] in ("+", "-") else body
    if re.fullmatch(r"[IXYZ]+", body):
        return negative, {k: letter for k, letter in enumerate(body) if letter != "I"}, len(body)
    if not re.fullmatch(r"[IXYZ]\d{1,6}([ *@]+[IXYZ]\d{1,6})*", body):
        raise ValueError(f"a Pauli word has the letters I, X, Y, Z, such as ZZI, or X0 Z12 by wires; got {shown(word)}")
    places: dict[int, str] = {}
    for operator in re.findall(r"[IXYZ]\d+", body):
        wire = int(operator[1:])
        if wire >= QUBIT_LIMIT:
            raise ValueError(f"wire {wire} of {shown(word)} is not below the limit of {QUBIT_LIMIT}")
        if wire in places:
            raise ValueError(f"wire {wire} stands twice in {shown(word)}")
        places[wire] = operator[0]
    return negative, {k: letter for k, letter in places.items() if letter != "I"}, None


def commute(words: PauliWords) -> Bool[np.ndarray, "words words"]:
    """Whether each two words commute: the symplectic product is even."""
    x, z = words.x.astype(np.float32), words.z.astype(np.float32)  # BLAS; exact up to 2²⁴ qubits
    product = x @ z.T
    return (product + product.T) % 2 == 0


def commute_qubitwise(words: PauliWords) -> Bool[np.ndarray, "words words"]:
    """Whether each two words commute qubit by qubit: at every qubit the letters agree or one is I."""
    acts = (words.x | words.z).astype(np.float32)
    both = acts @ acts.T
    same = np.zeros_like(both)
    for letter in (words.x & ~words.z, words.x & words.z, ~words.x & words.z):
        equal = letter.astype(np.float32)
        same += equal @ equal.T
    return both == same


def families(table: Bool[np.ndarray, "words words"]) -> list[list[int]]:
    """The words parted into families of pairwise commuting ones (positions), few but not provably fewest.

    A greedy colouring of the graph of pairs that do not commute, words with most such pairs first (Welsh & Powell).
    """
    order = np.argsort(np.count_nonzero(table, axis=1), kind="stable")
    found: list[list[int]] = []
    open_to = np.zeros((0, len(table)), dtype=bool)  # which words each family still takes
    for word in order.tolist():
        takes = np.flatnonzero(open_to[:, word])
        if len(takes):
            family = int(takes[0])
            found[family].append(word)
            open_to[family] &= table[word]
        else:
            found.append([word])
            open_to = np.vstack([open_to, table[word]])
    return [sorted(family) for family in found]


Gate = tuple[str, tuple[int, ...]]


def diagonalise(words: PauliWords) -> tuple[list[Gate], PauliWords]:
    """A Clifford circuit C of H, S, CX and CZ, as (name, qubits) in order of time, and the words C P C†, all of I and
    Z.

    Row by row: CX gathers the row's X part on one qubit q, S and CZ clear its Z part, H turns X_q to Z_q. The other
    rows commute with it, so that q is done. Raises ValueError when two words do not commute.
    """
    table = commute(words)
    if not table.all():
        i, j = divmod(int(np.argmin(table)), len(words))
        names = words.names()
        raise ValueError(f"{shown(names[i])} and {shown(names[j])} do not commute: no circuit makes both diagonal")
    x, z, negative = words.x.copy(), words.z.copy(), words.negative.copy()
    gates: list[Gate] = []

    def apply(name: str, *at: int) -> None:
        gates.append((name, at))
        _conjugate(x, z, negative, name, at)

    for row in range(len(words)):
        if not x[row].any():
            continue
        q, *others = np.flatnonzero(x[row]).tolist()
        for p in others:
            apply("CX", q, p)
        if z[row, q]:
            apply("S", q)
        for p in np.flatnonzero(z[row]).tolist():
            apply("CZ", q, p)
        apply("H", q)
    return gates, PauliWords(x, z, negative)


def conjugated(words: PauliWords, gates: Sequence[Gate]) -> PauliWords:
    """The words C P C† for a circuit of H, S, CX and CZ."""
    x, z, negative = words.x.copy(), words.z.copy(), words.negative.copy()
    for name, at in gates:
        _conjugate(x, z, negative, name, at)
    return PauliWords(x, z, negative)


def _conjugate(x: np.ndarray, z: np.ndarray, negative: np.ndarray, name: str, at: tuple[int, ...]) -> None:
    """One gate, in place (the table of Aaronson & Gottesman; CZ is H CX H)."""
    a, b = at[0], at[-1]
    if name == "H":
        negative ^= x[:, a] & z[:, a]
        x[:, a], z[:, a] = z[:, a].copy(), x[:, a].copy()
    elif name == "S":
        negative ^= x[:, a] & z[:, a]
        z[:, a] ^= x[:, a]
    elif name == "CX":
        negative ^= x[:, a] & z[:, b] & ~(x[:, b] ^ z[:, a])
        x[:, b] ^= x[:, a]
        z[:, a] ^= z[:, b]
    elif name == "CZ":
        negative ^= x[:, a] & x[:, b] & (z[:, a] ^ z[:, b])
        z[:, a] ^= x[:, b]
        z[:, b] ^= x[:, a]
    else:
        raise ValueError(f"the gates are H, S, CX and CZ; got {name!r}")
