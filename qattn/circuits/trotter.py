"""Time evolution exp(−iHt) as a circuit: product formulas of order 1, 2 and 4, and exactly for comparison.

Order 1 is one turn exp(−icPt/n) per Pauli word and step (Lloyd, Science 273, 1073, 1996), order 2 that word by word
forth and back with half the time, order 4 Suzuki's five steps of order 2 (J. Math. Phys. 32, 400, 1991).
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Complex, Float

from qattn.circuits.ir.circuit import Circuit, Operation
from qattn.circuits.ir.hamiltonian import Hamiltonian
from qattn.circuits.simulate.energy import applied

ORDERS = (1, 2, 4)
MOST_QUBITS = 10  # for the exact evolution, which takes all eigenvectors


def trotter_circuit(h: Hamiltonian, time: float, steps: int, order: int) -> Circuit:
    """exp(−iHt) in ``steps`` equal steps, up to the phase of H's identity. Raises ``ValueError`` for other orders."""
    if order not in ORDERS:
        raise ValueError(f"product formulas have the orders {', '.join(map(str, ORDERS))}, got {order}")
    if steps < 1:
        raise ValueError(f"an evolution has at least one step, got {steps}")
    one = formula(h, time / steps, order)
    return Circuit(h.qubits, tuple(one * steps))


def formula(h: Hamiltonian, time: float, order: int) -> list[Operation]:
    """One step of a product formula."""
    if order == 4:
        share = 1 / (4 - 4 ** (1 / 3))
        shares = (share, share, 1 - 4 * share, share, share)
        return [op for part in shares for op in formula(h, part * time, 2)]
    if order == 2:
        return [*turns(h, time / 2), *reversed(turns(h, time / 2))]
    return turns(h, time)


def turns(h: Hamiltonian, time: float) -> list[Operation]:
    """exp(−icPt) of every word but the identity, on the wires that it acts on."""
    found = []
    for word, c in zip(h.words, h.coefficients, strict=True):
        wires = tuple(w for w, letter in enumerate(word) if letter != "I")
        if wires:
            letters = "".join(word[w] for w in wires)
            found.append(Operation("PauliRot", wires, (2 * c * time,), word=letters))
    return found


def evolved(
    h: Hamiltonian, start: Complex[np.ndarray, " dim"], times: Float[np.ndarray, " times"]
) -> Complex[np.ndarray, "times dim"]:
    """exp(−iHt) ``start`` for several times by all eigenvectors of H without its identity.

    Raises ``ValueError`` for more than ``MOST_QUBITS`` qubits.
    """
    if h.qubits > MOST_QUBITS:
        raise ValueError(f"the exact evolution is computed up to {MOST_QUBITS} qubits, got {h.qubits}")
    kept = [(w, c) for w, c in zip(h.words, h.coefficients, strict=True) if set(w) != {"I"}]
    if not kept:
        return np.repeat(start[None], len(times), 0)
    bare = Hamiltonian(h.qubits, tuple(w for w, _ in kept), tuple(c for _, c in kept))
    matrix = applied(bare, torch.eye(2**h.qubits, dtype=torch.complex128)).numpy().T  # row i is H|i⟩
    values, vectors = np.linalg.eigh(matrix)
    phases = np.exp(-1j * np.multiply.outer(times, values))
    return (phases * (vectors.conj().T @ start)) @ vectors.T
