"""Observables that are sums of Pauli words, H = Σ cₖ Pₖ with real cₖ: from words, named chains, or a graph's edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qattn.circuits.ir.expressions import read_number
from qattn.circuits.ir.spec_values import Place, SpecError, known, listed, number, truth, whole

CHAINS = ("ising", "heisenberg", "xy")
CUT = 1e-15  # terms that cancel to less than this are left out


@dataclass(frozen=True)
class Hamiltonian:
    """Pauli words of ``qubits`` letters, each once, and their coefficients in the units of the energy."""

    qubits: int
    words: tuple[str, ...]
    coefficients: tuple[float, ...]


def read_hamiltonian(data: Any, qubits: int, where: Place) -> Hamiltonian:
    """From plain data: ``{ZZ: -1.05, XI: 0.39}``, sparse words ``{Z0 Z3: 0.5}``, ``{chain: ising, J: 1, h: 0.5}``, or
    ``{maxcut: [[0, 1], [1, 2, 0.7]]}``.

    The ising chain is −J Σ ZZ − h Σ X, heisenberg J Σ (XX + YY + ZZ) + h Σ Z, xy J Σ (XX + YY) + h Σ Z, around a ring
    unless ``ring: false``. The ground energy of maxcut is minus the weight of the greatest cut: Σ w (ZZ − 1)/2.
    Raises :class:`SpecError` for words that do not fit, coefficients that are not real, and unknown names.
    """
    if not isinstance(data, Mapping) or not data:
        raise SpecError(where, f"expected Pauli words with coefficients such as {{ZZ: -1.0, XI: 0.5}}, got {data!r}")
    if "chain" in data:
        return summed(qubits, chain(data, qubits, where), where)
    if "maxcut" in data:
        known(data, ("maxcut",), where)
        return summed(qubits, maxcut(data["maxcut"], qubits, where), where)
    terms = []
    for word, coefficient in data.items():
        place = (*where, str(word))
        if isinstance(coefficient, str):
            coefficient = arithmetic(coefficient, place)
        if isinstance(coefficient, complex):
            raise SpecError(place, f"the coefficient of {word!r} must be real, or the sum is not Hermitian")
        terms.append((full_word(str(word), qubits, place), number(coefficient, place)))
    return summed(qubits, terms, where)


def arithmetic(text: str, where: Place) -> float:
    """A number written as arithmetic, such as ``-1/2``. Raises :class:`SpecError` for names and nonsense."""
    try:
        return read_number(text)
    except ValueError as error:
        raise SpecError(where, f"the coefficient {text!r}: {error}") from None


def full_word(word: str, qubits: int, where: Place) -> str:
    """One letter per wire, from ``ZIIZ`` or ``Z0 Z3``; an empty word or ``I`` is the identity.

    Raises :class:`SpecError` for other letters, other lengths, and wires out of range or named twice.
    """
    letters = word.split()
    if all(len(part) > 1 and part[0] in "IXYZ" and part[1:].isdigit() for part in letters):
        found = ["I"] * qubits
        for part in letters:
            wire = int(part[1:])
            if wire >= qubits:
                raise SpecError(where, f"{part} is out of range, the {qubits} qubits are 0 to {qubits - 1}")
            if found[wire] != "I":
                raise SpecError(where, f"wire {wire} is named twice in {word!r}")
            found[wire] = part[0]
        return "".join(found)
    if word == "I":
        return "I" * qubits
    if len(word) != qubits or set(word) - set("IXYZ"):
        raise SpecError(where, f"expected a word of {qubits} letters from IXYZ, or one like 'Z0 Z3', got {word!r}")
    return word


def summed(qubits: int, terms: Sequence[tuple[str, float]], where: Place) -> Hamiltonian:
    """Equal words added up. Raises :class:`SpecError` where nothing is left."""
    total: dict[str, float] = {}
    for word, coefficient in terms:
        total[word] = total.get(word, 0.0) + coefficient
    kept = {word: c for word, c in total.items() if abs(c) > CUT}
    if not kept:
        raise SpecError(where, "all terms are 0")
    return Hamiltonian(qubits, tuple(kept), tuple(kept.values()))


def chain(data: Mapping[str, Any], qubits: int, where: Place) -> list[tuple[str, float]]:
    """The terms of a named chain. Raises :class:`SpecError` for unknown names and keys."""
    known(data, ("chain", "J", "h", "ring"), where)
    if data["chain"] not in CHAINS:
        raise SpecError((*where, "chain"), f"expected {', '.join(CHAINS)}, got {data['chain']!r}")
    coupling, field = number(data.get("J", 1.0), (*where, "J")), number(data.get("h", 0.0), (*where, "h"))
    ring = truth(data.get("ring", True), (*where, "ring"))
    pairs = [(k, k + 1) for k in range(qubits - 1)] + ([(qubits - 1, 0)] if ring and qubits > 2 else [])
    letters = {"ising": "Z", "heisenberg": "XYZ", "xy": "XY"}[data["chain"]]
    sign, local = (-1.0, "X") if data["chain"] == "ising" else (1.0, "Z")
    terms = [(on(qubits, {a: p, b: p}), sign * coupling) for a, b in pairs for p in letters]
    return terms + [(on(qubits, {w: local}), sign * field) for w in range(qubits)]


def maxcut(data: Any, qubits: int, where: Place) -> list[tuple[str, float]]:
    """Σ w (Z_a Z_b − 1)/2 over the edges [a, b] or [a, b, w]. Raises :class:`SpecError` for what is no graph."""
    terms = []
    for k, edge in enumerate(listed(data, (*where, "maxcut"))):
        place = (*where, "maxcut", k)
        if len(listed(edge, place)) not in (2, 3):
            raise SpecError(place, f"expected an edge [a, b] or [a, b, weight], got {edge!r}")
        a, b, *weight = edge
        ends = [whole(w, place, most=qubits - 1) for w in (a, b)]
        if ends[0] == ends[1]:
            raise SpecError(place, f"the edge {list(edge)} joins a node to itself")
        w = number(weight[0], place) if weight else 1.0
        terms += [(on(qubits, dict.fromkeys(ends, "Z")), w / 2), ("I" * qubits, -w / 2)]
    if not terms:
        raise SpecError((*where, "maxcut"), "the graph has no edges")
    return terms


def on(qubits: int, letters: Mapping[int, str]) -> str:
    """The Pauli word with given letters on given wires."""
    return "".join(letters.get(w, "I") for w in range(qubits))
