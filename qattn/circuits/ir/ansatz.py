"""The ansätze of the field by name. An ansatz is what stands before, in and after each repeated layer, with numbered
parameters.

Names and parameter order are PennyLane's where PennyLane has the template. ``shape`` is static: no circuit is built
to know it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

import numpy as np
from jaxtyping import Float

from qattn.circuits.ir.ansatz_layers import (
    Take,
    basic_entangler,
    brickwork,
    butterfly,
    butterfly_pairs,
    givens_pyramid,
    hadamards,
    hardware_efficient,
    heisenberg,
    pairs,
    permutation,
    qaoa,
    qaoa_embedding,
    qaoa_features,
    ring_pairs,
    rotations,
    ry_each,
    simplified_two_design,
    strongly_entangling,
    unary_start,
)
from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef
from qattn.circuits.ir.encode import angle_encoding
from qattn.circuits.ir.sim2019 import SIM_LAYERS, sim_before, sim_shape

Shape = dict[str, tuple[int, ...]]
MOST_GATES = 10**6


@dataclass(frozen=True)
class Ansatz:
    """``layer(qubits, index, take)`` yields one layer's operations; ``before`` and ``after`` are outside the
    repetition."""

    name: str
    layer: Callable[[int, int, Take], Iterator[Operation]]
    shape: Callable[[int, int], Shape]
    source: str
    before: Callable[[int, Take], Iterator[Operation]] | None = None
    after: Callable[[int, Take], Iterator[Operation]] | None = None
    least: int = 1

    def n_params(self, qubits: int, layers: int) -> int:
        """The number of its parameters."""
        return sum(math.prod(s) for s in self.shape(qubits, layers).values())


ENTRY_POINTS = "qattn.ansaetze"
"""The entry-point group in which other packages declare an :class:`Ansatz` by its name."""
ANSATZE: dict[str, Ansatz] = {
    a.name: a
    for a in (
        Ansatz(
            "StronglyEntanglingLayers",
            strongly_entangling,
            lambda n, k: {"weights": (k, n, 3)},
            "Schuld et al., arXiv:1804.00633",
        ),
        Ansatz("BasicEntanglerLayers", basic_entangler, lambda n, k: {"weights": (k, n)}, "PennyLane"),
        Ansatz(
            "SimplifiedTwoDesign",
            simplified_two_design,
            lambda n, k: {"initial_layer_weights": (n,), "weights": (k, n - 1, 2)},
            "Cerezo et al., arXiv:2001.00550",
            before=ry_each,
        ),
        Ansatz(
            "QAOAEmbedding",
            qaoa_embedding,
            lambda n, k: {"weights": (k, 2 * n if n > 2 else 2 * n - 1)},
            "Lloyd et al., arXiv:2001.03622 (features are inputs, encoded once more at the end)",
            after=qaoa_features,
        ),
        Ansatz(
            "QAOA",
            qaoa,
            lambda n, k: {"weights": (k, 2)},
            "Farhi et al., arXiv:1411.4028, MaxCut on a ring",
            before=hadamards,
        ),
        Ansatz(
            "HardwareEfficient",
            hardware_efficient,
            lambda n, k: {"weights": (k, n, 2), "final": (n, 2)},
            "after Kandala et al., arXiv:1704.05018",
            after=rotations,
        ),
        Ansatz("Brickwork", brickwork, lambda n, k: {"weights": (k, n, 3)}, "alternating even and odd CNOT pairs"),
        Ansatz(
            "GivensPyramid",
            givens_pyramid,
            lambda n, k: {"weights": (k, pairs(n))},
            "Kerenidis et al., arXiv:2106.07198",
            before=unary_start,
        ),
        Ansatz(
            "Butterfly",
            butterfly,
            lambda n, k: {"weights": (k, len(butterfly_pairs(n)))},
            "Cherrat et al., arXiv:2209.08167",
            before=unary_start,
        ),
        Ansatz(
            "HeisenbergRing",
            heisenberg,
            lambda n, k: {"fields": (k, n, 3), "couplings": (k, len(ring_pairs(n)), 3)},
            "Trotter step of an inhomogeneous Heisenberg ring, Lloyd, Science 273, 1073 (1996)",
        ),
        Ansatz("Permutation", permutation, lambda n, k: {}, "X, CNOT and Toffoli drawn from a seeded generator"),
        *(
            Ansatz(
                f"Sim{number}",
                layer,
                sim_shape(number),
                "Sim et al., arXiv:1905.10876, Fig. 2",
                sim_before(number),
                least=2,
            )
            for number, layer in SIM_LAYERS.items()
        ),
    )
}


def find(name: str) -> Ansatz:
    """The ansatz of a name: one of ours, a registered one, or one that an installed package declares as an entry point.

    Raises ``ValueError`` for an unknown name, and for a package whose ansatz cannot be used.
    """
    if name not in ANSATZE:
        declared = entry_points(group=ENTRY_POINTS, name=name)
        if not declared:
            near = get_close_matches(name, names(), n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names())}"
            raise ValueError(f"unknown ansatz {name!r}; {hint}")
        ANSATZE[name] = _declared(next(iter(declared)))
    return ANSATZE[name]


def names() -> list[str]:
    """Every name that :func:`find` knows, ours first; a declared one need not be usable."""
    return list(dict.fromkeys([*ANSATZE, *sorted(point.name for point in entry_points(group=ENTRY_POINTS))]))


def register(ansatz: Ansatz) -> Ansatz:
    """Make an ansatz known by its name in this process. Raises ``ValueError`` for a name that is taken."""
    if ansatz.name in ANSATZE:
        raise ValueError(f"ansatz {ansatz.name!r} is taken: give it another name")
    ANSATZE[ansatz.name] = ansatz
    return ansatz


def _declared(point: Any) -> Ansatz:
    try:
        found = point.load()
        if not isinstance(found, Ansatz):
            raise TypeError(f"expected an Ansatz, got {found!r}")
    except Exception as error:  # another's code may fail in any way
        package = point.dist.name if point.dist else "a package"
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"the ansatz {point.name!r} of {package} ({point.value}) cannot be used: {reason}") from error
    return found


def build(name: str, qubits: int, layers: int, reupload: str | None = None, start: int = 0) -> Circuit:
    """The circuit of a named ansatz, its parameters numbered from ``start`` in the order of ``shape``, flattened.

    ``reupload`` is a rotation axis (X, Y or Z): inputs are then angle-encoded anew before every layer (Pérez-Salinas
    et al., 2020).
    Raises ``ValueError`` for an unknown name, for layers below 1 and for too few qubits.
    """
    ansatz = find(name)
    if not isinstance(layers, int) or isinstance(layers, bool) or layers < 1:
        raise ValueError(f"ansatz {name}: layers must be a whole number of at least 1, got {layers!r}")
    if qubits < ansatz.least:
        raise ValueError(f"ansatz {name} needs at least {ansatz.least} qubits, got {qubits}")
    gates = max(qubits * layers, ansatz.n_params(qubits, layers))
    if gates > MOST_GATES:
        raise ValueError(
            f"ansatz {name}: {qubits} qubits and {layers} layers have {gates} gates or more, the limit is {MOST_GATES}"
        )
    counter = iter(range(start, start + 10**9))

    def take() -> ParameterRef:
        return ParameterRef(next(counter))

    operations: list[Operation] = list(ansatz.before(qubits, take)) if ansatz.before else []
    for index in range(layers):
        if reupload:
            operations += angle_encoding(qubits, reupload)
        operations += ansatz.layer(qubits, index, take)
    if ansatz.after:
        operations += ansatz.after(qubits, take)
    return Circuit(qubits, tuple(operations))


def draw_parameters(name: str, qubits: int, layers: int, seed: int) -> Float[np.ndarray, " parameters"]:
    """Parameters uniform in [0, 2π), from a seeded generator."""
    return np.random.default_rng(seed).uniform(0, 2 * np.pi, find(name).n_params(qubits, layers))


__all__ = ["ANSATZE", "ENTRY_POINTS", "Ansatz", "Take", "build", "draw_parameters", "find", "names", "register"]
