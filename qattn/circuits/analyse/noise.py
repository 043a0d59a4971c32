"""What noise does: fidelity and next-token divergence against the strength of a channel after every gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float

from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.ir.spec import with_noise
from qattn.circuits.simulate import pennylane_device as pennylane
from qattn.circuits.simulate.statevector import run

MOST_QUBITS = 8  # a density matrix of 8 qubits is as large as a state of 16


def divergence(p: Float[np.ndarray, " outcomes"], q: Float[np.ndarray, " outcomes"]) -> float:
    """Kullback–Leibler divergence of q from p in nats; infinite where q misses what p has is refused by a floor at
    the smallest float."""
    used = p > 0
    return float((p[used] * (np.log(p[used]) - np.log(np.maximum(q[used], np.finfo(float).tiny)))).sum())


def sweep(
    circuit: Circuit,
    strengths: Sequence[float | int],
    kind: str = "DepolarizingChannel",
    read: Callable[[Float[np.ndarray, " dim"]], Float[np.ndarray, " outcomes"]] | None = None,
) -> list[dict[str, float]]:
    """For each strength: fidelity ⟨ψ|ρ|ψ⟩ with the noiseless state, purity, and KL of the read-out
    distribution from its own.

    ``read`` maps the wires' probabilities ``(2ⁿ,)`` to what is asked (next tokens, say). The circuit must be bound
    to numbers.
    Raises ``ValueError`` above 8 qubits, where the density matrix outgrows an ordinary machine's patience.
    """
    import pennylane as qml

    if circuit.qubits > MOST_QUBITS:
        raise ValueError(
            f"noise is simulated with density matrices of at most {MOST_QUBITS} qubits, got {circuit.qubits}"
        )
    none = torch.zeros(0, dtype=torch.float64)
    psi = run(circuit, none).amplitudes().numpy()
    ideal = np.abs(psi) ** 2
    look = read or (lambda p: p)
    rows = []
    for strength in strengths:
        noisy = with_noise(circuit, kind, float(strength))
        rho = np.asarray(pennylane.node(noisy, qml.state, "default.mixed")(none.numpy()))
        seen = np.clip(np.diag(rho).real, 0, None)
        rows.append(
            {
                "strength": float(strength),
                "fidelity": float((psi.conj() @ rho @ psi).real),
                "purity": float(np.trace(rho @ rho).real),
                "kl": max(divergence(look(ideal), look(seen)), 0.0),
            }
        )
    return rows
