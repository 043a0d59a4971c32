"""A circuit file: the plain-data form that `qattn.circuits.ir.spec` reads and checks, and a `train` block beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field

from experiments.located.yaml_positions import load_located
from experiments.schema.base import NonNegative, Positive, PositiveInt, Strict

if TYPE_CHECKING:
    from qattn.circuits.ir.spec import DynamicSpec, Spec

Seed = Annotated[int, Field(ge=0, lt=2**32)]  # the data's generator takes no greater one


class TrainKeys(Strict):
    """What the circuit learns, and how."""

    task: Literal["state", "unitary", "distribution", "classification", "regression", "energy"]
    target: Any = None
    """Amplitudes, a matrix, probabilities, or a name (ghz, w, uniform, bars)."""
    data: str | None = None
    """The data of a classification (moons, circles, parity, or a .csv file) or a regression (a .csv file)."""
    samples: PositiveInt = 200
    """The size of moons, circles and parity."""
    label: str | None = None
    """The column of a .csv file that is learnt; default: the last. All others are features."""
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


class CircuitKeys(Strict):
    """The keys at the top of a circuit file, of which `qattn.circuits.ir.spec` knows all but one."""

    model_config = ConfigDict(extra="allow")

    train: TrainKeys | None = None


@dataclass(frozen=True)
class CircuitFile:
    """A circuit with its numbers, and how to train it where the file says so."""

    spec: Spec | DynamicSpec
    train: TrainKeys | None = None

    @property
    def static(self) -> Spec:
        """The circuit, for what runs without measurements in between. Raises ``ValueError`` where there are some."""
        from qattn.circuits.ir.spec import Spec

        if isinstance(self.spec, Spec):
            return self.spec
        raise ValueError(
            "the circuit measures, resets or decides on its way: it can be simulated, drawn and exported to qasm3 alone"
        )


def load_circuit(path: Path, overrides: Sequence[str] = (), drawn: bool = False) -> CircuitFile:
    """Read and check a circuit file; with ``drawn``, parameters without a value are left to a training.

    Raises :class:`UserError`, each problem with its place.
    """
    from qattn.circuits.ir.spec import read_spec
    from qattn.circuits.ir.spec_values import SpecError

    loaded = load_located(path, CircuitKeys, overrides)
    try:
        spec = read_spec(loaded.value.model_extra or {}, drawn)
    except SpecError as error:
        raise loaded.error(error.place, error.reason) from error
    return CircuitFile(spec, loaded.value.train)
