"""Fidelity kernels: K(x, y) = |⟨ψ(x)|ψ(y)⟩|² of the states a circuit prepares from data (Havlíček et al., Nature 567,
209, 2019), and two numbers that say what a kernel is worth before anything is learnt with it."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.simulate.statevector import run

BLOCK = 256  # states that are prepared at once
RIDGE = 1e-10  # of the greatest eigenvalue: what is smaller is rounding, and not inverted


def gram(
    circuit: Circuit,
    parameters: Float[Tensor, " parameters"],
    points: Float[Tensor, "rows inputs"],
    others: Float[Tensor, "columns inputs"] | None = None,
) -> Float[np.ndarray, "rows columns"]:
    """K of all pairs of points, or of points and ``others``, the states of ``BLOCK`` points at a time in memory."""
    second = points if others is None else others
    found = np.empty((len(points), len(second)))
    with torch.no_grad():
        for i in range(0, len(points), BLOCK):
            left = run(circuit, parameters, points[i : i + BLOCK]).amplitudes()
            for j in range(0, len(second), BLOCK):
                same = second is points and j == i
                right = left if same else run(circuit, parameters, second[j : j + BLOCK]).amplitudes()
                found[i : i + BLOCK, j : j + BLOCK] = (left.conj() @ right.mT).abs().square().double().numpy()
    return found


def alignment(kernel: Float[np.ndarray, "rows rows"], labels: Float[np.ndarray, " rows"]) -> float:
    """⟨K, yyᵀ⟩ / (‖K‖ ‖yyᵀ‖) for labels −1 and 1, 1 for the ideal kernel (Cristianini et al., NIPS 2001)."""
    ideal = np.outer(labels, labels)
    return float((kernel * ideal).sum() / (np.linalg.norm(kernel) * np.linalg.norm(ideal)))


def geometric_difference(classical: Float[np.ndarray, "rows rows"], quantum: Float[np.ndarray, "rows rows"]) -> float:
    """√‖√Q C⁻¹ √Q‖ of kernels scaled to trace N: at most about 1 when the classical kernel learns all that Q can.

    Directions in which C vanishes to rounding (``RIDGE``) are left out. Huang et al., Nature Communications 12, 2631
    (2021), equation (5).
    """
    size = len(classical)
    values, vectors = np.linalg.eigh(classical * size / np.trace(classical))
    kept = values > RIDGE * values.max()
    root = vectors[:, kept] / np.sqrt(values[kept])
    inner = root.T @ (quantum * size / np.trace(quantum)) @ root
    return float(np.sqrt(np.linalg.eigvalsh(inner).max()))
