"""Pauli words by bits, against their matrices, PennyLane, and counts for many qubits."""

from __future__ import annotations

import json
from functools import reduce

import numpy as np
import pennylane as qml
import pytest

from contexts.logic import paulis
from contexts.logic.observables import PAULI, pauli

GATES = {
    "H": np.array([[1, 1], [1, -1]]) / 2**0.5,
    "S": np.diag([1, 1j]),
    "CX": np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]),
    "CZ": np.diag([1, 1, 1, -1]),
}


def random_words(number: int, qubits: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("IXYZ"), (number, qubits))
    return [rng.choice(["", "-"]) + "".join(row) for row in letters]


def test_commuting_is_that_of_the_matrices_and_of_pennylane():
    words = random_words(40, 3)
    table = paulis.commute(paulis.parse(words))
    qubitwise = paulis.commute_qubitwise(paulis.parse(words))
    for i, a in enumerate(words):
        for j, b in enumerate(words):
            p, q = pauli(a), pauli(b)
            assert table[i, j] == np.allclose(p @ q, q @ p)
            first, second = (qml.pauli.string_to_pauli_word(w.lstrip("-")) for w in (a, b))
            assert table[i, j] == qml.is_commuting(first, second)
            assert qubitwise[i, j] == qml.pauli.are_pauli_words_qwc([first, second])


def matrix_of(gates: list, qubits: int) -> np.ndarray:
    """The unitary of a circuit, by the gates' own matrices on the qubits' axes."""
    whole = np.eye(2**qubits).reshape([2] * qubits + [-1]).astype(complex)
    for name, at in gates:
        gate = GATES[name].reshape([2] * (2 * len(at)))
        whole = np.moveaxis(np.tensordot(gate, whole, axes=(range(len(at), 2 * len(at)), at)), range(len(at)), at)
    return whole.reshape(2**qubits, 2**qubits)


@pytest.mark.parametrize("seed", range(6))
def test_one_circuit_makes_a_commuting_family_diagonal(seed):
    """C P C† computed with matrices is the word of I and Z that the bits say, sign included."""
    qubits = 4
    words = paulis.parse(random_words(30, qubits, seed))
    for family in paulis.families(paulis.commute(words)):
        chosen = words.subset(family)
        gates, diagonal = paulis.diagonalise(chosen)
        assert not diagonal.x.any()
        c = matrix_of(gates, qubits)
        for before, after in zip(chosen.names(), diagonal.names(), strict=True):
            assert np.allclose(c @ pauli(before) @ c.conj().T, pauli(after))


def test_families_part_the_words_and_commute():
    words = paulis.parse(random_words(200, 6))
    table = paulis.commute(words)
    found = paulis.families(table)
    assert sorted(w for family in found for w in family) == list(range(200))
    assert all(table[np.ix_(family, family)].all() for family in found)
    assert len(found) < 100
    assert len(paulis.families(paulis.commute_qubitwise(words))) >= len(found)


def test_many_words_of_many_qubits():
    """1,000 words of 100 qubits; two products X_k Z_{k+1} commute unless they are neighbours (by hand)."""
    words = paulis.parse([f"X{k} Z{k + 1}" for k in range(999)])
    table = paulis.commute(words)
    apart = np.abs(np.subtract.outer(np.arange(999), np.arange(999)))
    assert np.array_equal(table, apart != 1)
    assert len(paulis.families(table)) == 2
    many = paulis.parse(random_words(1_000, 100))
    assert 0.49 < paulis.commute(many).mean() < 0.51  # half of all pairs
    gates, diagonal = paulis.diagonalise(words.subset(range(0, 999, 2)))
    assert len(gates) == 1_000
    assert not diagonal.x.any()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["XQ"], "letters I, X, Y, Z"),
        (["--X"], "letters I, X, Y, Z"),
        ([""], "letters I, X, Y, Z"),
        (["X0 Z0"], "wire 0 stands twice"),
        (["XX", "XXX"], "different numbers of qubits"),
        (["XX", "Z5"], "different numbers of qubits"),
        (["X999999"], "limit of 100000"),
        ([], "one or more"),
    ],
)
def test_what_is_no_pauli_word(words, message):
    with pytest.raises(ValueError, match=message):
        paulis.parse(words)


def test_wires_and_letters_agree():
    by_wires, by_letters = paulis.parse(["-X0 Z2", "Y1", "X0 * Y1 @ Z2"]), paulis.parse(["-XIZ", "IYI", "XYZ"])
    assert by_wires.names() == by_letters.names() == ["-XIZ", "IYI", "XYZ"]
    assert np.allclose(pauli("-XIZ"), -reduce(np.kron, [PAULI["X"], PAULI["I"], PAULI["Z"]]))


def test_commute_of_a_file_of_long_words(qattn, tmp_path):
    path = tmp_path / "o.json"
    words = {"A": "X0 Z19", "B": "Z0", "C": "Z0 X19"}
    path.write_text(json.dumps({"observables": words}))
    code, out, _ = qattn("contexts", "commute", path, "--json")
    result = json.loads(out)
    assert code == 0
    answers = {(p["a"], p["b"]): (p["commute"], p["commute_qubitwise"]) for p in result["pairs"]}
    assert answers == {("A", "B"): (False, False), ("A", "C"): (True, False), ("B", "C"): (True, True)}
    assert {p["norm"] for p in result["pairs"]} == {0.0, 2.0**11}
    assert sorted(map(sorted, (f["members"] for f in result["families"]))) in ([["A", "C"], ["B"]], [["A"], ["B", "C"]])
    code, out, _ = qattn("contexts", "commute", path)
    assert "families of commuting words: 2" in out


def test_stim_agrees_about_commutation_and_circuits():
    stim = pytest.importorskip("stim")
    words = paulis.parse(random_words(25, 40, 7))
    others = [stim.PauliString(name.replace("I", "_")) for name in words.names()]
    assert paulis.commute(words).tolist() == [[a.commutes(b) for b in others] for a in others]
    for family in paulis.families(paulis.commute(words)):
        gates, diagonal = paulis.diagonalise(words.subset(family))
        circuit = stim.Circuit("\n".join(f"{name} {' '.join(map(str, at))}" for name, at in gates))
        for word, name in zip(family, diagonal.names(), strict=True):
            assert others[word].after(circuit) == stim.PauliString(name.replace("I", "_"))
