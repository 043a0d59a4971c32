"""The fast engine against PennyLane (outputs and gradients) and against the naive engine, on random circuits of the
whole gate set."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qattn.circuits.ir.ansatz import ANSATZE, build
from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef
from qattn.circuits.ir.gates import GATES
from qattn.circuits.simulate import adjoint, naive, pennylane_device, statevector


def unitary(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size)))[0]


def random_circuit(seed: int, qubits: int, length: int, inputs: bool = False) -> Circuit:
    """Gates drawn from the whole set, every angle a parameter (or an input), wires in any order."""
    rng = np.random.default_rng(seed)
    names = [n for n, g in GATES.items() if g.wires <= qubits] + [
        "MultiRZ",
        "PauliRot",
        "QubitUnitary",
        "DiagonalQubitUnitary",
    ]
    names += ["MultiControlledX"] if qubits > 1 else []
    operations: list[Operation] = []
    count = {"parameters": 0, "inputs": 0}
    for name in rng.choice(names, length):
        k = (
            GATES[name].wires
            if name in GATES
            else int(rng.integers(2 if name == "MultiControlledX" else 1, qubits + 1))
        )
        if k > qubits:
            continue
        wires = tuple(int(w) for w in rng.choice(qubits, k, replace=False))
        angles = []
        for _ in range(GATES[name].angles if name in GATES else int(name in ("MultiRZ", "PauliRot"))):
            source = "inputs" if inputs and rng.random() < 0.4 else "parameters"
            angles.append(ParameterRef(count[source], source, *((2.0, 0.1) if rng.random() < 0.2 else ())))
            count[source] += 1
        data = {
            "QubitUnitary": lambda k=k: unitary(rng, 2**k),
            "DiagonalQubitUnitary": lambda k=k: np.exp(1j * rng.normal(size=2**k)),
        }
        word = "".join(rng.choice(list("IXYZ"), k)) if name == "PauliRot" else ""
        operations.append(Operation(str(name), wires, tuple(angles), data[name]() if name in data else None, word))
    return Circuit(qubits, tuple(operations))


def values(circuit: Circuit, seed: int, dtype: torch.dtype, batch: int | None = None) -> torch.Tensor:
    shape = (circuit.n_parameters,) if batch is None else (batch, circuit.n_parameters)
    return torch.tensor(np.random.default_rng(seed).uniform(-3, 3, shape), dtype=dtype, requires_grad=True)


def weighted(state: torch.Tensor, seed: int) -> torch.Tensor:
    """A real number that depends on every amplitude, phases included."""
    rng = np.random.default_rng(seed)
    target = torch.tensor(rng.normal(size=state.shape[-1]) + 1j * rng.normal(size=state.shape[-1])).to(state.dtype)
    return (state @ target).abs().square().sum() + (state.abs().square() @ target.real).sum()


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), qubits=st.integers(1, 5), length=st.integers(1, 20))
def test_fast_agrees_with_pennylane(seed: int, qubits: int, length: int) -> None:
    circuit = random_circuit(seed, qubits, length)
    p = values(circuit, seed, torch.float64)
    ours = statevector.run(circuit, p).amplitudes()
    theirs = pennylane_device.state_vector(circuit, p)
    assert torch.allclose(ours, theirs.to(torch.complex128), atol=1e-12, rtol=0)
    if circuit.n_parameters:
        mine = torch.autograd.grad(weighted(ours, seed), p)[0]
        reference = torch.autograd.grad(weighted(theirs.to(torch.complex128), seed), p)[0]
        assert torch.allclose(mine, reference, atol=1e-10, rtol=1e-10)
    single = statevector.run(circuit, p.detach().float()).amplitudes()
    assert single.dtype == torch.complex64
    assert torch.allclose(single.to(torch.complex128), ours, atol=1e-6, rtol=0)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**6),
    qubits=st.integers(1, 5),
    length=st.integers(1, 12),
    batch=st.integers(0, 3),
    shared=st.booleans(),
    keep=st.booleans(),
)
def test_batches_agree_with_the_naive_engine(
    seed: int, qubits: int, length: int, batch: int, shared: bool, keep: bool
) -> None:
    circuit = random_circuit(seed, qubits, length, inputs=True)
    p = values(circuit, seed, torch.float64, None if shared else batch)
    x = torch.tensor(np.random.default_rng(seed + 1).uniform(-3, 3, (batch, circuit.n_inputs)), requires_grad=True)
    states = torch.tensor(unitary(np.random.default_rng(seed), 2**qubits)[:1]).expand(batch, -1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjoint, "LEAST_COLUMNS", 2)
        patch.setattr(adjoint, "SLICE_BYTES", 1)
        if not keep:
            patch.setattr(adjoint, "KEEP_BYTES", 0)
        for start in (None, states):
            fast, slow = statevector.run(circuit, p, x, start).amplitudes(), naive.state_vector(circuit, p, x, start)
            assert fast.shape == slow.shape == (batch, 2**qubits)
            assert torch.allclose(fast, slow, atol=1e-12, rtol=0)
            if not slow.requires_grad:  # a circuit without angles
                continue
            mine = torch.autograd.grad(weighted(fast, seed), (p, x), allow_unused=True)
            reference = torch.autograd.grad(weighted(slow, seed), (p, x), allow_unused=True)
            for a, b in zip(mine, reference, strict=True):
                zero = torch.zeros(())
                assert torch.allclose(zero if a is None else a, zero if b is None else b, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("name", list(ANSATZE))
@pytest.mark.parametrize("qubits", [3, 6])
def test_every_ansatz_on_both_engines_and_its_static_shape(name: str, qubits: int) -> None:
    circuit = build(name, qubits, 2)
    assert circuit.n_parameters == ANSATZE[name].n_params(qubits, 2)
    p = values(circuit, 0, torch.float64)
    x = torch.linspace(-1, 1, circuit.n_inputs, dtype=torch.float64) if circuit.n_inputs else None
    fast, slow = statevector.run(circuit, p, x).amplitudes(), naive.state_vector(circuit, p, x)
    assert torch.allclose(fast, slow, atol=1e-12, rtol=0)
    if circuit.n_parameters:
        a, b = (torch.autograd.grad(weighted(s, 1), p)[0] for s in (fast, slow))
        assert torch.allclose(a, b, atol=1e-10, rtol=0)
