"""Observables that are sums of Pauli words, H = Σ cₖ Pₖ with real cₖ: from words, named chains, or a graph's edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qattn.circuits.ir.expressions import Affine, Reader, expression, tokens
from qattn.circuits.ir.spec_values import known, listed, number, whole

CHAINS = ("ising", "heisenberg", "xy")
CUT = 1e-15  # terms that cancel to less than this are left out


@dataclass(frozen=True)
class Hamiltonian:
    """Pauli words of ``qubits`` letters, each once, and their coefficients in the units of the energy."""

    qubits: int
    words: tuple[str, ...]
    coefficients: tuple[float, ...]


def read_hamiltonian(data: Any, qubits: int, where: str) -> Hamiltonian:
    """From plain data: ``{ZZ: -1.05, XI: 0.39}``, sparse words ``{Z0 Z3: 0.5}``, ``{chain: ising, J: 1, h: 0.5}``, or
    ``{maxcut: [[0, 1], [1, 2, 0.7]]}``.

    The ising chain is −J Σ ZZ − h Σ X, heisenberg J Σ (XX + YY + ZZ) + h Σ Z, xy J Σ (XX + YY) + h Σ Z, around a ring
    unless ``ring: false``. The ground energy of maxcut is minus the weight of the greatest cut: Σ w (ZZ − 1)/2.
    Raises ``ValueError`` for words that do not fit, coefficients that are not real, and unknown names.
    """
    if not isinstance(data, Mapping) or not data:
        raise ValueError(f"{where}: expected Pauli words with coefficients such as {{ZZ: -1.0, XI: 0.5}}, got {data!r}")
    if "chain" in data:
        return summed(qubits, chain(data, qubits, where), where)
    if "maxcut" in data:
        known(data, ("maxcut",), where)
        return summed(qubits, maxcut(data["maxcut"], qubits, where), where)
    terms = []
    for word, coefficient in data.items():
        if isinstance(coefficient, str):
            coefficient = arithmetic(coefficient, where)
        if isinstance(coefficient, complex):
            raise ValueError(f"{where}: the coefficient of {word!r} must be real, or the sum is not Hermitian")
        terms.append((full_word(str(word), qubits, where), number(coefficient, f"{where}.{word}")))
    return summed(qubits, terms, where)


def arithmetic(text: str, where: str) -> float:
    """A number written as arithmetic, such as ``-1/2``."""

    def none(name: str) -> Affine:
        raise ValueError(f"{name!r} is not a number")

    try:
        reader = Reader(tokens(text))
        value = expression(reader, none).shift
        reader.take("end")
    except ValueError as error:
        raise ValueError(f"{where}: the coefficient {text!r}: {error}") from None
    return value


def full_word(word: str, qubits: int, where: str) -> str:
    """One letter per wire, from ``ZIIZ`` or ``Z0 Z3``; an empty word or ``I`` is the identity."""
    letters = word.split()
    if all(len(part) > 1 and part[0] in "IXYZ" and part[1:].isdigit() for part in letters):
        found = ["I"] * qubits
        for part in letters:
            wire = int(part[1:])
            if wire >= qubits:
                raise ValueError(f"{where}: {part} is out of range, the {qubits} qubits are 0 to {qubits - 1}")
            if found[wire] != "I":
                raise ValueError(f"{where}: wire {wire} is named twice in {word!r}")
            found[wire] = part[0]
        return "".join(found)
    if word == "I":
        return "I" * qubits
    if len(word) != qubits or set(word) - set("IXYZ"):
        raise ValueError(f"{where}: expected a word of {qubits} letters from IXYZ, or one like 'Z0 Z3', got {word!r}")
    return word


def summed(qubits: int, terms: Sequence[tuple[str, float]], where: str) -> Hamiltonian:
    """Equal words added up."""
    total: dict[str, float] = {}
    for word, coefficient in terms:
        total[word] = total.get(word, 0.0) + coefficient
    kept = {word: c for word, c in total.items() if abs(c) > CUT}
    if not kept:
        raise ValueError(f"{where}: all terms are 0")
    return Hamiltonian(qubits, tuple(kept), tuple(kept.values()))


def chain(data: Mapping[str, Any], qubits: int, where: str) -> list[tuple[str, float]]:
    """The terms of a named chain."""
    known(data, ("chain", "J", "h", "ring"), where)
    if data["chain"] not in CHAINS:
        raise ValueError(f"{where}.chain: expected {', '.join(CHAINS)}, got {data['chain']!r}")
    coupling, field = number(data.get("J", 1.0), f"{where}.J"), number(data.get("h", 0.0), f"{where}.h")
    ring = data.get("ring", True)
    if not isinstance(ring, bool):
        raise ValueError(f"{where}.ring: expected true or false, got {ring!r}")
    pairs = [(k, k + 1) for k in range(qubits - 1)] + ([(qubits - 1, 0)] if ring and qubits > 2 else [])
    letters = {"ising": "Z", "heisenberg": "XYZ", "xy": "XY"}[data["chain"]]
    sign, local = (-1.0, "X") if data["chain"] == "ising" else (1.0, "Z")
    terms = [(on(qubits, {a: p, b: p}), sign * coupling) for a, b in pairs for p in letters]
    return terms + [(on(qubits, {w: local}), sign * field) for w in range(qubits)]


def maxcut(data: Any, qubits: int, where: str) -> list[tuple[str, float]]:
    """Σ w (Z_a Z_b − 1)/2 over the edges [a, b] or [a, b, w]."""
    terms = []
    for edge in listed(data, f"{where}.maxcut"):
        if len(listed(edge, f"{where}.maxcut")) not in (2, 3):
            raise ValueError(f"{where}.maxcut: expected an edge [a, b] or [a, b, weight], got {edge!r}")
        a, b, *weight = edge
        ends = [whole(w, f"{where}.maxcut", most=qubits - 1) for w in (a, b)]
        if ends[0] == ends[1]:
            raise ValueError(f"{where}.maxcut: the edge {list(edge)} joins a node to itself")
        w = number(weight[0], f"{where}.maxcut") if weight else 1.0
        terms += [(on(qubits, dict.fromkeys(ends, "Z")), w / 2), ("I" * qubits, -w / 2)]
    if not terms:
        raise ValueError(f"{where}.maxcut: the graph has no edges")
    return terms


def on(qubits: int, letters: Mapping[int, str]) -> str:
    """The Pauli word with given letters on given wires."""
    return "".join(letters.get(w, "I") for w in range(qubits))
