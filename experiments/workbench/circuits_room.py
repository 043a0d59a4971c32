"""A circuit as YAML or OpenQASM: its drawing, its probabilities and the entanglement of its cuts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.errors import UserError, blame

LONGEST = 20_000
MOST_QUBITS = 12
SHOWN = 32
"""The likeliest outcomes that are shown."""
EXAMPLE = "qubits: 3\ngates:\n  - [Hadamard, 0]\n  - [CNOT, 0, 1]\n  - [RY, 2, pi/3]\n"


def circuit(text: str) -> dict[str, Any]:
    """``drawing`` in letters and lines, ``outcomes`` by probability with their phase, entropies of ``cuts`` in bits.

    Raises :class:`UserError` for a text that is no circuit, with its place where that is known.
    """
    import torch

    from qattn.circuits.compile.draw import text as drawn
    from qattn.circuits.simulate.statevector import state_vector

    if len(text) > LONGEST:
        raise UserError(f"the circuit has {len(text):,} characters; expected at most {LONGEST:,}")
    spec = _read(text)
    qubits = spec.circuit.qubits
    if qubits > MOST_QUBITS:
        raise UserError(
            f"qubits: up to {MOST_QUBITS} are simulated here, got {qubits}; qattn circuit simulate has more"
        )
    with blame("circuit"):
        inputs = None if spec.inputs is None else torch.from_numpy(spec.inputs)
        state = state_vector(spec.circuit, torch.from_numpy(spec.parameters), inputs)
        drawing = drawn(spec.circuit)
    p = state.abs() ** 2
    order = p.argsort(descending=True, stable=True)[:SHOWN].tolist()
    return {
        "drawing": drawing,
        "outcomes": [
            {"bits": f"{i:0{qubits}b}", "p": p[i].item(), "phase": state[i].angle().item()}
            for i in order
            if p[i] > 1e-12
        ],
        "cuts": [{"left": k, "bits": _entropy(state.reshape(2**k, -1))} for k in range(1, qubits)],
    }


def _read(text: str) -> Any:
    from experiments.located.yaml_source import Mark, read_text
    from qattn.circuits.compile.openqasm_reader import from_openqasm
    from qattn.circuits.ir.spec import Spec, from_dict

    if "OPENQASM" in text:
        with blame("OpenQASM"):
            found = from_openqasm(text)
        if found.n_parameters or found.n_inputs:
            raise UserError("OpenQASM: its inputs have no values; qattn circuit import writes them as parameters")
        return Spec(found, np.zeros(0))
    document = read_text(text, Mark("circuit", 1, 1))
    if not isinstance(document.data, dict):
        raise UserError("circuit: expected keys such as `qubits` and `gates`")
    with blame("circuit"):
        return from_dict(document.data)


def _entropy(matrix: Any) -> float:
    """Von Neumann entropy of the state's Schmidt decomposition along this cut."""
    import torch

    squares = torch.linalg.svdvals(matrix) ** 2
    return max(0.0, torch.special.entr(squares).sum().item() / math.log(2))
