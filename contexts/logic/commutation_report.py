"""Which observables commute, as one dictionary of plain data: what ``commute`` answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from contexts.hypergraphs.parsing import shown
from contexts.logic import observables, paulis

PAIR_DETAIL_LIMIT = 200
"""Bases up to which unbiasedness, entropic bound and incompatibility are added to every pair."""

PAIR_LIMIT = 400
"""Pauli words up to which every pair is listed; families are given for any number."""

CLIQUE_LIMIT = 64
"""Pauli words up to which the largest commuting sets are searched, which takes exponential time."""

Stack = Float[np.ndarray, "n d d"] | Complex[np.ndarray, "n d d"]


def of_matrices(labels: list[str], stack: Stack, bases: Stack | None, tolerance: float) -> dict[str, Any]:
    """Every pair's commutator; overlaps of the bases, where there are some; the largest commuting sets."""
    norms, table = observables.commute_table(stack, tolerance)
    pairs = []
    for i, j in combinations(range(len(labels)), 2):
        pair: dict[str, Any] = {"a": labels[i], "b": labels[j]}
        pair |= {"norm": float(norms[i, j]), "commute": bool(table[i, j])}
        if bases is not None and len(labels) <= PAIR_DETAIL_LIMIT:
            pair["unbiasedness"] = observables.mutual_unbiasedness(bases[i], bases[j])
            pair["entropic_bound_bits"] = observables.maassen_uffink(bases[i], bases[j])
            pair["incompatibility"] = observables.incompatibility(bases[i], bases[j])
        pairs.append(pair)
    degenerate = [label for label, m in zip(labels, stack, strict=True) if observables.spectral_form(m).degenerate]
    return {
        "pairs": pairs,
        "all_commute": bool(table.all()),
        "largest_commuting": [[labels[i] for i in s] for s in observables.largest_commuting_subsets(table)],
        "degenerate": degenerate,
        "labels": labels,
        "norms": norms.tolist(),
        "tolerance": tolerance,
    }


def of_pauli_words(named: Mapping[str, str]) -> dict[str, Any]:
    """The same for Pauli words, without matrices, and exactly: ``tolerance`` is 0.

    Adds whether each pair commutes qubit by qubit, and ``families`` of commuting words, each with the Clifford circuit
    that makes all its ``members`` ``diagonal``. Two words that do not commute have ‖[P, Q]‖_F = 2·2^{n/2}. Raises
    ValueError for words that are none.
    """
    labels = list(named)
    words = _parsed(named)
    table, qubitwise = paulis.commute(words), paulis.commute_qubitwise(words)
    qubits = words.x.shape[1]
    norm = 2.0 * 2.0 ** (qubits / 2) if qubits <= 2_000 else None  # past that it leaves float64
    listed = len(labels) <= PAIR_LIMIT
    pairs = [
        {
            "a": labels[i],
            "b": labels[j],
            "norm": 0.0 if table[i, j] else norm,
            "commute": bool(table[i, j]),
            "commute_qubitwise": bool(qubitwise[i, j]),
        }
        for i, j in combinations(range(len(labels) if listed else 0), 2)
    ]
    result: dict[str, Any] = {
        "pairs": pairs,
        "all_commute": bool(table.all()),
        "largest_commuting": None,
        "degenerate": labels if qubits > 1 else [n for n, x in zip(labels, words.names(), strict=True) if "I" in x],
        "labels": labels,
        "norms": np.where(table, 0.0, norm).tolist() if listed and norm is not None else None,
        "tolerance": 0.0,
        "qubits": qubits,
        "families": [_family(labels, words, family) for family in paulis.families(table)],
    }
    if not listed:
        result["pairs_reason"] = f"pairs are listed up to {PAIR_LIMIT} words"
    if len(labels) <= CLIQUE_LIMIT:
        largest = observables.largest_commuting_subsets(table)
        result["largest_commuting"] = [[labels[i] for i in s] for s in largest]
    return result


def _parsed(named: Mapping[str, str]) -> paulis.PauliWords:
    """All words at once, or an error that names the first wrong one."""
    try:
        return paulis.parse(list(named.values()))
    except ValueError:
        for name, word in named.items():
            try:
                paulis.parse([word])
            except ValueError as error:
                raise ValueError(f"observable {shown(name)}: {error}") from None
        raise


def _family(labels: list[str], words: paulis.PauliWords, family: list[int]) -> dict[str, Any]:
    gates, diagonal = paulis.diagonalise(words.subset(family))
    return {
        "members": [labels[i] for i in family],
        "circuit": [[name, *at] for name, at in gates],
        "diagonal": diagonal.names(),
    }
