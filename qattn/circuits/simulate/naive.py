"""The reference engine: one gate after the other in plain torch, differentiable to any order and under
``torch.func`` transforms.

Slow and simple. The fast engine is compared with it, and it serves where second derivatives or Jacobians are wanted.
"""

from __future__ import annotations

import torch
from jaxtyping import Complex, Float, Shaped
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit, row_of
from qattn.circuits.ir.gates import complex_of
from qattn.circuits.ir.memory import check_memory
from qattn.circuits.simulate.gate_batches import GateMatrices, batched_flags, check_values


def apply(
    state: Complex[Tensor, "batch dim"], matrix: Shaped[Tensor, "*each k k"], wires: tuple[int, ...], qubits: int
) -> Complex[Tensor, "batch dim"]:
    """Apply a ``(K, K)`` matrix, or one per sample ``(batch, K, K)``, to wires of states ``(batch, 2ⁿ)``."""
    k, batch = len(wires), state.shape[0]
    axes = [1 + w for w in wires]
    rest = [1 + w for w in range(qubits) if w not in wires]
    tensor = state.reshape(batch, *(2,) * qubits).permute(0, *axes, *rest).reshape(batch, 2**k, 2 ** (qubits - k))
    tensor = torch.matmul(matrix.to(state.dtype), tensor)
    back = [0] * (qubits + 1)
    for position, axis in enumerate([0, *axes, *rest]):
        back[axis] = position
    return tensor.reshape(batch, *(2,) * qubits).permute(back).reshape(batch, 2**qubits)


def widen(base: Shaped[Tensor, "*base"], diagonal: bool, size: int) -> Shaped[Tensor, "*batch size size"]:
    """The whole matrix of a controlled gate from its base matrix (or diagonal)."""
    if diagonal:
        base = torch.diag_embed(base)
    inner = base.shape[-1]
    if inner == size:
        return base
    upper = torch.eye(size - inner, size, dtype=base.dtype, device=base.device).expand(*base.shape[:-2], -1, -1)
    lower = torch.cat([base.new_zeros(*base.shape[:-1], size - inner), base], -1)
    return torch.cat([upper, lower], -2)


def start(
    circuit: Circuit,
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None,
    states: Shaped[Tensor, "... dim"] | None,
    batch: int | None,
) -> Complex[Tensor, "batch dim"]:
    """The batch of states ``(batch or 1, 2ⁿ)`` the circuit begins with.

    Raises ``ValueError`` for given states with another number of amplitudes.
    """
    dtype = complex_of(parameters)
    if states is None and circuit.amplitude_inputs:
        states = inputs
    if states is None:
        if circuit.initial is not None:
            state = torch.as_tensor(circuit.initial, dtype=dtype, device=parameters.device)
        else:
            state = torch.zeros(2**circuit.qubits, dtype=dtype, device=parameters.device)
            state[0] = 1
        states = state
    states = states.to(dtype)
    if states.shape[-1] != 2**circuit.qubits:
        raise ValueError(f"states need {2**circuit.qubits} amplitudes, got {states.shape[-1]}")
    states = states if states.dim() == 2 else states.unsqueeze(0)
    return states.expand(states.shape[0] if batch is None else batch, -1)


def state_vector(
    circuit: Circuit,
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None = None,
    states: Shaped[Tensor, "... dim"] | None = None,
) -> Complex[Tensor, "... dim"]:
    """The final state ``(2ⁿ,)``, or ``(batch, 2ⁿ)`` when parameters, inputs or states carry a batch
    axis."""
    batch = check_values(circuit, parameters, inputs)
    if batch is None and states is not None and states.dim() == 2:
        batch = states.shape[0]
    check_memory(circuit.qubits, batch or 1)
    flags = batched_flags(circuit, parameters, inputs)
    psi = start(circuit, parameters, inputs, states, batch)
    bases = GateMatrices(circuit, parameters, inputs, flags)
    for place, op in enumerate(circuit.operations):
        whole = widen(bases[place], row_of(op).kind == "diagonal", 2 ** len(op.wires))
        psi = apply(psi, whole, op.wires, circuit.qubits)
    return psi if batch is not None else psi[0]
