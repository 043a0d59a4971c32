"""How a circuit answers to its parameters: gradients and barren plateaus, Fisher information, loss slices, light
cones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Complex, Float
from scipy.stats import linregress
from torch import Tensor

from qattn.circuits.ir.circuit import CHANNELS, Circuit, ParameterRef
from qattn.circuits.ir.memory import check_memory
from qattn.circuits.simulate.naive import state_vector
from qattn.circuits.simulate.readout import expectations
from qattn.circuits.simulate.statevector import run

Loss = Callable[[Tensor], Tensor]  # parameters (batch, P) -> losses (batch,)


def uniform(circuit: Circuit, samples: int, seed: int) -> Float[Tensor, "samples parameters"]:
    """Parameters drawn uniformly from [0, 2π) from a seeded generator."""
    generator = torch.Generator().manual_seed(seed)
    return 2 * math.pi * torch.rand(samples, circuit.n_parameters, generator=generator, dtype=torch.float64)


def gradient_samples(
    circuit: Circuit, word: str, samples: int = 500, seed: int = 0
) -> Float[Tensor, "samples parameters"]:
    """Gradients ``(samples, P)`` of the mean of a Pauli word at uniform parameters, all in one backward pass.

    Raises ``ValueError`` for a circuit without parameters.
    """
    if circuit.n_parameters == 0:
        raise ValueError("gradients need a circuit with parameters, this one has none")
    parameters = uniform(circuit, samples, seed).requires_grad_()
    means = expectations(run(circuit, parameters), [word])
    return torch.autograd.grad(means.sum(), parameters)[0]


def first_two(qubits: int) -> str:
    """The Pauli word Z on wires 0 and 1 (on wire 0, where that is all)."""
    return "Z" * min(2, qubits) + "I" * (qubits - 2)


@dataclass(frozen=True)
class Decay:
    """Var = 2^(intercept + slope n); ``slope_error`` is the standard error of the fit. Slope near −1 per qubit is a
    2-design's plateau."""

    slope: float
    slope_error: float
    intercept: float


def gradient_variance(
    build: Callable[[int, int], Circuit], qubits: Sequence[int], layers: Sequence[int], samples: int, seed: int
) -> dict:
    """Variance of the gradient of ⟨Z0 Z1⟩, averaged over the parameters, against qubits and layers (McClean et al.,
    arXiv:1803.11173, Fig. 3, who took one parameter: the average does not depend on where it sits).

    ``variance[l][n]`` is a list over ``layers`` of lists over ``qubits``; ``fit`` the decay with qubits at the
    greatest number of layers.
    """
    table = []
    for depth in layers:
        row = []
        for n in qubits:
            circuit = build(n, depth)
            row.append(gradient_samples(circuit, first_two(n), samples, seed).var(0).mean().item())
        table.append(row)
    fit = None
    if len(qubits) > 2 and min(table[-1]) > 0:
        line = linregress(qubits, np.log2(table[-1]))
        fit = Decay(float(line.slope), float(line.stderr), float(line.intercept))
    return {"qubits": list(qubits), "layers": list(layers), "variance": table, "fit": fit}


def check_jacobian(circuit: Circuit) -> None:
    """Raise ``ValueError`` when the derivatives, one backward pass for every real number of the state, outgrow the
    memory."""
    check_memory(circuit.qubits, 2 ** (circuit.qubits + 1), copies=3)


def state_jacobian(
    circuit: Circuit, parameters: Float[Tensor, " parameters"]
) -> tuple[Complex[Tensor, " dim"], Complex[Tensor, "dim parameters"]]:
    """The state ``(N,)`` and its derivatives ``(N, P)`` in every parameter. Raises ``ValueError`` without
    parameters."""
    if circuit.n_parameters == 0:
        raise ValueError("Fisher information needs a circuit with parameters, this one has none")
    check_jacobian(circuit)

    def parts(p: Tensor) -> Tensor:
        return torch.view_as_real(state_vector(circuit, p))

    jacobian = torch.func.jacrev(parts)(parameters)  # (N, 2, P)
    return state_vector(circuit, parameters), torch.complex(jacobian[:, 0], jacobian[:, 1])


def metric(circuit: Circuit, parameters: Float[Tensor, " parameters"]) -> Float[Tensor, "parameters parameters"]:
    """Fubini–Study metric ``(P, P)``: Re(⟨∂ᵢψ|∂ⱼψ⟩ − ⟨∂ᵢψ|ψ⟩⟨ψ|∂ⱼψ⟩); a quarter of the quantum
    Fisher information."""
    psi, tangent = state_jacobian(circuit, parameters)
    overlap = tangent.mH @ psi
    return (tangent.mH @ tangent - overlap[:, None] * overlap.conj()[None, :]).real


def classical_fisher(
    circuit: Circuit, parameters: Float[Tensor, " parameters"]
) -> Float[Tensor, "parameters parameters"]:
    """Fisher information ``(P, P)`` of the outcome probabilities: Σₓ ∂ᵢp ∂ⱼp / p. Outcomes of probability 0
    add nothing."""
    psi, tangent = state_jacobian(circuit, parameters)
    p = psi.abs().square()
    slope = 2 * (psi.conj()[:, None] * tangent).real
    weight = torch.where(p > torch.finfo(p.dtype).eps, 1 / p.clamp_min(torch.finfo(p.dtype).eps), torch.zeros_like(p))
    return (slope * weight[:, None]).mT @ slope


def fisher_spectrum(
    circuit: Circuit, samples: int = 100, seed: int = 0
) -> tuple[Float[Tensor, "samples parameters parameters"], Float[Tensor, " parameters"]]:
    """Classical Fisher matrices ``(samples, P, P)`` at uniform parameters and the eigenvalues ``(P,)`` of their
    mean, ascending."""
    matrices = torch.stack([classical_fisher(circuit, p) for p in uniform(circuit, samples, seed)])
    return matrices, torch.linalg.eigvalsh(matrices.mean(0))


def effective_dimension(
    matrices: Float[Tensor, "samples parameters parameters"], data: int = 1000, gamma: float = 1.0
) -> float:
    """Effective dimension of Abbas et al. (Nature Comput. Sci. 1, 403, 2021, Eq. 2) for ``data`` samples, from
    Fisher matrices.

    Between 0 and P; the matrices are normalised so that their mean trace is P. Raises ``ValueError`` for fewer than 2
    samples and for gamma outside (0, 1].
    """
    if data < 2 or not 0 < gamma <= 1:
        raise ValueError(
            f"the effective dimension needs data of at least 2 and gamma in (0, 1], got {data} and {gamma}"
        )
    size = matrices.shape[-1]
    trace = matrices.diagonal(dim1=-2, dim2=-1).sum(-1).mean()
    kappa = gamma * data / (2 * math.pi * math.log(data))
    scaled = torch.eye(size, dtype=matrices.dtype) + kappa * matrices * size / trace
    halves = torch.linalg.slogdet(scaled)[1] / 2
    return float(2 * (torch.logsumexp(halves, 0) - math.log(len(halves))) / math.log(kappa))


def loss_slice(
    loss: Loss, center: Float[Tensor, " parameters"], points: int = 21, width: float = math.pi, seed: int = 0
) -> dict[str, list]:
    """Losses on a square through ``center`` spanned by two random orthonormal directions (Li et al.,
    arXiv:1712.09913).

    Raises ``ValueError`` for fewer than two parameters.
    """
    generator = torch.Generator().manual_seed(seed)
    if len(center) < 2:
        raise ValueError(f"a slice in two directions needs at least two parameters, got {len(center)}")
    axes = torch.linalg.qr(torch.randn(len(center), 2, generator=generator, dtype=center.dtype))[0]
    steps = torch.linspace(-width, width, points, dtype=center.dtype)
    places = center + steps.repeat_interleave(points)[:, None] * axes[:, 0] + steps.repeat(points)[:, None] * axes[:, 1]
    values = loss(places).reshape(points, points)
    return {"steps": steps.tolist(), "loss": values.tolist()}


def light_cone(circuit: Circuit, wires: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """What can influence a measurement of ``wires``: the places of the gates, the wires at the start, the parameters.

    Purely by connectivity; gates that act trivially are not recognised. Raises ``ValueError`` for wires that the
    circuit does not have.
    """
    cone = set(wires)
    if not cone or any(not 0 <= w < circuit.qubits for w in cone):
        raise ValueError(f"a light cone needs wires among 0 to {circuit.qubits - 1}, got {list(wires)}")
    gates: list[int] = []
    for place in reversed(range(len(circuit.operations))):
        op = circuit.operations[place]
        if cone & set(op.wires):
            gates.append(place)
            if op.name not in CHANNELS:
                cone |= set(op.wires)
    parameters = {
        a.index
        for g in gates
        for a in circuit.operations[g].angles
        if isinstance(a, ParameterRef) and a.source == "parameters"
    }
    return sorted(gates), sorted(cone), sorted(parameters)
