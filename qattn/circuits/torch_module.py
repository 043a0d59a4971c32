"""A circuit as a torch module: data in, means of Pauli words (or log-probabilities) out. Saved as numbers and a
spec, never as code."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.ir.spec import Spec, from_dict
from qattn.circuits.ir.spec_writer import to_dict
from qattn.circuits.simulate.readout import Measurement, expectations, log_probabilities
from qattn.circuits.simulate.statevector import run


class CircuitModule(nn.Module):
    """Inputs ``(batch, n_inputs)`` or None to means ``(batch, k)`` of ``words``; without words to log-probabilities
    ``(batch, 2ⁿ)``.

    The batch axis is kept for a batch of one and of none; without one in the input there is none in the output.
    Parameters start uniform in [0, ``spread``). Raises ``ValueError`` for words that do not fit, and for noise.
    """

    def __init__(
        self,
        circuit: Circuit,
        words: Sequence[str] = (),
        *,
        generator: torch.Generator,
        spread: float = 2 * math.pi,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        if circuit.noisy:
            raise ValueError("a trainable module needs a circuit without noise channels")
        if words:
            Measurement("expectations", words=tuple(words)).check(circuit.qubits)
        self.circuit, self.words = circuit, tuple(words)
        start = spread * torch.rand(circuit.n_parameters, generator=generator, dtype=torch.float64)
        self.weights = nn.Parameter(start.to(dtype))

    def forward(self, inputs: Shaped[Tensor, "... inputs"] | None = None) -> Float[Tensor, "... outputs"]:
        """Means of the words, or log-probabilities; see the class."""
        final = run(self.circuit, self.weights, inputs)
        return expectations(final, self.words) if self.words else log_probabilities(final.probabilities())

    def spec(self) -> Spec:
        """The circuit with its present parameters."""
        measurement = Measurement("expectations", words=self.words) if self.words else Measurement()
        return Spec(self.circuit, self.weights.detach().double().cpu().numpy(), None, measurement)

    def save(self, path: str | Path) -> None:
        """Parameters and spec in one safetensors file."""
        from safetensors.torch import save_file

        save_file({"weights": self.weights.detach()}, path, {"spec": json.dumps(to_dict(self.spec()))})

    @classmethod
    def load(cls, path: str | Path) -> CircuitModule:
        """Read what ``save`` wrote. Raises ``ValueError`` when the file is not one of ours or its parameters do not fit
        its spec."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt") as file:
                metadata, weights = file.metadata() or {}, file.get_tensor("weights")
        except SafetensorError as error:
            raise ValueError(f"{path}: not a saved circuit: {error}") from error
        if "spec" not in metadata:
            raise ValueError(f"{path}: the file has no circuit spec in its metadata")
        try:
            spec = from_dict(json.loads(metadata["spec"]))
        except ValueError as error:  # a JSONDecodeError is one
            raise ValueError(f"{path}: the circuit spec in its metadata cannot be read: {error}") from error
        if weights.shape != (spec.circuit.n_parameters,):
            raise ValueError(
                f"{path}: parameters need shape {(spec.circuit.n_parameters,)}, got {tuple(weights.shape)}"
            )
        module = cls(spec.circuit, spec.measurement.words, generator=torch.Generator(), dtype=weights.dtype)
        module.weights.data.copy_(weights)
        return module
