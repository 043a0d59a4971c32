"""Matrices into gates: Givens networks on unary encoding, multiplexed rotations for phases, reversible gates for
permutations.

Dense unitaries on three qubits or more are synthesised by PennyLane (quantum Shannon decomposition), smaller ones by
``kak``. All gates are multiplied out and compared with what they were made from (else ``ArithmeticError``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Complex, Float, Shaped

from qattn.circuits.compile.export import lowered
from qattn.circuits.compile.multiply_out import EXACT, compare
from qattn.circuits.ir.circuit import Circuit, Operation, check_unitary, gate
from qattn.circuits.ir.gates import GATES

CLIFFORD_T = frozenset(["id", "x", "y", "z", "h", "s", "t", "sdg", "tdg", "rx", "ry", "rz", "p", "cx", "cz", "swap"])
TOFFOLI_T = 7  # T gates of a Toffoli (Nielsen and Chuang, Fig. 4.9)


def givens(matrix: Shaped[np.ndarray, "rows columns"]) -> Circuit:
    """An orthogonal or unitary ``(d, d)`` matrix as a network of nearest-neighbour RBS gates on d wires, one
    excitation.

    Amplitude k sits on the state with wire k alone at 1. d(d−1)/2 rotations (SingleExcitation by twice the planar
    angle); a real matrix needs besides only Z gates, a complex one PhaseShifts (Reck et al., PRL 73, 58, 1994;
    Clements et al., Optica 3, 1460, 2016).
    Raises ``ValueError`` when the matrix is not unitary, with its defect.
    """
    d = matrix.shape[0]
    real = not np.iscomplexobj(matrix) or not np.any(matrix.imag)
    defect = float(np.linalg.norm(matrix.conj().T @ matrix - np.eye(d))) if matrix.shape == (d, d) else math.inf
    if not defect <= 1e-8:
        raise ValueError(
            f"a Givens network needs a square unitary matrix, got shape {matrix.shape} with ‖U†U − 1‖ = {defect:.3g}"
        )
    work = matrix.astype(complex)
    undo: list[list[Operation]] = []
    for column in range(d - 1):
        for row in range(d - 1, column, -1):
            above, here = work[row - 1, column], work[row, column]
            turn = 0.0
            if not real and abs(here) > 0 and abs(above) > 0:
                turn = float(np.angle(above) - np.angle(here))
                work[row] *= np.exp(1j * turn)
                here = work[row, column]
            phase = above / abs(above) if abs(above) > 0 else here / abs(here) if abs(here) > 0 else 1.0
            if real:
                phase = 1.0
            angle = math.atan2((here / phase).real, (above / phase).real)
            c, s = math.cos(angle), math.sin(angle)
            work[[row - 1, row]] = np.array([[c, s], [-s, c]]) @ work[[row - 1, row]]
            step = [gate("SingleExcitation", row - 1, row, -2 * angle)]
            if turn:
                step.append(gate("PhaseShift", row, -turn))
            undo.append(step)
    first: list[Operation] = []
    for wire, entry in enumerate(np.diag(work)):
        if real:
            first += [gate("PauliZ", wire)] if entry.real < 0 else []
        elif abs(np.angle(entry)) > 1e-15:
            first.append(gate("PhaseShift", wire, float(np.angle(entry))))
    made = (*first, *(op for step in reversed(undo) for op in step))
    compare(matrix.astype(complex)[None], one_excitation(made, d)[None], "a Givens network")
    return Circuit(d, made)


def one_excitation(operations: Sequence[Operation], wires: int) -> Complex[np.ndarray, "wires wires"]:
    """The matrix ``(wires, wires)`` of a Givens network on the states with one excitation, multiplied out."""
    whole = np.eye(wires, dtype=complex)
    for op in operations:
        if op.name == "SingleExcitation":
            c, s = math.cos(op.angles[0] / 2), math.sin(op.angles[0] / 2)  # type: ignore[operator]
            a, b = op.wires  # amplitude a sits on |10⟩, b on |01⟩
            whole[[a, b]] = np.array([[c, s], [-s, c]]) @ whole[[a, b]]
        else:
            whole[op.wires[0]] *= -1 if op.name == "PauliZ" else np.exp(1j * op.angles[0])  # type: ignore[operator]
    return whole


def unary_block(circuit: Circuit, states: Complex[np.ndarray, "dim dim"]) -> Complex[np.ndarray, "wires wires"]:
    """The one-excitation block of a matrix given in the whole 2ᵈ space (for checking small networks)."""
    index = [1 << (circuit.qubits - 1 - k) for k in range(circuit.qubits)]
    return states[np.ix_(index, index)]


def dense(matrix: Shaped[np.ndarray, "rows columns"]) -> Circuit:
    """A unitary on n qubits as one QubitUnitary; ``elementary`` takes it apart. Raises ``ValueError`` when it is not
    unitary."""
    n = (matrix.shape[0] - 1).bit_length()
    check_unitary(matrix, n)
    return Circuit(max(n, 1), (Operation("QubitUnitary", tuple(range(n)), (), np.asarray(matrix, complex)),))


def diagonal(phases: Shaped[np.ndarray, " dim"]) -> Circuit:
    """exp(i phases), ``(2ⁿ,)``, as a network of multiplexed RZ: 2ⁿ − 1 rotations, up to a global phase (Möttönen
    2004).

    Raises ``ValueError`` for a length that is no power of two and for values that are not finite.
    """
    n = (len(phases) - 1).bit_length()
    if len(phases) != 2**n or n < 1 or not np.all(np.isfinite(phases)):
        raise ValueError(f"phases need a length that is a power of two and finite values, got {len(phases)} of them")
    return Circuit(n, tuple(multiplexed_phases(np.asarray(phases, float), tuple(range(n)))))


def multiplexed_phases(phases: Float[np.ndarray, " dim"], wires: Sequence[int]) -> list[Operation]:
    """Phases on wires as RZ and CNOT. On pairs: mean and half difference; the difference is a multiplexed RZ on the
    last wire."""
    if len(wires) == 0:
        return []
    even, odd = phases[0::2], phases[1::2]
    turn = multiplexed(odd - even, wires[:-1], wires[-1], "Z")
    return [*turn, *multiplexed_phases((even + odd) / 2, wires[:-1])]


def multiplexed(
    angles: Float[np.ndarray, " controlled"], controls: Sequence[int], target: int, axis: str
) -> list[Operation]:
    """A rotation of ``target`` about Y or Z whose angle is chosen by the controls' basis state ``(2ᵏ,)``, as 2ᵏ
    rotations and 2ᵏ CNOTs in the order of a Gray code (Möttönen et al., PRL 93, 130502, 2004)."""
    k = len(controls)
    gray = [i ^ (i >> 1) for i in range(2**k)]
    turns = walsh_hadamard(np.asarray(angles, float))[gray] / 2**k
    made: list[Operation] = []
    for i, turn in enumerate(turns):
        made.append(gate(f"R{axis}", target, float(turn)))
        if k:
            changed = gray[i] ^ gray[(i + 1) % 2**k]
            made.append(gate("CNOT", controls[k - changed.bit_length()], target))
    gap = float(np.max(np.abs(effective_angles(made, controls) - angles)))
    if not gap <= EXACT * max(1.0, float(np.max(np.abs(angles)))):
        raise ArithmeticError(f"the gates of a multiplexed rotation turn by other angles: {gap:.3g} (limit {EXACT:g})")
    return made


def walsh_hadamard(values: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " dim"]:
    """Sums of ``(2ᵏ,)`` numbers with the signs (−1)^(bits in common of the two indices)."""
    out, size = values, 1
    while size < len(values):
        pairs = out.reshape(-1, 2, size)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(-1)
        size *= 2
    return out


def effective_angles(operations: Sequence[Operation], controls: Sequence[int]) -> Float[np.ndarray, " controlled"]:
    """The angle by which rotations and CNOTs of one target turn it, for every basis state of the controls.

    X before and after a rotation about Y or Z turns its sign, so every angle counts with the parity of the controls
    whose CNOTs came before it.
    """
    states = np.arange(2 ** len(controls))
    bits = {wire: (states >> (len(controls) - 1 - k)) & 1 for k, wire in enumerate(controls)}
    total, flipped = np.zeros(len(states)), np.zeros(len(states), int)
    for op in operations:
        if op.name == "CNOT":
            flipped ^= bits[op.wires[0]]
        else:
            total += (1 - 2 * flipped) * float(op.angles[0])  # type: ignore[arg-type]
    return np.where(flipped == 0, total, np.nan)


def permutation(image: Sequence[int]) -> Circuit:
    """A permutation of the 2ⁿ basis states (i goes to ``image[i]``) as X, CNOT, Toffoli and larger controlled NOTs.

    Transformation-based synthesis (Miller, Maslov, Dueck, DAC 2003): basis state after basis state is moved home by
    gates that leave all smaller ones alone. Raises ``ValueError`` when ``image`` is no permutation of a power of two.
    """
    size = len(image)
    n = (size - 1).bit_length()
    if size != 2**n or n < 1 or sorted(image) != list(range(size)):
        raise ValueError(f"expected a permutation of 0 to 2**n - 1, got {list(image)[:8]}{'…' if size > 8 else ''}")
    gates: list[tuple[int, int]] = []  # controls as a bit mask, target bit
    table = list(image)
    for i in range(size):
        for bit in (1 << b for b in range(n)):
            if i & bit and not table[i] & bit:
                gates.append((table[i], bit))
                table = moved(table, *gates[-1])
        for bit in (1 << b for b in range(n)):
            if table[i] & bit and not i & bit:
                gates.append((i, bit))
                table = moved(table, *gates[-1])
    gates.reverse()  # they lead home; backwards they lead out
    table = list(range(size))
    for controls, bit in gates:
        table = moved(table, controls, bit)
    if table != list(image):
        raise ArithmeticError("the gates of a permutation move the states elsewhere")
    return Circuit(n, tuple(controlled_not(controls, bit, n) for controls, bit in gates))


def moved(states: list[int], controls: int, bit: int) -> list[int]:
    """Where a controlled NOT takes basis states: it flips ``bit`` where all bits of ``controls`` are 1."""
    return [state ^ bit if state & controls == controls else state for state in states]


def controlled_not(controls: int, bit: int, n: int) -> Operation:
    """X on a bit of n, controlled by the bits of a mask, as the smallest gate there is for it."""
    wires = [n - 1 - b for b in reversed(range(n)) if controls >> b & 1] + [n - bit.bit_length()]
    names = {1: "PauliX", 2: "CNOT", 3: "Toffoli"}
    return Operation(names.get(len(wires), "MultiControlledX"), tuple(wires))


def elementary(circuit: Circuit) -> Circuit:
    """The circuit in one-qubit Clifford+T gates, rotations, CNOT, CZ and SWAP, up to a global phase."""
    return lowered(circuit, CLIFFORD_T)


def t_count(circuit: Circuit, precision: float = 1e-3) -> int:
    """Estimated T gates of a circuit of elementary gates.

    A rotation by a multiple of π/4 costs 0 or 1; any other is approximated to ``precision`` with 3
    log₂(1/precision) T gates (Ross and Selinger, arXiv:1403.2975, leading term). An estimate, not a synthesis.
    """
    each = math.ceil(3 * math.log2(1 / precision))
    total = 0
    for op in circuit.operations:
        qasm = GATES[op.name].qasm if op.name in GATES else None
        if qasm in ("t", "tdg"):
            total += 1
        elif op.name == "Toffoli":
            total += TOFFOLI_T
        elif op.angles:
            eighths = float(op.angles[0]) / (math.pi / 4)  # type: ignore[arg-type]
            near = abs(eighths - round(eighths)) < 1e-9
            total += (round(eighths) % 2) if near else each
    return total


def shannon_counts(qubits: int) -> dict[str, int]:
    """CNOTs and rotations of PennyLane's quantum Shannon decomposition of a generic unitary on so many qubits.

    9/16 · 4ⁿ − 3/2 · 2ⁿ CNOTs (Shende, Bullock, Markov, arXiv:quant-ph/0406176, Table 1, without the last
    optimisations); rotations by the decomposition's recursion R(n) = 4 R(n−1) + 3 · 2ⁿ⁻¹ from R(2) = 15 (four
    smaller unitaries, three multiplexed rotations).
    """
    if qubits == 1:
        return {"cnot": 0, "rotations": 3}
    rotations = 15
    for n in range(3, qubits + 1):
        rotations = 4 * rotations + 3 * 2 ** (n - 1)
    return {"cnot": 3 if qubits == 2 else 9 * 4**qubits // 16 - 3 * 2**qubits // 2, "rotations": rotations}


def summary(circuit: Circuit, precision: float = 1e-3, exact_to: int = 4) -> dict[str, Any]:
    """Gate counts, depth, two-qubit and T-count of the elementary circuit.

    Matrices on at most ``exact_to`` qubits are taken apart and counted; larger ones are counted by
    ``shannon_counts`` (the depth is then null, with the reason).
    """
    large = [op for op in circuit.operations if op.name == "QubitUnitary" and len(op.wires) > exact_to]
    small = Circuit(circuit.qubits, tuple(op for op in circuit.operations if op not in large), circuit.initial)
    flat = elementary(small)
    counts = flat.resources()
    extra = [shannon_counts(len(op.wires)) for op in large]
    each = math.ceil(3 * math.log2(1 / precision))
    rotations = sum(bool(op.angles) for op in flat.operations) + sum(e["rotations"] for e in extra)
    return {
        "qubits": circuit.qubits,
        "gates": counts["gates"] + sum(e["cnot"] + e["rotations"] for e in extra),
        "two_qubit": counts["two_qubit"] + sum(e["cnot"] for e in extra),
        "rotations": rotations,
        "depth": None if large else counts["depth"],
        "depth_reason": f"{len(large)} matrices on more than {exact_to} qubits are counted by formula"
        if large
        else None,
        "t_count": t_count(flat, precision) + each * sum(e["rotations"] for e in extra),
        "t_precision": precision,
    }
