"""The ansätze of the field by name. An ansatz is what stands before, in and after each repeated layer, with numbered
parameters.

Names and parameter order are PennyLane's where PennyLane has the template. ``shape`` is static: no circuit is built
to know it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

import numpy as np
from jaxtyping import Float

from qattn.circuits.ir.circuit import Angle, Circuit, Operation, ParameterRef, gate
from qattn.circuits.ir.encode import angle_encoding
from qattn.circuits.ir.sim2019 import SIM_LAYERS, sim_before, sim_shape

Take = Callable[[], ParameterRef]  # hands out the next trainable parameter
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


def ring(n: int, step: int = 1) -> list[tuple[int, int]]:
    """Pairs (i, i + step) around a ring."""
    return [(i, (i + step) % n) for i in range(n)]


def bricks(n: int, parity: int) -> list[tuple[int, int]]:
    """Neighbouring pairs that begin at even (parity 0) or odd (1) wires."""
    return [(i, i + 1) for i in range(parity, n - 1, 2)]


def strongly_entangling(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Rot on every wire, CNOTs around a ring whose step grows from layer to layer."""
    for w in range(n):
        yield gate("Rot", w, take(), take(), take())
    if n > 1:
        for c, t in ring(n, index % (n - 1) + 1):
            yield gate("CNOT", c, t)


def basic_entangler(n: int, index: int, take: Take) -> Iterator[Operation]:
    """RX on every wire, CNOTs around a ring."""
    for w in range(n):
        yield gate("RX", w, take())
    for c, t in ring(n) if n > 2 else bricks(n, 0):
        yield gate("CNOT", c, t)


def ry_each(n: int, take: Take) -> Iterator[Operation]:
    """RY on every wire."""
    for w in range(n):
        yield gate("RY", w, take())


def simplified_two_design(n: int, index: int, take: Take) -> Iterator[Operation]:
    """CZ and two RY on the even pairs, then on the odd ones."""
    for a, b in bricks(n, 0) + bricks(n, 1):
        yield gate("CZ", a, b)
        yield gate("RY", a, take())
        yield gate("RY", b, take())


def qaoa_features(n: int, take: Take | None = None) -> Iterator[Operation]:
    """Input k as an RX on wire k."""
    for w in range(n):
        yield gate("RX", w, ParameterRef(w, "inputs"))


def qaoa_embedding(n: int, index: int, take: Take) -> Iterator[Operation]:
    """The features, ZZ rotations around a ring, RY on every wire."""
    yield from qaoa_features(n)
    for a, b in ring(n) if n > 2 else bricks(n, 0):
        yield Operation("MultiRZ", (a, b), (take(),))
    yield from ry_each(n, take)


def qaoa(n: int, index: int, take: Take) -> Iterator[Operation]:
    """The cost of MaxCut on a ring, then the transverse field; one angle each."""
    cost, mixer = take(), take()
    for a, b in ring(n) if n > 2 else bricks(n, 0):
        yield gate("IsingZZ", a, b, cost)
    for w in range(n):
        yield gate("RX", w, mixer)


def hadamards(n: int, take: Take) -> Iterator[Operation]:
    """A Hadamard on every wire."""
    for w in range(n):
        yield gate("Hadamard", w)


def rotations(n: int, take: Take) -> Iterator[Operation]:
    """RY and RZ on every wire."""
    for w in range(n):
        yield gate("RY", w, take())
        yield gate("RZ", w, take())


def hardware_efficient(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Rotations on every wire, CZ along the line."""
    yield from rotations(n, take)
    for a, b in bricks(n, 0) + bricks(n, 1):
        yield gate("CZ", a, b)


def brickwork(n: int, index: int, take: Take) -> Iterator[Operation]:
    """Rot on every wire, CNOTs on even pairs and odd pairs in turn."""
    for w in range(n):
        yield gate("Rot", w, take(), take(), take())
    for a, b in bricks(n, index % 2):
        yield gate("CNOT", a, b)


def pyramid_pairs(n: int) -> list[tuple[int, int]]:
    """Nearest-neighbour pairs of the Givens pyramid, n(n-1)/2 of them (Reck 1994; Clements 2016 for the depth)."""
    return [(i, i + 1) for last in range(n - 1, 0, -1) for i in range(last)]


def givens_pyramid(n: int, index: int, take: Take) -> Iterator[Operation]:
    """RBS gates in the order of ``pyramid_pairs``."""
    for a, b in pyramid_pairs(n):
        yield gate("SingleExcitation", a, b, take())


def butterfly_pairs(n: int) -> list[tuple[int, int]]:
    """Pairs (i, i + s) for strides s = n/2, n/4, ..., 1: n/2 log2(n) of them for a power of two."""
    strides = [2**k for k in reversed(range((n - 1).bit_length()))]
    return [(i, i + s) for s in strides for i in range(n - s) if not i // s % 2]


def butterfly(n: int, index: int, take: Take) -> Iterator[Operation]:
    """RBS gates in the order of ``butterfly_pairs``."""
    for a, b in butterfly_pairs(n):
        yield gate("SingleExcitation", a, b, take())


def unary_start(n: int, take: Take) -> Iterator[Operation]:
    """The one excitation, on wire 0."""
    yield gate("PauliX", 0)


def permutation(n: int, index: int, take: Take) -> Iterator[Operation]:
    """A fixed shuffle of basis states: X, CNOT and Toffoli on wires drawn from a generator seeded by the layer's
    number."""
    rng = np.random.default_rng(index)
    for name, size in (("PauliX", 1), ("CNOT", 2), ("Toffoli", 3)):
        if size <= n:
            yield gate(name, *(int(w) for w in rng.choice(n, size, replace=False)))


def ring_pairs(n: int) -> list[tuple[int, int]]:
    """Neighbours on a ring: the even pairs, the odd ones, then the pair that closes it."""
    return bricks(n, 0) + bricks(n, 1) + ([(0, n - 1)] if n > 2 else [])


def heisenberg(n: int, index: int, take: Take) -> Iterator[Operation]:
    """One Trotter step of a Heisenberg ring, every field and every coupling free; at zero it is the identity."""
    for w in range(n):
        for name in ("RX", "RY", "RZ"):
            yield gate(name, w, take())
    for a, b in ring_pairs(n):
        for name in ("IsingXX", "IsingYY", "IsingZZ"):
            yield gate(name, a, b, take())


def pairs(n: int) -> int:
    """n(n−1)/2."""
    return n * (n - 1) // 2


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
    """The ansatz of a name: one of ours, or one that an installed package declares as an entry point.

    Raises ``ValueError`` for an unknown name, and for a package whose ansatz cannot be used.
    """
    if name not in ANSATZE:
        declared = entry_points(group=ENTRY_POINTS, name=name)
        if not declared:
            raise ValueError(f"unknown ansatz {name!r}; known are {', '.join(ANSATZE)}")
        ANSATZE[name] = _declared(next(iter(declared)))
    return ANSATZE[name]


def _declared(point: EntryPoint) -> Ansatz:
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


__all__ = ["ANSATZE", "Angle", "Ansatz", "build", "draw_parameters", "find"]
