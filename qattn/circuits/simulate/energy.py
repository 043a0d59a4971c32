"""Energies: the mean and variance of a Hamiltonian, exact or from shots, and its ground energy.

Words that flip the same wires share one pass over the state: H = Σ Dₘ Fₘ, with Fₘ the flips of the wires in m and Dₘ
diagonal. Shots go to groups of words that commute wire by wire and share one measurement basis, in proportion to the
sum of their |c| (as in Wecker, Hastings and Troyer, PRA 92, 042303, 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Complex, Float, Int
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from qattn.circuits.ir.circuit import Operation, gate
from qattn.circuits.ir.hamiltonian import Hamiltonian
from qattn.circuits.ir.memory import check_memory
from qattn.circuits.simulate.readout import pauli_action, z_signs

DENSE_QUBITS, MOST_QUBITS = 9, 20  # for the ground energy: all eigenvalues, and Lanczos
RESIDUAL = 1e-8  # largest accepted ‖Hv − Ev‖ of a ground state, relative to Σ|c|


@lru_cache(maxsize=8)
def passes(h: Hamiltonian) -> list[tuple[Int[Tensor, " dim"], Complex[Tensor, " dim"]]]:
    """(flip, factor) with (Hψ)[i] = Σ factor[i] ψ[flip[i]], one pair for every set of flipped wires."""
    found: dict[str, list[tuple[Tensor, Tensor]]] = {}
    for word, coefficient in zip(h.words, h.coefficients, strict=True):
        flip, factor = pauli_action(word)
        found.setdefault("".join("1" if letter in "XY" else "0" for letter in word), []).append(
            (flip, coefficient * factor)
        )
    check_memory(h.qubits, copies=3 * len(found))
    return [(pairs[0][0], torch.stack([factor for _, factor in pairs]).sum(0)) for pairs in found.values()]


def applied(h: Hamiltonian, psi: Complex[Tensor, "... dim"]) -> Complex[Tensor, "... dim"]:
    """H ψ, differentiable."""
    total = torch.zeros_like(psi)
    for flip, factor in passes(h):
        total = total + psi.index_select(-1, flip.to(psi.device)) * factor.to(psi)
    return total


def energy(h: Hamiltonian, psi: Complex[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
    """⟨ψ|H|ψ⟩ of normalised states."""
    return (psi.conj() * applied(h, psi)).sum(-1).real


def variance(h: Hamiltonian, psi: Complex[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
    """⟨H²⟩ − ⟨H⟩² = ‖(H − ⟨H⟩) ψ‖², which vanishes at eigenstates."""
    moved = applied(h, psi) - energy(h, psi).unsqueeze(-1) * psi
    return moved.abs().square().sum(-1)


def ground_energy(h: Hamiltonian) -> float:
    """The least eigenvalue: of all of them up to 9 qubits, by Lanczos' method up to 20.

    Raises ``ValueError`` beyond, and ``ArithmeticError`` when Lanczos' vector is not an eigenvector (``RESIDUAL``).
    """
    if h.qubits > MOST_QUBITS:
        raise ValueError(f"the exact ground energy is computed up to {MOST_QUBITS} qubits, got {h.qubits}")
    size = 2**h.qubits

    def times(v: np.ndarray) -> np.ndarray:
        return applied(h, torch.as_tensor(v.reshape(-1), dtype=torch.complex128)).numpy()

    if h.qubits <= DENSE_QUBITS:
        rows = applied(h, torch.eye(size, dtype=torch.complex128))  # row i is H|i⟩, so this is Hᵀ, of the same spectrum
        return float(torch.linalg.eigvalsh(rows)[0])
    start = np.random.default_rng(0).normal(size=size)
    values, vectors = eigsh(LinearOperator((size, size), times, dtype=complex), k=1, which="SA", v0=start)
    residual = float(np.linalg.norm(times(vectors[:, 0]) - values[0] * vectors[:, 0]))
    if not residual <= RESIDUAL * sum(map(abs, h.coefficients)):
        raise ArithmeticError(f"Lanczos' method did not converge: ‖Hv − Ev‖ = {residual:.3g}")
    return float(values[0])


# ── shots


@dataclass(frozen=True)
class Group:
    """Words measured together: ``basis`` has for every wire the letter to measure, I where none matters."""

    basis: str
    words: tuple[str, ...]
    coefficients: tuple[float, ...]


def commuting_groups(h: Hamiltonian) -> list[Group]:
    """Words that commute wire by wire together, greedily from the largest |c| down; the identity is in none."""
    found: list[tuple[list[str], list[tuple[str, float]]]] = []
    for word, c in sorted(zip(h.words, h.coefficients, strict=True), key=lambda term: -abs(term[1])):
        if set(word) == {"I"}:
            continue
        for basis, members in found:
            if all("I" in (a, b) or a == b for a, b in zip(basis, word, strict=True)):
                basis[:] = [b if a == "I" else a for a, b in zip(basis, word, strict=True)]
                members.append((word, c))
                break
        else:
            found.append((list(word), [(word, c)]))
    return [Group("".join(b), tuple(w for w, _ in m), tuple(c for _, c in m)) for b, m in found]


def turned(basis: str) -> list[Operation]:
    """The gates that turn a measurement of X or Y into one of Z."""
    found: list[Operation] = []
    for wire, letter in enumerate(basis):
        found += [gate("Adjoint(S)", wire)] if letter == "Y" else []
        found += [gate("Hadamard", wire)] if letter in "XY" else []
    return found


def sampled_energy(
    h: Hamiltonian, draw: Callable[[list[Operation], int, int], Int[np.ndarray, " shots"]], shots: int
) -> tuple[float, float, int]:
    """The mean from ``shots`` in all, its standard error, and the number of groups.

    ``draw(gates, shots, stream)`` gives basis states after further gates, as whole numbers. Raises ``ValueError`` for
    fewer than two shots per group.
    """
    groups = commuting_groups(h)
    if shots < 2 * len(groups):
        raise ValueError(f"{len(groups)} groups of words need at least {2 * len(groups)} shots, got {shots}")
    weights = np.array([sum(map(abs, group.coefficients)) for group in groups])
    each = 2 + np.floor((shots - 2 * len(groups)) * weights / max(weights.sum(), 1e-300)).astype(int)
    each[: (shots - each.sum())] += 1  # what rounding left
    mean = sum(c for word, c in zip(h.words, h.coefficients, strict=True) if set(word) == {"I"})
    error = 0.0
    for stream, (group, count) in enumerate(zip(groups, each, strict=True)):
        drawn = draw(turned(group.basis), int(count), stream)
        signs = [z_signs("".join("I" if a == "I" else "Z" for a in word)).numpy()[drawn] for word in group.words]
        values = np.array(group.coefficients) @ np.array(signs)
        mean += float(values.mean())
        error += float(values.var(ddof=1)) / int(count)
    return float(mean), float(np.sqrt(error)), len(groups)
