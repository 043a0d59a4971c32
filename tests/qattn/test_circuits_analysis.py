"""Measures of circuits against published numbers, exact states, Haar averages and PennyLane."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from qattn.circuits.analyse import expressibility, sensitivity
from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.circuit import Circuit, ParameterRef, gate
from qattn.circuits.ir.sim2019 import published
from qattn.circuits.simulate.readout import expectations
from qattn.circuits.simulate.statevector import run

FLOOR = 0.003  # of the published protocol


@pytest.mark.parametrize("layers", [1, 3])
def test_expressibility_of_the_nineteen_circuits_is_the_published_one(layers: int) -> None:
    """Sim et al. 2019, Table of their appendix: 5000 pairs, 75 bins, uniform parameters.

    Both numbers carry the sampling noise of 5000 pairs. Tolerance: four times the combined standard error (delta
    method) plus the floor; over 38 comparisons a false alarm has probability below 1 %, and the seed is fixed.
    """
    numbers = published()["expressibility"][f"layers_{layers}"]
    for number in range(1, 20):
        found = expressibility.expressibility(build(f"Sim{number}", 4, layers), seed=number)
        error = (found.high - found.value) / 1.96 * math.sqrt(2)
        assert found.value == pytest.approx(numbers[str(number)], abs=4 * error + FLOOR), f"circuit {number}"


def test_expressibility_of_an_idle_circuit_and_of_haar_states() -> None:
    idle = Circuit(4, (gate("RZ", 0, ParameterRef(0)),))  # |0000> up to a phase: all fidelities are 1
    assert expressibility.expressibility(idle, pairs=500).value == pytest.approx(15 * math.log(75), rel=1e-6)
    assert 0.002 < expressibility.haar_floor(16) < 0.006
    assert expressibility.haar_bins(16).sum() == pytest.approx(1)


def ghz(n: int) -> torch.Tensor:
    state = torch.zeros(1, 2**n, dtype=torch.complex128)
    state[0, 0] = state[0, -1] = math.sqrt(0.5)
    return state


def w_state(n: int) -> torch.Tensor:
    state = torch.zeros(1, 2**n, dtype=torch.complex128)
    state[0, [1 << k for k in range(n)]] = 1 / math.sqrt(n)
    return state


@pytest.mark.parametrize("n", [2, 3, 4])
def test_meyer_wallach_of_exact_states(n: int) -> None:
    """GHZ: 1. W: 4 (n-1) / n**2. Product: 0 (Meyer and Wallach 2002; Brennen 2003)."""
    assert expressibility.meyer_wallach(ghz(n)).item() == pytest.approx(1)
    assert expressibility.meyer_wallach(w_state(n)).item() == pytest.approx(4 * (n - 1) / n**2)
    product = torch.ones(1, 2**n, dtype=torch.complex128) / 2 ** (n / 2)
    assert expressibility.meyer_wallach(product).item() == pytest.approx(0, abs=1e-12)


def haar(samples: int, dimension: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(samples, dimension, 2, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(torch.view_as_complex(states), dim=-1)


def test_meyer_wallach_and_entropy_have_their_haar_means() -> None:
    """14/17 for four qubits; Page's entropy. False alarm beyond five standard errors: below 1e-6."""
    states = haar(4000, 16, 0)
    q = expressibility.meyer_wallach(states)
    assert expressibility.haar_meyer_wallach(4) == 14 / 17
    assert q.mean().item() == pytest.approx(14 / 17, abs=5 * q.std().item() / 4000**0.5)
    s = expressibility.entropy(states, [2])
    page = sum(1 / k for k in range(9, 17)) - 1 / 16
    assert s.mean().item() == pytest.approx(page, abs=5 * s.std().item() / 4000**0.5)
    assert torch.allclose(s, expressibility.entropy(states, [0, 1, 3]), atol=1e-10)


def test_a_deep_circuit_entangles_like_haar_and_the_published_mean_exceeds_it() -> None:
    deep = expressibility.entangling_capability(build("StronglyEntanglingLayers", 4, 8), 2000, 1)
    assert deep.value == pytest.approx(14 / 17, abs=3 * (deep.high - deep.low))
    # What cannot be the standard measure: a mean above Haar's for a circuit that is close to Haar in expressibility.
    assert published()["meyer_wallach"]["layers_3"]["6"] > 14 / 17 + 0.04
    circuit_6 = expressibility.entangling_capability(build("Sim6", 4, 3), 2000, 1)
    assert circuit_6.value < 14 / 17 + 0.01


def test_frame_potential_of_a_deep_circuit_is_haars() -> None:
    for order in (1, 2):
        found, bound = expressibility.frame_potential(build("StronglyEntanglingLayers", 3, 8), order, 4000, 2)
        assert bound == pytest.approx(1 / math.comb(8 + order - 1, order))
        assert found.value == pytest.approx(bound, abs=3 * (found.high - found.low))


def test_gradients_vanish_exponentially_with_qubits_for_deep_circuits_only() -> None:
    """McClean et al. 2018: the variance of a deep circuit falls by about 2**-1 a qubit or faster, a single layer's
    does not."""
    deep = sensitivity.gradient_variance(lambda n, k: build("HardwareEfficient", n, k), [2, 4, 6], [24], 200, 0)
    shallow = sensitivity.gradient_variance(lambda n, k: build("HardwareEfficient", n, k), [2, 4, 6], [1], 200, 0)
    assert deep["fit"].slope < -0.7
    local = [row * n for row, n in zip(shallow["variance"][0], [2, 4, 6], strict=True)]  # the mean is over 4n angles
    assert min(local) > 0.3 * max(local)


def test_gradient_samples_are_gradients() -> None:
    circuit = Circuit(1, (gate("RY", 0, ParameterRef(0)),))  # <Z> = cos t, its derivative has variance 1/2
    found = sensitivity.gradient_samples(circuit, "Z", 4000, 0)
    assert found.var().item() == pytest.approx(0.5, abs=0.03)  # five standard errors of a variance of 4000 sines


def test_the_metric_is_pennylanes_metric_tensor() -> None:
    import pennylane as qml

    from qattn.circuits.simulate import pennylane_device

    circuit = build("StronglyEntanglingLayers", 2, 2)
    p = torch.linspace(0.1, 2, 12, dtype=torch.float64)
    node = pennylane_device.node(circuit, lambda: qml.expval(qml.Z(0)), "default.qubit")
    theirs = qml.metric_tensor(node, approx="block-diag")(qml.numpy.array(p.numpy(), requires_grad=True))
    ours = sensitivity.metric(circuit, p).numpy()
    blocks = np.abs(np.asarray(theirs)) > 1e-9
    assert blocks.sum() >= 6
    assert np.allclose(ours[blocks], np.asarray(theirs)[blocks], atol=1e-6)


def test_fisher_of_one_rotation_and_the_effective_dimension() -> None:
    """p = cos(t/2)**2 has Fisher information 1 at every t; a redundant parameter adds nothing to the rank."""
    circuit = Circuit(1, (gate("RY", 0, ParameterRef(0)), gate("RY", 0, ParameterRef(1))))
    for t in (0.3, 2.0):
        fisher = sensitivity.classical_fisher(circuit, torch.tensor([t, 0.1], dtype=torch.float64))
        assert torch.allclose(fisher, torch.ones(2, 2, dtype=torch.float64), atol=1e-10)
    at_pole = sensitivity.classical_fisher(circuit, torch.zeros(2, dtype=torch.float64))
    assert torch.isfinite(at_pole).all()
    matrices, spectrum = sensitivity.fisher_spectrum(circuit, 20)
    assert spectrum[0].item() == pytest.approx(0, abs=1e-9)
    assert sensitivity.effective_dimension(matrices, 10**6) == pytest.approx(1, abs=0.2)


def test_light_cones_are_what_gradients_see() -> None:
    circuit = build("Brickwork", 6, 2)
    _, wires, parameters = sensitivity.light_cone(circuit, [0])
    p = torch.rand(
        circuit.n_parameters, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    ).requires_grad_()
    (gradient,) = torch.autograd.grad(expectations(run(circuit, p), ["ZIIIII"]).sum(), p)
    seen = set(gradient.abs().gt(1e-12).nonzero().flatten().tolist())
    assert seen <= set(parameters)
    assert len(parameters) < circuit.n_parameters
    assert wires == [0, 1]


def test_a_loss_slice_passes_through_its_center() -> None:
    circuit = build("BasicEntanglerLayers", 2, 2)
    center = torch.linspace(0, 1, 4, dtype=torch.float64)
    found = sensitivity.loss_slice(lambda p: expectations(run(circuit, p), ["ZI"])[:, 0], center, points=5)
    assert found["loss"][2][2] == pytest.approx(expectations(run(circuit, center), ["ZI"]).item())


def test_what_cannot_be_analysed_says_why() -> None:
    with pytest.raises(ValueError, match="some but not all"):
        expressibility.entropy(ghz(2), [0, 1])
    with pytest.raises(ValueError, match="order"):
        expressibility.frame_potential(build("Sim1", 2, 1), 0)
    with pytest.raises(ValueError, match="light cone"):
        sensitivity.light_cone(build("Sim1", 2, 1), [5])
    with pytest.raises(ValueError, match="at least two parameters"):
        sensitivity.loss_slice(lambda p: p[:, 0], torch.zeros(1))
