"""Maximal observables A = Σ λᵢ|eᵢ⟩⟨eᵢ|, from bases, matrices and Pauli strings; their commutators and overlaps.

A context is an orthonormal basis; giving its vectors different eigenvalues makes it a maximal observable (Svozil,
Eqs. 2–5). Two contexts are compatible when their observables commute, which for non-degenerate eigenvalues means that
the bases are the same; contexts that share only some vectors are complementary. float64 or complex128 throughout.

The paper says that A₁ and A₂ of Eqs. 2–5 "do not commute unless μ₁ = μ₂ and λ₁ = λ₂"; by the formula
‖[A, B]‖_F = √2 |λ₁−λ₂| |μ₁−μ₂| |sin φ cos φ| either equality is enough.

Every tolerance is relative to the traceless part A − (tr A / d)·1, the only part that says anything: [A + a·1, B + b·1]
= [A, B], and a shift or a change of unit changes neither eigenvectors nor degeneracy. No answer depends on either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from jaxtyping import Bool, Float, Inexact, Int, Num, Real

from contexts.hypergraphs.hypergraph import TOLERANCE, Hypergraph, as_tolerance
from contexts.hypergraphs.parsing import shown
from contexts.hypergraphs.rays import basis, require_orthonormal

QUBIT_LIMIT = 10
"""Letters of a Pauli string: ten make matrices of dimension 1,024 (16 MB each)."""

ENTRY_LIMIT = 2**24
"""Entries of a whole stack of observables: 4,096 of dimension 64, or 16 of dimension 1,024 (256 MB)."""

SMALLEST, LARGEST = 1e-60, 1e60
"""Between these a matrix's largest entry lies (or it is zero), so that norms of commutators stay within float64."""

PAULI = {
    "I": np.eye(2),
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}


def maximal_observable(
    vectors: Num[np.ndarray, "d columns"],
    eigenvalues: Sequence[float | int] | Real[np.ndarray, " values"] | None = None,
    tolerance: float = TOLERANCE,
) -> Inexact[np.ndarray, "d d"]:
    """A = Σ λᵢ|eᵢ⟩⟨eᵢ| (Svozil, Eqs. 2 and 4), a d × d Hermitian matrix.

    ``vectors`` are d orthonormal columns; eigenvalues default to 1, 2, …, d. Raises ValueError when the columns are no
    orthonormal basis within the tolerance, naming the pair and the size of the error, or the eigenvalues do not fit.
    """
    vectors = np.asarray(vectors)
    d = vectors.shape[0]
    if vectors.shape != (d, d):
        raise ValueError(
            f"a maximal observable needs d orthonormal vectors in dimension d; got {vectors.shape[1]} in dimension {d}"
        )
    error = np.abs(vectors.conj().T @ vectors - np.eye(d))
    if not error.max() <= tolerance:
        i, j = divmod(int(np.nanargmax(error)), d)
        what = f"vector {i + 1} is not of length 1" if i == j else f"vectors {i + 1} and {j + 1} are not orthogonal"
        raise ValueError(f"{what}: off by {error[i, j]:.3g}, more than the tolerance {tolerance:g}")
    values = np.arange(1.0, d + 1) if eigenvalues is None else np.asarray(eigenvalues, dtype=float)
    if values.shape != (d,) or not np.all(np.isfinite(values)):
        raise ValueError(f"expected {d} finite real eigenvalues, got {values.size}: {shown(values.tolist())}")
    _check_size(values, "the eigenvalues")
    return (vectors * values) @ vectors.conj().T


@dataclass(frozen=True)
class SpectralForm:
    """``eigenvalues`` (distinct, rising), their ``multiplicities``, ``projectors``, and an eigenbasis as columns."""

    eigenvalues: np.ndarray
    multiplicities: tuple[int, ...]
    projectors: np.ndarray
    vectors: np.ndarray

    @property
    def degenerate(self) -> bool:
        """Then the observable is not maximal: it leaves the basis within an eigenspace open, and fixes no context."""
        return max(self.multiplicities) > 1


def spectral_form(matrix: Any, tolerance: float = TOLERANCE) -> SpectralForm:
    """Eigenvalues, projectors and multiplicities of a Hermitian matrix; degeneracy is reported, not hidden.

    Eigenvalues closer than tolerance · (largest − smallest) count as equal. Raises ValueError for a matrix that is not
    square, not finite or not Hermitian within the tolerance of :func:`hermitian`, naming the worst entry.
    """
    matrix = hermitian(matrix, tolerance)
    values, vectors = np.linalg.eigh(traceless(matrix))
    groups = _close_values(values, tolerance * float(values[-1] - values[0]))
    mean = float(np.trace(matrix).real) / len(matrix)
    return SpectralForm(
        np.array([mean + values[g].mean() for g in groups]),
        tuple(g.stop - g.start for g in groups),
        np.stack([vectors[:, g] @ vectors[:, g].conj().T for g in groups]),
        vectors,
    )


def _close_values(values: np.ndarray, gap: float) -> list[slice]:
    """Runs of rising numbers whose neighbours are at most ``gap`` apart."""
    starts = [0, *(i for i in range(1, len(values)) if values[i] - values[i - 1] > gap), len(values)]
    return [slice(a, b) for a, b in pairwise(starts)]


def traceless(matrices: Num[np.ndarray, "*stack d d"]) -> Inexact[np.ndarray, "*stack d d"]:
    """A − (tr A / d)·1 of one matrix (d, d) or a stack (…, d, d).

    Exactly zero where it is no larger than the rounding of the entries themselves, 4d·2⁻⁵² of the largest: such a
    matrix is a multiple of the identity, as far as float64 can say.
    """
    d = matrices.shape[-1]
    mean = np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / d
    rest = matrices - mean * np.eye(d)
    noise = 4 * d * np.finfo(np.float64).eps * np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    return np.where(np.abs(rest).max(axis=(-2, -1), keepdims=True) <= noise, 0, rest)


def hermitian(matrix: Any, tolerance: float = TOLERANCE) -> Inexact[np.ndarray, "d d"]:
    """The matrix as float64 or complex128, its Hermitian part taken, so that A = A† exactly.

    Raises ValueError for a matrix that is not square, not finite, or not Hermitian: entries (i, j) and (j, i)* may
    differ by the tolerance times the largest entry of the traceless part, or by the rounding of the entries; the
    message says which entry is off and by how much.
    """
    try:
        matrix = np.asarray(matrix)
        matrix = matrix.astype(np.complex128 if np.iscomplexobj(matrix) else np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("expected a matrix of numbers with rows of one length") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"an observable is a square matrix; got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise ValueError("the matrix has an entry that is not a finite number")
    _check_size(matrix, "the matrix")
    error = np.abs(matrix - matrix.conj().T)
    rounding = 4 * len(matrix) * np.finfo(np.float64).eps * float(np.abs(matrix).max())
    if error.max() > tolerance * float(np.abs(traceless(matrix)).max()) + rounding:
        i, j = divmod(int(error.argmax()), matrix.shape[0])
        raise ValueError(
            f"the matrix is not Hermitian: entry ({i + 1}, {j + 1}) and the conjugate of entry ({j + 1}, {i + 1})"
            f" differ by {error[i, j]:.3g}"
        )
    return (matrix + matrix.conj().T) / 2


def pauli(word: str) -> Inexact[np.ndarray, "d d"]:
    """The Kronecker product of single-qubit Pauli matrices; ``ZI`` acts with Z on the first (most significant)
    qubit. At most ``QUBIT_LIMIT`` letters.

    Raises ValueError for other letters or more of them.
    """
    sign = -1.0 if word.startswith("-") else 1.0
    letters = word[1:] if word[:1] in ("+", "-") else word
    if not letters or set(letters) - set(PAULI):
        raise ValueError(f"a Pauli string has the letters I, X, Y, Z, such as ZZI; got {shown(word)}")
    if len(letters) > QUBIT_LIMIT:
        raise ValueError(f"a Pauli string has at most {QUBIT_LIMIT} letters (qubits); got {len(letters)}")
    matrix = np.array([[sign]])
    for letter in letters:
        matrix = np.kron(matrix, PAULI[letter])
    return matrix


def _check_size(values: np.ndarray, what: str) -> None:
    largest = float(np.abs(values).max(initial=0.0))
    if not (largest == 0 or SMALLEST <= largest <= LARGEST):
        raise ValueError(
            f"{what} must have its largest entry between {SMALLEST:g} and {LARGEST:g}, or norms leave float64;"
            f" got {largest:.3g}: rescale"
        )


def pauli_context(words: Sequence[str]) -> tuple[Int[np.ndarray, "d words"], Inexact[np.ndarray, "d d"]]:
    """The joint eigenbasis of commuting Pauli strings: values ±1 (vectors, strings), and the vectors as columns.

    Raises ValueError when two strings do not commute, or when together they leave the basis open (not maximal).
    """
    joint = joint_eigenbasis([pauli(w) for w in words], names=list(words))
    if max(joint.multiplicities) > 1:
        raise ValueError(f"the Pauli strings {', '.join(words)} are not a complete set: some joint eigenvalues repeat")
    return np.rint(joint.values).astype(int), joint.vectors


@dataclass(frozen=True)
class JointEigenbasis:
    """``values[i, k]``: eigenvalue of observable k on column i of ``vectors``; equal rows form blocks of
    ``multiplicities``."""

    values: np.ndarray
    vectors: np.ndarray
    multiplicities: tuple[int, ...]


def joint_eigenbasis(
    observables: Sequence[Num[np.ndarray, "rows columns"]],
    names: Sequence[str] | None = None,
    tolerance: float = TOLERANCE,
) -> JointEigenbasis:
    """Diagonalise commuting Hermitian matrices together, splitting each eigenspace of the first by the next, and so on.

    Eigenvalues of one observable closer than 1e-7 of its spread count as equal. Raises ValueError naming the pair that
    commutes least, within the tolerance of :func:`commute_table`, and the norm of its commutator.
    """
    matrices = [hermitian(m) for m in observables]
    if not matrices or len({m.shape for m in matrices}) > 1:
        raise ValueError("a joint eigenbasis needs one or more observables of one dimension")
    labels = names or [f"observable {i + 1}" for i in range(len(matrices))]
    norms, commute = commute_table(np.stack(matrices), tolerance)
    if not commute.all():
        i, j = divmod(int(np.where(commute, 0, norms).argmax()), len(matrices))
        raise ValueError(f"{labels[i]} and {labels[j]} do not commute: ‖[A, B]‖ = {norms[i, j]:.3g}")
    blocks = [np.eye(matrices[0].shape[0], dtype=np.result_type(*matrices))]
    for matrix in map(traceless, matrices):
        values = np.linalg.eigvalsh(matrix)
        gap = 1e-7 * float(values[-1] - values[0])  # of the whole: within a block what is left may be rounding alone
        split = []
        for block in blocks:
            inner = block.conj().T @ matrix @ block
            values, vectors = np.linalg.eigh((inner + inner.conj().T) / 2)
            split += [block @ vectors[:, g] for g in _close_values(values, gap)]
        blocks = split
    vectors = np.concatenate(blocks, axis=1)
    values = np.stack([np.einsum("ji,jk,ki->i", vectors.conj(), m, vectors).real for m in matrices], axis=1)
    return JointEigenbasis(values, vectors, tuple(b.shape[1] for b in blocks))


def check_entries(number: int) -> None:
    """Raise ValueError when a stack of observables would have more than ``ENTRY_LIMIT`` entries."""
    if number > ENTRY_LIMIT:
        raise ValueError(
            f"the observables have {number} entries together, more than the limit of {ENTRY_LIMIT}: give fewer or "
            "smaller ones"
        )


def commutator_norms(observables: Num[np.ndarray, "n d d"]) -> Float[np.ndarray, "n n"]:
    """‖[Aᵢ, Aⱼ]‖_F for all pairs of a stack (n, d, d) of Hermitian matrices at once: an (n, n) symmetric table.

    One matrix product per pair, since BA = (AB)†, of the traceless parts, which have the same commutator; the
    difference is taken entry by entry, so that commuting pairs come out at rounding error (about 1e-15 of the traceless
    parts' ‖A‖‖B‖) and not at its square root.
    """
    check_entries(np.size(observables))
    stack = np.ascontiguousarray(traceless(np.asarray(observables)))
    if np.iscomplexobj(stack) and not stack.imag.any():
        stack = np.ascontiguousarray(stack.real)  # a quarter of the work
    n, d = stack.shape[:2]
    norms = np.zeros((n, n))
    strip = max(1, 131_072 // (d * d))  # so many products stay in a 1 MB cache
    for i in range(n):
        for start in range(i + 1, n, strip):
            product = stack[i] @ stack[start : start + strip]
            product -= product.conj().transpose(0, 2, 1)
            flat = product.reshape(len(product), -1)
            squares = np.einsum("ij,ij->i", flat.real, flat.real)
            if np.iscomplexobj(flat):
                squares = squares + np.einsum("ij,ij->i", flat.imag, flat.imag)
            norms[i, start : start + len(flat)] = np.sqrt(squares)
    return norms + norms.T


def commute_table(
    observables: Num[np.ndarray, "n d d"], tolerance: float = TOLERANCE
) -> tuple[Float[np.ndarray, "n n"], Bool[np.ndarray, "n n"]]:
    """Norms of all commutators, and whether each is at most tolerance · ‖A₀‖‖B₀‖, the Frobenius norms of the traceless
    parts; a multiple of the identity commutes with everything."""
    tolerance = as_tolerance(tolerance)
    norms = commutator_norms(observables)
    size = np.linalg.norm(traceless(np.asarray(observables)).reshape(len(observables), -1), axis=1)
    return norms, norms <= tolerance * np.outer(size, size)


def largest_commuting_subsets(commute: Bool[np.ndarray, "n n"], limit: int = 1_000) -> list[list[int]]:
    """All largest sets of pairwise commuting observables (positions), largest cliques of the table; at most
    ``limit``."""
    graph = nx.from_numpy_array(np.asarray(commute) & ~np.eye(len(commute), dtype=bool))
    best: list[list[int]] = []
    for clique in nx.find_cliques(graph):
        if not best or len(clique) > len(best[0]):
            best = [sorted(clique)]
        elif len(clique) == len(best[0]) and len(best) < limit:
            best.append(sorted(clique))
    return sorted(best)


def overlap(first: Num[np.ndarray, "d d"], second: Num[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """|⟨eᵢ|fⱼ⟩|² of two orthonormal bases given as columns: Born probabilities, a doubly stochastic table."""
    return np.abs(first.conj().T @ second) ** 2


def mutual_unbiasedness(first: Num[np.ndarray, "d d"], second: Num[np.ndarray, "d d"]) -> float:
    """Largest | |⟨eᵢ|fⱼ⟩|² − 1/d |: zero exactly for mutually unbiased bases, 1 − 1/d for equal ones."""
    return float(np.abs(overlap(first, second) - 1 / len(first)).max())


def maassen_uffink(first: Num[np.ndarray, "d d"], second: Num[np.ndarray, "d d"]) -> float:
    """H(A) + H(B) ≥ −2 log₂ maxᵢⱼ|⟨eᵢ|fⱼ⟩| bits in every state (Maassen & Uffink, PRL 60, 1103 (1988))."""
    return float(max(0.0, -np.log2(overlap(first, second).max())))


def incompatibility(first: Num[np.ndarray, "d d"], second: Num[np.ndarray, "d d"]) -> float:
    """1 − mean over i of maxⱼ|⟨eᵢ|fⱼ⟩|², in [0, 1 − 1/d]: zero exactly when the bases agree up to order and phase."""
    return float(1 - overlap(first, second).max(axis=1).mean())


def context_bases(h: Hypergraph, tolerance: float = TOLERANCE) -> Inexact[np.ndarray, "contexts d d"]:
    """All contexts as orthonormal bases, (contexts, d, d), vectors as columns.

    Vectors that are orthogonal within the tolerance are moved to the nearest orthonormal basis (the polar factor).
    Raises ValueError for vectors that are not orthogonal where they must be, and for a partial context: complete it.
    """
    if not h.contexts:
        raise ValueError("the hypergraph lists no contexts; complete() makes bases of its exclusive pairs")
    require_orthonormal(h, tolerance)
    bases = [basis(h, i) for i in range(len(h.contexts))]
    for context, b in zip(h.contexts, bases, strict=True):
        if b.shape[0] != b.shape[1]:
            raise ValueError(
                f"context ({', '.join(context)}) has {b.shape[1]} vectors in dimension {b.shape[0]}; complete it first"
            )
    left, _, right = np.linalg.svd(np.stack(bases))
    return left @ right


def context_observables(
    h: Hypergraph,
    eigenvalues: Sequence[float | int] | Real[np.ndarray, " values"] | None = None,
    tolerance: float = TOLERANCE,
) -> Inexact[np.ndarray, "contexts d d"]:
    """The maximal observable of every context, (contexts, d, d); eigenvalues by place in the context, 1 … d by
    default.

    Raises ValueError as :func:`context_bases` and :func:`maximal_observable`.
    """
    return np.stack([maximal_observable(b, eigenvalues) for b in context_bases(h, tolerance)])
