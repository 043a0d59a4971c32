"""What written gates do, compared with what was asked of them: nothing synthesised is handed on unread.

A decomposition is right when ‖U − e^{iφ} V‖ ≤ EXACT ‖U‖ for a matrix U and the product V of its gates (Frobenius norm,
float64). Up to five wires all columns are compared; on more the images of sixteen Haar-random states, of which a wrong
product would have to fix every one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Complex
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, Operation
from qattn.circuits.simulate.statevector import run

EXACT = 1e-10
ALL_COLUMNS = 5  # wires
STATES = 16


def compare(wanted: Complex[np.ndarray, "count n m"], got: Complex[np.ndarray, "count n m"], what: str) -> None:
    """Raise ``ArithmeticError`` unless arrays agree up to one global phase each, relative to the norm of ``wanted``."""
    overlap = np.einsum("mij,mij->m", got.conj(), wanted)
    size = np.abs(overlap)
    phase = np.where(size > 0, overlap, 1) / np.where(size > 0, size, 1)
    gap = np.linalg.norm(wanted - phase[:, None, None] * got, axis=(1, 2)) / np.linalg.norm(wanted, axis=(1, 2))
    if not np.all(gap <= EXACT):
        raise ArithmeticError(f"the gates of {what} do something else: ‖U − V‖ = {gap.max():.3g} ‖U‖ (limit {EXACT:g})")


def expect_same(op: Operation, gates: Sequence[Operation]) -> None:
    """Raise ``ArithmeticError`` unless ``gates`` do what ``op`` does, up to a global phase, on the wires of ``op``."""
    place = {wire: k for k, wire in enumerate(op.wires)}
    outside = {wire for g in gates for wire in g.wires} - set(place)
    if outside:
        raise ArithmeticError(f"the gates of {op.name} act on wires {sorted(outside)} that it does not touch")
    k = len(op.wires)
    columns = torch.eye(2**k, dtype=torch.complex128) if k <= ALL_COLUMNS else haar_states(2**k)
    wanted, got = (
        applied(Circuit(k, tuple(replace(g, wires=tuple(place[w] for w in g.wires)) for g in each)), columns)
        for each in ([op], gates)
    )
    compare(wanted[None], got[None], f"{op.name} on {k} wires")


def expect_prepared(state: Complex[np.ndarray, " n"], gates: Sequence[Operation], wires: Sequence[int]) -> None:
    """Raise ``ArithmeticError`` unless ``gates`` turn |0…0⟩ on ``wires`` into ``state``, up to a global phase."""
    place = {wire: k for k, wire in enumerate(wires)}
    circuit = Circuit(len(wires), tuple(replace(g, wires=tuple(place[w] for w in g.wires)) for g in gates))
    zero = torch.eye(1, 2 ** len(wires), dtype=torch.complex128)
    compare(np.asarray(state, complex)[None, None], applied(circuit, zero)[None], "a state's preparation")


def applied(circuit: Circuit, states: Complex[Tensor, "count n"]) -> Complex[np.ndarray, "count n"]:
    """The images of some states ``(count, n)`` under a circuit without free angles."""
    return run(circuit, torch.zeros(0, dtype=torch.float64), states=states).amplitudes().numpy()


def haar_states(size: int) -> Complex[Tensor, "count n"]:
    """Sixteen random states, the same ones every time."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(STATES, size, dtype=torch.complex128, generator=generator)
    return states / torch.linalg.vector_norm(states, dim=-1, keepdim=True)
