"""The reference and the way to hardware: the same circuit as PennyLane operations, on any PennyLane device.

PennyLane is imported inside the functions, so that importing ``qattn`` stays light. Batches run as PennyLane
broadcasting or, where a device or differentiation method does not support it, sample by sample;
``qml.qnn.TorchLayer`` is not used (it drops the imaginary part of states and garbles tuples under broadcasting).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from qattn.circuits.ir.circuit import CHANNELS, Circuit, Operation, ParameterRef
from qattn.circuits.ir.memory import check_memory
from qattn.circuits.simulate.gate_batches import check_values

UNFIT = {  # PennyLane's own devices that run no qubit circuits, or none of a state vector's results
    "default.gaussian": "simulates light, not qubits",
    "default.qutrit": "simulates qutrits, not qubits",
    "default.qutrit.mixed": "simulates qutrits, not qubits",
    "null.qubit": "computes nothing, its results are made up",
}


def operations(circuit: Circuit, parameters: Any, inputs: Any = None, broadcast: bool = True) -> list[Any]:
    """PennyLane operations for given values (anything PennyLane differentiates; a leading batch axis means
    broadcasting)."""
    import pennylane as qml

    def value(angle: float | ParameterRef) -> Any:
        if not isinstance(angle, ParameterRef):
            return float(angle)
        source = parameters if angle.source == "parameters" else inputs
        picked = source[..., angle.index]
        if angle.scale == 1.0 and angle.shift == 0.0:
            return picked
        return picked * angle.scale + angle.shift

    queue: list[Any] = []
    n = circuit.qubits
    if circuit.amplitude_inputs:
        queue.append(qml.StatePrep(inputs, wires=range(n)))
    elif circuit.initial is not None:
        queue.append(qml.StatePrep(circuit.initial, wires=range(n)))
    return queue + [convert(op, [value(a) for a in op.angles]) for op in circuit.operations]


def convert(op: Operation, angles: Sequence[Any]) -> Any:
    """One operation as PennyLane's, with the given angles."""
    import pennylane as qml

    wires = list(op.wires)
    if op.name == "PauliRot":
        return qml.PauliRot(angles[0], op.word, wires=wires)
    if op.name in ("QubitUnitary", "DiagonalQubitUnitary"):
        return getattr(qml, op.name)(np.asarray(op.data, complex), wires=wires)
    if op.name.startswith("Adjoint("):
        return qml.adjoint(getattr(qml, op.name[8:-1])(wires=wires[0]))
    if op.name == "MultiControlledX":
        return qml.MultiControlledX(wires=wires)
    return getattr(qml, op.name)(*angles, wires=wires if len(wires) > 1 else wires[0])


def make_device(name: str, qubits: int, seed: int | None = None) -> Any:
    """A PennyLane device. Raises ``ValueError`` naming the known ones when there is none of that name.

    The seed starts the device's generator: two devices of one seed agree, two calls of one device differ.
    """
    import pennylane as qml

    # a density matrix is a state of twice the qubits, and a channel holds a copy for each of its four Kraus operators
    check_memory(2 * qubits if name == "default.mixed" else qubits, copies=6 if name == "default.mixed" else 2)
    if name in UNFIT:
        raise ValueError(f"device {name} {UNFIT[name]}; known are fast, {', '.join(known_devices())}")
    if name not in qml.plugin_devices:
        raise ValueError(f"unknown device {name!r}; known are fast, {', '.join(known_devices())}")
    options = {} if seed is None else {"seed": seed}
    try:
        return qml.device(name, wires=qubits, **options)
    except (TypeError, ImportError, qml.exceptions.DeviceError) as error:
        raise ValueError(f"device {name} cannot be set up here: {' '.join(str(error).split())}") from error


def known_devices() -> list[str]:
    """PennyLane's devices of this installation that run these circuits and can be set up."""
    import pennylane as qml

    def works(name: str) -> bool:
        try:
            qml.device(name, wires=1)
        except Exception:  # a plugin raises what it likes when what it needs is missing
            return False
        return True

    return [name for name in sorted(qml.plugin_devices) if name not in UNFIT and works(name)]


def node(
    circuit: Circuit,
    measure: Any,
    device: str = "default.qubit",
    shots: int | None = None,
    seed: int | None = None,
    diff_method: str = "best",
) -> Any:
    """A QNode ``f(parameters, inputs)`` that runs the circuit and returns ``measure()`` (a function making PennyLane
    measurements).

    Raises ``ValueError`` for noise on another device than default.mixed.
    """
    import pennylane as qml

    if circuit.noisy and device != "default.mixed":
        raise ValueError(f"noise channels ({', '.join(CHANNELS)}) need device default.mixed, got {device}")
    dev = make_device(device, circuit.qubits, seed)

    def program(parameters: Any, inputs: Any = None) -> Any:
        operations(circuit, parameters, inputs)
        return measure()

    qnode = qml.QNode(program, dev, interface="auto", diff_method=diff_method)
    return qml.set_shots(qnode, shots) if shots else qnode


def probabilities(
    circuit: Circuit,
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None = None,
    device: str = "default.qubit",
) -> Float[Tensor, "... dim"]:
    """Exact Born probabilities on a PennyLane device: ``(2ⁿ,)`` or ``(batch, 2ⁿ)``, also for a batch of one."""
    import pennylane as qml

    def measure() -> Any:
        return qml.probs(wires=range(circuit.qubits))

    return batched(circuit, node(circuit, measure, device), parameters, inputs, 2**circuit.qubits)


def state_vector(
    circuit: Circuit,
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None = None,
    device: str = "default.qubit",
) -> Shaped[Tensor, "... dim"]:
    """The final state on a PennyLane device: ``(2ⁿ,)`` or ``(batch, 2ⁿ)``."""
    import pennylane as qml

    return batched(circuit, node(circuit, qml.state, device), parameters, inputs, 2**circuit.qubits)


def expectations(
    circuit: Circuit,
    words: Sequence[str],
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None = None,
    device: str = "default.qubit",
    shots: int | None = None,
    seed: int | None = None,
    diff_method: str = "best",
) -> Float[Tensor, "... words"]:
    """Means of Pauli words on a PennyLane device: ``(k,)`` or ``(batch, k)``; differentiable by the device's method."""
    import pennylane as qml

    def measure() -> Any:
        return [qml.expval(qml.pauli.string_to_pauli_word(word)) for word in words]

    return batched(circuit, node(circuit, measure, device, shots, seed, diff_method), parameters, inputs, len(words))


def samples(
    circuit: Circuit,
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None,
    device: str,
    shots: int,
    seed: int | None = None,
    wires: Sequence[int] = (),
) -> Int[np.ndarray, " shots"]:
    """Basis states of the given wires (all by default) drawn on a PennyLane device, as whole numbers ``(shots,)``."""
    import pennylane as qml

    wires = tuple(wires) or tuple(range(circuit.qubits))

    def measure() -> Any:
        return qml.sample(wires=wires)

    check_values(circuit, parameters, inputs)
    bits = (
        np.asarray(node(circuit, measure, device, shots, seed)(parameters, inputs))
        .reshape(shots, len(wires))
        .astype(np.int64)
    )
    return bits @ (1 << np.arange(len(wires))[::-1])


def tensor(value: Any) -> Shaped[Tensor, "*shape"]:
    """What a device returned as a tensor, in the precision it has (a Python float is float64, not torch's default)."""
    return value if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))


def batched(
    circuit: Circuit,
    qnode: Any,
    parameters: Float[Tensor, "... parameters"],
    inputs: Shaped[Tensor, "... inputs"] | None,
    width: int,
) -> Shaped[Tensor, "... width"]:
    """Run sample by sample where there is a batch: one return type and shape whatever the device does with
    broadcasting."""
    batch = check_values(circuit, parameters, inputs)

    differentiated = parameters.requires_grad or (inputs is not None and inputs.requires_grad)

    def one(p: Any, x: Any) -> Tensor:
        if not differentiated:  # PennyLane's torch interface rounds some devices' numbers to float32
            p, x = p.numpy(), None if x is None else x.numpy()
        out = qnode(p, x)
        return torch.stack([tensor(o) for o in out]) if isinstance(out, list | tuple) else tensor(out)

    if batch is None:
        return one(parameters, inputs)
    if batch == 0:
        return parameters.new_zeros(0, width)
    return torch.stack(
        [
            one(
                parameters[i] if parameters.dim() == 2 else parameters,
                inputs if inputs is None or inputs.dim() == 1 else inputs[i],
            )
            for i in range(batch)
        ]
    )
