"""The file form of a circuit: which keys there are. What they mean and whether they fit together,
`qattn.circuits.ir.spec` checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from experiments.located.yaml_positions import load_located
from experiments.schema.base import NonNegative, Positive, PositiveInt, Strict

Seed = Annotated[int, Field(ge=0, lt=2**32)]  # the data's generator takes no greater one


class AnsatzKeys(Strict):
    """A circuit of the field by name."""

    name: str
    """StronglyEntanglingLayers, BasicEntanglerLayers, HardwareEfficient, Sim6, … (`qattn circuit list`)."""
    layers: PositiveInt = 1
    """How often the layer repeats."""
    seed: Seed = 0
    """Parameters are drawn uniformly from [0, 2π) with it, unless `weights` gives them."""
    weights: list[Any] | None = None
    """The parameters, nested as the ansatz's shape or flat."""


class EncodeKeys(Strict):
    """How data enters."""

    kind: Literal["basis", "angle", "amplitude", "reupload"]
    values: list[Any] | None = None
    """Bits, angles or amplitudes; a complex number is [re, im]."""
    axis: Literal["X", "Y", "Z"] = "X"
    """Rotation axis of angle encoding and re-uploading."""
    normalize: bool = False
    """Divide amplitudes by their norm."""


class NoiseKeys(Strict):
    """A noise channel."""

    kind: str
    """DepolarizingChannel, BitFlip, PhaseFlip, AmplitudeDamping or PhaseDamping."""
    p: float
    """Its strength, 0 to 1."""
    after: Literal["gates", "end"] = "gates"
    """On every wire of every gate, or once on every wire at the end."""


class TrainKeys(Strict):
    """What the circuit learns, and how."""

    task: Literal["state", "unitary", "distribution", "classification", "energy"]
    target: Any = None
    """Amplitudes, a matrix, probabilities, or a name (ghz, w, uniform, bars)."""
    data: Literal["moons", "parity", "circles"] | None = None
    """The data set of a classification."""
    samples: PositiveInt = 200
    """Its size."""
    optimizer: Literal["adam", "sgd", "lbfgs", "qng"] = "adam"
    """torch's optimisers, or quantum natural gradient (state tasks)."""
    lr: Positive = 0.05
    """Step size."""
    steps: PositiveInt = 200
    """Optimiser steps."""
    seed: Seed = 0
    """Of the first parameters and of the data."""
    seeds: PositiveInt = 1
    """How many trainings, of seeds `seed`, `seed` + 1, …; several report the mean final loss and its 95 % interval."""
    spread: NonNegative = 6.283185307179586
    """The first parameters are uniform in [0, spread)."""
    dtype: Literal["float32", "float64"] = "float64"
    """Precision of the parameters; states are complex64 or complex128."""


class CircuitFile(Strict):
    """A circuit file: `qubits`, then `gates` or `ansatz`."""

    qubits: PositiveInt
    """Number of wires; wire 0 is the most significant bit."""
    gates: list[Any] | None = None
    """[name, wires…, angles…] or a mapping with gate, wires, angles, matrix, diagonal, word."""
    ansatz: AnsatzKeys | None = None
    encode: EncodeKeys | None = None
    noise: NoiseKeys | None = None
    measure: Any = "probabilities"
    """probabilities, state, {expectations: [ZZI]}, {samples: 1000, seed: 7}, {povm: [...]},
    {hamiltonian: {ZZ: -1.05, XI: 0.39}}."""
    parameters: dict[str, float] | None = None
    """Values of the names used as angles in `gates`."""
    names: list[str] | None = None
    """The order of the parameters, where a program wrote the file; default: the order they first appear in."""
    inputs: list[float] | None = None
    """Values of the circuit's data slots."""
    seed: Seed | None = None
    """Draws the parameters that have no value."""
    train: TrainKeys | None = None


def load_circuit(path: Path, overrides: Sequence[str] = ()) -> CircuitFile:
    """The keys of a circuit file, each problem with its place; what they mean is checked when the circuit is built."""
    return load_located(path, CircuitFile, overrides).value


def plain(file: CircuitFile) -> dict[str, Any]:
    """The keys a library spec knows, as written."""
    return file.model_dump(exclude_unset=True, exclude={"train"})
