"""What an ansatz can reach: expressibility, entangling capability, frame potential, entropy across a cut. All from
sampled states."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.ir.memory import check_bytes, check_memory
from qattn.circuits.simulate.statevector import run

BINS, PAIRS = 75, 5000  # the protocol of Sim et al. 2019
MOST_QUBITS_BINNED = 9  # at 10 qubits the first of 75 bins holds 1 − (74/75)¹⁰²³ = 0.999999 of Haar's fidelities
CHUNK = 1 << 22  # amplitudes in flight while sampling


@dataclass(frozen=True)
class Estimate:
    """A sampled number with a 95 % interval."""

    value: float
    low: float
    high: float


def mean_of(samples: Float[np.ndarray, " samples"]) -> Estimate:
    """The mean with a normal 95 % interval; exact numbers (no spread) give an interval of width 0."""
    center, half = float(samples.mean()), 1.96 * float(samples.std(ddof=1)) / math.sqrt(len(samples))
    return Estimate(center, center - half, center + half)


@torch.no_grad()
def sampled_states(
    circuit: Circuit, samples: int, seed: int, dtype: torch.dtype = torch.float32
) -> Complex[Tensor, "samples dim"]:
    """States ``(samples, 2ⁿ)`` for parameters drawn uniformly from [0, 2π).

    Raises ``ValueError`` for noise, for inputs that ``circuit.with_inputs`` has not fixed, and for more than memory.
    """
    if circuit.noisy:
        raise ValueError("noise channels make no pure states: drop the noise to analyse the circuit")
    check_memory(circuit.qubits, samples, copies=3)
    generator = torch.Generator().manual_seed(seed)
    parameters = 2 * math.pi * torch.rand(samples, circuit.n_parameters, generator=generator, dtype=torch.float64)
    size = max(1, CHUNK // 2**circuit.qubits)
    parts = [run(circuit, part.to(dtype)).amplitudes() for part in parameters.split(size)]
    return torch.cat(parts) if parts else torch.zeros(0, 2**circuit.qubits)


def haar_bins(dimension: int, bins: int = BINS) -> Float[np.ndarray, " bins"]:
    """Probability of each fidelity bin between Haar-random states: (1 − low)ᴺ⁻¹ − (1 − high)ᴺ⁻¹."""
    return np.exp(haar_log_bins(dimension, bins))


def haar_log_bins(dimension: int, bins: int = BINS) -> Float[np.ndarray, " bins"]:
    """Logarithms of ``haar_bins``: finite also where the probability is below the smallest float, from 8 qubits on."""
    edges = np.linspace(0, 1, bins + 1)
    low = np.log1p(-edges[:-1])
    high = np.append(low[1:], -np.inf)
    return (dimension - 1) * low + np.log1p(-np.exp((dimension - 1) * (high - low)))


def divergence(fidelities: Float[np.ndarray, " pairs"], dimension: int, bins: int = BINS) -> Estimate:
    """KL divergence of a fidelity histogram from Haar's, in nats, with the delta-method 95 % interval.

    The plug-in estimate is biased upward by about (occupied bins − 1) / (2 samples); ``haar_floor`` is what Haar
    states give.
    """
    counts = np.histogram(np.clip(fidelities, 0, 1), bins=bins, range=(0, 1))[0]
    p = counts / counts.sum()
    used = p > 0
    ratio = np.log(p[used]) - haar_log_bins(dimension, bins)[used]
    value = float((p[used] * ratio).sum())
    spread = float((p[used] * ratio**2).sum()) - value**2
    half = 1.96 * math.sqrt(max(spread, 0.0) / counts.sum())
    return Estimate(value, max(value - half, 0.0), value + half)


def expressibility(circuit: Circuit, pairs: int = PAIRS, bins: int = BINS, seed: int = 0) -> Estimate:
    """KL divergence to Haar of the fidelities of ``pairs`` pairs of states (Sim et al. 2019, Eq. 9); small is
    expressive."""
    states = sampled_states(circuit, 2 * pairs, seed).to(torch.complex128)
    fidelities = (states[:pairs].conj() * states[pairs:]).sum(-1).abs().square()
    return divergence(fidelities.numpy(), 2**circuit.qubits, bins)


def haar_floor(dimension: int, pairs: int = PAIRS, bins: int = BINS, seed: int = 0) -> float:
    """The mean divergence of Haar-random states themselves at this sample size: nothing can be measured below it."""
    check_bytes(f"200 times {pairs} fidelities", 16 * 200 * pairs)
    rng = np.random.default_rng(seed)
    draws = 1 - rng.random((200, pairs)) ** (1 / (dimension - 1))  # inverse of the Haar distribution of fidelities
    return float(np.mean([divergence(d, dimension, bins).value for d in draws]))


def purities(states: Complex[Tensor, "batch dim"]) -> Float[Tensor, "batch qubits"]:
    """Tr ρₖ² of every wire: ``(batch, n)``."""
    n = (states.shape[-1] - 1).bit_length()
    out = []
    for w in range(n):
        block = states.reshape(-1, 2**w, 2, 2 ** (n - 1 - w)).transpose(1, 2).flatten(2)
        out.append((block @ block.mH).abs().square().sum((-1, -2)))
    return torch.stack(out, -1)


def meyer_wallach(states: Complex[Tensor, "batch dim"]) -> Float[Tensor, " batch"]:
    """Q = 2 (1 − mean over wires of Tr ρₖ²), ``(batch,)``: 0 for product states, 1 for GHZ (Brennen 2003, Eq.
    4)."""
    return 2 * (1 - purities(states).mean(-1))


def haar_meyer_wallach(qubits: int) -> float:
    """The mean of Q over Haar-random states, (2ⁿ − 2) / (2ⁿ + 1): 14/17 for four qubits."""
    return (2**qubits - 2) / (2**qubits + 1)


def entangling_capability(circuit: Circuit, samples: int = PAIRS, seed: int = 0) -> Estimate:
    """The mean Meyer–Wallach measure over uniform parameters."""
    return mean_of(meyer_wallach(sampled_states(circuit, samples, seed).to(torch.complex128)).numpy())


def entropy(states: Complex[Tensor, "batch dim"], wires: list[int]) -> Float[Tensor, " batch"]:
    """Entanglement entropy across the cut around ``wires``, in nats, ``(batch,)``.

    The gradient at product states, where λ log λ has an infinite slope, is 0 (its limit along smooth families), never
    NaN. Raises ``ValueError`` for a cut that is no part of the wires.
    """
    n = (states.shape[-1] - 1).bit_length()
    if not wires or len(set(wires)) != len(wires) or len(wires) >= n or any(not 0 <= w < n for w in wires):
        raise ValueError(f"a cut needs some but not all of the wires 0 to {n - 1}, each once, got {wires}")
    rest = [w for w in range(n) if w not in wires]
    cube = states.reshape(-1, *(2,) * n).permute(0, *(1 + w for w in wires), *(1 + w for w in rest))
    block = cube.reshape(-1, 2 ** len(wires), 2 ** len(rest))
    if len(wires) > len(rest):
        block = block.mT
    spectrum = torch.linalg.eigvalsh(block @ block.mH)
    tiny = torch.finfo(spectrum.dtype).eps
    safe = torch.where(spectrum > tiny, spectrum, torch.ones_like(spectrum))
    return -(safe * safe.log()).sum(-1)


def frame_potential(circuit: Circuit, order: int = 2, pairs: int = PAIRS, seed: int = 0) -> tuple[Estimate, float]:
    """Mean of |⟨ψ|φ⟩|^(2 order) over pairs of states, and Haar's value t! (N−1)! / (N+t−1)!, its minimum.

    Raises ``ValueError`` for an order below 1.
    """
    if order < 1:
        raise ValueError(f"the order of a frame potential is at least 1, got {order}")
    states = sampled_states(circuit, 2 * pairs, seed).to(torch.complex128)
    powers = (states[:pairs].conj() * states[pairs:]).sum(-1).abs() ** (2 * order)
    return mean_of(powers.numpy()), 1 / math.comb(2**circuit.qubits + order - 1, order)
