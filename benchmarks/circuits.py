"""Forward pass and gradient of all parameters: the fast engine beside PennyLane, in one run: one thread, milliseconds
of user time.

    python benchmarks/circuits.py [--qubits 4,8] [--repeats N]

Task: four layers of StronglyEntanglingLayers after angle encoding, mean of Z on every wire, gradient of their sum in
all parameters, batch 256 (16 to 20 qubits: batch 1, no encoding, the sum as one observable). Every row also checks that
both sides agree.

Fair to both sides: as many repetitions for one as for the other, taken in turn, after one to warm up; medians; user
time, so that neither the machine's other work nor the kernel's page faults count; and the C library keeps freed memory
(the program starts itself again with its thresholds raised), so that allocations cost both sides the same from the
second repetition on.
The share of memory bandwidth is the bytes the engine's steps must move (each reads and writes the state once; three
state-sized streams backward) over time, against a copy of 64 MiB measured in the same run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import argparse
import statistics
import sys
from collections.abc import Callable

import pennylane as qml
import torch

from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.encode import encoded
from qattn.circuits.simulate import statevector
from qattn.circuits.simulate.gate_batches import batched_flags
from qattn.circuits.simulate.readout import expectations

torch.set_num_threads(1)
LAYERS = 4
Task = Callable[[], tuple[torch.Tensor, torch.Tensor]]


def values(qubits: int, batch: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor | None]:
    generator = torch.Generator().manual_seed(0)
    parameters = (
        (6 * torch.rand(LAYERS * qubits * 3, generator=generator, dtype=torch.float64)).to(dtype).requires_grad_()
    )
    inputs = torch.rand(batch, qubits, generator=generator, dtype=torch.float64).to(dtype) if batch > 1 else None
    return parameters, inputs


def ours(qubits: int, batch: int, dtype: torch.dtype) -> tuple[Task, int]:
    circuit = build("StronglyEntanglingLayers", qubits, LAYERS)
    if batch > 1:
        circuit = encoded(circuit, "angle")
    parameters, inputs = values(qubits, batch, dtype)
    words = ["I" * w + "Z" + "I" * (qubits - 1 - w) for w in range(qubits)]

    def task() -> tuple[torch.Tensor, torch.Tensor]:
        means = expectations(statevector.run(circuit, parameters, inputs), words)
        means = means.sum(-1, keepdim=True) if batch == 1 else means
        return means, torch.autograd.grad(means.sum(), parameters)[0]

    steps = len(statevector.plan(circuit, batched_flags(circuit, parameters, inputs), True).steps)
    return task, steps


def pennylane(qubits: int, batch: int, dtype: torch.dtype, device: str, method: str) -> Task:
    parameters, inputs = values(qubits, batch, dtype)

    @qml.qnode(qml.device(device, wires=qubits), interface="torch", diff_method=method)
    def node(weights: torch.Tensor) -> list:
        if inputs is not None:
            qml.AngleEmbedding(inputs, range(qubits))
        qml.StronglyEntanglingLayers(weights, range(qubits))
        if batch == 1:  # one number, as in ours: an adjoint pass per observable would be unfair
            return [qml.expval(qml.sum(*(qml.Z(w) for w in range(qubits))))]
        return [qml.expval(qml.Z(w)) for w in range(qubits)]

    def task() -> tuple[torch.Tensor, torch.Tensor]:
        means = torch.stack(tuple(node(parameters.reshape(LAYERS, qubits, 3))), -1)
        return means, torch.autograd.grad(means.sum(), parameters)[0]

    return task


def user_ms(*tasks: Task, repeats: int) -> list[float]:
    """Medians of user time, the tasks taken in turn, each after one run to warm up."""
    taken: list[list[float]] = [[] for _ in tasks]
    for task in tasks:
        task()
    for _ in range(repeats):
        for times, task in zip(taken, tasks, strict=True):
            rounds = 1
            while True:  # the clock of user time ticks in hundredths of a second: short tasks run several times
                begun = os.times().user
                for _ in range(rounds):
                    task()
                spent = os.times().user - begun
                if spent >= 0.2:
                    break
                rounds *= 4 if spent < 0.05 else 2
            times.append(spent / rounds)
    return [1e3 * statistics.median(times) for times in taken]


def bandwidth(repeats: int) -> float:
    """Bytes per second of a copy (read and write) larger than the caches."""
    source = torch.zeros(8 << 20, dtype=torch.float64)
    target = torch.empty_like(source)
    (spent,) = user_ms(lambda: (target.copy_(source), source), repeats=repeats)
    return 2 * source.numel() * 8 / spent * 1e3


def main() -> None:
    """Print one row per size, precision and rival."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--qubits", default="4,6,8,10,12,16,18,20", help="sizes, 4 to 12 with batch 256, above with 1")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of either side")
    asked = parser.parse_args()
    sizes = [(int(n), 256 if int(n) <= 12 else 1) for n in asked.qubits.split(",")]
    copy = bandwidth(asked.repeats)
    print(f"one thread, torch {torch.__version__}, PennyLane {qml.__version__}; copy bandwidth {copy / 1e9:.1f} GB/s")
    print("qubits batch dtype    | fast ms | other                   ms   ratio | bandwidth | gaps (values, gradient)")
    for qubits, batch in sizes:
        for dtype in (torch.float64, torch.float32):
            task, steps = ours(qubits, batch, dtype)
            size = 2**qubits * batch * (16 if dtype == torch.float64 else 8)
            rivals = [("default.qubit", "backprop")] if qubits <= 16 else []
            rivals += [("lightning.qubit", "adjoint")] if batch == 1 else []
            others = [pennylane(qubits, batch, dtype, *rival) for rival in rivals]
            mine, *theirs = user_ms(task, *others, repeats=asked.repeats)
            share = steps * size * (2 + 6) / (mine / 1e3) / copy
            for (device, method), other, spent in zip(rivals, others, theirs, strict=True):
                (a, b), (c, d) = task(), other()
                gap = (a - c).abs().max().item(), (b - d).abs().max().item()
                name = str(dtype).removeprefix("torch.")
                print(
                    f"{qubits:6d} {batch:5d} {name:8s} | {mine:7.2f} | {device + ' ' + method:22s} {spent:7.1f}"
                    f" {spent / mine:6.1f}x | {share:9.0%} | {gap[0]:.0e}, {gap[1]:.0e}",
                    flush=True,
                )


if __name__ == "__main__":
    KEEP = {
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "MALLOC_MMAP_THRESHOLD_": str(1 << 40),
        "MALLOC_TOP_PAD_": str(1 << 28),
    }
    if any(os.environ.get(key) != value for key, value in KEEP.items()):  # read when a process starts
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})
    main()
