"""What is read at the end: probabilities, samples, means of Pauli words, a POVM through a Naimark ancilla."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Complex, Float, Int, Shaped
from scipy.linalg import null_space
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, Operation, expect_shape
from qattn.circuits.ir.hamiltonian import Hamiltonian
from qattn.circuits.ir.memory import check_bytes
from qattn.circuits.simulate.statevector import FinalState

KINDS = ("probabilities", "samples", "expectations", "hamiltonian", "state", "povm")
MOST_SIGNS = 2**20  # words times basis states of a table of signs; of more no table is made
COMPLETENESS = 1e-8  # largest accepted ‖ΣE − 1‖ of a POVM, and most negative eigenvalue of an element


@dataclass(frozen=True, eq=False)
class Measurement:
    """What to read. ``wires`` empty means all. ``shots`` None means exact. ``elements`` ``(k, d, d)`` are a POVM's
    effects."""

    kind: str = "probabilities"
    wires: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    shots: int | None = None
    seed: int | None = None
    elements: np.ndarray | None = None
    hamiltonian: Hamiltonian | None = None

    def check(self, qubits: int) -> None:
        """Raise ``ValueError`` unless the measurement fits so many qubits."""
        if self.kind not in KINDS:
            raise ValueError(f"unknown measurement {self.kind!r}; known are {', '.join(KINDS)}")
        outside = [w for w in self.wires if not 0 <= w < qubits]
        if outside:
            raise ValueError(f"wire {outside[0]} is out of range, the {qubits} qubits are 0 to {qubits - 1}")
        if len(set(self.wires)) != len(self.wires):
            raise ValueError("a wire is named twice")
        for word in self.words:
            if len(word) != qubits or set(word) - set("IXYZ"):
                raise ValueError(f"a Pauli word needs {qubits} letters from IXYZ, one per wire, got {word!r}")
        if self.kind == "expectations" and not self.words:
            raise ValueError("expectations need at least one Pauli word, such as ZI")
        if self.shots is not None and self.shots < 1:
            raise ValueError(f"shots must be at least 1, got {self.shots}")
        if self.shots is not None:
            check_shots(self.shots, qubits)
        if self.kind == "samples" and self.shots is None:
            raise ValueError("samples need a number of shots")
        if self.kind == "state" and self.shots is not None:
            raise ValueError("the state is known in an exact simulation only; drop the shots or measure probabilities")
        if self.kind == "hamiltonian" and (self.hamiltonian is None or self.hamiltonian.qubits != qubits):
            raise ValueError(f"a hamiltonian needs Pauli words of {qubits} letters")
        if self.kind == "povm":
            if self.elements is None:
                raise ValueError("a povm needs its elements")
            check_povm(self.elements, 2 ** (len(self.wires) or qubits))


def marginal(p: Float[Tensor, "... dim"], wires: Sequence[int], qubits: int) -> Float[Tensor, "... outcomes"]:
    """Probabilities ``(..., 2ⁿ)`` summed to the given wires, in their order."""
    if not wires or list(wires) == list(range(qubits)):
        return p
    lead = p.shape[:-1]
    cube = p.reshape(*lead, *(2,) * qubits)
    rest = [len(lead) + w for w in range(qubits) if w not in wires]
    kept = sorted(wires)
    summed = cube.sum(rest) if rest else cube
    order = [len(lead) + kept.index(w) for w in wires]
    return summed.permute(*range(len(lead)), *order).reshape(*lead, 2 ** len(wires))


def log_probabilities(p: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """log p with p = 0 held at the smallest normal number of its dtype, where value and gradient stay finite."""
    return torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))


def expectations(final: FinalState, words: Sequence[str]) -> Float[Tensor, "... words"]:
    """Means of Pauli words, one letter per wire: ``(k,)`` or ``(batch, k)``. Words of I and Z need no rotated state."""
    diagonal = [w for w in words if not set(w) & set("XY")]
    means: dict[str, Tensor] = {}
    if len(diagonal) << final.qubits > MOST_SIGNS:
        columns = contracted(final.natural(final.density()), diagonal)
        means.update(zip(diagonal, columns if final.batched else columns.squeeze(-1), strict=True))
    elif diagonal:
        table = sign_table(tuple(diagonal)).to(final.psi.device)
        means.update(zip(diagonal, final.diagonal_expectations(table).unbind(-1), strict=True))
    others = [w for w in words if w not in means]
    psi = final.amplitudes() if others else None
    for word in others:
        assert psi is not None
        flips, factors = pauli_action(word)
        moved = psi.index_select(-1, flips.to(psi.device)) * factors.to(psi)
        means[word] = (psi.conj() * moved).sum(-1).real
    return torch.stack([means[w] for w in words], -1)


def contracted(density: Float[Tensor, "dim batch"], words: Sequence[str]) -> Float[Tensor, "words batch"]:
    """Means of words of I and Z without a table of signs: wire after wire is summed or subtracted, last wire first.

    What words have in common at their ends is computed once.
    """
    known = {"": density}

    def over(ending: str) -> Tensor:
        if ending not in known:
            pairs = over(ending[1:]).unflatten(0, (-1, 2))
            known[ending] = pairs[:, 0] - pairs[:, 1] if ending[0] == "Z" else pairs[:, 0] + pairs[:, 1]
        return known[ending]

    return torch.cat([over(word) for word in words])


@lru_cache(maxsize=8)
def sign_table(words: tuple[str, ...]) -> Float[Tensor, "words dim"]:
    """Eigenvalues ``(k, 2ⁿ)`` of words of I and Z; kept, since training asks for the same ones at every step."""
    return torch.stack([z_signs(w) for w in words])


def z_signs(word: str) -> Float[Tensor, " dim"]:
    """Eigenvalues of a word of I and Z, in the order of basis states."""
    out = torch.ones(1, dtype=torch.float64)
    for letter in word:
        out = torch.kron(out, torch.tensor([1.0, -1.0] if letter == "Z" else [1.0, 1.0], dtype=torch.float64))
    return out


def pauli_action(word: str) -> tuple[Int[Tensor, " dim"], Complex[Tensor, " dim"]]:
    """A Pauli word as (Pψ)[i] = factor[i] ψ[flip[i]]."""
    n = len(word)
    index = torch.arange(2**n, dtype=torch.int32)
    flip = index ^ sum(1 << (n - 1 - w) for w, letter in enumerate(word) if letter in "XY")
    factor = torch.ones(2**n, dtype=torch.complex128)
    for w, letter in enumerate(word):
        bit = (index >> (n - 1 - w)) & 1
        if letter == "Z":
            factor = factor * (1 - 2 * bit)
        elif letter == "Y":
            factor = factor * (1j * (2 * bit - 1))
    return flip, factor


def check_shots(shots: int, qubits: int) -> None:
    """Raise ``ValueError`` when so many outcomes of so many bits (a byte each) would not fit in memory."""
    check_bytes(f"{shots} shots", shots * (64 + qubits))


def sample(
    p: Float[Tensor, " dim"] | Float[np.ndarray, " dim"], shots: int, seed: int | None
) -> Int[np.ndarray, " shots"]:
    """Basis states drawn from probabilities ``(2ⁿ,)``. Float32 rounding is corrected in float64; anything worse is
    refused."""
    check_shots(shots, 1)
    weights = np.asarray(p.detach().cpu() if isinstance(p, Tensor) else p, np.float64)
    total = weights.sum()
    if not abs(total - 1) < 1e-3 or weights.min() < -1e-6:
        raise ValueError(
            f"probabilities must be non-negative and sum to 1, got sum {total:.6g} and least {weights.min():.3g}"
        )
    weights = np.clip(weights, 0, None)
    return np.random.default_rng(seed).choice(len(weights), size=shots, p=weights / weights.sum())


def check_povm(elements: Shaped[np.ndarray, "*shape"], dimension: int) -> None:
    """Raise ``ValueError`` unless the elements are positive and add up to the identity."""
    if elements.ndim != 3:
        raise ValueError(f"povm elements need shape (k, {dimension}, {dimension}), got {elements.shape}")
    expect_shape("povm elements", elements.shape[1:], (dimension, dimension))
    defect = float(np.linalg.norm(elements.sum(0) - np.eye(dimension)))
    if not defect <= COMPLETENESS:
        raise ValueError(f"povm elements must add up to the identity, ‖ΣE − 1‖ = {defect:.3g}")
    hermitian = float(np.max(np.abs(elements - elements.conj().transpose(0, 2, 1))))
    least = float(np.linalg.eigvalsh(elements).min())
    if hermitian > COMPLETENESS or least < -COMPLETENESS:
        raise ValueError(f"povm elements must be positive, got an eigenvalue of {least:.3g}")


def square_root(element: Complex[np.ndarray, "dim dim"]) -> Complex[np.ndarray, "dim dim"]:
    """The positive square root of a positive matrix."""
    values, vectors = np.linalg.eigh(element)
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.conj().T


def complete_isometry(isometry: Shaped[np.ndarray, "rows dim"]) -> Complex[np.ndarray, "rows rows"]:
    """A unitary whose first columns are the given isometry ``(m, d)``. Raises ``ValueError`` when its columns are
    not orthonormal."""
    d = isometry.shape[1]
    defect = float(np.linalg.norm(isometry.conj().T @ isometry - np.eye(d)))
    if defect > 1e-5:
        raise ValueError(f"the isometry's columns are not orthonormal, ‖B†B − 1‖ = {defect:.3g}")
    q, r = np.linalg.qr(isometry.astype(complex))
    q = q * (np.diag(r) / np.abs(np.diag(r)))
    rest = null_space(q.conj().T)  # an orthonormal basis of what the isometry misses
    return np.concatenate([q, rest], 1)


def naimark(
    circuit: Circuit, elements: Shaped[np.ndarray, "effects size size"], wires: Sequence[int] = ()
) -> tuple[Circuit, tuple[int, ...]]:
    """The circuit with ancilla wires in front and a dilation at the end, and the ancillas to measure: outcome k has
    tr(Eₖ ρ).

    Naimark: V = Σₖ |k⟩ ⊗ √Eₖ is an isometry; the unitary completed from it acts on ancillas (in |0⟩) and
    the wires. Raises ``ValueError`` for elements that are no POVM of the wires, and beside amplitudes as inputs.
    """
    wires = tuple(wires) or tuple(range(circuit.qubits))
    check_povm(elements, 2 ** len(wires))
    extra = max(1, (len(elements) - 1).bit_length())
    size = 2 ** len(wires)
    isometry = np.zeros((2**extra * size, size), complex)
    isometry[: len(elements) * size] = np.concatenate([square_root(e) for e in elements])
    shifted = [
        Operation(op.name, tuple(w + extra for w in op.wires), op.angles, op.data, op.word) for op in circuit.operations
    ]
    ancillas = tuple(range(extra))
    dilation = Operation("QubitUnitary", (*ancillas, *(w + extra for w in wires)), (), complete_isometry(isometry))
    initial = None
    if circuit.initial is not None:
        initial = np.concatenate([circuit.initial, np.zeros((2**extra - 1) * len(circuit.initial))])
    if circuit.amplitude_inputs:
        raise ValueError("a povm after amplitude encoding needs the amplitudes as values, not as inputs")
    return Circuit(circuit.qubits + extra, (*shifted, dilation), initial, names=circuit.names), ancillas
