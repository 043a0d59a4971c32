"""Fit a circuit to a state, a unitary, a distribution or labelled data; a step at a time, so that a caller can
watch, save and resume."""

from __future__ import annotations

import contextlib
import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from qattn.circuits.analyse.sensitivity import check_jacobian, metric
from qattn.circuits.ir.circuit import Circuit, check_state, check_unitary, expect_shape
from qattn.circuits.ir.hamiltonian import Hamiltonian
from qattn.circuits.ir.memory import check_bytes, check_memory
from qattn.circuits.simulate.energy import energy
from qattn.circuits.simulate.readout import expectations, log_probabilities
from qattn.circuits.simulate.statevector import GRADIENT_STATES, run

LABELLED = ("classification", "regression")
TASKS = ("state", "unitary", "distribution", *LABELLED, "energy")
OPTIMIZERS = ("adam", "sgd", "lbfgs", "qng")
DAMPING = 1e-3  # added to the Fubini–Study metric's diagonal before it is inverted
NAMES = {"state": ("ghz", "w", "uniform"), "distribution": ("uniform", "bars", "gaussian"), "unitary": ("qft",)}


@dataclass(frozen=True, eq=False)
class Task:
    """What is learnt: the target's numbers, data ``(m, features)`` with labels ``(m,)``, the last quarter held out, or
    the Hamiltonian whose energy becomes small. Labels are 0 and 1, or in a regression what the mean of Z on wire 0
    shall be."""

    kind: str
    target: np.ndarray | None = None
    data: np.ndarray | None = None
    labels: np.ndarray | None = None
    hamiltonian: Hamiltonian | None = None


def target_of(kind: str, given: Any, qubits: int) -> Shaped[np.ndarray, "*shape"]:
    """The target array of a task from a name or an array. Raises ``ValueError`` when it does not fit the circuit or
    is not normalised."""
    check_memory(qubits, 2**qubits if kind == "unitary" else 1, copies=1)
    size = 2**qubits
    if isinstance(given, str):
        if given not in NAMES.get(kind, ()):
            raise ValueError(
                f"unknown target {given!r} of a {kind} task: expected {', '.join(NAMES.get(kind, ()))}, or numbers"
            )
        given = named_target(given, kind, qubits)
    if given is None:
        raise ValueError(f"a {kind} task needs a target: a name ({', '.join(NAMES[kind])}) or its numbers")
    try:
        target = np.asarray(given).astype(complex)
    except (TypeError, ValueError):
        raise ValueError(f"a {kind} target is a name ({', '.join(NAMES[kind])}) or numbers, got {given!r}") from None
    if kind == "state":
        check_state(target, qubits)
        return target
    if kind == "unitary":
        check_unitary(target, qubits)
        return target
    expect_shape("a target distribution", target.shape, (size,))
    if np.any(target.imag):
        raise ValueError("a target distribution has real entries")
    target = target.real
    if target.min() < 0 or not abs(target.sum() - 1) < 1e-6:
        raise ValueError(
            f"a target distribution is non-negative with sum 1, got least {target.min():.3g}, sum {target.sum():.6g}"
        )
    return target


def named_target(name: str, kind: str, qubits: int) -> Shaped[np.ndarray, "*shape"]:
    """The numbers of a target by name. Raises ``ValueError`` for one that so few qubits do not have."""
    size = 2**qubits
    if name == "qft":
        k = np.arange(size)
        return np.exp(2j * np.pi * np.outer(k, k) / size) / math.sqrt(size)
    out = np.zeros(size)
    if name == "ghz":
        out[[0, -1]] = math.sqrt(0.5)
    elif name == "w":
        out[[1 << k for k in range(qubits)]] = 1 / math.sqrt(qubits)
    elif name == "bars" and qubits == 1:
        raise ValueError("the target bars needs at least 2 qubits, one for each half, got 1")
    elif name == "bars":  # basis states with one kind of bit only in each half: a toy of bars and stripes
        half = qubits // 2
        for top in (0, 2**half - 1):
            for bottom in (0, 2 ** (qubits - half) - 1):
                out[top << (qubits - half) | bottom] = 0.25
    elif name == "gaussian":
        k = np.arange(size)
        out = np.exp(-0.5 * ((k - (size - 1) / 2) / (size / 8)) ** 2)
        out /= out.sum()
    else:
        out[:] = 1 / math.sqrt(size) if kind == "state" else 1 / size
    return out


def labelled(
    name: str, samples: int, features: int, seed: int
) -> tuple[Float[np.ndarray, "samples features"], Int[np.ndarray, " samples"]]:
    """Angles ``(m, features)`` and labels of a small classification problem; plane data is repeated over the
    features. Raises ``ValueError`` for unknown names and for fewer than four samples, too few to hold one out."""
    if samples < 4:
        raise ValueError(f"{name}: expected at least 4 samples, three to learn from and one held out, got {samples}")
    check_bytes(f"{samples} samples of {features} features", 32 * samples * features)
    rng = np.random.default_rng(seed)
    if name == "parity":
        bits = rng.integers(0, 2, (samples, features))
        return np.pi * bits.astype(float), bits.sum(1) % 2
    from sklearn.datasets import make_circles, make_moons

    if name not in ("moons", "circles"):
        raise ValueError(f"unknown data {name!r}; known are moons, circles, parity")
    maker = {"moons": make_moons, "circles": make_circles}[name]
    options = {"noise": 0.1} if name == "moons" else {"noise": 0.05, "factor": 0.5}
    points, labels = maker(samples, random_state=seed, **options)
    points = (points - points.mean(0)) / points.std(0)
    return points[:, np.arange(features) % 2], labels


class Fit:
    """A circuit, a task and an optimiser. ``step()`` makes one update; ``state_dict`` and ``load_state_dict`` resume
    exactly.

    The first parameters are ``start`` where it has numbers, and uniform in [0, ``spread``) where it has NaN or is None.
    Only a classification feeds the circuit's inputs (``circuit.with_inputs`` fixes them). Raises ``ValueError`` for
    unknown tasks and optimisers, for tasks an optimiser or a circuit does not serve, and for more than fits in memory.
    """

    def __init__(
        self,
        circuit: Circuit,
        task: Task,
        optimizer: str = "adam",
        lr: float = 0.05,
        seed: int = 0,
        spread: float = 2 * math.pi,
        dtype: torch.dtype = torch.float64,
        start: Float[np.ndarray, " parameters"] | None = None,
    ) -> None:
        if task.kind not in TASKS:
            raise ValueError(f"unknown task {task.kind!r}; known are {', '.join(TASKS)}")
        if optimizer not in OPTIMIZERS:
            raise ValueError(f"unknown optimizer {optimizer!r}; known are {', '.join(OPTIMIZERS)}")
        if optimizer == "qng" and task.kind not in ("state", "distribution", "energy"):
            raise ValueError(f"quantum natural gradient needs one state: not a {task.kind} task")
        if circuit.n_parameters == 0:
            raise ValueError("the circuit has no parameters to train")
        if circuit.noisy:
            raise ValueError("training runs without noise channels: drop the noise")
        if task.kind not in LABELLED and circuit.n_inputs:
            raise ValueError(
                f"the circuit reads {circuit.n_inputs} inputs, of which a {task.kind} task has none: give `inputs`"
            )
        if task.kind == "unitary" and circuit.initial is not None:
            raise ValueError("a unitary task starts from every basis state: drop the amplitude encoding")
        batch = 1 if task.data is None else len(task.data)
        width = 2**circuit.qubits if task.kind == "unitary" else batch
        check_memory(circuit.qubits, width, 8 if dtype == torch.float32 else 16, GRADIENT_STATES)
        if task.kind == "energy" and (task.hamiltonian is None or task.hamiltonian.qubits != circuit.qubits):
            raise ValueError("an energy task needs a Hamiltonian on the circuit's qubits: measure: {hamiltonian: ...}")
        if optimizer == "qng":
            check_jacobian(circuit)
        self.circuit, self.task, self.kind, self.lr = circuit, task, optimizer, lr
        generator = torch.Generator().manual_seed(seed)
        first = spread * torch.rand(circuit.n_parameters, generator=generator, dtype=torch.float64)
        if start is not None:
            expect_shape("start", start.shape, (circuit.n_parameters,))
            first = torch.where(torch.as_tensor(np.isnan(start)), first, torch.as_tensor(start))
        self.parameters = first.to(dtype).requires_grad_()
        complex_dtype = torch.complex64 if dtype == torch.float32 else torch.complex128
        self.target = None
        if task.target is not None:
            self.target = torch.as_tensor(task.target, dtype=complex_dtype if task.kind != "distribution" else dtype)
        if task.kind in LABELLED:
            assert task.data is not None
            assert task.labels is not None
            expect_shape("data", task.data.shape[1:], (circuit.n_inputs,))
            self.data = torch.as_tensor(task.data, dtype=dtype)
            self.labels = torch.as_tensor(task.labels, dtype=dtype)
            self.cut = len(self.labels) * 3 // 4
        makers = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "lbfgs": torch.optim.LBFGS, "qng": torch.optim.SGD}
        self.optimizer = makers[optimizer]([self.parameters], lr=lr)
        self.steps = 0

    def loss(self) -> Float[Tensor, ""]:
        """Infidelity, Kullback–Leibler divergence of the target from the Born distribution, cross
        entropy, squared error, or energy."""
        if self.task.kind == "classification":
            return self.cross_entropy(slice(0, self.cut))
        if self.task.kind == "regression":
            return self.squared_error(slice(0, self.cut))
        if self.task.kind == "energy":
            assert self.task.hamiltonian is not None
            return energy(self.task.hamiltonian, run(self.circuit, self.parameters).amplitudes())
        assert self.target is not None
        if self.task.kind == "unitary":
            size = len(self.target)
            columns = run(self.circuit, self.parameters, states=torch.eye(size, dtype=self.target.dtype)).amplitudes()
            return 1 - (columns * self.target.mT.conj()).sum().abs().square() / size**2
        final = run(self.circuit, self.parameters)
        if self.task.kind == "state":
            return 1 - (final.amplitudes() * self.target.conj()).sum().abs().square()
        return (torch.xlogy(self.target, self.target) - self.target * log_probabilities(final.probabilities())).sum()

    def probability_of_one(self, rows: slice) -> Float[Tensor, " rows"]:
        """Probability of label 1: wire 0 found in |1⟩, from the mean of Z."""
        return (1 - self.mean_of_z(self.data[rows])) / 2

    def mean_of_z(self, points: Float[Tensor, "rows features"]) -> Float[Tensor, " rows"]:
        """The mean of Z on wire 0 for given inputs."""
        word = "Z" + "I" * (self.circuit.qubits - 1)
        return expectations(run(self.circuit, self.parameters, points), [word])[:, 0]

    def squared_error(self, rows: slice) -> Float[Tensor, ""]:
        """Mean squared difference of the mean of Z from the labels."""
        return (self.mean_of_z(self.data[rows]) - self.labels[rows]).square().mean()

    def cross_entropy(self, rows: slice) -> Float[Tensor, ""]:
        """Mean cross entropy of some samples, probabilities kept away from 0 and 1 by rounding."""
        tiny = torch.finfo(self.parameters.dtype).eps
        return torch.nn.functional.binary_cross_entropy(
            self.probability_of_one(rows).clamp(tiny, 1 - tiny), self.labels[rows]
        )

    @torch.no_grad()
    def accuracy(self) -> float:
        """Share of held-out samples on the right side of 1/2."""
        rows = slice(self.cut, len(self.labels))
        return ((self.probability_of_one(rows) > 0.5) == (self.labels[rows] > 0.5)).double().mean().item()

    def step(self) -> float:
        """One update; the loss before it. Raises ``FloatingPointError`` when it or a parameter is no longer finite."""

        def closure() -> Tensor:
            self.optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            return loss

        if self.kind == "lbfgs":
            loss = self.optimizer.step(closure)
        else:
            loss = closure()
            if self.kind == "qng":
                gradient = self.parameters.grad
                assert gradient is not None
                geometry = metric(self.circuit, self.parameters.detach())
                geometry += DAMPING * torch.eye(len(geometry), dtype=geometry.dtype)
                gradient.copy_(torch.linalg.solve(geometry, gradient))
            self.optimizer.step()
        self.steps += 1
        value = float(loss.detach())
        if not (math.isfinite(value) and bool(self.parameters.isfinite().all())):
            raise FloatingPointError(f"the loss or a parameter stopped being finite at step {self.steps}")
        return value

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs: tensors and numbers only, readable with ``weights_only``."""
        return {
            "parameters": self.parameters.detach().clone(),
            "optimizer": self.optimizer.state_dict(),
            "steps": self.steps,
        }

    def load_state_dict(self, state: Any) -> None:
        """Put a saved state back. Raises ``ValueError`` when it is not of this circuit and optimiser."""
        if not isinstance(state, dict) or set(state) != {"parameters", "optimizer", "steps"}:
            raise ValueError("expected a training's state with parameters, optimizer and steps")
        parameters, steps = state["parameters"], state["steps"]
        if not isinstance(parameters, Tensor) or not bool(parameters.isfinite().all()):
            raise ValueError("the saved parameters are not finite numbers")
        expect_shape("saved parameters", tuple(parameters.shape), (self.circuit.n_parameters,))
        if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
            raise ValueError(f"the number of steps made is a whole number, got {steps!r}")
        try:
            self.restore(parameters, copy.deepcopy(state["optimizer"]))
            with contextlib.suppress(FloatingPointError):
                self.step()  # a trial: torch finds out only in a step that an optimiser's state is another's
            self.restore(parameters, state["optimizer"])
        except (LookupError, TypeError, AttributeError, RuntimeError, ValueError) as error:
            raise ValueError(f"the saved optimiser is not that of this training ({error!r})") from error
        self.steps = steps

    def restore(self, parameters: Shaped[Tensor, " parameters"], optimizer: dict[str, Any]) -> None:
        """Put parameters and the optimiser's state back."""
        with torch.no_grad():
            self.parameters.copy_(parameters)
        self.optimizer.load_state_dict(optimizer)


def shift_gap(
    circuit: Circuit,
    parameters: Float[Tensor, " parameters"],
    word: str | None = None,
    inputs: Float[Tensor, "*batch inputs"] | None = None,
) -> float:
    """Largest difference between our gradient of a Pauli word's mean and PennyLane's parameter-shift rule."""
    from qattn.circuits.simulate import pennylane_device

    word = word or "Z" + "I" * (circuit.qubits - 1)
    p = parameters.detach().double().requires_grad_()
    ours = torch.autograd.grad(expectations(run(circuit, p, inputs), [word]).sum(), p)[0]
    shifted = pennylane_device.expectations(circuit, [word], p, inputs, diff_method="parameter-shift")
    theirs = torch.autograd.grad(shifted.sum(), p)[0]
    return (ours - theirs).abs().max().item()
